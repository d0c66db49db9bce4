//! A dialog with a clock, requests to ask, and the keys that are built in.

mod answering;
mod random;
mod stages;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{PermissionDialog, Verdict};
use crate::app::dialogs::DialogRest;
use crate::keymap::{Context, Keymap, Resolved};
use crate::protocol::{Answer, CallRef, FileDiff, PermissionRequest, RuleOffer};

/// A dialog with a clock and the keys that are built in.
struct Asked {
    dialog: PermissionDialog,
    keymap: Keymap,
    now: Instant,
}

impl Asked {
    /// Read to its end and armed.
    fn ready(request: PermissionRequest) -> Self {
        let mut asked = Self::fresh(request);
        asked.show(0).wait(300);
        asked
    }

    fn fresh(request: PermissionRequest) -> Self {
        let now = Instant::now();
        Self {
            dialog: PermissionDialog::new(request, now),
            keymap: Keymap::builtin(),
            now,
        }
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// A frame with ten rows of the content, and this many beyond them.
    fn show(&mut self, furthest: usize) -> &mut Self {
        self.settle(furthest, 10)
    }

    fn settle(&mut self, furthest: usize, visible: usize) -> &mut Self {
        self.dialog.settle(DialogRest { furthest, visible });
        self
    }

    fn press(&mut self, name: &str) -> Verdict {
        let contexts = [self.dialog.context(), Context::Global];
        match self.keymap.resolve(&contexts, &mut None, key(name)) {
            Resolved::Action(action) => {
                let verdict = self.dialog.perform(action, self.now);
                verdict.unwrap_or(Verdict::Stays)
            }
            Resolved::Prefix | Resolved::Unbound | Resolved::Ignored => {
                self.dialog.key(key(name), self.now);
                Verdict::Stays
            }
        }
    }

    fn type_in(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.press(letter.encode_utf8(&mut [0; 4]));
        }
        self
    }
}

fn key(name: &str) -> KeyEvent {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "end" => KeyCode::End,
        "home" => KeyCode::Home,
        "pgdn" => KeyCode::PageDown,
        "pgup" => KeyCode::PageUp,
        "backspace" => KeyCode::Backspace,
        letter => KeyCode::Char(letter.chars().next().expect("a key has a name")),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn bash(id: &str) -> PermissionRequest {
    PermissionRequest {
        call: CallRef::from(id),
        tool: "Bash".into(),
        input: json!({ "command": "cargo test" }),
        reason: "no rule allows it".into(),
        changes: Vec::new(),
        rule: Some(RuleOffer {
            rule: "Bash(cargo test:*)".into(),
            file: PathBuf::from("/repo/.agent-tui/settings.local.json"),
        }),
    }
}

/// Lines 2, 12 and 14 change: two hunks, of which the second can be split.
fn edit(id: &str) -> PermissionRequest {
    let before: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
    let mut after = before.clone();
    for line in [2, 12, 14] {
        after[line - 1] = format!("LINE {line}\n");
    }
    PermissionRequest {
        tool: "Edit".into(),
        changes: vec![FileDiff {
            path: "notes.txt".into(),
            before: Some(before.concat().into()),
            after: after.concat().into(),
        }],
        ..bash(id)
    }
}

/// Changes the file of [`edit`], makes a new one, and changes a third.
fn edit_of_three(id: &str) -> PermissionRequest {
    let file = |path: &str, before: Option<&str>, after: &str| FileDiff {
        path: path.into(),
        before: before.map(Into::into),
        after: after.into(),
    };
    let mut request = edit(id);
    request.changes.extend([
        file("new.txt", None, "new\n"),
        file("more.txt", Some("less\n"), "more\n"),
    ]);
    request
}

/// The file of [`edit`] with only these lines changed.
fn edited(lines: &[usize]) -> String {
    let line = |line| {
        let word = if lines.contains(&line) {
            "LINE"
        } else {
            "line"
        };
        format!(
            "{word} {line}
"
        )
    };
    (1..=20).map(line).collect()
}

fn answered(id: &str, answer: Answer) -> Verdict {
    Verdict::Answered(CallRef::from(id), answer)
}

const STAYS: Verdict = Verdict::Stays;
const DENIED: Answer = Answer::Deny { reason: None };

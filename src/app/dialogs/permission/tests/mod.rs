//! A dialog with a clock, requests to ask, and the built-in keys.

mod answering;
mod random;
mod stages;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::PermissionDialog;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::question::{Questions, Verdict};
use crate::keymap::{Context, Keymap, Resolved};
use crate::protocol::{
    Answer, CallRef, FileDiff, PermissionRequest, Question, QuestionKind, Reply, RuleOffer,
};

/// A dialog with a clock and the built-in keys.
struct TestDialog {
    queue: Questions,
    keymap: Keymap,
    now: Instant,
}

impl TestDialog {
    /// Read to the end and armed.
    fn ready(question: Question) -> Self {
        let mut dialog = Self::fresh(question);
        dialog.show(0).wait(300);
        dialog
    }

    fn fresh(question: Question) -> Self {
        let now = Instant::now();
        Self {
            queue: Questions::new(question, now),
            keymap: Keymap::builtin(),
            now,
        }
    }

    /// The request in front.
    fn dialog(&self) -> &PermissionDialog {
        self.queue.permission().expect("something is asked")
    }

    /// The call that asks.
    fn current(&self) -> Option<CallRef> {
        self.queue.current().map(|dialog| dialog.call)
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// A frame with ten rows of the content, and this many below them.
    fn show(&mut self, furthest: usize) -> &mut Self {
        self.record_layout(furthest, 10)
    }

    fn record_layout(&mut self, furthest: usize, visible: usize) -> &mut Self {
        self.queue.record_layout(DialogLayout {
            furthest,
            visible,
            ..DialogLayout::default()
        });
        self
    }

    fn press(&mut self, name: &str) -> Verdict {
        let contexts = [self.queue.context(), Context::Global];
        match self.keymap.resolve(&contexts, &mut None, key(name)) {
            Resolved::Action(action) => {
                let verdict = self.queue.perform(action, self.now);
                verdict.unwrap_or(Verdict::Stays)
            }
            Resolved::Prefix | Resolved::Unbound | Resolved::Ignored => {
                self.queue.key(key(name), self.now);
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
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "space" => KeyCode::Char(' '),
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

fn question(id: &str, request: PermissionRequest) -> Question {
    Question {
        call: CallRef::from(id),
        asker: None,
        kind: QuestionKind::Permission(request),
    }
}

fn bash(id: &str) -> Question {
    question(id, command())
}

fn edit(id: &str) -> Question {
    question(id, change())
}

fn command() -> PermissionRequest {
    PermissionRequest {
        is_command: true,
        program: None,
        tool: "Bash".into(),
        input: json!({ "command": "cargo test" }).into(),
        reason: "no rule allows it".into(),
        changes: Vec::new(),
        rule: Some(RuleOffer {
            rule: "Bash(cargo test:*)".into(),
            wider: None,
            file: PathBuf::from("/repo/.agent-tui/settings.local.json"),
        }),
    }
}

/// Lines 2, 12 and 14 change: two hunks; the second can be split.
fn change() -> PermissionRequest {
    let before: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
    let mut after = before.clone();
    for line in [2, 12, 14] {
        after[line - 1] = format!("LINE {line}\n");
    }
    PermissionRequest {
        is_command: false,
        program: None,
        tool: "Edit".into(),
        changes: vec![FileDiff {
            path: "notes.txt".into(),
            before: Some(before.concat().into()),
            after: after.concat().into(),
        }],
        ..command()
    }
}

/// Changes the file of [`edit`], makes a new one, and changes a third.
fn edit_of_three(id: &str) -> Question {
    let file = |path: &str, before: Option<&str>, after: &str| FileDiff {
        path: path.into(),
        before: before.map(Into::into),
        after: after.into(),
    };
    let mut request = change();
    request.changes.extend([
        file("new.txt", None, "new\n"),
        file("more.txt", Some("less\n"), "more\n"),
    ]);
    question(id, request)
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
    Verdict::Replied(CallRef::from(id), Reply::Permission(answer))
}

const STAYS: Verdict = Verdict::Stays;
const DENIED: Answer = Answer::Deny { reason: None };

//! The session's background commands and subagents as a list: which ones run, how the others ended, what each printed last.

use super::call::{Call, CallKey};
use super::dialogs::Dialog;
use super::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use super::page::{Line, Tone};
use super::panel::{Detail, Opener, background_time};
use super::subagents::{Nested, SubagentActivity};
use super::{AppState, Effect, Focus};
use crate::protocol::CallOutcome;
use crate::text::{overwritten, strip_ansi, thousands};

/// How many of a command's last lines are shown beside the list.
const LAST_LINES: usize = 40;

impl AppState {
    /// Running commands come first, the oldest on top as in the panel; then ended ones, the newest first.
    pub(super) fn list_tasks(&mut self) {
        let ended = self.calls.iter().rev().filter(|(_, call)| {
            let outcome = call.completed().map(|completed| &completed.outcome);
            outcome == Some(&CallOutcome::Backgrounded) && !call.is_in_background()
        });
        let ended = ended.map(|(key, _)| key);
        let items: Vec<Item> = self
            .calls
            .in_background()
            .chain(ended)
            .map(|key| self.task_item(key))
            .collect();
        if items.is_empty() {
            self.flash("nothing runs in the background");
            return;
        }
        self.open_picker(Picker::new(Kind::Tasks, items));
    }

    /// Updates the list if it is open. A command keeps its place when it ends, and a new one is added at the end.
    pub(super) fn refresh_tasks(&mut self) {
        let Some(picker) = self.picker_mut(Kind::Tasks) else {
            return;
        };
        let listed = picker.items().iter().filter_map(|item| match item.choice {
            Choice::Call(key) => Some(key),
            _ => None,
        });
        let mut keys: Vec<CallKey> = listed.collect();
        let known = keys.len();
        for key in self.calls.in_background() {
            if !keys[..known].contains(&key) {
                keys.push(key);
            }
        }
        let items = keys.into_iter().map(|key| self.task_item(key)).collect();
        if let Some(picker) = self.picker_mut(Kind::Tasks) {
            picker.replace(items);
        }
    }

    fn task_item(&self, key: CallKey) -> Item {
        let call = self.calls.get(key);
        let subject = call.subject();
        let (state, mark) = match &call.ended_in_background {
            None if call.is_stopping => ("stopping".to_owned(), Mark::Running),
            None => {
                let since = call.background_since().unwrap_or(self.now);
                let time = background_time(self.now.saturating_duration_since(since));
                (format!("running {time}"), Mark::Running)
            }
            Some(how) if how.is_success() => (how.to_string(), Mark::Done),
            Some(how) => (how.to_string(), Mark::Failed),
        };
        let nested = self.subagents.of_call(key);
        let state = match nested.map(Nested::tokens) {
            None | Some(0) => state,
            Some(tokens) => format!("{state} · {} tokens", thousands(tokens)),
        };
        let lines = match nested {
            Some(nested) => self.last_activity(nested),
            None => last_lines(call),
        };
        let last = lines.iter().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| line.trim().to_owned()).unwrap_or_default();
        let preview = lines.into_iter().map(|line| Line::new(Tone::Code, line));
        Item::new(
            subject.lines().next().unwrap_or_default(),
            Choice::Call(key),
        )
        .about(last)
        .hint(state)
        .marked(Some(mark))
        .preview(preview.collect::<Vec<Line>>())
    }

    /// The latest calls of a subagent and its text, as lines.
    fn last_activity(&self, nested: &Nested) -> Vec<String> {
        let named = |key: CallKey| {
            let call = self.calls.get(key);
            format!("{} {}", call.tool.shown_name(), call.subject())
        };
        let calls = nested.turn.calls.iter();
        let mut lines: Vec<String> = calls.map(|key| named(*key)).collect();
        lines.drain(..lines.len().saturating_sub(LAST_LINES));
        match nested.activity(&self.calls) {
            SubagentActivity::Calling(key) => lines.push(named(key)),
            SubagentActivity::Writing
            | SubagentActivity::Thinking
            | SubagentActivity::Waiting
            | SubagentActivity::Nothing => {
                let text = nested.last_message().unwrap_or_default().lines().rev();
                let last = text.take(LAST_LINES).map(str::to_owned);
                let last: Vec<String> = last.collect();
                lines.extend(last.into_iter().rev());
            }
        }
        lines
    }

    /// Opens the call's detail view. Esc goes from there back to the list.
    pub(super) fn look_at_task(&mut self, call: CallKey) {
        let rows = self.rows();
        self.panel.chosen = rows.iter().position(|row| row.call == call).unwrap_or(0);
        self.focus_on(Focus::Panel);
        let opener = Opener::Tasks;
        if !self.view_subagent(call, opener) {
            let scroll = 0;
            self.panel.detail = Some(Detail {
                call,
                scroll,
                opener,
            });
        }
    }

    /// Closes what was opened from the list and shows the list again, at the same command.
    pub(super) fn return_to_tasks(&mut self, call: CallKey) {
        self.focus_on(Focus::Composer);
        self.list_tasks();
        if let Some(picker) = self.picker_mut(Kind::Tasks) {
            picker.choose(&Choice::Call(call));
        }
    }

    /// Stops the selected command, if it still runs.
    pub(super) fn stop_chosen_task(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return Vec::new();
        };
        let Some(Choice::Call(key)) = picker.chosen().map(|item| &item.choice) else {
            return Vec::new();
        };
        let key = *key;
        if !self.calls.get(key).is_in_background() {
            self.flash("already finished");
            return Vec::new();
        }
        let effects = self.stop(key);
        self.refresh_tasks();
        effects
    }
}

/// The last lines that a command printed. Reads only that much of its output.
fn last_lines(call: &Call) -> Vec<String> {
    let lines = call.output.lines().rev().take(LAST_LINES);
    let mut lines: Vec<String> = lines
        .map(|line| overwritten(&strip_ansi(line)).to_owned())
        .collect();
    lines.reverse();
    lines
}

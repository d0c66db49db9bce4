//! The question whether a call may run, and every way to answer it.
//!
//! `question` decides which request is shown and which is next. Three things make sure that the person means the
//! answer: a request ignores keys until it is [armed](ARM_DELAY); it can't be allowed before the [end](Reading) of its
//! content was visible; and the request itself is drawn, so the person reads exactly what will run.
//! `ui::dialogs::permission` draws it; the executor acts on the answer.

mod arming;
mod picking;
mod reading;
mod stages;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_textarea::{CursorMove, TextArea};

use super::DialogLayout;
use crate::app::diff::Diff;
use crate::keymap::{Action, Context};
use crate::protocol::{Answer, PermissionRequest};

pub use self::arming::{ARM_DELAY, Arming};
pub use self::picking::Picking;
pub use self::reading::Reading;

#[derive(Debug)]
pub struct PermissionDialog {
    request: PermissionRequest,
    progress: Progress,
}

/// What the keys apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Asking,
    /// Editing the rule of an "always".
    Rule,
    /// Writing the reason of a denial.
    Reason,
    /// Deciding each change of a diff separately.
    Hunks,
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The request is still open.
    Stays,
    Answered(Answer),
    /// Denied, and the whole turn is to stop.
    AnsweredAndInterrupt,
}

/// What has been done about the request so far. Going back from a stage keeps all of it.
#[derive(Debug)]
struct Progress {
    since: Instant,
    arming: Arming,
    stage: Stage,
    /// The answer that Enter gives, once an arrow key has selected one.
    chosen: Option<Action>,
    reading: Reading,
    /// What would change, file by file.
    diffs: Vec<Arc<Diff>>,
    picking: Option<Picking>,
    rule: TextArea<'static>,
    reason: TextArea<'static>,
    notice: Option<String>,
}

impl Progress {
    fn new(request: &PermissionRequest, now: Instant) -> Self {
        let offer = request.rule.as_ref();
        let diff = |change| Arc::new(Diff::new(change));
        Self {
            since: now,
            arming: Arming::new(now),
            stage: Stage::Asking,
            chosen: None,
            reading: Reading::default(),
            diffs: request.changes.iter().map(diff).collect(),
            picking: None,
            rule: field_with(offer.map_or("", |offer| &offer.rule)),
            reason: TextArea::default(),
            notice: None,
        }
    }

    fn reading_mut(&mut self) -> &mut Reading {
        match (self.stage, &mut self.picking) {
            (Stage::Hunks, Some(picking)) => &mut picking.reading,
            (Stage::Asking | Stage::Rule | Stage::Reason | Stage::Hunks, _) => &mut self.reading,
        }
    }

    /// When the person comes back to the question, a key that is still held down must not answer it. A stage is entered
    /// by a key that means nothing in it, so the next keys act at once.
    fn go_to(&mut self, stage: Stage, now: Instant) {
        self.stage = stage;
        self.notice = None;
        if stage == Stage::Asking {
            self.arming = Arming::new(now);
        }
    }
}

/// What the view reads.
impl PermissionDialog {
    pub fn request(&self) -> &PermissionRequest {
        &self.request
    }

    /// When the request came to the front. Together with its call this identifies it.
    pub fn since(&self) -> Instant {
        self.progress.since
    }

    pub fn stage(&self) -> Stage {
        self.progress.stage
    }

    /// What would change, file by file.
    pub fn diffs(&self) -> &[Arc<Diff>] {
        &self.progress.diffs
    }

    pub fn picking(&self) -> Option<&Picking> {
        self.progress.picking.as_ref()
    }

    pub fn rule(&self) -> &TextArea<'static> {
        &self.progress.rule
    }

    /// The rule that Tab changes to.
    pub fn wider(&self) -> Option<&str> {
        self.request.rule.as_ref()?.wider.as_deref()
    }

    /// Whether the field holds the exact rule as it was offered.
    pub fn is_exact(&self) -> bool {
        let offer = self.request.rule.as_ref();
        offer.is_some_and(|offer| self.progress.rule.lines().join("\n") == offer.rule)
    }

    pub fn reason(&self) -> &TextArea<'static> {
        &self.progress.reason
    }

    /// What part of the current stage is visible.
    pub fn reading(&self) -> &Reading {
        match (self.progress.stage, &self.progress.picking) {
            (Stage::Hunks, Some(picking)) => picking.reading(),
            (Stage::Asking | Stage::Rule | Stage::Reason | Stage::Hunks, _) => {
                &self.progress.reading
            }
        }
    }

    /// Why the last key had no effect.
    pub fn notice(&self) -> Option<&str> {
        self.progress.notice.as_deref()
    }

    /// The answer that Enter would give.
    pub fn chosen(&self) -> Option<Action> {
        let is_asking = self.progress.stage == Stage::Asking;
        self.progress.chosen.filter(|_| is_asking)
    }

    /// Whether this call can be answered with the action at all, now or later.
    pub fn can(&self, action: Action) -> bool {
        match action {
            Action::ChooseHunks => !self.progress.diffs.is_empty(),
            Action::AllowForSession | Action::AllowAlways => self.request.rule.is_some(),
            Action::WidenRule => self.wider().is_some(),
            Action::AcceptFile | Action::RejectFile => self.progress.diffs.len() > 1,
            Action::SplitHunk => self
                .picking()
                .is_some_and(|picking| picking.choices().can_split(picking.at())),
            _ => true,
        }
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.progress.arming.is_armed(now)
    }

    /// Why the call cannot be allowed yet.
    pub fn obstacle(&self) -> Option<String> {
        let reading = &self.progress.reading;
        if !reading.is_visible() {
            Some("too small to read: enlarge the terminal, then answer".into())
        } else if !reading.has_reached_end() {
            let (below, lines) = match reading.below() {
                1 => (1, "line"),
                below => (below, "lines"),
            };
            Some(format!(
                "{below} more {lines}: read to the end, then answer"
            ))
        } else {
            None
        }
    }

    pub fn context(&self) -> Context {
        match self.progress.stage {
            Stage::Asking => Context::Permission,
            Stage::Rule => Context::RuleEdit,
            Stage::Reason => Context::Reason,
            Stage::Hunks => Context::Hunks,
        }
    }

    /// When it changes by time alone.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.progress.arming.wake_at(now)
    }
}

/// What changes it.
impl PermissionDialog {
    pub fn new(request: PermissionRequest, now: Instant) -> Self {
        Self {
            progress: Progress::new(&request, now),
            request,
        }
    }

    /// A dialog that covered it was closed: keys meant for that one must not answer this one.
    pub fn rearm(&mut self, now: Instant) {
        self.progress.arming = Arming::new(now);
    }

    /// A key that is no answer was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        self.progress.arming.press(now)
    }

    /// A key that is not bound here is typed into the text field, if there is one.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        match self.progress.stage {
            Stage::Asking => self.progress.arming.press(now),
            Stage::Hunks => false,
            Stage::Rule => edit(&mut self.progress.rule, key),
            Stage::Reason => edit(&mut self.progress.reason, key),
        };
    }

    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.trim_end_matches('\n');
        let text = text.replace(|letter: char| letter.is_control() && letter != '\n', " ");
        match self.progress.stage {
            Stage::Asking | Stage::Hunks => false,
            Stage::Rule => self.progress.rule.insert_str(text),
            Stage::Reason => self.progress.reason.insert_str(text),
        };
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        self.progress.reading_mut().scroll(rows);
    }

    /// Records what the layout reports about the current stage.
    pub fn record_layout(&mut self, layout: DialogLayout) {
        match (self.progress.stage, &mut self.progress.picking) {
            (Stage::Hunks, Some(picking)) => picking.record_layout(layout),
            (Stage::Asking | Stage::Rule | Stage::Reason | Stage::Hunks, _) => {
                self.progress.reading.record_layout(layout);
            }
        }
    }

    /// Performs an action; `None` if it is not one of this dialog's.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        self.progress.notice = None;
        if self.moves(action) {
            // Letters can scroll as well, and a person who keeps typing is not answering.
            if self.progress.stage == Stage::Asking {
                self.progress.arming.press(now);
            }
            return Some(Verdict::Stays);
        }
        if action == Action::DenyAndInterrupt {
            return Some(self.leave(now));
        }
        match self.progress.stage {
            Stage::Asking => match action {
                Action::Next => Some(self.choose_next(1, now)),
                Action::Previous => Some(self.choose_next(-1, now)),
                Action::Choose => match self.progress.chosen {
                    Some(Action::DenyAndInterrupt) => Some(self.leave(now)),
                    Some(chosen) => self.answer(chosen, now),
                    None => Some(self.nothing_chosen(now)),
                },
                action => self.answer(action, now),
            },
            Stage::Rule => self.edit_rule(action, now),
            Stage::Reason => self.give_reason(action, now),
            Stage::Hunks => self.pick(action, now),
        }
    }
}

/// Ctrl+U deletes the line up to the caret, as in the input.
fn edit(field: &mut TextArea<'static>, key: KeyEvent) -> bool {
    if key.code == KeyCode::Char('u') && key.modifiers == KeyModifiers::CONTROL {
        return field.delete_line_by_head();
    }
    field.input(key)
}

fn field_with(text: &str) -> TextArea<'static> {
    let mut field = TextArea::from(text.split('\n'));
    field.move_cursor(CursorMove::Bottom);
    field.move_cursor(CursorMove::End);
    field
}

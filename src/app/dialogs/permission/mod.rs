//! The question whether a call may run, and every way to answer it.
//!
//! Requests queue up in one dialog; the first of them is on the screen. Three things keep an answer honest: a request takes
//! no key until it is [armed](ARM_DELAY), nothing can be allowed before the [end](Reading) of what it shows was in view, and
//! what is drawn is the request itself, so that what was read is what runs. How it looks is `ui::dialogs::permission`'s;
//! carrying the answer out is the engine's.

mod arming;
mod picking;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crossterm::event::KeyEvent;
use tui_textarea::{CursorMove, TextArea};

use self::arming::Arming;
use super::DialogRest;
use crate::app::diff::Diff;
use crate::keymap::{Action, Context};
use crate::permissions::check_rule;
use crate::protocol::{Answer, CallId, PermissionRequest, RuleOffer};

pub use self::arming::ARM_DELAY;
pub use self::picking::Picking;
pub use self::reading::Reading;

#[derive(Debug)]
pub struct PermissionDialog {
    /// The first one is on the screen.
    waiting: VecDeque<PermissionRequest>,
    sitting: Sitting,
}

/// What the keys are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Asking,
    /// The rule of an "always" is edited.
    Rule,
    /// The reason of a denial is written.
    Reason,
    /// Each change of a diff is decided by itself.
    Hunks,
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The request goes on waiting.
    Stays,
    Answered(CallId, Answer),
    /// Denied, and the whole turn shall stop.
    AnsweredAndInterrupt(CallId),
}

/// One request in front of the person, with all that was done about it so far. Going back from a stage loses nothing.
#[derive(Debug)]
struct Sitting {
    since: Instant,
    arming: Arming,
    stage: Stage,
    reading: Reading,
    diff: Option<Arc<Diff>>,
    picking: Option<Picking>,
    rule: TextArea<'static>,
    reason: TextArea<'static>,
    notice: Option<String>,
}

impl Sitting {
    fn new(request: Option<&PermissionRequest>, now: Instant) -> Self {
        let change = request.and_then(|request| request.change.as_ref());
        let offer = request.and_then(|request| request.rule.as_ref());
        Self {
            since: now,
            arming: Arming::new(now),
            stage: Stage::Asking,
            reading: Reading::default(),
            diff: change.map(|change| Arc::new(Diff::new(change))),
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

    /// Keys mean something else from now on, so one that is still held down must not count.
    fn go_to(&mut self, stage: Stage, now: Instant) {
        self.stage = stage;
        self.notice = None;
        self.arming = Arming::new(now);
    }
}

/// What the view reads.
impl PermissionDialog {
    pub fn current(&self) -> Option<&PermissionRequest> {
        self.waiting.front()
    }

    /// Since when the current request is in front. With its id, this tells it from every other.
    pub fn since(&self) -> Instant {
        self.sitting.since
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The place of the current request in the queue, and how long that is.
    pub fn position(&self) -> (usize, usize) {
        (1, self.waiting.len())
    }

    pub fn stage(&self) -> Stage {
        self.sitting.stage
    }

    pub fn diff(&self) -> Option<&Diff> {
        self.sitting.diff.as_deref()
    }

    pub fn picking(&self) -> Option<&Picking> {
        self.sitting.picking.as_ref()
    }

    pub fn rule(&self) -> &TextArea<'static> {
        &self.sitting.rule
    }

    pub fn reason(&self) -> &TextArea<'static> {
        &self.sitting.reason
    }

    /// What of the current stage is in view.
    pub fn reading(&self) -> &Reading {
        match (self.sitting.stage, &self.sitting.picking) {
            (Stage::Hunks, Some(picking)) => picking.reading(),
            (Stage::Asking | Stage::Rule | Stage::Reason | Stage::Hunks, _) => {
                &self.sitting.reading
            }
        }
    }

    /// Why the last key did not do what it says.
    pub fn notice(&self) -> Option<&str> {
        self.sitting.notice.as_deref()
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.sitting.arming.is_armed(now)
    }

    /// Why the call cannot be allowed yet.
    pub fn obstacle(&self) -> Option<&'static str> {
        if !self.sitting.reading.is_visible() {
            Some("nothing of it is shown, so it cannot be allowed: enlarge the terminal")
        } else if !self.sitting.reading.has_reached_end() {
            Some("scroll to the end to allow it")
        } else {
            None
        }
    }

    pub fn context(&self) -> Context {
        match self.sitting.stage {
            Stage::Asking => Context::Permission,
            Stage::Rule => Context::RuleEdit,
            Stage::Reason => Context::Reason,
            Stage::Hunks => Context::Hunks,
        }
    }

    /// When time alone will change it.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.sitting.arming.wake_at(now)
    }
}

/// What comes in.
impl PermissionDialog {
    pub fn new(request: PermissionRequest, now: Instant) -> Self {
        Self {
            sitting: Sitting::new(Some(&request), now),
            waiting: VecDeque::from([request]),
        }
    }

    /// Asks this, too, after all that wait already.
    pub fn push(&mut self, request: PermissionRequest, now: Instant) {
        self.waiting.push_back(request);
        if self.waiting.len() == 1 {
            self.sit_down(now);
        }
    }

    /// Asks this no more; says whether it did. The call was stopped, or decided otherwise.
    pub fn withdraw(&mut self, call: &CallId, now: Instant) -> bool {
        let Some(index) = self
            .waiting
            .iter()
            .position(|request| request.call == *call)
        else {
            return false;
        };
        self.waiting.remove(index);
        if index == 0 {
            self.sit_down(now);
        }
        true
    }

    /// It was covered by another dialog: keys that were meant for that one must not answer it.
    pub fn uncover(&mut self, now: Instant) {
        self.sitting.arming = Arming::new(now);
    }

    /// A key that the map does not bind here: it is typed into the field, or goes nowhere.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        match self.sitting.stage {
            Stage::Asking => self.sitting.arming.press(now),
            Stage::Hunks => false,
            Stage::Rule => self.sitting.rule.input(key),
            Stage::Reason => self.sitting.reason.input(key),
        };
    }

    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.trim_end_matches('\n');
        let text = text.replace(|letter: char| letter.is_control() && letter != '\n', " ");
        match self.sitting.stage {
            Stage::Asking | Stage::Hunks => false,
            Stage::Rule => self.sitting.rule.insert_str(text),
            Stage::Reason => self.sitting.reason.insert_str(text),
        };
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        self.sitting.reading_mut().scroll(rows);
    }

    /// Takes over what the layout of the current request and stage found out.
    pub fn settle(&mut self, rest: DialogRest) {
        match (self.sitting.stage, &mut self.sitting.picking) {
            (Stage::Hunks, Some(picking)) => picking.settle(rest),
            (Stage::Asking | Stage::Rule | Stage::Reason | Stage::Hunks, _) => {
                self.sitting.reading.settle(rest);
            }
        }
    }

    /// Carries an action out; `None` if it is not one of this dialog.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        if self.moves(action) {
            return Some(Verdict::Stays);
        }
        self.sitting.notice = None;
        match self.sitting.stage {
            Stage::Asking => self.answer(action, now),
            Stage::Rule => self.edit_rule(action, now),
            Stage::Reason => self.give_reason(action, now),
            Stage::Hunks => self.pick(action, now),
        }
    }
}

/// The stages. An action that none of them knows belongs to somebody else.
impl PermissionDialog {
    fn moves(&mut self, action: Action) -> bool {
        let reading = self.sitting.reading_mut();
        match action {
            Action::LineDown => reading.scroll(1),
            Action::LineUp => reading.scroll(-1),
            Action::PageDown => reading.turn(2),
            Action::PageUp => reading.turn(-2),
            Action::HalfPageDown => reading.turn(1),
            Action::HalfPageUp => reading.turn(-1),
            Action::Top => reading.go_to_start(),
            Action::Bottom => reading.go_to_end(),
            _ => return false,
        }
        true
    }

    fn answer(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        let is_way_out = action == Action::DenyAndInterrupt && self.sitting.arming.lets_out(now);
        let is_meant = self.sitting.arming.press(now) || is_way_out;
        if !is_meant {
            return is_answer(action).then_some(Verdict::Stays);
        }
        Some(match action {
            Action::AllowOnce => match self.obstacle() {
                None => self.close(Answer::Allow, now),
                Some(obstacle) => self.refuse(obstacle),
            },
            Action::AllowForSession => match self.coverable() {
                Ok(RuleOffer { rule, .. }) => self.close(Answer::AllowForSession { rule }, now),
                Err(obstacle) => self.refuse(obstacle),
            },
            Action::AllowAlways => match self.coverable() {
                Ok(_) => self.open(Stage::Rule, now),
                Err(obstacle) => self.refuse(obstacle),
            },
            Action::DenyWithReason => self.open(Stage::Reason, now),
            Action::ChooseHunks => self.begin_picking(now),
            Action::Deny => self.close(Answer::Deny { reason: None }, now),
            Action::DenyAndInterrupt => self.leave(now),
            _ => return None,
        })
    }

    fn edit_rule(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        match action {
            Action::SaveRule if self.sitting.arming.press(now) => {}
            Action::SaveRule => return Some(Verdict::Stays),
            Action::Back => return Some(self.open(Stage::Asking, now)),
            _ => return None,
        }
        let rule = text_of(&self.sitting.rule);
        let problem = self.obstacle().map(str::to_owned);
        Some(match problem.map_or_else(|| check_rule(&rule), Err) {
            Ok(()) => self.close(Answer::AllowAlways { rule }, now),
            Err(problem) => self.refuse(problem),
        })
    }

    fn give_reason(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        match action {
            Action::SendReason => {
                let reason = text_of(&self.sitting.reason);
                let reason = (!reason.is_empty()).then_some(reason);
                Some(self.close(Answer::Deny { reason }, now))
            }
            Action::Back => Some(self.open(Stage::Asking, now)),
            _ => None,
        }
    }

    fn begin_picking(&mut self, now: Instant) -> Verdict {
        let Sitting {
            picking,
            diff,
            reading,
            ..
        } = &mut self.sitting;
        if picking.is_none() {
            *picking = diff.clone().and_then(Picking::new);
        }
        let Some(picking) = picking else {
            return self.refuse("there are no changes to pick from");
        };
        if reading.has_reached_end() {
            picking.note_all_read();
        }
        self.open(Stage::Hunks, now)
    }

    fn pick(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        let Sitting {
            picking, arming, ..
        } = &mut self.sitting;
        let picking = picking.as_mut()?;
        let notice = match action {
            Action::AcceptHunk => picking.take(),
            Action::RejectHunk => picking.leave_out(),
            Action::AcceptRest => picking.take_rest(),
            Action::RejectRest => picking.leave_out_rest(),
            Action::SplitHunk => picking.split(),
            Action::Next => picking.step(1),
            Action::Previous => picking.step(-1),
            Action::ApplyHunks if !arming.press(now) => None,
            Action::ApplyHunks => match picking.apply() {
                Ok(answer) => return Some(self.close(answer, now)),
                Err(warning) => Some(warning),
            },
            Action::Back => return Some(self.open(Stage::Asking, now)),
            _ => return None,
        };
        self.sitting.notice = notice;
        Some(Verdict::Stays)
    }
}

impl PermissionDialog {
    /// The rule that would cover such calls, if one may, and all that it covers has been shown.
    fn coverable(&self) -> Result<RuleOffer, &'static str> {
        let offer = self.current().and_then(|request| request.rule.clone());
        let offer = offer.ok_or("no rule may cover such a call: it is asked about each time")?;
        self.obstacle().map_or(Ok(offer), Err)
    }

    fn open(&mut self, stage: Stage, now: Instant) -> Verdict {
        self.sitting.go_to(stage, now);
        Verdict::Stays
    }

    fn refuse(&mut self, why: impl Into<String>) -> Verdict {
        self.sitting.notice = Some(why.into());
        Verdict::Stays
    }

    fn close(&mut self, answer: Answer, now: Instant) -> Verdict {
        match self.next(now) {
            Some(call) => Verdict::Answered(call, answer),
            None => Verdict::Stays,
        }
    }

    fn leave(&mut self, now: Instant) -> Verdict {
        self.next(now)
            .map_or(Verdict::Stays, Verdict::AnsweredAndInterrupt)
    }

    /// Takes the current request away; the one after it has not been seen yet.
    fn next(&mut self, now: Instant) -> Option<CallId> {
        let request = self.waiting.pop_front()?;
        self.sit_down(now);
        Some(request.call)
    }

    fn sit_down(&mut self, now: Instant) {
        self.sitting = Sitting::new(self.waiting.front(), now);
    }
}

/// Whether the action ends the question, or leads to a stage that can.
fn is_answer(action: Action) -> bool {
    matches!(
        action,
        Action::AllowOnce
            | Action::AllowForSession
            | Action::AllowAlways
            | Action::Deny
            | Action::DenyWithReason
            | Action::DenyAndInterrupt
            | Action::ChooseHunks
    )
}

fn field_with(text: &str) -> TextArea<'static> {
    let mut field = TextArea::from(text.split('\n'));
    field.move_cursor(CursorMove::Bottom);
    field.move_cursor(CursorMove::End);
    field
}

fn text_of(field: &TextArea<'_>) -> String {
    field.lines().join("\n").trim().to_owned()
}

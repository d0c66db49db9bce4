//! The questions of calls, one after the other in the order of the calls.
//!
//! The first is on the screen. Whenever another one comes to the front (after a reply, or because a call was stopped),
//! it ignores keys until it is armed, because the person has not seen it yet. Each kind of question has further checks
//! of its own.

mod choice;
pub mod form;
mod page;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use crossterm::event::KeyEvent;

pub use self::choice::ChoiceDialog;
pub use self::form::FormDialog;
pub use self::page::Page;
use super::DialogLayout;
use super::permission::{self, PermissionDialog, Stage};
use crate::keymap::{Action, Context};
use crate::protocol::{Answer, CallRef, Question, QuestionKind, Reply};

#[derive(Debug)]
pub struct Questions {
    /// `None` once all are answered, which closes the dialog.
    front: Option<CurrentQuestion>,
    behind: VecDeque<Question>,
    /// How many of the questions that arrived together have been answered.
    answered: usize,
}

/// The question in front of the person.
#[derive(Debug)]
pub struct CurrentQuestion {
    pub call: CallRef,
    /// Who asks, if it is not the main conversation.
    pub asker: Option<String>,
    pub front: Front,
    /// As it arrived, in case another one comes before it.
    question: Question,
}

/// The question by its kind, with what has been done about it so far.
#[derive(Debug)]
pub enum Front {
    Permission(Box<PermissionDialog>),
    Choice(Box<ChoiceDialog>),
    Form(Box<FormDialog>),
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The question is still open.
    Stays,
    Replied(CallRef, Reply),
    /// The person edits this text of the question in their editor.
    Edits(CallRef, String),
    /// Denied, and the whole turn is to stop.
    DeniedAndInterrupt(CallRef),
}

impl CurrentQuestion {
    fn new(question: Question, now: Instant) -> Self {
        let Question { call, asker, kind } = question.clone();
        let front = match kind {
            QuestionKind::Permission(request) => {
                Front::Permission(Box::new(PermissionDialog::new(request, now)))
            }
            QuestionKind::Choice(requests) => {
                Front::Choice(Box::new(ChoiceDialog::new(requests, now)))
            }
            QuestionKind::Form(request) => Front::Form(Box::new(FormDialog::new(request, now))),
        };
        Self {
            call,
            asker,
            front,
            question,
        }
    }

    /// Whether keys can answer it.
    fn is_armed(&self, now: Instant) -> bool {
        match &self.front {
            Front::Permission(permission) => permission.is_armed(now),
            Front::Choice(choice) => choice.is_armed(now),
            Front::Form(form) => form.is_armed(now),
        }
    }
}

/// What the view reads.
impl Questions {
    pub fn current(&self) -> Option<&CurrentQuestion> {
        self.front.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.front.is_none()
    }

    /// The number of the current question among those that arrived together, and how many these are.
    pub fn position(&self) -> (usize, usize) {
        let waiting = self.behind.len() + usize::from(self.front.is_some());
        (self.answered + 1, self.answered + waiting)
    }

    /// The current question, if it asks for a permission.
    pub fn permission(&self) -> Option<&PermissionDialog> {
        match &self.front.as_ref()?.front {
            Front::Permission(permission) => Some(permission),
            Front::Choice(_) | Front::Form(_) => None,
        }
    }

    pub fn permission_mut(&mut self) -> Option<&mut PermissionDialog> {
        match &mut self.front.as_mut()?.front {
            Front::Permission(permission) => Some(permission),
            Front::Choice(_) | Front::Form(_) => None,
        }
    }

    pub fn context(&self) -> Context {
        match self.front.as_ref().map(|current| &current.front) {
            Some(Front::Permission(permission)) => permission.context(),
            Some(Front::Choice(choice)) => choice.context(),
            Some(Front::Form(form)) => form.context(),
            None => Context::Question,
        }
    }

    /// When it changes by time alone.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        match &self.front.as_ref()?.front {
            Front::Permission(permission) => permission.wake_at(now),
            Front::Choice(choice) => choice.wake_at(now),
            Front::Form(form) => form.wake_at(now),
        }
    }
}

/// What changes it.
impl Questions {
    pub fn new(question: Question, now: Instant) -> Self {
        Self {
            front: Some(CurrentQuestion::new(question, now)),
            behind: VecDeque::new(),
            answered: 0,
        }
    }

    /// Adds a question. Those that wait are in the order of their calls, which is also the order of their rows. The one
    /// in front stays, unless it appeared so recently that no key could have answered it yet.
    pub fn push(&mut self, question: Question, now: Instant) {
        let is_first =
            |current: &CurrentQuestion| current.call > question.call && !current.is_armed(now);
        match &self.front {
            Some(current) if is_first(current) && self.answered == 0 => {
                self.behind.push_front(current.question.clone());
                self.front = Some(CurrentQuestion::new(question, now));
            }
            Some(_) => {
                let after = |other: &Question| other.call < question.call;
                let at = self.behind.partition_point(after);
                self.behind.insert(at, question);
            }
            None => self.front = Some(CurrentQuestion::new(question, now)),
        }
    }

    /// Withdraws the question of a call that was stopped or decided otherwise; returns whether it had one.
    pub fn withdraw(&mut self, call: CallRef, now: Instant) -> bool {
        let (_, before) = self.position();
        self.keep_only(|other| other != call, now);
        self.position().1 < before
    }

    /// Withdraws all questions except those of these calls.
    pub fn keep_only(&mut self, kept: impl Fn(CallRef) -> bool, now: Instant) {
        self.behind.retain(|question| kept(question.call));
        if self
            .front
            .as_ref()
            .is_some_and(|current| !kept(current.call))
        {
            self.advance(now);
        }
    }

    /// Removes the current question.
    fn advance(&mut self, now: Instant) {
        let next = self.behind.pop_front();
        self.front = next.map(|question| CurrentQuestion::new(question, now));
    }

    /// A dialog that covered it was closed: keys meant for that one must not answer this one.
    pub fn rearm(&mut self, now: Instant) {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Permission(permission)) => permission.rearm(now),
            Some(Front::Choice(choice)) => choice.rearm(now),
            Some(Front::Form(form)) => form.rearm(now),
            None => {}
        }
    }

    /// A key that is no answer was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Permission(permission)) => permission.press(now),
            Some(Front::Choice(choice)) => choice.press(now),
            Some(Front::Form(form)) => form.press(now),
            None => false,
        }
    }

    /// A click on an option; returns whether it may act.
    pub fn press_option(&mut self, option: usize, now: Instant) -> bool {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Choice(choice)) => choice.press_option(option, now),
            Some(Front::Form(form)) => {
                form.press_field(option, now);
                false
            }
            Some(Front::Permission(_)) | None => false,
        }
    }

    /// A click on the tab of a question.
    pub fn press_tab(&mut self, tab: usize, now: Instant) {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Choice(choice)) => choice.press_tab(tab, now),
            Some(Front::Permission(_) | Front::Form(_)) | None => {}
        }
    }

    /// A key that is not bound here: a letter of a text, or the number of an option.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Option<Verdict> {
        let chooses = match &mut self.front.as_mut()?.front {
            Front::Permission(permission) => {
                permission.key(key, now);
                false
            }
            Front::Choice(choice) => choice.key(key, now),
            Front::Form(form) => {
                form.key(key, now);
                false
            }
        };
        chooses.then(|| self.perform(Action::Choose, now)).flatten()
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Permission(permission)) => permission.paste(text),
            Some(Front::Choice(choice)) => choice.paste(text, now),
            Some(Front::Form(form)) => form.paste(text, now),
            None => {}
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Permission(permission)) => permission.scroll(rows),
            Some(Front::Choice(choice)) => choice.scroll(rows),
            Some(Front::Form(form)) => form.scroll(rows),
            None => {}
        }
    }

    /// Records what the layout reports about the current question.
    pub fn record_layout(&mut self, layout: DialogLayout) {
        match self.front.as_mut().map(|current| &mut current.front) {
            Some(Front::Permission(permission)) => permission.record_layout(layout),
            Some(Front::Choice(choice)) => choice.record_layout(layout),
            Some(Front::Form(form)) => form.record_layout(layout),
            None => {}
        }
    }

    /// Performs an action; `None` if it is not one of the current question's.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        let CurrentQuestion { call, front, .. } = self.front.as_mut()?;
        let call = *call;
        let verdict = match front {
            Front::Permission(permission) => match permission.perform(action, now)? {
                permission::Verdict::Stays => return Some(Verdict::Stays),
                permission::Verdict::Answered(answer) => {
                    Verdict::Replied(call, Reply::Permission(answer))
                }
                permission::Verdict::AnsweredAndInterrupt => Verdict::DeniedAndInterrupt(call),
            },
            Front::Choice(choice) if action == Action::OpenEditor => {
                let text = choice.edit(now);
                return Some(text.map_or(Verdict::Stays, |text| Verdict::Edits(call, text)));
            }
            Front::Choice(choice) => match choice.perform(action, now) {
                Some(reply) => Verdict::Replied(call, reply),
                None => return Some(Verdict::Stays),
            },
            Front::Form(form) => match form.perform(action, now) {
                Some(reply) => Verdict::Replied(call, reply),
                None => return Some(Verdict::Stays),
            },
        };
        self.answered += 1;
        self.advance(now);
        Some(verdict)
    }

    /// The person has edited the text of this call's question; returns whether it is still open.
    pub fn edited(&mut self, call: CallRef, text: &str, now: Instant) -> bool {
        match &mut self.front {
            Some(current) if current.call == call => match &mut current.front {
                Front::Choice(choice) => {
                    choice.edited(text, now);
                    true
                }
                Front::Permission(_) | Front::Form(_) => false,
            },
            Some(_) | None => false,
        }
    }

    /// The action that closes what is in front.
    pub fn closing_action(&self) -> Action {
        match self.permission().map(PermissionDialog::stage) {
            Some(Stage::Asking) => Action::DenyAndInterrupt,
            Some(Stage::Rule | Stage::Reason | Stage::Hunks) => Action::Back,
            None => Action::Dismiss,
        }
    }
}

/// The reply for a call that was denied without a reason.
pub const DENIED: Reply = Reply::Permission(Answer::Deny { reason: None });

//! What calls ask the person: one question after the other, in the order in which they came.
//!
//! The first is on the screen. Whatever brings another one to the front (a reply, or a call that was stopped), that one takes
//! no key until it is armed: it has not been seen yet. What keeps each answer honest is the part of its own kind.

mod choice;
mod page;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use crossterm::event::KeyEvent;

pub use self::choice::ChoiceDialog;
pub use self::page::Page;
use super::DialogRest;
use super::permission::{self, PermissionDialog, Stage};
use crate::keymap::{Action, Context};
use crate::protocol::{Answer, CallRef, Question, QuestionKind, Reply};

#[derive(Debug)]
pub struct Questions {
    /// `None` once all are answered, which closes the dialog.
    front: Option<Asked>,
    behind: VecDeque<Question>,
    /// How many of those that were asked together have their answers.
    answered: usize,
}

/// The question in front of the person.
#[derive(Debug)]
pub struct Asked {
    pub call: CallRef,
    /// Who asks, where that is not the conversation that the person has.
    pub asker: Option<String>,
    pub front: Front,
}

/// By its kind, with all that was done about it so far.
#[derive(Debug)]
pub enum Front {
    Permission(Box<PermissionDialog>),
    Choice(Box<ChoiceDialog>),
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The question goes on waiting.
    Stays,
    Replied(CallRef, Reply),
    /// The person changes this text of the question in their editor.
    Edits(CallRef, String),
    /// Denied, and the whole turn is to stop.
    DeniedAndInterrupt(CallRef),
}

impl Asked {
    fn new(question: Question, now: Instant) -> Self {
        let Question { call, asker, kind } = question;
        let front = match kind {
            QuestionKind::Permission(request) => {
                Front::Permission(Box::new(PermissionDialog::new(request, now)))
            }
            QuestionKind::Choice(requests) => {
                Front::Choice(Box::new(ChoiceDialog::new(requests, now)))
            }
        };
        Self { call, asker, front }
    }
}

/// What the view reads.
impl Questions {
    pub fn current(&self) -> Option<&Asked> {
        self.front.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.front.is_none()
    }

    /// The place of the current question among those that were asked together, and how many these are.
    pub fn position(&self) -> (usize, usize) {
        let waiting = self.behind.len() + usize::from(self.front.is_some());
        (self.answered + 1, self.answered + waiting)
    }

    /// The current question, if it is whether a call may run.
    pub fn permission(&self) -> Option<&PermissionDialog> {
        match &self.front.as_ref()?.front {
            Front::Permission(permission) => Some(permission),
            Front::Choice(_) => None,
        }
    }

    pub fn permission_mut(&mut self) -> Option<&mut PermissionDialog> {
        match &mut self.front.as_mut()?.front {
            Front::Permission(permission) => Some(permission),
            Front::Choice(_) => None,
        }
    }

    pub fn context(&self) -> Context {
        match self.front.as_ref().map(|asked| &asked.front) {
            Some(Front::Permission(permission)) => permission.context(),
            Some(Front::Choice(choice)) => choice.context(),
            None => Context::Question,
        }
    }

    /// When time alone will change it.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        match &self.front.as_ref()?.front {
            Front::Permission(permission) => permission.wake_at(now),
            Front::Choice(choice) => choice.wake_at(now),
        }
    }
}

/// What comes in.
impl Questions {
    pub fn new(question: Question, now: Instant) -> Self {
        Self {
            front: Some(Asked::new(question, now)),
            behind: VecDeque::new(),
            answered: 0,
        }
    }

    /// Asks this, too, after all that wait already.
    pub fn push(&mut self, question: Question, now: Instant) {
        if self.front.is_some() {
            self.behind.push_back(question);
        } else {
            self.front = Some(Asked::new(question, now));
        }
    }

    /// Asks no more what this call asked; says whether it did. The call was stopped, or decided otherwise.
    pub fn withdraw(&mut self, call: CallRef, now: Instant) -> bool {
        let (_, before) = self.position();
        self.keep_only(|other| other != call, now);
        self.position().1 < before
    }

    /// Asks nothing more but what these calls ask.
    pub fn keep_only(&mut self, kept: impl Fn(CallRef) -> bool, now: Instant) {
        self.behind.retain(|question| kept(question.call));
        if self.front.as_ref().is_some_and(|asked| !kept(asked.call)) {
            self.advance(now);
        }
    }

    /// Takes the current question away.
    fn advance(&mut self, now: Instant) {
        let next = self.behind.pop_front();
        self.front = next.map(|question| Asked::new(question, now));
    }

    /// It was covered by another dialog: keys that were meant for that one must not answer it.
    pub fn uncover(&mut self, now: Instant) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.uncover(now),
            Some(Front::Choice(choice)) => choice.uncover(now),
            None => {}
        }
    }

    /// Something else than an answer was pressed; says whether it counts.
    pub fn press(&mut self, now: Instant) -> bool {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.press(now),
            Some(Front::Choice(choice)) => choice.press(now),
            None => false,
        }
    }

    /// The mouse is pressed at an option; says whether it counts.
    pub fn press_option(&mut self, option: usize, now: Instant) -> bool {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Choice(choice)) => choice.press_option(option, now),
            Some(Front::Permission(_)) | None => false,
        }
    }

    /// The mouse is pressed at the tab of a question.
    pub fn press_tab(&mut self, tab: usize, now: Instant) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Choice(choice)) => choice.press_tab(tab, now),
            Some(Front::Permission(_)) | None => {}
        }
    }

    /// A key that the map does not bind here.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.key(key, now),
            Some(Front::Choice(choice)) => choice.key(key, now),
            None => {}
        }
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.paste(text),
            Some(Front::Choice(choice)) => choice.paste(text, now),
            None => {}
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.scroll(rows),
            Some(Front::Choice(choice)) => choice.scroll(rows),
            None => {}
        }
    }

    /// Takes over what the layout of the current question found out.
    pub fn settle(&mut self, rest: DialogRest) {
        match self.front.as_mut().map(|asked| &mut asked.front) {
            Some(Front::Permission(permission)) => permission.settle(rest),
            Some(Front::Choice(choice)) => choice.settle(rest),
            None => {}
        }
    }

    /// Carries an action out; `None` if it is not one of the current question.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        let Asked { call, front, .. } = self.front.as_mut()?;
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
        };
        self.answered += 1;
        self.advance(now);
        Some(verdict)
    }

    /// The person has changed the text of this call's question; says whether it is still asked.
    pub fn edited(&mut self, call: CallRef, text: &str, now: Instant) -> bool {
        match &mut self.front {
            Some(asked) if asked.call == call => match &mut asked.front {
                Front::Choice(choice) => {
                    choice.edited(text, now);
                    true
                }
                Front::Permission(_) => false,
            },
            Some(_) | None => false,
        }
    }

    /// The action that leaves what is in front.
    pub fn way_out(&self) -> Action {
        match self.permission().map(PermissionDialog::stage) {
            Some(Stage::Asking) => Action::DenyAndInterrupt,
            Some(Stage::Rule | Stage::Reason | Stage::Hunks) => Action::Back,
            None => Action::Dismiss,
        }
    }
}

/// What a call is told that was denied without a reason.
pub const DENIED: Reply = Reply::Permission(Answer::Deny { reason: None });

//! The dialogs: a closed set, each with its own state. The last one opened has the keys.

pub mod by_hand;
pub mod filter;
pub mod find;
pub mod help;
pub mod pager;
pub mod paging;
pub mod pause;
pub mod permission;
pub mod picker;
pub mod question;
pub mod trust;

use std::time::Instant;

use crossterm::event::KeyEvent;

use self::by_hand::ByHandDialog;
use self::help::HelpDialog;
use self::pager::Pager;
use self::pause::PauseDialog;
use self::picker::Picker;
use self::question::{Questions, Verdict};
use self::trust::TrustDialog;
use crate::keymap::Context;

#[derive(Debug)]
pub enum Dialog {
    /// The questions of calls, one after the other.
    Question(Box<Questions>),
    /// Asks whether to trust the project.
    Trust(Box<TrustDialog>),
    /// A limit was reached.
    Pause(PauseDialog),
    /// A call's result, typed by the person.
    ByHand(Box<ByHandDialog>),
    /// A list to choose from.
    Picker(Box<Picker>),
    /// A page to read.
    Pager(Box<Pager>),
    Help(Box<HelpDialog>),
}

/// What the layout reports about the dialog in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DialogLayout {
    /// How far it can be scrolled.
    pub furthest: usize,
    /// How many rows of its content are visible.
    pub visible: usize,
    /// Which answers of a question are visible.
    pub answers: Answers,
}

/// Which of the answers to choose from are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    #[default]
    None,
    /// At least the one that has the keys.
    Current,
    All,
}

impl Dialog {
    /// Whether it replaces the input, below the conversation that it is about. The others cover the screen.
    pub fn replaces_input(&self) -> bool {
        match self {
            Dialog::Question(_) | Dialog::Trust(_) | Dialog::Pause(_) | Dialog::ByHand(_) => true,
            Dialog::Picker(_) | Dialog::Pager(_) | Dialog::Help(_) => false,
        }
    }

    /// The questions of calls, if it is the dialog that asks them.
    pub fn questions(&self) -> Option<&Questions> {
        match self {
            Dialog::Question(questions) => Some(questions),
            Dialog::Trust(_)
            | Dialog::Pause(_)
            | Dialog::ByHand(_)
            | Dialog::Picker(_)
            | Dialog::Pager(_)
            | Dialog::Help(_) => None,
        }
    }

    pub fn questions_mut(&mut self) -> Option<&mut Questions> {
        match self {
            Dialog::Question(questions) => Some(questions),
            Dialog::Trust(_)
            | Dialog::Pause(_)
            | Dialog::ByHand(_)
            | Dialog::Picker(_)
            | Dialog::Pager(_)
            | Dialog::Help(_) => None,
        }
    }

    /// Whether all its questions are answered or withdrawn, so that it has to close.
    pub fn is_answered(&self) -> bool {
        self.questions().is_some_and(Questions::is_empty)
    }

    /// When it changes by time alone.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        match self {
            Dialog::Question(dialog) => dialog.wake_at(now),
            Dialog::Trust(dialog) => dialog.wake_at(now),
            Dialog::Pause(dialog) => dialog.wake_at(now),
            Dialog::ByHand(_) | Dialog::Picker(_) | Dialog::Pager(_) | Dialog::Help(_) => None,
        }
    }

    /// The context that its keys are looked up in.
    pub fn context(&self) -> Context {
        match self {
            Dialog::Question(dialog) => dialog.context(),
            Dialog::Trust(_) => Context::Trust,
            Dialog::Pause(_) => Context::Question,
            Dialog::ByHand(_) => Context::Reason,
            Dialog::Picker(picker) if picker.renaming().is_some() => Context::Rename,
            Dialog::Picker(picker) => picker.kind.context(),
            Dialog::Pager(pager) => pager.context(),
            Dialog::Help(_) => Context::Help,
        }
    }

    /// A key that is not bound here goes to the dialog's text field, if it has one, or it answers a question.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Option<Verdict> {
        match self {
            Dialog::Question(dialog) => return dialog.key(key, now),
            Dialog::ByHand(dialog) => dialog.key(key),
            Dialog::Picker(picker) => picker.key(key),
            Dialog::Help(help) => help.key(key),
            Dialog::Pager(pager) => pager.key(key),
            Dialog::Trust(dialog) => drop(dialog.press(now)),
            Dialog::Pause(_) => {}
        }
        None
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        match self {
            Dialog::Question(dialog) => dialog.paste(text, now),
            Dialog::ByHand(dialog) => dialog.paste(text),
            Dialog::Picker(picker) => picker.paste(text),
            Dialog::Help(help) => help.paste(text),
            Dialog::Pager(pager) => pager.paste(text),
            Dialog::Trust(_) | Dialog::Pause(_) => {}
        }
    }

    /// A dialog that covered it was closed: keys meant for that one must not answer this one.
    pub fn rearm(&mut self, now: Instant) {
        match self {
            Dialog::Question(dialog) => dialog.rearm(now),
            Dialog::Trust(dialog) => dialog.rearm(now),
            Dialog::Pause(dialog) => dialog.rearm(now),
            Dialog::ByHand(_) | Dialog::Picker(_) | Dialog::Pager(_) | Dialog::Help(_) => {}
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        match self {
            Dialog::Question(dialog) => dialog.scroll(rows),
            Dialog::Trust(dialog) => dialog.reading.scroll(rows),
            Dialog::Picker(picker) => picker.scroll(rows),
            Dialog::Pager(pager) => pager.paging.scroll(rows),
            Dialog::Help(help) => help.paging.scroll(rows),
            Dialog::Pause(_) | Dialog::ByHand(_) => {}
        }
    }

    /// Records what the layout reports.
    pub fn record_layout(&mut self, layout: DialogLayout) {
        match self {
            Dialog::Question(dialog) => dialog.record_layout(layout),
            Dialog::Trust(dialog) => dialog.reading.record_layout(layout),
            Dialog::Pager(pager) => pager.paging.record_layout(layout),
            Dialog::Help(help) => help.paging.record_layout(layout),
            Dialog::Picker(picker) => picker.record_layout(layout),
            Dialog::Pause(_) | Dialog::ByHand(_) => {}
        }
    }
}

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
pub struct DialogRest {
    /// How far it can be scrolled.
    pub furthest: usize,
    /// How many rows of its content are visible.
    pub visible: usize,
}

impl Dialog {
    /// Whether it replaces the input, below the conversation that it is about. The others cover the screen.
    pub fn takes_input_place(&self) -> bool {
        match self {
            Dialog::Question(_) | Dialog::Trust(_) | Dialog::Pause(_) | Dialog::ByHand(_) => true,
            Dialog::Picker(_) | Dialog::Pager(_) | Dialog::Help(_) => false,
        }
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
            Dialog::Picker(_) => Context::Picker,
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
    pub fn uncover(&mut self, now: Instant) {
        match self {
            Dialog::Question(dialog) => dialog.uncover(now),
            Dialog::Trust(dialog) => dialog.uncover(now),
            Dialog::Pause(dialog) => dialog.uncover(now),
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
    pub fn settle(&mut self, rest: DialogRest) {
        match self {
            Dialog::Question(dialog) => dialog.settle(rest),
            Dialog::Trust(dialog) => dialog.reading.settle(rest),
            Dialog::Pager(pager) => pager.paging.settle(rest),
            Dialog::Help(help) => help.paging.settle(rest),
            Dialog::Picker(picker) => picker.settle(rest),
            Dialog::Pause(_) | Dialog::ByHand(_) => {}
        }
    }
}

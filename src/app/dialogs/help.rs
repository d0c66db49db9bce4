//! The help: keys and commands as they are bound, with a filter.

use crossterm::event::KeyEvent;

use super::filter::Filter;
use super::paging::Paging;
use crate::keymap::Context;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HelpDialog {
    /// The contexts in which the help was opened; they come first.
    pub first: Vec<Context>,
    /// It shows only these, until the person types a search.
    pub is_short: bool,
    pub filter: Filter,
    pub paging: Paging,
}

impl HelpDialog {
    pub fn new(first: Vec<Context>) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// The keys of one question only.
    pub fn of_question(context: Context) -> Self {
        Self {
            first: vec![context],
            is_short: true,
            ..Self::default()
        }
    }

    pub fn key(&mut self, key: KeyEvent) {
        if self.filter.key(key) {
            self.paging.go_to_start();
        }
    }

    pub fn paste(&mut self, text: &str) {
        if self.filter.paste(text) {
            self.paging.go_to_start();
        }
    }

    /// The contexts in the order of the help.
    pub fn contexts(&self) -> impl Iterator<Item = Context> {
        let rest = Context::ALL.iter().copied();
        let rest = rest.filter(|context| !self.first.contains(context));
        self.first.iter().copied().chain(rest)
    }
}

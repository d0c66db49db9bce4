//! Between what is asked and the conversation that it is about: who has the keys, and which row asks.

use super::dialogs::Dialog;
use super::transcript::Cell;
use super::{AppState, Focus};

/// How many cells may come after one that asks.
const NEAR_THE_END: usize = 200;

impl AppState {
    /// Whether the person has gone into the conversation from what is asked.
    pub fn looks_back(&self) -> bool {
        self.looks_back
    }

    /// Into the conversation that the question is about.
    pub(super) fn look_back(&mut self) {
        if self.dialogs.last().is_some_and(Dialog::takes_input_place) {
            self.focus_on(Focus::Conversation);
            self.looks_back = true;
        }
    }

    /// The key that led back must not answer.
    pub(super) fn return_to_question(&mut self) {
        let was_away = std::mem::take(&mut self.looks_back);
        if let Some(dialog) = self.dialogs.last_mut().filter(|_| was_away) {
            dialog.uncover(self.now);
        }
    }

    /// Something has happened, and so many dialogs were open before.
    pub(super) fn turn_to_front(&mut self, before: usize) {
        let is_new = self.dialogs.len() > before;
        let closed = self.dialogs.len() < before;
        if is_new {
            self.drop_click();
        }
        // What has just come has the keys; where nothing is asked, there is nothing to return to.
        let is_asked = self.dialogs.last().is_some_and(Dialog::takes_input_place);
        self.looks_back &= is_asked && !is_new;
        if let Some(dialog) = self.dialogs.last_mut().filter(|_| closed) {
            // Whatever closed the one before it, a key that was meant for that one may be on its way.
            dialog.uncover(self.now);
        }
    }

    /// The cell of the call whose question is in front; one of the last, because what asks has just been made.
    pub fn asking_cell(&self) -> Option<usize> {
        let asked = self.dialogs.iter().rev().find_map(|dialog| match dialog {
            Dialog::Question(questions) => questions.current(),
            Dialog::Trust(_)
            | Dialog::Pause(_)
            | Dialog::ByHand(_)
            | Dialog::Picker(_)
            | Dialog::Pager(_)
            | Dialog::Help(_) => None,
        })?;
        let key = self.calls.find(asked.call)?;
        let entries = self.conversation().entries();
        let mut last = entries.iter().enumerate().rev().take(NEAR_THE_END);
        last.find_map(|(index, entry)| (entry.cell == Cell::Call(key)).then_some(index))
    }
}

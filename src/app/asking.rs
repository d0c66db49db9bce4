//! How an open question and the conversation behind it share the keys, and which row of the conversation belongs to it.

use super::dialogs::Dialog;
use super::transcript::Cell;
use super::{AppState, Focus};

/// The call that asks is searched for only among this many of the last cells.
const NEAR_THE_END: usize = 200;

impl AppState {
    /// Whether the person left the question to look at the conversation.
    pub fn is_viewing_conversation(&self) -> bool {
        self.viewing_conversation
    }

    /// Moves the keys from the question to the conversation that it is about.
    pub(super) fn view_conversation(&mut self) {
        if self.dialogs.last().is_some_and(Dialog::replaces_input) {
            self.focus_on(Focus::Conversation);
            self.viewing_conversation = true;
        }
    }

    /// Gives the keys back to the question. The key that did so must not answer it.
    pub(super) fn return_to_question(&mut self) {
        let was_away = std::mem::take(&mut self.viewing_conversation);
        if let Some(dialog) = self.dialogs.last_mut().filter(|_| was_away) {
            dialog.rearm(self.now);
        }
    }

    /// Gives the keys to the newest dialog after an event; `before` is how many dialogs were open before it.
    pub(super) fn focus_newest_dialog(&mut self, before: usize) {
        let is_new = self.dialogs.len() > before;
        let closed = self.dialogs.len() < before;
        if is_new {
            self.drop_click();
        }
        // A new dialog gets the keys. If no question is open, there is nothing to look back from.
        let is_asked = self.dialogs.last().is_some_and(Dialog::replaces_input);
        self.viewing_conversation &= is_asked && !is_new;
        if let Some(dialog) = self.dialogs.last_mut().filter(|_| closed) {
            // Keys meant for the dialog that was just closed may still arrive, so this one ignores them for a moment.
            dialog.rearm(self.now);
        }
    }

    /// The cell of the call whose question is in front. It is near the end, because a call asks soon after it is made.
    pub fn asking_cell(&self) -> Option<usize> {
        let asked = self.dialogs.iter().rev().find_map(Dialog::questions);
        let asked = asked?.current()?;
        let key = self.calls.find(asked.call)?;
        let entries = self.conversation().entries();
        let mut last = entries.iter().enumerate().rev().take(NEAR_THE_END);
        last.find_map(|(index, entry)| (entry.cell == Cell::Call(key)).then_some(index))
    }
}

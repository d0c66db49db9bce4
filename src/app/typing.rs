//! Keys: which are bound, and where the others are typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::search::Search;
use super::{AppState, Effect, Focus};
use crate::keymap::Resolved;

impl AppState {
    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.flash = None;
        if self.types_escape(key) {
            return self.composer.key(key, self.now);
        }
        let contexts = self.contexts();
        let settings = self.settings.clone();
        match settings.keymap.resolve(&contexts, &mut self.pending, key) {
            Resolved::Action(action) => self.perform(action),
            Resolved::Prefix | Resolved::Ignored => Vec::new(),
            Resolved::Unbound => self.type_key(key),
        }
    }

    /// Whether the key is an Esc that leaves one of vim's modes, which comes before its other meanings.
    fn types_escape(&self, key: KeyEvent) -> bool {
        key.code == KeyCode::Esc
            && self.dialogs.is_empty()
            && self.focus == Focus::Composer
            && self.composer.wants_escape()
    }

    /// A key that is not bound is typed into the text field that has the caret, or into the input if none has it.
    fn type_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.quit_armed = None;
        if let Some(dialog) = self
            .dialogs
            .last_mut()
            .filter(|_| !self.viewing_conversation)
        {
            let verdict = dialog.key(key, self.now);
            self.preview_chosen();
            return self.follow_verdict(verdict);
        }
        if self.search.as_ref().is_some_and(Search::is_typing) {
            return self.search_key(key);
        }
        match self.focus {
            Focus::Composer => self.composer.key(key, self.now),
            // While the person looks back from a question, there is no input.
            Focus::Conversation | Focus::Panel if is_text(key) && !self.viewing_conversation => {
                self.return_to_input();
                self.composer.key(key, self.now)
            }
            Focus::Conversation | Focus::Panel => Vec::new(),
        }
    }

    pub(super) fn paste(&mut self, text: String) -> Vec<Effect> {
        if self.viewing_conversation {
            self.focus_on(Focus::Composer);
        }
        if let Some(dialog) = self.dialogs.last_mut() {
            dialog.paste(&text, self.now);
            return Vec::new();
        }
        self.quit_armed = None;
        self.focus_on(Focus::Composer);
        self.composer.paste(text, self.now)
    }

    /// Gives the keys to the input. The conversation stays where the person has scrolled to.
    pub(super) fn return_to_input(&mut self) {
        let scrolled = self.focus == Focus::Conversation && self.view.is_none();
        self.selection = None;
        self.focus_on(Focus::Composer);
        if scrolled {
            self.scroll.keep_position();
        }
    }
}

/// Whether the key types a character.
pub(super) fn is_text(key: KeyEvent) -> bool {
    let chord = KeyModifiers::CONTROL | KeyModifiers::ALT;
    matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(chord)
}

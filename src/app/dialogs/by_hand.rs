//! A call's result, typed by the person so that the call doesn't have to finish.

use crossterm::event::KeyEvent;
use tui_textarea::TextArea;

use crate::protocol::CallRef;

#[derive(Debug)]
pub struct ByHandDialog {
    pub call: CallRef,
    /// What the call does, for the person.
    pub about: String,
    pub field: TextArea<'static>,
}

impl ByHandDialog {
    pub fn new(call: CallRef, about: String) -> Self {
        Self {
            call,
            about,
            field: TextArea::default(),
        }
    }

    pub fn key(&mut self, key: KeyEvent) {
        self.field.input(key);
    }

    pub fn paste(&mut self, text: &str) {
        self.field.insert_str(text);
    }

    pub fn text(&self) -> String {
        self.field.lines().join("\n")
    }
}

//! A short message to the person that disappears by itself.

use std::time::{Duration, Instant};

use super::AppState;

/// How long it stays, unless a key is pressed.
const STAYS: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    pub text: String,
    pub tone: Tone,
    pub until: Instant,
}

/// What kind of message it is, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// What the person asked for is done.
    Done,
    Information,
    Error,
}

impl AppState {
    /// Shows a message for a few seconds, in place of the key hints.
    pub fn flash(&mut self, text: impl Into<String>) {
        self.set(text.into(), Tone::Information);
    }

    pub fn flash_done(&mut self, text: impl Into<String>) {
        self.set(text.into(), Tone::Done);
    }

    pub fn flash_error(&mut self, text: impl Into<String>) {
        self.set(text.into(), Tone::Error);
    }

    fn set(&mut self, text: String, tone: Tone) {
        self.flash = Some(Flash {
            text,
            tone,
            until: self.now + STAYS,
        });
    }
}

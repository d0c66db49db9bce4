//! Asks whether to continue after a limit was reached.

use std::time::Instant;

use super::permission::ARM_DELAY;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseDialog {
    pub why: String,
    /// Earlier keys were meant for something else.
    armed_at: Instant,
}

impl PauseDialog {
    pub fn new(why: String, now: Instant) -> Self {
        Self {
            why,
            armed_at: now + ARM_DELAY,
        }
    }

    /// A dialog that covered it was closed.
    pub fn rearm(&mut self, now: Instant) {
        self.armed_at = now + ARM_DELAY;
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        now >= self.armed_at
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        (!self.is_armed(now)).then_some(self.armed_at)
    }
}

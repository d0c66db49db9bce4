//! Asks whether to trust the project, and shows what it wants before a yes is possible.

use std::time::Instant;

use super::permission::{Arming, Reading};
use crate::keymap::Action;
use crate::settings::trust::Review;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustDialog {
    pub review: Review,
    /// Identifies what is shown.
    pub mark: String,
    pub reading: Reading,
    arming: Arming,
}

impl TrustDialog {
    pub fn new(review: Review, now: Instant) -> Self {
        Self {
            mark: review.mark(),
            review,
            reading: Reading::default(),
            arming: Arming::new(now),
        }
    }

    /// A dialog that covered it was closed.
    pub fn rearm(&mut self, now: Instant) {
        self.arming = Arming::new(now);
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.arming.wake_at(now)
    }

    /// Whether a yes is possible now: all of it was visible.
    pub fn can_trust(&self, now: Instant) -> bool {
        self.arming.is_armed(now) && self.reading.is_visible() && self.reading.has_reached_end()
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.arming.is_armed(now)
    }

    /// A key was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        self.arming.press(now)
    }

    /// Performs an action; returns the person's decision, if it is one.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<bool> {
        match action {
            Action::LineDown | Action::Next => self.reading.scroll(1),
            Action::LineUp | Action::Previous => self.reading.scroll(-1),
            Action::PageDown => self.reading.turn(2),
            Action::PageUp => self.reading.turn(-2),
            Action::HalfPageDown => self.reading.turn(1),
            Action::HalfPageUp => self.reading.turn(-1),
            Action::Top => self.reading.go_to_start(),
            Action::Bottom => self.reading.go_to_end(),
            Action::Trust if self.press(now) && self.can_trust(now) => return Some(true),
            Action::DoNotTrust | Action::Back if self.press(now) => return Some(false),
            _ => {}
        }
        None
    }
}

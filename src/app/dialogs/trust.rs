//! Whether the project is trusted: what it wants, to be read before a yes counts.

use std::time::Instant;

use super::permission::{Arming, Reading};
use crate::keymap::Action;
use crate::settings::trust::Review;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustDialog {
    pub review: Review,
    /// Stands for what is shown.
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

    /// It was covered by another dialog.
    pub fn uncover(&mut self, now: Instant) {
        self.arming = Arming::new(now);
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.arming.wake_at(now)
    }

    /// Whether a yes would count now: all of it has been in view.
    pub fn can_trust(&self, now: Instant) -> bool {
        self.arming.is_armed(now) && self.reading.is_visible() && self.reading.has_reached_end()
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.arming.is_armed(now)
    }

    /// A key is pressed; says whether it counts.
    pub fn press(&mut self, now: Instant) -> bool {
        self.arming.press(now)
    }

    /// What a key means here: the person's word, if it is one.
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

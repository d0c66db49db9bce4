//! When keys begin to answer: only after the request has been visible for a moment.

use std::time::{Duration, Instant};

/// Keys pressed this soon after a request appeared were meant for something else.
pub const ARM_DELAY: Duration = Duration::from_millis(300);

/// After this time a key can always cancel, even if the person keeps typing.
const CANCEL_DELAY: Duration = Duration::from_secs(2);

/// Each key that comes too early restarts the delay, because a person who keeps typing is not answering, and a key that
/// is held down is not a second answer. So typing can never allow a call, however long it lasts; it can only cancel,
/// after `CANCEL_DELAY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arming {
    armed_at: Instant,
    cancel_at: Instant,
}

impl Arming {
    pub fn new(now: Instant) -> Self {
        Self {
            armed_at: now + ARM_DELAY,
            cancel_at: now + CANCEL_DELAY,
        }
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        now >= self.armed_at
    }

    /// Whether a key pressed now may deny and interrupt, and nothing else.
    pub fn may_cancel(&self, now: Instant) -> bool {
        self.is_armed(now) || now >= self.cancel_at
    }

    /// A key was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        let counts = self.is_armed(now);
        if !counts {
            self.armed_at = now + ARM_DELAY;
        }
        counts
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        (!self.is_armed(now)).then_some(self.armed_at)
    }
}

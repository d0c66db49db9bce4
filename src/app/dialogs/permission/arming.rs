//! When keys begin to answer: not before the request was there long enough to be meant.

use std::time::{Duration, Instant};

/// Keys within this time of a request's appearance were meant for something else.
pub const ARM_DELAY: Duration = Duration::from_millis(300);

/// However long somebody types on, the way out is open after this time.
const WAY_OUT: Duration = Duration::from_secs(2);

/// Each key that comes too early starts the delay again: who types on is not answering, and a key that is held down and
/// repeats is not a second answer. So there is no bound after which a yes counts in the middle of typing; only the way out
/// has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arming {
    armed_at: Instant,
    way_out_at: Instant,
}

impl Arming {
    pub fn new(now: Instant) -> Self {
        Self {
            armed_at: now + ARM_DELAY,
            way_out_at: now + WAY_OUT,
        }
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        now >= self.armed_at
    }

    /// Whether a key pressed now may deny and interrupt, and nothing else.
    pub fn lets_out(&self, now: Instant) -> bool {
        self.is_armed(now) || now >= self.way_out_at
    }

    /// A key is pressed; says whether it counts.
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

//! When a tool may be called again: `rateLimit` in the settings. Pure: the driver provides the time.

use std::collections::HashMap;
use std::time::Duration;

/// When the tools with a rate limit may be called next. Shared by all conversations of a session. Times are relative
/// to the session's start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pace {
    now: Duration,
    limits: HashMap<String, Duration>,
    next: HashMap<String, Duration>,
}

impl Pace {
    /// With the time between two starts, by tool.
    pub fn new(limits: impl IntoIterator<Item = (String, Duration)>) -> Self {
        Self {
            limits: limits.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn set_now(&mut self, now: Duration) {
        self.now = now;
    }

    /// Starts a call if its tool may be called now. The error says when it may.
    pub fn start(&mut self, tool: &str) -> Result<(), Duration> {
        let Some(limit) = self.limits.get(tool) else {
            return Ok(());
        };
        match self.next.get(tool) {
            Some(next) if *next > self.now => Err(*next),
            Some(_) | None => {
                self.next.insert(tool.to_owned(), self.now + *limit);
                Ok(())
            }
        }
    }
}

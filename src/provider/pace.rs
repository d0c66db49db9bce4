//! How fast an answer arrives, and therefore what a silence means.
//!
//! Chat Completions has no event for the end of a call. A call whose arguments are a complete object has certainly
//! ended when the next call begins or the response ends, usually one token later. If the server falls silent in
//! between, there is a choice: run the call at once, although more arguments may make it invalid, or wait for the end
//! of the response, although it could run. It runs once the silence is far longer than all before it. A server that
//! writes a word per second is not silent after a tenth of a second.

use std::time::Duration;

use tokio::time::Instant;

/// Long for a server that sends at once; hardly visible to a person.
const SHORTEST: Duration = Duration::from_millis(250);
/// No call waits longer than this.
const LONGEST: Duration = Duration::from_secs(5);
/// How many times longer than the pauses before it a silence must be to mean something.
const FACTOR: u32 = 4;

#[derive(Debug)]
pub struct Pace {
    /// When the last piece arrived.
    last: Instant,
    /// The longest pause between two pieces of the answer. The time before the first piece is not included: the model
    /// was thinking.
    pause: Option<Duration>,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self {
            last: now,
            pause: None,
        }
    }

    /// A piece has arrived.
    pub fn arrived(&mut self, now: Instant) {
        let pause = now.saturating_duration_since(self.last);
        self.pause = Some(
            self.pause
                .map_or(Duration::ZERO, |longest| longest.max(pause)),
        );
        self.last = now;
    }

    /// When the silence is long enough to mean that a call is finished.
    pub fn settled_at(&self) -> Instant {
        let pause = self.pause.unwrap_or_default();
        self.last + (pause * FACTOR).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{LONGEST, Pace, SHORTEST};

    /// How long a silence must be after pieces with these pauses before each of them.
    fn silence(pauses: &[u64]) -> Duration {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for pause in pauses {
            now += Duration::from_millis(*pause);
            pace.arrived(now);
        }
        pace.settled_at() - now
    }

    #[test]
    fn a_silence_must_be_far_longer_than_the_pauses_before_it() {
        assert_eq!(silence(&[]), SHORTEST);
        assert_eq!(silence(&[0, 1, 2]), SHORTEST);
        assert_eq!(silence(&[20, 300, 20]), Duration::from_millis(1200));
        assert_eq!(silence(&[20, 60_000]), LONGEST);
    }

    #[test]
    fn how_long_the_first_piece_took_says_nothing() {
        assert_eq!(silence(&[30_000, 10]), SHORTEST);
    }
}

//! How fast an answer comes, and so what its silence means.
//!
//! Chat Completions has no event for the end of a call. One whose arguments are a whole object is over for certain when
//! the next call begins or the response ends, and with a real server that is a token away. Only a server that falls silent
//! in between makes a choice necessary: to run the call at once, though something may follow that makes it malformed, or
//! to let it wait for the end of the response, though it could have run. It runs once the silence is far longer than any
//! before it. A server that writes a word each second is not silent after a tenth of one.

use std::time::Duration;

use tokio::time::Instant;

/// Long for a server that sends what it has; a person hardly sees it.
const SHORTEST: Duration = Duration::from_millis(250);
/// Nothing waits longer than this for what may never come.
const LONGEST: Duration = Duration::from_secs(5);
/// How many times longer than the pauses before it a silence must be to mean something.
const FACTOR: u32 = 4;

#[derive(Debug)]
pub struct Pace {
    /// When something came last.
    last: Instant,
    /// The longest pause between two pieces of the answer. What came before the first was thinking, not writing.
    pause: Option<Duration>,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self {
            last: now,
            pause: None,
        }
    }

    /// A piece has come.
    pub fn came(&mut self, now: Instant) {
        let pause = now.saturating_duration_since(self.last);
        self.pause = Some(
            self.pause
                .map_or(Duration::ZERO, |longest| longest.max(pause)),
        );
        self.last = now;
    }

    /// From when on the silence means that nothing more of a call will come.
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
            pace.came(now);
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

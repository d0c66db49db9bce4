//! Whether and when a failed request is sent again.
//!
//! Pure: the caller counts the tries, supplies the random number and sleeps.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often a request is sent at most, the first time included.
    pub tries: u32,
    pub base: Duration,
    pub cap: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tries: 8,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
        }
    }
}

impl Policy {
    /// How long to wait once try number `attempt` (the first is 1) has failed; `None` if it was the last one.
    ///
    /// What the server asked for (`after`) is taken as it is. Otherwise the wait doubles with every try and is
    /// shortened by up to a quarter, so that clients which failed together do not retry together. `random` is in
    /// `0.0..1.0`.
    pub fn wait(&self, attempt: u32, after: Option<Duration>, random: f64) -> Option<Duration> {
        if attempt >= self.tries {
            return None;
        }
        if after.is_some() {
            return after;
        }
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1));
        let wait = factor
            .and_then(|factor| self.base.checked_mul(factor))
            .map_or(self.cap, |wait| wait.min(self.cap));
        Some(wait.mul_f64(1.0 - 0.25 * random.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Policy;

    #[test]
    fn waits_double_up_to_the_cap_and_end_with_the_tries() {
        let policy = Policy::default();
        let waits: Vec<_> = (1..=9).map(|n| policy.wait(n, None, 0.0)).collect();
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(
            waits,
            [
                ms(500),
                ms(1000),
                ms(2000),
                ms(4000),
                ms(8000),
                ms(16_000),
                ms(30_000),
                None,
                None
            ]
        );
    }

    #[test]
    fn jitter_takes_off_a_quarter_at_most() {
        let policy = Policy::default();
        let wait = |random| policy.wait(2, None, random);
        assert_eq!(wait(1.0), Some(Duration::from_millis(750)));
        assert_eq!(wait(0.5), Some(Duration::from_millis(875)));
        assert_eq!(wait(7.0), Some(Duration::from_millis(750)));
    }

    #[test]
    fn the_server_decides_the_wait_but_not_the_number_of_tries() {
        let policy = Policy::default();
        let after = Some(Duration::from_secs(90));
        assert_eq!(policy.wait(1, after, 0.9), after);
        assert_eq!(policy.wait(8, after, 0.9), None);
    }

    #[test]
    fn huge_numbers_of_tries_do_not_overflow() {
        let policy = Policy {
            tries: u32::MAX,
            ..Policy::default()
        };
        for attempt in [0, 31, 32, 33, 64, u32::MAX - 1] {
            assert!(policy.wait(attempt, None, 0.0) <= Some(policy.cap));
        }
    }
}

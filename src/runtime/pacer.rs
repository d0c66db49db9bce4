//! When to draw: at once after the person did something, at a limited rate for output, and otherwise never.

use std::time::{Duration, Instant};

/// The least time between two frames that only show output.
const BETWEEN_FRAMES: Duration = Duration::from_millis(8);
/// The same in a long stream: fifty frames a second look smooth, and more would only cost time.
const IN_A_STREAM: Duration = Duration::from_millis(20);
/// This many frames of output in a row are a stream.
const STREAM: u32 = 8;
/// Frames further apart than this are not in a row.
const GAP: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub struct Pacer {
    wanted: Option<Urgency>,
    drawn: Option<Instant>,
    /// How many frames in a row showed only output.
    row: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Output: together with what else arrives soon.
    Soon,
    /// The person waits for it.
    Now,
}

impl Pacer {
    /// Something has changed.
    pub fn want(&mut self, urgency: Urgency) {
        self.wanted = self.wanted.max(Some(urgency));
    }

    pub fn is_due(&self, now: Instant) -> bool {
        match self.wanted {
            None => false,
            Some(Urgency::Now) => true,
            Some(Urgency::Soon) => self.deadline().is_none_or(|at| at <= now),
        }
    }

    /// When to check again. `None` if there is nothing to draw, or if it is to be drawn at once.
    pub fn deadline(&self) -> Option<Instant> {
        match self.wanted {
            None | Some(Urgency::Now) => None,
            Some(Urgency::Soon) => self.next_output(),
        }
    }

    /// Output is not drawn before this.
    pub fn next_output(&self) -> Option<Instant> {
        let between = if self.row < STREAM {
            BETWEEN_FRAMES
        } else {
            IN_A_STREAM
        };
        self.drawn.map(|drawn| drawn + between)
    }

    pub fn frame_drawn(&mut self, now: Instant) {
        let continues = self.drawn.is_some_and(|drawn| now < drawn + GAP);
        self.row = match self.wanted {
            Some(Urgency::Soon) if continues => self.row.saturating_add(1),
            Some(Urgency::Soon) => 1,
            // A key in between does not end a stream.
            Some(Urgency::Now) | None => self.row,
        };
        self.wanted = None;
        self.drawn = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN_FRAMES, GAP, IN_A_STREAM, Pacer, STREAM, Urgency};
    use std::time::{Duration, Instant};

    #[test]
    fn nothing_is_drawn_and_nothing_ticks_when_nothing_has_changed() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        assert_eq!((pacer.is_due(now), pacer.deadline()), (false, None));
        pacer.want(Urgency::Now);
        pacer.frame_drawn(now);
        assert_eq!((pacer.is_due(now), pacer.deadline()), (false, None));
    }

    #[test]
    fn the_first_output_after_a_rest_is_drawn_at_once() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        pacer.want(Urgency::Soon);
        assert!(pacer.is_due(now));
        pacer.frame_drawn(now);
        pacer.want(Urgency::Soon);
        assert!(pacer.is_due(now + BETWEEN_FRAMES));
    }

    #[test]
    fn output_that_follows_waits_for_its_frame() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        pacer.frame_drawn(now);
        pacer.want(Urgency::Soon);
        let soon = now + Duration::from_millis(7);
        assert!(!pacer.is_due(soon));
        assert_eq!(pacer.deadline(), Some(now + BETWEEN_FRAMES));
    }

    #[test]
    fn a_long_stream_is_drawn_less_often_until_it_ends() {
        let mut pacer = Pacer::default();
        let mut now = Instant::now();
        for _ in 0..STREAM {
            pacer.want(Urgency::Soon);
            now += BETWEEN_FRAMES;
            pacer.frame_drawn(now);
        }
        pacer.want(Urgency::Soon);
        assert!(!pacer.is_due(now + BETWEEN_FRAMES) && pacer.is_due(now + IN_A_STREAM));
        let later = now + GAP;
        pacer.frame_drawn(later);
        pacer.want(Urgency::Soon);
        assert!(pacer.is_due(later + BETWEEN_FRAMES));
    }

    #[test]
    fn a_key_is_drawn_at_once_together_with_pending_output() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        pacer.frame_drawn(now);
        pacer.want(Urgency::Now);
        pacer.want(Urgency::Soon);
        assert!(pacer.is_due(now));
    }
}

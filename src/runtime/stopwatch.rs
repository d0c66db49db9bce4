//! What a round of the event loop spends its time on, for the debug log: a slow one feels like a key that hangs.

use std::time::{Duration, Instant};

/// A slower round or frame is logged.
const SLOW: Duration = Duration::from_millis(50);

/// What a round does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Input,
    Jobs,
    Agent,
    /// A frame was written, colours arrived, time passed.
    Rest,
    Layout,
    Paint,
}

const PARTS: [Part; 6] = [
    Part::Input,
    Part::Jobs,
    Part::Agent,
    Part::Rest,
    Part::Layout,
    Part::Paint,
];

/// Measures one round, or one frame.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    spent: [Duration; PARTS.len()],
    /// How many things were taken in.
    laps: u32,
}

impl Stopwatch {
    pub fn start(now: Instant) -> Self {
        Self {
            last: now,
            spent: Default::default(),
            laps: 0,
        }
    }

    /// The time since the last lap was spent on this; `None` for time that is not our own: the program was stopped, or
    /// another program had the terminal.
    pub fn lap(&mut self, part: Option<Part>, now: Instant) {
        if let Some(part) = part {
            self.spent[part as usize] += now.saturating_duration_since(self.last);
            self.laps += 1;
        }
        self.last = now;
    }

    fn took(&self) -> Duration {
        self.spent.iter().sum()
    }

    /// What the time was spent on, the most first; `None` if it was not slow.
    fn slow(&self) -> Option<String> {
        if self.took() <= SLOW {
            return None;
        }
        let mut parts: Vec<_> = PARTS.iter().zip(self.spent).collect();
        parts.retain(|(_, spent)| *spent > Duration::ZERO);
        parts.sort_by_key(|(_, spent)| std::cmp::Reverse(*spent));
        let texts = parts
            .iter()
            .map(|(part, spent)| format!("{part:?} {spent:?}"));
        Some(texts.collect::<Vec<_>>().join(", "))
    }

    /// Warns if it was slow.
    pub fn stop(&self, what: &'static str) {
        if let Some(spent) = self.slow() {
            tracing::warn!(took = ?self.took(), laps = self.laps, spent, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_round_reports_what_took_its_time() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut watch = Stopwatch::start(start);
        watch.lap(Some(Part::Input), at(10));
        watch.lap(Some(Part::Agent), at(50));
        assert_eq!(watch.slow(), None);
        watch.lap(Some(Part::Input), at(51));
        assert_eq!(watch.slow().as_deref(), Some("Agent 40ms, Input 11ms"));
    }

    #[test]
    fn time_while_the_program_was_stopped_is_not_counted() {
        let start = Instant::now();
        let mut watch = Stopwatch::start(start);
        watch.lap(None, start + Duration::from_secs(60));
        watch.lap(Some(Part::Input), start + Duration::from_millis(60_001));
        assert_eq!(watch.slow(), None);
    }
}

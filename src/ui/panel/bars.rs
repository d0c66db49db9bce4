//! The bars of the list: when the model wrote, and when each call waited and ran, on the clock of its turn. Pure.

use std::time::{Duration, Instant};

use crate::app::call::Times;

/// The time of a turn, mapped to the cells of a row.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    whole: Duration,
    cells: u16,
}

/// What a cell of a bar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Blank,
    Queued,
    /// It waited for the person.
    Waited,
    Ran,
    /// The end of something that still runs.
    Grows,
}

impl Part {
    pub const fn symbol(self) -> &'static str {
        match self {
            Part::Blank => " ",
            Part::Queued => "·",
            Part::Waited => "┄",
            Part::Ran => "━",
            Part::Grows => "╸",
        }
    }
}

impl Clock {
    pub fn new(start: Instant, end: Instant, cells: u16) -> Self {
        Self {
            start,
            whole: end
                .saturating_duration_since(start)
                .max(Duration::from_millis(1)),
            cells,
        }
    }

    pub fn whole(&self) -> Duration {
        self.whole
    }

    /// The cell of a moment. Later moments are never in an earlier cell.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the width, which is a u16"
    )]
    fn cell(&self, at: Instant) -> usize {
        let since = at.saturating_duration_since(self.start).as_secs_f64();
        let part = (since / self.whole.as_secs_f64()).clamp(0.0, 1.0);
        usize::from((part * f64::from(self.cells)).round() as u16)
    }

    fn blank(&self) -> Vec<Part> {
        vec![Part::Blank; usize::from(self.cells)]
    }

    /// Fills the cells from one moment to another.
    fn fill(&self, bar: &mut [Part], from: Instant, to: Instant, part: Part) {
        let to = self.cell(to);
        let from = self.cell(from).min(to);
        bar[from..to].fill(part);
    }

    /// The same, with at least one cell.
    fn fill_visibly(&self, bar: &mut [Part], from: Instant, to: Option<Instant>) {
        let Some(last) = bar.len().checked_sub(1) else {
            return;
        };
        let end = to.map_or(bar.len(), |to| self.cell(to));
        let from = self.cell(from).min(last);
        let end = end.max(from + 1);
        bar[from..end].fill(Part::Ran);
        if to.is_none() {
            bar[end - 1] = Part::Grows;
        }
    }
}

/// The bar of a call, up to `now` if it is not over.
pub fn of_call(times: &Times, now: Instant, clock: &Clock) -> Vec<Part> {
    let mut bar = clock.blank();
    let end = times.ended.unwrap_or(now);
    let runs = times.running.unwrap_or(end).min(end);
    let waits = times.asked.unwrap_or(runs).min(runs);
    if let Some(queued) = times.queued {
        clock.fill(&mut bar, queued.min(waits), waits, Part::Queued);
    }
    clock.fill(&mut bar, waits, runs, Part::Waited);
    if times.running.is_some() {
        clock.fill_visibly(&mut bar, runs, times.ended);
    }
    bar
}

/// The bar of the model: each of its responses.
pub fn of_model(writing: &[(Instant, Option<Instant>)], clock: &Clock) -> Vec<Part> {
    let mut bar = clock.blank();
    for (from, to) in writing {
        clock.fill_visibly(&mut bar, *from, *to);
    }
    bar
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn drawn(bar: &[Part]) -> String {
        bar.iter().map(|part| part.symbol()).collect()
    }

    fn times(start: Instant, at: [Option<u64>; 5]) -> Times {
        let at = at.map(|at| at.map(|at| start + Duration::from_millis(at)));
        let [queued, begun, asked, running, ended] = at;
        Times {
            arrived: start,
            queued,
            begun,
            asked,
            running,
            ended,
            background_ended: None,
        }
    }

    #[test]
    fn a_bar_says_when_a_call_was_queued_waited_and_ran() {
        let start = Instant::now();
        let now = start + Duration::from_secs(10);
        let clock = Clock::new(start, now, 10);
        let bar = |at| drawn(&of_call(&times(start, at), now, &clock));
        let second = |second: u64| Some(second * 1000);
        assert_eq!(
            bar([second(1), second(2), None, second(2), second(5)]),
            " ·━━━     "
        );
        assert_eq!(
            bar([second(0), second(1), second(1), second(4), second(9)]),
            "·┄┄┄━━━━━ "
        );
        assert_eq!(
            bar([second(2), second(3), None, second(3), None]),
            "  ·━━━━━━╸"
        );
        assert_eq!(
            bar([second(2), second(3), second(3), None, None]),
            "  ·┄┄┄┄┄┄┄"
        );
        assert_eq!(bar([second(4), None, None, None, None]), "    ······");
        // Even a very short call is visible.
        assert_eq!(
            bar([second(10), second(10), None, second(10), second(10)]),
            "         ━"
        );
        let model = of_model(
            &[
                (start, Some(start + Duration::from_secs(2))),
                (start + Duration::from_secs(8), None),
            ],
            &clock,
        );
        assert_eq!(drawn(&model), "━━      ━╸");
    }

    proptest! {
        #[test]
        fn a_bar_has_the_width_of_its_clock_and_its_parts_are_in_order(
            cells in 0u16..200,
            whole in 0u64..100_000,
            at in proptest::array::uniform5(proptest::option::of(0u64..200_000)),
            now in 0u64..200_000,
        ) {
            let start = Instant::now();
            let clock = Clock::new(start, start + Duration::from_millis(whole), cells);
            let now = start + Duration::from_millis(now);
            let bar = of_call(&times(start, at), now, &clock);
            prop_assert_eq!(bar.len(), usize::from(cells));
            let inked: Vec<Part> = bar.iter().copied().filter(|part| *part != Part::Blank).collect();
            prop_assert!(inked.is_sorted(), "{}", drawn(&bar));
        }

        #[test]
        fn a_bar_only_grows_while_time_passes(
            cells in 1u16..100,
            begun in 0u64..1_000,
            first in 0u64..1_000,
            later in 0u64..1_000,
            asked in any::<bool>(),
        ) {
            let start = Instant::now();
            let clock = Clock::new(start, start + Duration::from_secs(3), cells);
            let at = [Some(0), Some(begun), asked.then_some(begun), (!asked).then_some(begun), None];
            let times = times(start, at);
            let until = |ms: u64| {
                let now = start + Duration::from_millis(begun + ms);
                let ended = Times { ended: Some(now), ..times };
                let bar = of_call(&ended, now, &clock);
                bar.iter().rposition(|part| *part != Part::Blank)
            };
            prop_assert!(until(first) <= until(first + later));
        }
    }
}

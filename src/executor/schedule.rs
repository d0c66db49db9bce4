//! Which calls may start: the rule about concurrency, as a pure function.

/// A call as the scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub state: SlotState,
    /// May run at the same time as other safe calls.
    pub safe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    Queued,
    Executing,
    Over,
}

/// The positions of the calls that may start now, in order.
///
/// A call may start if nothing executes, or if it and all executing calls are safe and there are fewer than `limit`.
/// The search ends at the first unsafe call that cannot start, so that nothing overtakes it.
///
/// `ready` is asked about a call that could start, and says whether the rate limit of its tool lets it. A safe call that
/// is not ready lets the safe calls after it pass, but no unsafe one: that would change what the safe call sees.
pub fn startable(slots: &[Slot], limit: usize, mut ready: impl FnMut(usize) -> bool) -> Vec<usize> {
    let executing = |slot: &&Slot| slot.state == SlotState::Executing;
    let mut running = slots.iter().filter(executing).count();
    let mut all_safe = slots.iter().filter(executing).all(|slot| slot.safe);
    let mut waits = false;
    let mut starting = Vec::new();
    for (position, slot) in slots.iter().enumerate() {
        if slot.state != SlotState::Queued {
            continue;
        }
        let fits = if slot.safe {
            running == 0 || (all_safe && running < limit)
        } else {
            running == 0 && !waits
        };
        if fits && ready(position) {
            running += 1;
            all_safe &= slot.safe;
            starting.push(position);
        } else if !slot.safe {
            break;
        } else {
            waits = true;
        }
    }
    starting
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r` is a queued safe call, `w` a queued unsafe one; capitals execute; `.` has ended.
    fn queue(notation: &str) -> Vec<Slot> {
        notation
            .chars()
            .map(|letter| Slot {
                state: match letter {
                    '.' => SlotState::Over,
                    letter if letter.is_uppercase() => SlotState::Executing,
                    _ => SlotState::Queued,
                },
                safe: letter.eq_ignore_ascii_case(&'r'),
            })
            .collect()
    }

    fn starts(notation: &str, limit: usize) -> Vec<usize> {
        startable(&queue(notation), limit, |_| true)
    }

    #[test]
    fn anything_starts_when_nothing_executes() {
        assert_eq!(starts("r", 10), [0]);
        assert_eq!(starts("w", 10), [0]);
        assert_eq!(starts(".w", 10), [1]);
    }

    #[test]
    fn safe_calls_start_together() {
        assert_eq!(starts("rrr", 10), [0, 1, 2]);
        assert_eq!(starts("RrRr", 10), [1, 3]);
    }

    #[test]
    fn nothing_overtakes_an_unsafe_call() {
        assert_eq!(starts("rrwrr", 10), [0, 1]);
        assert_eq!(starts("RRwrr", 10), [] as [usize; 0]);
        assert_eq!(starts("..wrr", 10), [2]);
    }

    #[test]
    fn an_unsafe_call_runs_alone() {
        assert_eq!(starts("Wrr", 10), [] as [usize; 0]);
        assert_eq!(starts("wrr", 10), [0]);
        assert_eq!(starts("Rw", 10), [] as [usize; 0]);
    }

    #[test]
    fn the_limit_is_respected() {
        assert_eq!(starts("rrrrr", 3), [0, 1, 2]);
        assert_eq!(starts("RRRrr", 3), [] as [usize; 0]);
        assert_eq!(starts("RR.rr", 3), [3]);
    }

    #[test]
    fn a_limit_of_zero_still_lets_one_call_run() {
        assert_eq!(starts("rr", 0), [0]);
    }

    fn starts_but(notation: &str, waiting: &[usize]) -> Vec<usize> {
        startable(&queue(notation), 10, |position| {
            !waiting.contains(&position)
        })
    }

    #[test]
    fn a_safe_call_that_waits_lets_safe_calls_pass_and_no_unsafe_one() {
        assert_eq!(starts_but("rrr", &[1]), [0, 2]);
        assert_eq!(starts_but("rw", &[0]), [] as [usize; 0]);
        assert_eq!(starts_but("rrwr", &[0]), [1]);
    }

    #[test]
    fn nothing_overtakes_an_unsafe_call_that_waits() {
        assert_eq!(starts_but("wrr", &[0]), [] as [usize; 0]);
        assert_eq!(starts_but(".wr", &[1]), [] as [usize; 0]);
    }
}

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
pub fn startable(slots: &[Slot], limit: usize) -> Vec<usize> {
    let executing = |slot: &&Slot| slot.state == SlotState::Executing;
    let mut running = slots.iter().filter(executing).count();
    let mut all_safe = slots.iter().filter(executing).all(|slot| slot.safe);
    let mut starting = Vec::new();
    for (position, slot) in slots.iter().enumerate() {
        if slot.state != SlotState::Queued {
            continue;
        }
        let fits = running == 0 || (slot.safe && all_safe && running < limit);
        if fits {
            running += 1;
            all_safe &= slot.safe;
            starting.push(position);
        } else if !slot.safe {
            break;
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
        startable(&queue(notation), limit)
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
}

//! When a call may start, one test for each rule, and random histories for all of them together.

use proptest::prelude::*;

use super::machine::{End, Input, Machine, Outcome, Policy, Step, Traits};
use super::pace::Pace;
use crate::protocol::{CallOutcome, CallRef, InterruptBehavior, OnBashError, ToolResult};

/// A machine with all of its steps so far.
pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) pace: Pace,
    /// The names of the calls: their positions.
    words: Vec<String>,
    pub(super) steps: Vec<Step>,
}

impl Rig {
    fn new() -> Self {
        Self::with(Policy::default())
    }

    pub(super) fn with(policy: Policy) -> Self {
        Self {
            machine: Machine::new(policy),
            pace: Pace::default(),
            words: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Calls named by their position; `r` is safe, `w` is unsafe and blocks interrupts, `b` is an unsafe Bash call.
    pub(super) fn calls(notation: &str) -> Self {
        let mut rig = Self::new();
        rig.add(notation);
        rig
    }

    pub(super) fn add(&mut self, notation: &str) -> &mut Self {
        for letter in notation.chars() {
            let word = self.words.len().to_string();
            self.added(&word, traits(letter, &word));
        }
        self
    }

    fn added(&mut self, word: &str, traits: Traits) -> &mut Self {
        if !self.words.iter().any(|known| known == word) {
            self.words.push(word.to_owned());
        }
        self.handle(Input::Added(word.into(), traits))
    }

    /// The position of a call.
    fn at(&self, call: CallRef) -> usize {
        let mut words = self.words.iter();
        let at = words.position(|word| CallRef::from(word.as_str()) == call);
        at.expect("a call of this rig")
    }

    fn word(&self, call: CallRef) -> &str {
        &self.words[self.at(call)]
    }

    pub(super) fn handle(&mut self, input: Input) -> &mut Self {
        let steps = self.machine.handle(input, &mut self.pace);
        self.steps.extend(steps);
        self
    }

    pub(super) fn running(&mut self, id: &str) -> &mut Self {
        self.handle(Input::Running(id.into()))
    }

    pub(super) fn succeed(&mut self, id: &str) -> &mut Self {
        self.handle(Input::Finished(id.into(), outcome(id, End::Normal)))
    }

    pub(super) fn fail(&mut self, id: &str) -> &mut Self {
        self.handle(Input::Finished(id.into(), outcome(id, End::CommandFailed)))
    }

    pub(super) fn stopped(&mut self, id: &str) -> &mut Self {
        self.handle(Input::Finished(id.into(), outcome(id, End::Stopped)))
    }

    pub(super) fn begun(&self) -> Vec<&str> {
        self.ids(|step| match step {
            Step::Begin(call) => Some(*call),
            _ => None,
        })
    }

    pub(super) fn stop_requests(&self) -> Vec<&str> {
        self.ids(|step| match step {
            Step::Stop(call) => Some(*call),
            _ => None,
        })
    }

    pub(super) fn completed(&self) -> Vec<&str> {
        self.ids(|step| match step {
            Step::Complete(call, ..) => Some(*call),
            _ => None,
        })
    }

    fn ids(&self, pick: impl Fn(&Step) -> Option<CallRef>) -> Vec<&str> {
        let picked = self.steps.iter().filter_map(pick);
        picked.map(|call| self.word(call)).collect()
    }

    pub(super) fn result(&self, wanted: &str) -> String {
        let found = self.steps.iter().find_map(|step| match step {
            Step::Complete(call, result, _) if *call == wanted.into() => {
                Some(result.as_sent().as_text())
            }
            _ => None,
        });
        found.expect("the call has completed")
    }

    pub(super) fn outcomes(&self) -> Vec<(&str, CallOutcome)> {
        let completed = self.steps.iter().filter_map(|step| match step {
            Step::Complete(call, _, outcome) => Some((self.word(*call), outcome.clone())),
            _ => None,
        });
        completed.collect()
    }

    fn delivered(&self) -> Option<Vec<&str>> {
        self.steps.iter().find_map(|step| match step {
            Step::Deliver(results) => Some(
                results
                    .iter()
                    .map(|result| result.tool_use_id.0.as_str())
                    .collect(),
            ),
            _ => None,
        })
    }
}

pub(super) fn traits(letter: char, id: &str) -> Traits {
    let safe = letter == 'r';
    let interrupt = if letter == 'w' {
        InterruptBehavior::Block
    } else {
        InterruptBehavior::Cancel
    };
    let name = match letter {
        'r' => "Read",
        'w' => "Write",
        _ => "Bash",
    };
    Traits {
        wire: id.into(),
        safe,
        read_only: safe,
        interrupt,
        tool: name.into(),
        subject: Some(id.into()),
    }
}

pub(super) fn outcome(id: &str, end: End) -> Outcome {
    let result = match end {
        End::Normal => ToolResult::text(id.into(), format!("did {id}")),
        End::CommandFailed => ToolResult::error(id.into(), format!("failed {id}")),
        End::Denied => ToolResult::error(id.into(), "denied"),
        End::Backgrounded => ToolResult::text(id.into(), "goes on"),
        End::Stopped => ToolResult::text(id.into(), ""),
    };
    Outcome { result, end }
}

#[test]
fn a_call_starts_the_moment_it_is_added() {
    assert_eq!(Rig::calls("w").begun(), ["0"]);
}

#[test]
fn safe_calls_run_together_and_an_unsafe_one_waits_for_them() {
    let mut rig = Rig::calls("rrwr");
    assert_eq!(rig.begun(), ["0", "1"]);
    rig.succeed("1");
    assert_eq!(rig.begun(), ["0", "1"]);
    rig.succeed("0");
    assert_eq!(rig.begun(), ["0", "1", "2"]);
    rig.succeed("2");
    assert_eq!(rig.begun(), ["0", "1", "2", "3"]);
}

#[test]
fn results_go_to_the_screen_at_once_and_to_the_model_in_block_order() {
    let mut rig = Rig::calls("rrr");
    rig.succeed("2").succeed("0").succeed("1");
    assert_eq!(rig.completed(), ["2", "0", "1"]);
    assert_eq!(rig.delivered(), None, "the stream may still bring calls");
    rig.handle(Input::StreamEnded);
    assert_eq!(rig.delivered(), Some(vec!["0", "1", "2"]));
}

#[test]
fn a_response_without_calls_is_delivered_when_its_stream_ends() {
    let mut rig = Rig::new();
    rig.handle(Input::StreamEnded);
    assert_eq!(rig.delivered(), Some(vec![]));
}

#[test]
fn at_most_ten_run_at_once() {
    let mut rig = Rig::calls(&"r".repeat(15));
    assert_eq!(rig.begun().len(), 10);
    rig.succeed("3");
    assert_eq!(rig.begun().len(), 11);
}

#[test]
fn a_failed_command_skips_queued_siblings_and_cancels_running_ones() {
    let mut rig = Rig::calls("b");
    rig.add("rb").fail("0");
    assert_eq!(rig.completed(), ["0", "1", "2"]);
    assert_eq!(
        rig.result("1"),
        "<tool_use_error>Skipped: Bash(0) failed, so Read(1) was not started</tool_use_error>"
    );

    let mut rig = Rig::new();
    let safe = Traits {
        safe: true,
        read_only: false,
        ..traits('b', "0")
    };
    rig.added("0", safe).add("r");
    rig.running("1").fail("0");
    assert_eq!(rig.stop_requests(), ["1"]);
    rig.stopped("1");
    assert_eq!(
        rig.result("1"),
        "<tool_use_error>Skipped: Bash(0) failed, so Read(1) was cancelled while it ran</tool_use_error>"
    );
}

#[test]
fn a_call_that_arrives_after_a_failed_command_is_skipped_too() {
    let mut rig = Rig::calls("b");
    rig.fail("0").add("r");
    assert_eq!(rig.begun(), ["0"]);
    assert_eq!(rig.completed(), ["0", "1"]);
}

#[test]
fn a_failing_read_only_command_cancels_nothing() {
    let mut rig = Rig::calls("rr");
    rig.fail("0");
    assert_eq!(rig.stop_requests(), [] as [&str; 0]);
    rig.add("b").succeed("1");
    assert_eq!(rig.begun(), ["0", "1", "2"]);
}

#[test]
fn errors_of_other_tools_cancel_nothing() {
    let mut rig = Rig::calls("wb");
    rig.handle(Input::Finished(
        "0".into(),
        Outcome {
            result: ToolResult::error("0".into(), "no such file"),
            end: End::Normal,
        },
    ));
    assert_eq!(rig.begun(), ["0", "1"]);
}

#[test]
fn cancel_later_changes_spares_reading_calls() {
    let mut rig = Rig::with(Policy {
        on_bash_error: OnBashError::CancelLaterChanges,
        ..Policy::default()
    });
    rig.add("bwr").fail("0");
    assert_eq!(rig.completed(), ["0", "1"]);
    assert_eq!(rig.begun(), ["0", "2"]);
}

#[test]
fn continue_after_a_failed_command_cancels_nothing() {
    let mut rig = Rig::with(Policy {
        on_bash_error: OnBashError::Continue,
        ..Policy::default()
    });
    rig.add("bw").fail("0");
    assert_eq!(rig.begun(), ["0", "1"]);
}

#[test]
fn an_interrupt_stops_cancelling_tools_and_lets_blocking_ones_finish() {
    let mut rig = Rig::calls("wrb");
    rig.running("0").handle(Input::Interrupted);
    assert_eq!(rig.stop_requests(), [] as [&str; 0]);
    assert!(rig.steps.contains(&Step::Finishing("0".into())));
    assert_eq!(rig.completed(), ["1", "2"]);
    assert_eq!(
        rig.result("2"),
        "<tool_use_error>Interrupted by the user: Bash(2) was not started</tool_use_error>"
    );
    rig.succeed("0").handle(Input::StreamEnded);
    assert_eq!(rig.result("0"), "did 0");
    assert_eq!(rig.delivered(), Some(vec!["0", "1", "2"]));

    let mut rig = Rig::calls("b");
    rig.running("0").handle(Input::Interrupted);
    assert_eq!(rig.stop_requests(), ["0"]);
}

#[test]
fn a_blocking_call_that_only_waits_for_approval_is_stopped_by_the_first_interrupt() {
    let mut rig = Rig::calls("w");
    rig.handle(Input::Interrupted);
    assert_eq!(rig.stop_requests(), ["0"]);
    rig.stopped("0");
    assert_eq!(
        rig.result("0"),
        "<tool_use_error>Interrupted by the user: Write(0) was not started</tool_use_error>"
    );
}

#[test]
fn a_second_interrupt_stops_blocking_tools_too() {
    let mut rig = Rig::calls("w");
    rig.running("0")
        .handle(Input::Interrupted)
        .handle(Input::Interrupted);
    assert_eq!(rig.stop_requests(), ["0"]);
}

#[test]
fn a_call_that_arrives_after_an_interrupt_does_not_start() {
    let mut rig = Rig::new();
    rig.handle(Input::Interrupted).add("r");
    assert_eq!(rig.begun(), [] as [&str; 0]);
    assert_eq!(rig.completed(), ["0"]);
}

#[test]
fn cancelling_one_call_leaves_its_siblings_alone() {
    let mut rig = Rig::calls("rrr");
    rig.running("1").handle(Input::Cancelled("1".into()));
    assert_eq!(rig.stop_requests(), ["1"]);
    rig.stopped("1")
        .succeed("0")
        .succeed("2")
        .handle(Input::StreamEnded);
    assert_eq!(rig.delivered(), Some(vec!["0", "1", "2"]));
    assert!(rig.result("1").contains("Cancelled by the user: Read(1)"));
    assert_eq!(rig.result("2"), "did 2");
}

#[test]
fn a_call_that_finished_although_it_was_told_to_stop_keeps_its_own_result() {
    let mut rig = Rig::calls("r");
    rig.running("0")
        .handle(Input::Cancelled("0".into()))
        .succeed("0");
    assert_eq!(rig.result("0"), "did 0");
}

#[test]
fn an_answer_by_hand_is_the_result() {
    let mut rig = Rig::calls("r");
    rig.handle(Input::AnsweredByHand("0".into(), "forty-two".into()))
        .succeed("0")
        .handle(Input::StreamEnded);
    assert_eq!(rig.result("0"), "forty-two");
    assert_eq!(rig.completed(), ["0"], "what comes later is ignored");
    assert_eq!(rig.stop_requests(), ["0"]);
}

#[test]
fn a_discarded_response_uses_none_of_its_results() {
    let mut rig = Rig::calls("rw");
    rig.running("0").handle(Input::Discarded);
    assert_eq!(rig.stop_requests(), ["0"]);
    assert_eq!(rig.completed(), ["1"]);
    rig.stopped("0");
    assert!(rig.result("0").contains("Discarded"));
}

#[test]
fn without_streaming_calls_run_in_batches_after_the_response() {
    let mut rig = Rig::with(Policy {
        while_streaming: false,
        ..Policy::default()
    });
    rig.add("rrwrr");
    assert_eq!(rig.begun(), [] as [&str; 0]);
    rig.handle(Input::StreamEnded);
    assert_eq!(rig.begun(), ["0", "1"]);
    rig.succeed("0").succeed("1");
    assert_eq!(rig.begun(), ["0", "1", "2"]);
    rig.succeed("2");
    assert_eq!(rig.begun(), ["0", "1", "2", "3", "4"]);
}

#[test]
fn the_same_id_twice_is_one_call() {
    let mut rig = Rig::calls("r");
    rig.added("0", traits('w', "0"));
    rig.succeed("0").handle(Input::StreamEnded);
    assert_eq!(rig.delivered(), Some(vec!["0"]));
}

/// An event of a response.
#[derive(Debug, Clone)]
enum Event {
    Add(char),
    Running(prop::sample::Index),
    Finish(prop::sample::Index, u8),
    StreamEnded,
    Interrupt,
    Cancel(prop::sample::Index),
    Again(prop::sample::Index),
    ByHand(prop::sample::Index),
}

fn event() -> impl Strategy<Value = Event> {
    use prop::sample::Index;
    prop_oneof![
        8 => prop::sample::select(vec!['r', 'r', 'w', 'b']).prop_map(Event::Add),
        6 => any::<Index>().prop_map(Event::Running),
        8 => (any::<Index>(), 0_u8..3).prop_map(|(which, end)| Event::Finish(which, end)),
        1 => Just(Event::StreamEnded),
        1 => Just(Event::Interrupt),
        2 => any::<Index>().prop_map(Event::Cancel),
        2 => any::<Index>().prop_map(Event::Again),
        1 => any::<Index>().prop_map(Event::ByHand),
    ]
}

/// Plays random events, checks every step, lets everything end, and returns the rig.
fn play(policy: Policy, events: &[Event]) -> (Rig, usize) {
    let mut rig = Rig::with(policy);
    let mut notation = String::new();
    let (mut executing, mut open): (Vec<usize>, bool) = (Vec::new(), true);
    let mut seen = 0;
    let mut check = |rig: &Rig, notation: &str, executing: &mut Vec<usize>| {
        for step in &rig.steps[seen..] {
            let at = |call: &CallRef| rig.at(*call);
            match step {
                // A call that starts again never stopped executing.
                Step::Begin(id) if executing.contains(&at(id)) => {}
                Step::Begin(id) => {
                    executing.push(at(id));
                    let safe = |at: &usize| notation.as_bytes()[*at] == b'r';
                    let exclusive = executing.len() == 1 || executing.iter().all(safe);
                    assert!(
                        exclusive,
                        "an unsafe call runs alone: {executing:?} of {notation}"
                    );
                    assert!(executing.len() <= policy.limit, "the limit is respected");
                }
                Step::Complete(id, ..) => executing.retain(|other| *other != at(id)),
                Step::Proceed(_) | Step::Stop(_) | Step::Finishing(_) | Step::Deliver(_) => {}
            }
        }
        seen = rig.steps.len();
    };
    for event in events {
        let pick = |index: &prop::sample::Index| index.get(&executing).to_string();
        match event {
            Event::Add(letter) if open => {
                notation.push(*letter);
                rig.add(&letter.to_string());
            }
            Event::StreamEnded => {
                open = false;
                rig.handle(Input::StreamEnded);
            }
            Event::Interrupt => {
                rig.handle(Input::Interrupted);
            }
            Event::Add(_) => {}
            Event::Running(_)
            | Event::Finish(..)
            | Event::Cancel(_)
            | Event::Again(_)
            | Event::ByHand(_)
                if executing.is_empty() => {}
            Event::Running(which) => {
                rig.running(&pick(which));
            }
            Event::Finish(which, 0) => {
                rig.succeed(&pick(which));
            }
            Event::Finish(which, 1) => {
                rig.fail(&pick(which));
            }
            Event::Finish(which, _) => {
                rig.stopped(&pick(which));
            }
            Event::Cancel(which) => {
                rig.handle(Input::Cancelled(pick(which).as_str().into()));
            }
            Event::Again(which) => {
                rig.handle(Input::RunAgain(pick(which).as_str().into()));
            }
            Event::ByHand(which) => {
                rig.handle(Input::AnsweredByHand(
                    pick(which).as_str().into(),
                    "by hand".into(),
                ));
            }
        }
        check(&rig, &notation, &mut executing);
    }
    rig.handle(Input::StreamEnded);
    check(&rig, &notation, &mut executing);
    let mut rounds = 0;
    while let Some(at) = executing.first() {
        rounds += 1;
        assert!(rounds <= notation.len(), "it ends");
        rig.succeed(&at.to_string());
        check(&rig, &notation, &mut executing);
    }
    (rig, notation.len())
}

proptest! {
    #[test]
    fn every_call_gets_exactly_one_result_in_block_order(
        events in prop::collection::vec(event(), 0..80),
        limit in 1_usize..12,
        streaming in any::<bool>(),
    ) {
        let policy = Policy { limit, while_streaming: streaming, ..Policy::default() };
        let (rig, calls) = play(policy, &events);
        let expected: Vec<String> = (0..calls).map(|at| at.to_string()).collect();
        prop_assert_eq!(rig.delivered().expect("delivered"), expected);
        let mut completed = rig.completed();
        completed.sort_unstable();
        completed.dedup();
        prop_assert_eq!(completed.len(), calls);
        prop_assert_eq!(rig.completed().len(), calls);
        let deliveries = rig.steps.iter().filter(|step| matches!(step, Step::Deliver(_))).count();
        prop_assert_eq!(deliveries, 1);
    }

    #[test]
    fn nothing_overtakes_an_unsafe_call(notation in "[rwb]{1,30}", order in any::<u64>()) {
        let mut rig = Rig::with(Policy { on_bash_error: OnBashError::Continue, ..Policy::default() });
        rig.add(&notation);
        let mut random = fastrand::Rng::with_seed(order);
        loop {
            let begun: Vec<usize> = rig.begun().iter().map(|id| id.parse().expect("a number")).collect();
            let over: Vec<usize> = rig.completed().iter().map(|id| id.parse().expect("a number")).collect();
            let running: Vec<usize> = begun.iter().copied().filter(|at| !over.contains(at)).collect();
            prop_assert!(begun.is_sorted(), "calls begin in order: {:?}", begun);
            if running.is_empty() { break; }
            let next = running[random.usize(..running.len())];
            rig.succeed(&next.to_string());
        }
        prop_assert_eq!(rig.begun().len(), notation.len());
    }

    #[test]
    fn two_interrupts_end_everything_in_as_many_steps_as_calls_run(
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut rig = Rig::new();
        let mut count = 0;
        for event in &events {
            if let Event::Add(letter) = event {
                rig.add(&letter.to_string());
                count += 1;
            }
        }
        let before = rig.completed().len();
        rig.handle(Input::Interrupted).handle(Input::Interrupted).handle(Input::StreamEnded);
        let stopping: Vec<String> = rig.stop_requests().iter().map(ToString::to_string).collect();
        prop_assert_eq!(rig.completed().len() - before + stopping.len(), count - before);
        for id in stopping {
            rig.stopped(&id);
        }
        prop_assert!(rig.delivered().is_some());
    }
}

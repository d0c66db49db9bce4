//! Rate limits and time limits of single tools.

use std::num::NonZeroU64;
use std::time::Duration;

use proptest::prelude::*;

use super::machine::{Input, Policy, Step};
use super::machine_tests::Rig as MachineRig;
use super::pace::Pace;
use super::rig::{End, Rig, Setting, safe, secs, unsafe_};
use crate::protocol::{CallRef, OnBashError};
use crate::settings::ToolSettings;

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A machine whose reads (`r`) start at most every 100 ms.
fn limited() -> MachineRig {
    let mut rig = MachineRig::with(Policy {
        on_bash_error: OnBashError::Continue,
        ..Policy::default()
    });
    rig.pace = Pace::new([("Read".to_owned(), millis(100))]);
    rig
}

fn pass_to(rig: &mut MachineRig, now: Duration) {
    rig.pace.set_now(now);
    rig.handle(Input::TimePassed);
}

#[test]
fn calls_of_a_limited_tool_start_one_after_the_other() {
    let mut rig = limited();
    rig.add("rrr");
    assert_eq!(rig.begun(), ["0"]);
    assert_eq!(rig.machine.wake_at(), Some(millis(100)));
    pass_to(&mut rig, millis(99));
    assert_eq!(rig.begun(), ["0"]);
    pass_to(&mut rig, millis(100));
    assert_eq!(
        rig.begun(),
        ["0", "1"],
        "it does not wait for the end of the first"
    );
    assert_eq!(rig.machine.wake_at(), Some(millis(200)));
    pass_to(&mut rig, millis(250));
    assert_eq!(rig.begun(), ["0", "1", "2"]);
    assert_eq!(rig.machine.wake_at(), None);
}

#[test]
fn an_interrupt_settles_a_call_that_waits_for_its_rate_limit_at_once() {
    let mut rig = limited();
    rig.add("rr").handle(Input::Interrupted);
    assert_eq!(rig.machine.wake_at(), None);
    assert_eq!(rig.completed(), ["1"]);
}

#[test]
fn the_rate_limit_also_applies_to_the_next_response() {
    let mut first = limited();
    first.add("r");
    let mut second = limited();
    second.pace = first.pace.clone();
    second.add("r");
    assert_eq!(second.begun(), [] as [&str; 0]);
    pass_to(&mut second, millis(100));
    assert_eq!(second.begun(), ["0"]);
}

proptest! {
    #[test]
    fn rate_limits_are_respected_nothing_overtakes_unsafe_calls_and_all_calls_start(
        notation in "[rwb]{1,20}",
        order in any::<u64>(),
    ) {
        let mut rig = limited();
        rig.add(&notation);
        let mut random = fastrand::Rng::with_seed(order);
        let mut now = millis(0);
        let mut starts = Vec::new();
        let mut seen = 0;
        loop {
            for step in &rig.steps[seen..] {
                if let Step::Begin(call) = step {
                    let at: usize = position(&notation, *call);
                    starts.push((at, now));
                }
            }
            seen = rig.steps.len();
            let over: Vec<usize> = rig.completed().iter().map(|id| id.parse().expect("a number")).collect();
            let running: Vec<usize> = starts.iter().map(|(at, _)| *at).filter(|at| !over.contains(at)).collect();
            let wake_at = rig.machine.wake_at();
            prop_assert!(wake_at.is_none_or(|at| at > now), "only the future is waited for");
            if let Some(at) = wake_at.filter(|_| running.is_empty() || random.bool()) {
                now = at;
                pass_to(&mut rig, now);
            } else if let Some(next) = (!running.is_empty()).then(|| running[random.usize(..running.len())]) {
                now += millis(random.u64(..60));
                rig.pace.set_now(now);
                rig.succeed(&next.to_string());
            } else {
                break;
            }
        }
        prop_assert_eq!(starts.len(), notation.len(), "no call is forgotten");
        let is_read = |at: usize| notation.as_bytes()[at] == b'r';
        let reads: Vec<Duration> = starts.iter().filter(|(at, _)| is_read(*at)).map(|(_, time)| *time).collect();
        prop_assert!(reads.windows(2).all(|pair| pair[1] >= pair[0] + millis(100)), "{reads:?}");
        let order: Vec<usize> = starts.iter().map(|(at, _)| *at).collect();
        prop_assert!(order.is_sorted(), "one limited tool, so calls start in order: {order:?}");
    }
}

fn position(notation: &str, call: CallRef) -> usize {
    let mut positions = 0..notation.len();
    let found = positions.find(|at| CallRef::from(at.to_string().as_str()) == call);
    found.expect("a call of this rig")
}

fn rig(settings: ToolSettings) -> Rig {
    Rig::with(Setting {
        overrides: vec![("Cancels", settings)],
        ..Setting::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_limited_call_starts_by_itself_at_its_time_and_others_do_not_wait() {
    let mut rig = rig(ToolSettings {
        rate_limit: NonZeroU64::new(3_000),
        ..ToolSettings::default()
    });
    rig.add_all([safe("a"), safe("b"), safe("free").blocking(), safe("c")]);
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["a", "free"]);
    let run = rig.finish().await;
    assert_eq!(run.results, ["a", "b", "free", "c"]);
    assert_eq!(run.took, secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_reaches_its_time_limit_fails_with_its_output_so_far() {
    let mut rig = rig(ToolSettings {
        timeout: NonZeroU64::new(2_000),
        ..ToolSettings::default()
    });
    rig.add_all([
        unsafe_("slow").taking(secs(60)),
        unsafe_("deaf")
            .taking(secs(60))
            .ending(End::IgnoreCancellation),
        unsafe_("quick").taking(secs(1)),
    ]);
    let run = rig.finish().await;
    let limit = "Cancels was stopped: it was still running after 2000 ms, the limit of `tools.Cancels.timeout` in the settings";
    assert_eq!(
        run.results,
        [
            format!(
                "<tool_use_error>{limit}. Its output so far:\nhalf of slow</tool_use_error>"
            ),
            format!("<tool_use_error>{limit}. It had printed nothing</tool_use_error>"),
            "quick".to_owned(),
        ]
    );
    // The tool that ignores its cancellation gets some seconds to end.
    assert_eq!(run.took, secs(2 + 2 + 4 + 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_its_limit_is_cancelled_and_not_timed_out() {
    let mut rig = rig(ToolSettings {
        timeout: NonZeroU64::new(2_000),
        ..ToolSettings::default()
    });
    rig.add(unsafe_("slow").taking(secs(60)));
    rig.pass(secs(1)).await;
    rig.interrupt();
    let run = rig.finish().await;
    assert!(
        run.results[0].contains("Interrupted by the user"),
        "{run:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_longer_than_the_setting_goes_to_a_file() {
    let mut rig = rig(ToolSettings {
        max_result_chars: Some(200),
        ..ToolSettings::default()
    });
    rig.add(safe(&"long ".repeat(100)));
    let run = rig.finish().await;
    assert!(run.results[0].len() < 500, "{run:?}");
    assert!(run.results[0].contains("results"), "{run:?}");
}

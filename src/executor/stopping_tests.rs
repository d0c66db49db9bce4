//! What stops a call, and what does not.

use super::driver::Observed;
use super::machine::Policy;
use super::rig::{End, Rig, Run, Setting, drive, safe, secs, unsafe_};
use crate::protocol::OnBashError;
use crate::protocol::{InterruptBehavior, Phase};
use crate::settings::ToolSettings;

fn interrupted_text(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

fn stopped(name: &str) -> String {
    interrupted_text(&format!(
        "Interrupted by the user: Cancels({name}) was stopped while it ran, so it may have had effects. Its output \
         so far:\nhalf of {name}"
    ))
}

fn not_started(tool: &str, name: &str) -> String {
    interrupted_text(&format!(
        "Interrupted by the user: {tool}({name}) was not started"
    ))
}

#[tokio::test(start_paused = true)]
async fn a_failing_command_cancels_the_calls_after_it() {
    let run = drive([
        unsafe_("make").taking(secs(1)).ending(End::FailAsCommand),
        unsafe_("b").taking(secs(9)),
        safe("c").taking(secs(9)),
    ])
    .await;
    let skipped = |name: &str| {
        interrupted_text(&format!(
            "Skipped: Cancels(make) failed, so Cancels({name}) was not started"
        ))
    };
    let expected = Run {
        results: vec![interrupted_text("make failed"), skipped("b"), skipped("c")],
        took: secs(1),
    };
    assert_eq!(run, expected);
}

#[tokio::test(start_paused = true)]
async fn a_failing_command_cancels_calls_that_run_at_the_same_time() {
    let mut make = safe("make").taking(secs(1)).ending(End::FailAsCommand);
    make = make.changing();
    let run = drive([safe("a").taking(secs(9)), make]).await;
    let cancelled = interrupted_text(
        "Skipped: Cancels(make) failed, so Cancels(a) was cancelled while it ran. Its output so far:\nhalf of a",
    );
    let expected = Run {
        results: vec![cancelled, interrupted_text("make failed")],
        took: secs(1),
    };
    assert_eq!(run, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_arrives_after_a_failed_command_is_not_started() {
    let mut rig = Rig::new();
    rig.add(unsafe_("make").ending(End::FailAsCommand));
    rig.pass(secs(1)).await;
    rig.add(unsafe_("late"));
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results.len(), 2);
    assert_eq!(rig.called(), ["make"]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_command_that_only_reads_cancels_nothing() {
    let run = drive([
        safe("a").ending(End::FailAsCommand),
        unsafe_("b").taking(secs(1)),
    ])
    .await;
    assert_eq!(run.results, [interrupted_text("a failed"), "b".into()]);
}

#[tokio::test(start_paused = true)]
async fn on_bash_error_decides_what_a_failing_command_cancels() {
    let ran = async |on_bash_error| {
        let policy = Policy {
            on_bash_error,
            ..Policy::default()
        };
        let mut rig = Rig::with(Setting {
            policy,
            ..Setting::default()
        });
        rig.add_all([
            unsafe_("make").ending(End::FailAsCommand),
            safe("read"),
            unsafe_("write"),
        ]);
        rig.stream_ended();
        rig.deliver().await;
        rig.called()
    };
    assert_eq!(ran(OnBashError::CancelSiblings).await, ["make"]);
    assert_eq!(ran(OnBashError::CancelLaterChanges).await, ["make", "read"]);
    let all = ["make", "read", "write"];
    assert_eq!(ran(OnBashError::Continue).await, all);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_what_can_be_stopped_and_starts_nothing_more() {
    let mut rig = Rig::new();
    rig.add_all([unsafe_("a").taking(secs(9)), unsafe_("b")]);
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.stream_ended();
    let expected = Run {
        results: vec![stopped("a"), not_started("Cancels", "b")],
        took: secs(1),
    };
    assert_eq!(rig.deliver().await, expected);
    assert_eq!(rig.called(), ["a", "a cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_lets_a_blocking_call_finish_and_shows_it() {
    let mut rig = Rig::new();
    rig.add_all([
        unsafe_("write").blocking().taking(secs(5)),
        unsafe_("b").blocking(),
    ]);
    rig.pass(secs(1)).await;
    rig.interrupt();
    let finishing = Observed::Reached("write".into(), Phase::Finishing);
    assert!(rig.seen.0.contains(&finishing));
    rig.stream_ended();
    let expected = Run {
        results: vec!["write".into(), not_started("Blocks", "b")],
        took: secs(5),
    };
    assert_eq!(rig.deliver().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_second_interrupt_stops_blocking_calls_too() {
    let mut rig = Rig::new();
    rig.add(unsafe_("write").blocking().taking(secs(5)));
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.stream_ended();
    let run = rig.deliver().await;
    assert_eq!(run.took, secs(2));
    assert!(run.results[0].contains("was stopped while it ran"));
}

fn interrupt(behavior: InterruptBehavior) -> ToolSettings {
    ToolSettings {
        interrupt: Some(behavior),
        ..ToolSettings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn settings_override_what_an_interrupt_does() {
    let mut rig = Rig::with(Setting {
        overrides: vec![
            ("Blocks", interrupt(InterruptBehavior::Cancel)),
            ("Cancels", interrupt(InterruptBehavior::Block)),
        ],
        ..Setting::default()
    });
    rig.add_all([
        safe("write").blocking().taking(secs(5)),
        safe("shell").taking(secs(5)),
    ]);
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.stream_ended();
    let run = rig.deliver().await;
    assert!(run.results[0].contains("Blocks(write) was stopped"));
    assert_eq!((run.results[1].as_str(), run.took), ("shell", secs(5)));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_interrupted_before_its_tool_runs_never_runs() {
    // Many times, because events that are ready together may be handled in any order.
    for _ in 0..50 {
        let mut rig = Rig::new();
        let write = unsafe_("write").blocking().ending(End::IgnoreCancellation);
        rig.add(write);
        rig.interrupt();
        rig.stream_ended();
        let results = rig.deliver().await.results;
        assert_eq!(results, [not_started("Blocks", "write")]);
        assert_eq!(rig.called(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_cancellation_is_abandoned_after_a_grace_period() {
    let mut rig = Rig::new();
    let hangs = unsafe_("a")
        .taking(secs(1_000_000))
        .ending(End::IgnoreCancellation);
    rig.add_all([hangs, unsafe_("b")]);
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.stream_ended();
    let given_up = interrupted_text(
        "Interrupted by the user: Cancels(a) was stopped while it ran, so it may have had effects",
    );
    let expected = Run {
        results: vec![given_up, not_started("Cancels", "b")],
        took: secs(1 + 4),
    };
    assert_eq!(rig.deliver().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finishes_despite_its_cancellation_keeps_its_result() {
    let mut rig = Rig::new();
    let slow = unsafe_("a").taking(secs(3)).ending(End::IgnoreCancellation);
    rig.add(slow);
    rig.pass(secs(1)).await;
    rig.interrupt();
    let run = rig.finish().await;
    assert_eq!((run.results, run.took), (vec!["a".into()], secs(3)));
}

#[tokio::test(start_paused = true)]
async fn one_call_is_cancelled_alone() {
    let mut rig = Rig::new();
    rig.add_all([
        safe("a").taking(secs(5)),
        safe("b").taking(secs(2)),
        unsafe_("c"),
    ]);
    rig.pass(secs(1)).await;
    rig.control(|executor, seen| executor.cancel("a".into(), seen));
    rig.control(|executor, seen| executor.cancel("unknown".into(), seen));
    let turn = rig.turn.clone();
    let run = rig.finish().await;
    let cancelled = interrupted_text(
        "Cancelled by the user: Cancels(a) was stopped while it ran, so it may have had effects. Its output so far:\n\
         half of a",
    );
    let expected = Run {
        results: vec![cancelled, "b".into(), "c".into()],
        took: secs(2),
    };
    assert_eq!(run, expected);
    assert!(!turn.is_cancelled(), "cancelling goes down, never up");
}

#[tokio::test(start_paused = true)]
async fn a_call_answered_by_hand_is_stopped_and_changes_nothing_after_that() {
    let mut rig = Rig::new();
    let moves = unsafe_("cd").taking(secs(9)).ending(End::Move);
    rig.add_all([moves, unsafe_("after")]);
    rig.pass(secs(1)).await;
    rig.control(|executor, seen| executor.answer_by_hand("cd".into(), "typed".into(), seen));
    rig.stream_ended();
    let expected = Run {
        results: vec!["typed".into(), "after".into()],
        took: secs(1),
    };
    assert_eq!(rig.deliver().await, expected);
    rig.pass(secs(20)).await;
    let completed = rig.seen.0.iter().filter(
        |observed| matches!(observed, Observed::Completed { call, .. } if *call == "cd".into()),
    );
    assert_eq!(completed.count(), 1, "its own end is ignored");
    let cwd = rig.context.cwd();
    assert_eq!(cwd, rig.context.shared.places.workspace);
}

#[tokio::test(start_paused = true)]
async fn a_queued_call_answered_by_hand_never_runs() {
    let mut rig = Rig::new();
    rig.add_all([unsafe_("a").taking(secs(2)), unsafe_("b")]);
    rig.control(|executor, seen| executor.answer_by_hand("b".into(), "typed".into(), seen));
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a", "typed"]);
    assert_eq!(rig.called(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_discarded_response_cancels_its_calls_and_not_its_turn() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(9)));
    rig.pass(secs(1)).await;
    rig.executor = None;
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.called(), ["a", "a cancelled"]);
    assert!(!rig.turn.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_turn_cancels_its_calls() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(9)));
    rig.pass(secs(1)).await;
    rig.turn.cancel();
    let run = rig.finish().await;
    assert_eq!(
        run.results,
        [interrupted_text(
            "The call was cancelled before it finished"
        )]
    );
    assert_eq!(run.took, secs(1));
}

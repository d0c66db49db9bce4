//! Order, overlap and delivery of calls, with scripted tools in virtual time.

use std::time::Duration;

use super::driver::Observed;
use super::machine::Policy;
use super::rig::{End, Rig, Run, Setting, drive, safe, secs, unsafe_};
use crate::protocol::{CallRef, Phase};

fn run<const N: usize>(results: [&str; N], took: Duration) -> Run {
    Run {
        results: results.map(String::from).to_vec(),
        took,
    }
}

#[tokio::test(start_paused = true)]
async fn safe_calls_overlap_and_keep_their_order() {
    let works = [safe("a").taking(secs(3)), safe("b").taking(secs(2))];
    assert_eq!(drive(works).await, run(["a", "b"], secs(3)));
}

#[tokio::test(start_paused = true)]
async fn unsafe_calls_run_one_after_the_other() {
    let works = [unsafe_("a").taking(secs(2)), unsafe_("b").taking(secs(2))];
    assert_eq!(drive(works).await, run(["a", "b"], secs(4)));
}

#[tokio::test(start_paused = true)]
async fn nothing_overtakes_an_unsafe_call() {
    let works = [
        safe("r1").taking(secs(1)),
        safe("r2").taking(secs(2)),
        unsafe_("w").taking(secs(4)),
        safe("r3").taking(secs(8)),
        safe("r4").taking(secs(8)),
    ];
    let took = secs(2 + 4 + 8);
    assert_eq!(drive(works).await, run(["r1", "r2", "w", "r3", "r4"], took));
}

#[tokio::test(start_paused = true)]
async fn at_most_as_many_as_the_limit_run_at_once() {
    let policy = Policy {
        limit: 2,
        ..Policy::default()
    };
    let mut rig = Rig::with(Setting {
        policy,
        ..Setting::default()
    });
    for name in ["a", "b", "c", "d", "e"] {
        rig.add(safe(name).taking(secs(1)));
    }
    assert_eq!(rig.finish().await, run(["a", "b", "c", "d", "e"], secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_while_the_stream_is_open_and_its_result_waits_for_the_end() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(1)));
    rig.pass(secs(5)).await;
    assert_eq!(rig.called(), ["a"]);
    rig.control(|executor, _| assert_eq!(executor.take_delivered(), None));
    assert_eq!(rig.finish().await, run(["a"], secs(5)));
}

#[tokio::test(start_paused = true)]
async fn a_response_without_calls_is_delivered_at_once() {
    assert_eq!(drive([]).await, run([], secs(0)));
}

#[tokio::test(start_paused = true)]
async fn the_screen_gets_results_at_once_and_the_model_in_block_order() {
    let mut rig = Rig::new();
    rig.add_all([safe("slow").taking(secs(2)), safe("quick").taking(secs(1))]);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["slow", "quick"]);
    let completed = rig.seen.0.iter().filter_map(|observed| match observed {
        Observed::Completed { call, ran, .. } => Some((rig.word(*call), *ran)),
        _ => None,
    });
    assert_eq!(
        completed.collect::<Vec<_>>(),
        [("quick", secs(1)), ("slow", secs(2))]
    );
}

#[tokio::test(start_paused = true)]
async fn every_state_and_phase_of_a_call_is_observed() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(1)));
    rig.stream_ended();
    rig.deliver().await;
    let states: Vec<&str> = rig
        .seen
        .0
        .iter()
        .map(|observed| match observed {
            Observed::Queued(_) => "queued",
            Observed::Begun(_) => "begun",
            Observed::Decided { .. } => "decided",
            Observed::Reached(_, Phase::Running) => "running",
            Observed::Progress(..) => "progress",
            Observed::Completed { .. } => "completed",
            Observed::Yielded(_) => "yielded",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        states,
        [
            "queued",
            "begun",
            "decided",
            "running",
            "progress",
            "completed",
            "yielded"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn progress_is_delivered_at_once() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(9)));
    rig.pass(Duration::from_millis(1)).await;
    let progress = Observed::Progress(CallRef::from("a"), "a works".into());
    assert!(rig.seen.0.contains(&progress));
}

#[tokio::test(start_paused = true)]
async fn unread_progress_is_dropped_and_the_result_is_not() {
    let works = [
        safe("a").ending(End::Chatter),
        safe("b").taking(secs(1)).ending(End::Chatter),
    ];
    assert_eq!(drive(works).await, run(["a", "b"], secs(1)));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_another_tool_cancels_nothing() {
    let works = [
        unsafe_("a").ending(End::Refuse),
        unsafe_("b").taking(secs(1)),
    ];
    let failed = "<tool_use_error>a failed</tool_use_error>";
    assert_eq!(drive(works).await, run([failed, "b"], secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_result_and_the_others_continue() {
    let works = [
        safe("a").taking(secs(1)).ending(End::Panic),
        safe("b").taking(secs(2)),
        unsafe_("c").taking(secs(1)),
    ];
    let text = "<tool_use_error>The tool failed with an internal error; this is a bug in agent-tui, not in the \
                call</tool_use_error>";
    assert_eq!(drive(works).await, run([text, "b", "c"], secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_in_its_classification_counts_as_unsafe() {
    let works = [
        safe("a").taking(secs(1)).ending(End::PanicWhenLookedAt),
        safe("b").taking(secs(1)),
    ];
    assert_eq!(drive(works).await, run(["a", "b"], secs(2)));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_directory_applies_to_the_calls_after_it() {
    let mut rig = Rig::new();
    rig.add_all([
        unsafe_("before"),
        unsafe_("cd").ending(End::Move),
        unsafe_("after"),
    ]);
    rig.stream_ended();
    rig.deliver().await;
    let directories = [("before", "work"), ("cd", "work"), ("after", "sub")];
    let directories = directories.map(|(name, cwd)| (name.into(), cwd.into()));
    assert_eq!(rig.directories(), directories);
}

#[tokio::test(start_paused = true)]
async fn a_safe_call_cannot_change_the_directory() {
    let mut rig = Rig::new();
    rig.add_all([safe("cd").ending(End::Move), unsafe_("after")]);
    rig.stream_ended();
    rig.deliver().await;
    let directories = [("cd", "work"), ("after", "work")];
    let directories = directories.map(|(name, cwd)| (name.into(), cwd.into()));
    assert_eq!(rig.directories(), directories);
}

#[tokio::test(start_paused = true)]
async fn work_done_before_the_stream_ended_is_saved_time() {
    let mut rig = Rig::new();
    rig.add_all([safe("a").taking(secs(2)), safe("b").taking(secs(4))]);
    rig.pass(secs(6)).await;
    rig.add(unsafe_("c").taking(secs(5)));
    rig.pass(secs(2)).await;
    rig.stream_ended();
    rig.deliver().await;
    let saved = rig.executor.as_ref().map(super::driver::Executor::saved);
    assert_eq!(saved, Some(secs(4 + 2)), "parallel work counts once");
}

#[tokio::test(start_paused = true)]
async fn without_streaming_execution_calls_wait_for_the_end_and_save_nothing() {
    let policy = Policy {
        while_streaming: false,
        ..Policy::default()
    };
    let mut rig = Rig::with(Setting {
        policy,
        ..Setting::default()
    });
    rig.add_all([
        safe("r1").taking(secs(1)),
        safe("r2").taking(secs(1)),
        unsafe_("w").taking(secs(1)),
        safe("r3").taking(secs(1)),
        safe("r4").taking(secs(1)),
    ]);
    rig.pass(secs(10)).await;
    assert_eq!(rig.called(), Vec::<String>::new());
    rig.stream_ended();
    let expected = run(["r1", "r2", "w", "r3", "r4"], secs(10 + 3));
    assert_eq!(rig.deliver().await, expected);
    let saved = rig.executor.as_ref().map(super::driver::Executor::saved);
    assert_eq!(saved, Some(secs(0)));
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_id_changes_nothing() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a").taking(secs(9)));
    rig.pass(secs(1)).await;
    rig.add(unsafe_("a").taking(secs(9)));
    rig.interrupt();
    rig.stream_ended();
    let run = rig.deliver().await;
    assert_eq!((run.results.len(), run.took), (1, secs(1)));
    assert_eq!(rig.called(), ["a", "a cancelled"]);
}

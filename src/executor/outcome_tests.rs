//! The outcome of a call, as the screen shows it.

use super::machine::{End, Input};
use super::machine_tests::{Rig, outcome};
use crate::protocol::CallOutcome::{
    Backgrounded, ByHand, Cancelled, Denied, Failed, Skipped, Succeeded,
};
use crate::protocol::{CallOutcome, ToolResult};

fn skipped(why: &str) -> CallOutcome {
    Skipped { why: why.into() }
}

#[test]
fn a_call_that_ran_succeeded_or_failed() {
    let mut rig = Rig::calls("ww");
    let error = ToolResult::error("1".into(), "no such file");
    let refused = super::machine::Outcome {
        result: error,
        end: End::Normal,
    };
    rig.succeed("0")
        .handle(Input::Finished("1".into(), refused));
    assert_eq!(rig.outcomes(), [("0", Succeeded), ("1", Failed)]);
}

#[test]
fn a_call_that_was_not_allowed_is_denied_and_one_that_continues_is_in_the_background() {
    let mut rig = Rig::calls("bb");
    rig.handle(Input::Finished("0".into(), outcome("0", End::Denied)));
    rig.handle(Input::Finished("1".into(), outcome("1", End::Backgrounded)));
    assert_eq!(rig.outcomes(), [("0", Denied), ("1", Backgrounded)]);
}

#[test]
fn siblings_of_a_failed_command_were_skipped_because_of_it() {
    let mut rig = Rig::calls("bw");
    rig.fail("0");
    assert_eq!(
        rig.outcomes(),
        [("0", Failed), ("1", skipped("`0` failed"))]
    );
}

#[test]
fn an_interrupt_cancels_what_ran_and_skips_what_did_not() {
    let mut rig = Rig::calls("bw");
    rig.running("0").handle(Input::Interrupted).stopped("0");
    assert_eq!(
        rig.outcomes(),
        [("1", skipped("interrupted")), ("0", Cancelled)]
    );
}

#[test]
fn a_call_that_ends_by_itself_while_it_is_being_stopped_keeps_its_own_outcome() {
    let mut rig = Rig::calls("b");
    rig.running("0").handle(Input::Interrupted).succeed("0");
    assert_eq!(rig.outcomes(), [("0", Succeeded)]);
}

#[test]
fn the_person_cancels_and_answers_by_hand() {
    let mut rig = Rig::calls("bb");
    rig.handle(Input::AnsweredByHand("0".into(), "42".into()));
    rig.running("1").handle(Input::Cancelled("1".into()));
    rig.stopped("1");
    assert_eq!(rig.outcomes(), [("0", ByHand), ("1", Cancelled)]);
}

#[test]
fn a_call_that_runs_again_has_one_result() {
    let mut rig = Rig::calls("bb");
    rig.handle(Input::RunAgain("0".into()));
    assert_eq!(
        rig.stop_requests(),
        [] as [&str; 0],
        "it is not running yet"
    );
    rig.running("0").handle(Input::RunAgain("0".into()));
    assert_eq!(rig.stop_requests(), ["0"]);
    rig.handle(Input::RunAgain("0".into())).stopped("0");
    assert_eq!(rig.begun(), ["0", "0"], "nothing overtakes it");
    rig.running("0").succeed("0");
    assert_eq!(rig.begun(), ["0", "0", "1"]);
    assert_eq!(rig.outcomes(), [("0", Succeeded)]);
}

#[test]
fn a_call_that_ends_before_it_can_restart_keeps_its_result() {
    let mut rig = Rig::calls("b");
    rig.running("0").handle(Input::RunAgain("0".into()));
    rig.succeed("0");
    assert_eq!(rig.begun(), ["0"]);
    assert_eq!(rig.outcomes(), [("0", Succeeded)]);
}

#[test]
fn an_interrupt_prevents_a_restart() {
    let mut rig = Rig::calls("b");
    rig.running("0").handle(Input::RunAgain("0".into()));
    rig.handle(Input::Interrupted).stopped("0");
    assert_eq!(rig.begun(), ["0"]);
    assert_eq!(rig.outcomes(), [("0", Cancelled)]);
}

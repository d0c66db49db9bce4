//! A call whose input hooks have changed such that it must not run at the same time as others waits until it is
//! alone.

use super::machine::{Input, Order, Policy, Step};
use super::machine_tests::{Rig, traits};
use crate::protocol::{CallRef, OnBashError};

fn must_be_alone(rig: &mut Rig, id: &str) {
    rig.handle(Input::Reclassified(id.into(), traits('w', id)));
}

fn proceeded(rig: &Rig) -> Vec<CallRef> {
    let steps = rig.steps.iter();
    let calls = steps.filter_map(|step| match step {
        Step::Proceed(call) => Some(*call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn it_proceeds_at_once_if_nothing_else_executes() {
    let mut rig = Rig::calls("r");
    must_be_alone(&mut rig, "0");
    assert_eq!(proceeded(&rig), ["0".into()]);
}

#[test]
fn it_waits_for_executing_calls_and_nothing_starts_meanwhile() {
    let mut rig = Rig::calls("rr");
    must_be_alone(&mut rig, "0");
    assert_eq!(proceeded(&rig), []);
    rig.add("r");
    assert_eq!(
        rig.begun(),
        ["0", "1"],
        "the third would run at the same time"
    );
    rig.succeed("1");
    assert_eq!(proceeded(&rig), ["0".into()]);
    assert_eq!(rig.begun(), ["0", "1"]);
    rig.succeed("0");
    assert_eq!(rig.begun(), ["0", "1", "2"]);
}

#[test]
fn two_calls_that_must_be_alone_keep_their_order() {
    let mut rig = Rig::calls("rr");
    must_be_alone(&mut rig, "1");
    must_be_alone(&mut rig, "0");
    assert_eq!(proceeded(&rig), ["0".into()]);
    rig.succeed("0");
    assert_eq!(proceeded(&rig), ["0".into(), "1".into()]);
}

#[test]
fn a_call_that_is_stopped_while_it_waits_was_not_started() {
    let mut rig = Rig::calls("rr");
    must_be_alone(&mut rig, "0");
    rig.handle(Input::Cancelled("0".into()));
    assert_eq!(rig.stop_requests(), ["0"]);
    rig.succeed("1");
    assert_eq!(proceeded(&rig), [], "it is already stopping");
    rig.stopped("0");
    let text = rig.result("0");
    assert!(text.contains("was not started"), "{text}");
}

#[test]
fn a_call_of_the_person_runs_at_the_same_time_as_any_other() {
    let mut rig = Rig::with(Policy {
        order: Order::AtOnce,
        on_bash_error: OnBashError::Continue,
        ..Policy::default()
    });
    rig.add("wbw");
    assert_eq!(rig.begun(), ["0", "1", "2"]);
    rig.fail("1");
    assert_eq!(
        rig.stop_requests(),
        [] as [&str; 0],
        "nor does it stop others"
    );
}

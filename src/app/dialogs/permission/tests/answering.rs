//! When a key answers, and which request it answers.

use super::{DENIED, STAYS, TestDialog, answered, bash, command, edit, question};
use crate::app::dialogs::permission::{ARM_DELAY, Stage};
use crate::app::dialogs::question::Verdict;
use crate::keymap::Action;
use crate::protocol::{Answer, CallRef, PermissionRequest};

#[test]
fn each_key_gives_its_answer() {
    let press = |key| TestDialog::ready(bash("1")).press(key);
    assert_eq!(press("y"), answered("1", Answer::Allow));
    let rule = "Bash(cargo test:*)".to_owned();
    assert_eq!(press("s"), answered("1", Answer::AllowForSession { rule }));
    assert_eq!(press("n"), answered("1", DENIED));
    let interrupted = Verdict::DeniedAndInterrupt(CallRef::from("1"));
    assert_eq!(press("esc"), interrupted);
}

#[test]
fn a_key_acts_after_300_milliseconds() {
    for key in ["y", "s", "a", "n", "e", "tab", "esc"] {
        let mut early = TestDialog::fresh(edit("1"));
        early.show(0).wait(299);
        assert_eq!(early.press(key), STAYS, "{key} was too early");
        assert_eq!(early.dialog().stage(), Stage::Asking, "{key} was too early");

        let mut on_time = TestDialog::fresh(edit("1"));
        on_time.show(0).wait(300);
        let verdict = on_time.press(key);
        let changed = verdict != STAYS || on_time.dialog().stage() != Stage::Asking;
        assert!(changed, "{key} was in time");
    }
}

#[test]
fn the_screen_wakes_up_when_the_keys_become_active() {
    let mut dialog = TestDialog::fresh(bash("1"));
    let armed = dialog.now + ARM_DELAY;
    assert_eq!(dialog.queue.wake_at(dialog.now), Some(armed));
    dialog.wait(300);
    assert_eq!(dialog.queue.wake_at(dialog.now), None);
}

#[test]
fn typing_on_does_not_answer() {
    let mut dialog = TestDialog::fresh(bash("1"));
    dialog.show(0);
    for letter in "why not say yes and yes again, or no".chars() {
        dialog.wait(200);
        assert_eq!(dialog.press(&letter.to_string()), STAYS, "at {letter}");
    }
    assert_eq!(dialog.dialog().stage(), Stage::Asking);
    dialog.wait(300);
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
}

#[test]
fn cancelling_works_after_two_seconds_of_typing() {
    let mut dialog = TestDialog::fresh(bash("1"));
    for _ in 0..9 {
        dialog.wait(200).press("x");
        assert_eq!(dialog.press("esc"), STAYS);
    }
    dialog.wait(200);
    assert_eq!(dialog.press("y"), STAYS);
    let interrupted = Verdict::DeniedAndInterrupt(CallRef::from("1"));
    assert_eq!(dialog.press("esc"), interrupted);
}

#[test]
fn a_held_key_answers_one_request_only() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.push(bash("2"), dialog.now);
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
    for _ in 0..200 {
        dialog.show(0).wait(30);
        assert_eq!(dialog.press("y"), STAYS);
    }
    dialog.wait(300);
    assert_eq!(dialog.press("y"), answered("2", Answer::Allow));
    assert!(dialog.queue.is_empty());
}

#[test]
fn actions_of_other_parts_are_not_handled() {
    let mut dialog = TestDialog::fresh(bash("1"));
    for action in [Action::ClearOrQuit, Action::ToggleDiffStyle, Action::Send] {
        assert_eq!(dialog.queue.perform(action, dialog.now), None);
    }
    dialog.show(0).wait(300);
    assert_eq!(dialog.queue.perform(Action::ClearOrQuit, dialog.now), None);
}

#[test]
fn requests_are_asked_in_their_order() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.push(bash("2"), dialog.now);
    dialog.queue.push(bash("3"), dialog.now);
    assert_eq!(dialog.queue.position(), (1, 3));
    assert_eq!(dialog.press("n"), answered("1", DENIED));
    assert_eq!(dialog.queue.position(), (2, 3));
    dialog.wait(300);
    assert_eq!(dialog.press("n"), answered("2", DENIED));
    dialog.wait(300);
    assert_eq!(dialog.queue.position(), (3, 3));
    assert_eq!(dialog.press("n"), answered("3", DENIED));
    assert_eq!(dialog.press("n"), STAYS);
    assert!(dialog.queue.is_empty());
}

#[test]
fn the_next_request_has_to_be_read_by_itself() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.push(bash("2"), dialog.now);
    dialog.press("n");
    dialog.wait(300);
    assert_eq!(dialog.press("y"), STAYS);
    dialog.show(0);
    assert_eq!(dialog.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_that_is_withdrawn_is_not_asked() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.push(bash("2"), dialog.now);
    dialog.queue.push(bash("3"), dialog.now);
    assert!(dialog.queue.withdraw(CallRef::from("2"), dialog.now));
    assert!(!dialog.queue.withdraw(CallRef::from("2"), dialog.now));
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
    assert_eq!(dialog.current(), Some(CallRef::from("3")));
}

#[test]
fn the_request_after_a_withdrawn_one_is_armed_again() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.push(bash("2"), dialog.now);
    dialog.press("e");
    dialog.type_in("because");
    assert!(dialog.queue.withdraw(CallRef::from("1"), dialog.now));
    assert_eq!(dialog.dialog().stage(), Stage::Asking);
    assert!(dialog.dialog().reason().is_empty());
    dialog.show(0).wait(299);
    assert_eq!(dialog.press("y"), STAYS);
    dialog.wait(300);
    assert_eq!(dialog.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_after_the_last_one_is_armed_again() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("y");
    dialog.wait(5000);
    dialog.queue.push(bash("2"), dialog.now);
    dialog.show(0);
    assert_eq!(dialog.press("y"), STAYS);
}

#[test]
fn keys_meant_for_a_dialog_in_front_are_ignored() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.rearm(dialog.now);
    assert_eq!(dialog.press("y"), STAYS);
    dialog.wait(300);
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
}

#[test]
fn arrows_choose_an_answer_and_enter_gives_it() {
    let choose = |keys: &[&str]| {
        let mut dialog = TestDialog::ready(bash("1"));
        let mut verdict = STAYS;
        for key in keys {
            verdict = dialog.press(key);
        }
        verdict
    };
    assert_eq!(choose(&["enter"]), STAYS, "nothing is chosen yet");
    assert_eq!(choose(&["right", "enter"]), answered("1", Answer::Allow));
    let rule = "Bash(cargo test:*)".to_owned();
    assert_eq!(
        choose(&["right", "right", "enter"]),
        answered("1", Answer::AllowForSession { rule })
    );
    let to_no = ["right", "right", "right", "right", "enter"];
    assert_eq!(choose(&to_no), answered("1", DENIED));
    let to_the_end = [&["right"; 9][..], &["enter"]].concat();
    let interrupted = Verdict::DeniedAndInterrupt(CallRef::from("1"));
    assert_eq!(choose(&to_the_end), interrupted);
    let there_and_back = [&["right"; 2][..], &["left", "enter"]].concat();
    assert_eq!(choose(&there_and_back), answered("1", Answer::Allow));
}

#[test]
fn arrows_go_only_through_answers_that_are_possible() {
    let request = PermissionRequest {
        rule: None,
        ..command()
    };
    let mut dialog = TestDialog::ready(question("1", request));
    dialog.press("right");
    dialog.press("right");
    assert_eq!(dialog.dialog().chosen(), Some(Action::Deny));
}

#[test]
fn a_selected_yes_requires_reading_to_the_end() {
    let mut dialog = TestDialog::fresh(bash("1"));
    dialog.show(37).wait(300);
    dialog.press("right");
    assert_eq!(dialog.press("enter"), STAYS);
    dialog.press("G");
    dialog.show(37);
    assert_eq!(dialog.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn keys_that_scroll_do_not_shorten_the_pause() {
    let mut dialog = TestDialog::fresh(bash("1"));
    dialog.show(0);
    for key in ["j", "k", "b", "g", "G", "space", "down", "right", "enter"] {
        dialog.wait(200);
        assert_eq!(dialog.press(key), STAYS, "{key}");
    }
    dialog.wait(200);
    assert_eq!(dialog.press("y"), STAYS);
    dialog.wait(300);
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
}

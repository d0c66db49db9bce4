//! When a key answers, and which request it answers.

use super::{Asked, DENIED, STAYS, answered, bash, command, edit, question};
use crate::app::dialogs::permission::{ARM_DELAY, Stage};
use crate::app::dialogs::question::Verdict;
use crate::keymap::Action;
use crate::protocol::{Answer, CallRef, PermissionRequest};

#[test]
fn each_key_gives_its_answer() {
    let press = |key| Asked::ready(bash("1")).press(key);
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
        let mut early = Asked::fresh(edit("1"));
        early.show(0).wait(299);
        assert_eq!(early.press(key), STAYS, "{key} was too early");
        assert_eq!(early.dialog().stage(), Stage::Asking, "{key} was too early");

        let mut on_time = Asked::fresh(edit("1"));
        on_time.show(0).wait(300);
        let verdict = on_time.press(key);
        let changed = verdict != STAYS || on_time.dialog().stage() != Stage::Asking;
        assert!(changed, "{key} was in time");
    }
}

#[test]
fn the_screen_wakes_up_when_the_keys_become_active() {
    let mut asked = Asked::fresh(bash("1"));
    let armed = asked.now + ARM_DELAY;
    assert_eq!(asked.queue.wake_at(asked.now), Some(armed));
    asked.wait(300);
    assert_eq!(asked.queue.wake_at(asked.now), None);
}

#[test]
fn typing_on_does_not_answer() {
    let mut asked = Asked::fresh(bash("1"));
    asked.show(0);
    for letter in "why not say yes and yes again, or no".chars() {
        asked.wait(200);
        assert_eq!(asked.press(&letter.to_string()), STAYS, "at {letter}");
    }
    assert_eq!(asked.dialog().stage(), Stage::Asking);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

#[test]
fn cancelling_works_after_two_seconds_of_typing() {
    let mut asked = Asked::fresh(bash("1"));
    for _ in 0..9 {
        asked.wait(200).press("x");
        assert_eq!(asked.press("esc"), STAYS);
    }
    asked.wait(200);
    assert_eq!(asked.press("y"), STAYS);
    let interrupted = Verdict::DeniedAndInterrupt(CallRef::from("1"));
    assert_eq!(asked.press("esc"), interrupted);
}

#[test]
fn a_held_key_answers_one_request_only() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.push(bash("2"), asked.now);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
    for _ in 0..200 {
        asked.show(0).wait(30);
        assert_eq!(asked.press("y"), STAYS);
    }
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
    assert!(asked.queue.is_empty());
}

#[test]
fn actions_of_other_parts_are_not_handled() {
    let mut asked = Asked::fresh(bash("1"));
    for action in [Action::ClearOrQuit, Action::ToggleDiffStyle, Action::Send] {
        assert_eq!(asked.queue.perform(action, asked.now), None);
    }
    asked.show(0).wait(300);
    assert_eq!(asked.queue.perform(Action::ClearOrQuit, asked.now), None);
}

#[test]
fn requests_are_asked_in_their_order() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.push(bash("2"), asked.now);
    asked.queue.push(bash("3"), asked.now);
    assert_eq!(asked.queue.position(), (1, 3));
    assert_eq!(asked.press("n"), answered("1", DENIED));
    assert_eq!(asked.queue.position(), (2, 3));
    asked.wait(300);
    assert_eq!(asked.press("n"), answered("2", DENIED));
    asked.wait(300);
    assert_eq!(asked.queue.position(), (3, 3));
    assert_eq!(asked.press("n"), answered("3", DENIED));
    assert_eq!(asked.press("n"), STAYS);
    assert!(asked.queue.is_empty());
}

#[test]
fn the_next_request_has_to_be_read_by_itself() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.push(bash("2"), asked.now);
    asked.press("n");
    asked.wait(300);
    assert_eq!(asked.press("y"), STAYS);
    asked.show(0);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_that_is_withdrawn_is_not_asked() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.push(bash("2"), asked.now);
    asked.queue.push(bash("3"), asked.now);
    assert!(asked.queue.withdraw(CallRef::from("2"), asked.now));
    assert!(!asked.queue.withdraw(CallRef::from("2"), asked.now));
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
    assert_eq!(asked.current(), Some(CallRef::from("3")));
}

#[test]
fn the_request_after_a_withdrawn_one_is_armed_again() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.push(bash("2"), asked.now);
    asked.press("e");
    asked.type_in("because");
    assert!(asked.queue.withdraw(CallRef::from("1"), asked.now));
    assert_eq!(asked.dialog().stage(), Stage::Asking);
    assert!(asked.dialog().reason().is_empty());
    asked.show(0).wait(299);
    assert_eq!(asked.press("y"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_after_the_last_one_is_armed_again() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("y");
    asked.wait(5000);
    asked.queue.push(bash("2"), asked.now);
    asked.show(0);
    assert_eq!(asked.press("y"), STAYS);
}

#[test]
fn keys_meant_for_a_dialog_in_front_are_ignored() {
    let mut asked = Asked::ready(bash("1"));
    asked.queue.uncover(asked.now);
    assert_eq!(asked.press("y"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

#[test]
fn arrows_choose_an_answer_and_enter_gives_it() {
    let choose = |keys: &[&str]| {
        let mut asked = Asked::ready(bash("1"));
        let mut verdict = STAYS;
        for key in keys {
            verdict = asked.press(key);
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
    let mut asked = Asked::ready(question("1", request));
    asked.press("right");
    asked.press("right");
    assert_eq!(asked.dialog().chosen(), Some(Action::Deny));
}

#[test]
fn a_selected_yes_requires_reading_to_the_end() {
    let mut asked = Asked::fresh(bash("1"));
    asked.show(37).wait(300);
    asked.press("right");
    assert_eq!(asked.press("enter"), STAYS);
    asked.press("G");
    asked.show(37);
    assert_eq!(asked.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn keys_that_scroll_do_not_shorten_the_pause() {
    let mut asked = Asked::fresh(bash("1"));
    asked.show(0);
    for key in ["j", "k", "b", "g", "G", "space", "down", "right", "enter"] {
        asked.wait(200);
        assert_eq!(asked.press(key), STAYS, "{key}");
    }
    asked.wait(200);
    assert_eq!(asked.press("y"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

use std::time::Duration;

use serde_json::json;

use super::slash::run;
use crate::app::dialogs::Dialog;
use crate::app::rig::{App, millis};
use crate::app::transcript::Cell;
use crate::app::{Copied, Effect, ExitReason, Focus};
use crate::protocol::{
    BackgroundEnd, CallCommand, CallOutcome, Command, Ending, Phase, TurnCommand,
};

/// One call is over, one runs, one is queued.
fn three_calls() -> App {
    let mut app = App::working();
    app.tool("a", "Read")
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .completes("1\n2\n3");
    app.tool("b", "Bash")
        .queued(json!({"command": "cargo test"}))
        .running()
        .prints("running 12 tests\n");
    app.tool("c", "Edit")
        .queued(json!({"file_path": "src/lib.rs"}));
    app
}

fn flash(app: &App) -> Option<&str> {
    app.state.flash.as_ref().map(|flash| flash.text.as_str())
}

#[test]
fn ctrl_t_goes_to_the_last_call_that_is_not_over_and_back() {
    let mut app = three_calls();
    app.press("ctrl+t");
    assert_eq!((app.state.focus, app.state.panel.chosen), (Focus::Panel, 2));
    app.press("ctrl+t");
    assert_eq!(app.state.focus, Focus::Composer);
}

#[test]
fn without_a_call_there_is_no_panel_to_go_to() {
    let mut app = App::new();
    app.press("ctrl+t");
    assert_eq!(app.state.focus, Focus::Composer);
    assert_eq!(flash(&app), Some("no tool has been called yet"));
}

#[test]
fn the_choice_stays_inside_the_list() {
    let mut app = three_calls();
    app.press("ctrl+t j j j");
    assert_eq!(app.state.panel.chosen, 2);
    app.press("k k k k");
    assert_eq!(app.state.panel.chosen, 0);
    app.press("G");
    assert_eq!(app.state.panel.chosen, 2);
    app.press("g");
    assert_eq!(app.state.panel.chosen, 0);
}

#[test]
fn enter_opens_a_call_and_esc_closes_it_before_it_leaves() {
    let mut app = three_calls();
    app.press("ctrl+t k enter");
    let opened = |app: &App| app.state.panel.detail.as_ref().map(|detail| detail.call);
    assert_eq!(opened(&app), Some(app.state.panel.calls()[1]));
    app.press("J");
    assert_eq!(opened(&app), Some(app.state.panel.calls()[2]));
    app.press("esc");
    assert_eq!(app.state.panel.detail, None);
    assert_eq!(app.state.focus, Focus::Panel);
    app.press("esc");
    assert_eq!(app.state.focus, Focus::Composer);
}

#[test]
fn actions_apply_to_the_selected_call() {
    let mut app = three_calls();
    app.press("ctrl+t k");
    assert_eq!(
        app.press("x"),
        [Effect::Send(Command::Call("b".into(), CallCommand::Cancel))]
    );
    assert_eq!(
        app.press("r"),
        [Effect::Send(Command::Call(
            "b".into(),
            CallCommand::RunAgain
        ))]
    );
    assert_eq!(
        app.press("b"),
        [Effect::Send(Command::Call(
            "b".into(),
            CallCommand::Background
        ))]
    );
    let text = "Bash {\n  \"command\": \"cargo test\"\n}\n\nrunning 12 tests\n\n".to_owned();
    assert_eq!(app.press("y"), [Effect::Copy(Copied::Text(text))]);
}

#[test]
fn a_finished_call_cannot_be_stopped_but_can_run_again() {
    let mut app = three_calls();
    app.press("ctrl+t g");
    assert_eq!(app.press("x"), []);
    assert_eq!(flash(&app), Some("already finished"));
    assert_eq!(app.press("i"), []);
    assert_eq!(flash(&app), Some("this call already has a result"));
    assert_eq!(
        app.press("r"),
        [Effect::Send(Command::Call(
            "a".into(),
            CallCommand::RunAgain
        ))]
    );
}

#[test]
fn only_a_running_command_goes_to_the_background() {
    let mut app = three_calls();
    app.press("ctrl+t");
    assert_eq!(app.press("b"), []);
    let why = "only a running command can be backgrounded";
    assert_eq!(flash(&app), Some(why));
    app.press("esc");
    // From the input, the key applies to the running command.
    assert_eq!(
        app.press("ctrl+b"),
        [Effect::Send(Command::Call(
            "b".into(),
            CallCommand::Background
        ))]
    );
}

#[test]
fn a_result_can_be_typed_by_hand_without_touching_the_draft() {
    let mut app = three_calls();
    app.types("draft");
    app.press("ctrl+t k i");
    app.types("all green");
    let by_hand = Command::Call(
        "b".into(),
        CallCommand::AnswerByHand("all green".to_owned()),
    );
    assert_eq!(app.press("enter"), [Effect::Send(by_hand)]);
    assert!(app.state.dialogs.is_empty());
    assert_eq!(app.draft(), "draft");
}

#[test]
fn a_result_typed_too_late_is_not_sent() {
    let mut app = three_calls();
    app.press("ctrl+t k i");
    app.types("all green");
    app.tool("b", "Bash").completes("12 passed");
    assert_eq!(app.press("enter"), []);
    let why = "the call has finished in the meantime";
    assert_eq!(flash(&app), Some(why));
}

#[test]
fn an_unfinished_call_ends_with_the_turn() {
    let mut app = App::working();
    app.tool("a", "Write")
        .arrives()
        .writes("{\"file_path\": \"a.");
    app.ends(Ending::Interrupted);
    let call = app.state.calls.get(app.state.panel.calls()[0]);
    let why = "the turn ended".to_owned();
    let outcome = call.completed().map(|completed| completed.outcome.clone());
    assert_eq!(outcome, Some(CallOutcome::Skipped { why }));
}

#[test]
fn events_after_the_result_change_nothing() {
    let mut app = three_calls();
    let before = app.state.calls.get(app.state.panel.calls()[0]).revision;
    app.tool("a", "Read").running().prints("late").fails("late");
    let call = app.state.calls.get(app.state.panel.calls()[0]);
    assert_eq!(call.revision, before);
    assert_eq!(call.completed().map(|it| it.text.as_str()), Some("1\n2\n3"));
}

#[test]
fn a_repeated_id_is_another_call() {
    // The rig gives every call the same id on the wire.
    let mut app = App::working();
    app.tool("first", "Read")
        .queued(json!({"file_path": "a"}))
        .running()
        .completes("a")
        .yielded();
    app.tool("second", "Read").queued(json!({"file_path": "b"}));
    let subjects: Vec<String> = app
        .state
        .panel
        .calls()
        .iter()
        .map(|key| app.state.calls.get(*key).subject())
        .collect();
    assert_eq!(subjects, ["a", "b"]);
}

#[test]
fn the_panel_shows_the_calls_of_one_turn() {
    let mut app = three_calls();
    app.ends(Ending::Done);
    assert_eq!(app.state.panel.calls().len(), 3);
    app.accept_message("next");
    assert_eq!(app.state.panel.calls(), []);
}

#[test]
fn the_keys_do_not_stay_in_a_panel_that_becomes_empty() {
    let mut app = three_calls();
    app.types("next");
    app.press("enter");
    app.press("ctrl+t");
    app.ends(Ending::Done);
    app.accept_message("next");
    assert_eq!(app.state.focus, Focus::Composer);
}

#[test]
fn the_persons_command_is_a_call_outside_the_turns() {
    let mut app = App::new();
    app.aside("person_1", "git status");
    assert!(!app.state.is_working());
    assert!(app.state.wake_at().is_some());
    app.press("ctrl+t");
    assert_eq!(
        app.press("x"),
        [Effect::Send(Command::Call(
            "person_1".into(),
            CallCommand::Cancel
        ))]
    );
    app.tool("person_1", "Bash").completes("clean");
    // The panel stays for a moment.
    app.after(Duration::from_secs(10));
    assert_eq!(app.state.wake_at(), None);
}

#[test]
fn the_persons_command_continues_when_the_turn_ends() {
    let mut app = App::working();
    app.aside("person_1", "sleep 5");
    app.ends(Ending::Done);
    let call = app.state.calls.get(app.state.panel.calls()[0]);
    assert!(!call.is_over());
}

#[test]
fn the_persons_command_stays_in_the_panel_when_a_turn_begins() {
    let mut app = App::new();
    app.aside("person_1", "sleep 5");
    app.accept_message("hello");
    assert_eq!(app.state.panel.calls().len(), 1);
    app.ends(Ending::Done);
    // Ctrl+C stops what runs; it does not quit.
    assert_eq!(
        app.commands("ctrl+c"),
        [Command::Turn(TurnCommand::Interrupt)]
    );
    app.tool("person_1", "Bash").completes("");
    app.accept_message("next");
    assert_eq!(app.state.panel.calls(), []);
}

#[test]
fn a_call_that_runs_again_starts_over() {
    let mut app = App::working();
    app.tool("a", "Bash")
        .queued(json!({"command": "cargo test"}))
        .executing(Phase::Validating)
        .waits()
        .takes(1000)
        .running()
        .prints("first run\n")
        .takes(1000)
        .executing(Phase::Validating)
        .takes(10)
        .running()
        .takes(50);
    let call = app.state.calls.get(app.state.panel.calls()[0]);
    assert_eq!(call.output, "");
    assert_eq!(call.times.asked, None);
    assert_eq!(call.elapsed(app.state.now), Some(millis(50)));
}

#[test]
fn impossible_actions_on_a_call_are_explained() {
    let mut app = three_calls();
    app.tool("d", "Write").arrives();
    app.press("ctrl+t");
    for key in ["x", "i"] {
        assert_eq!(app.press(key), []);
        assert_eq!(flash(&app), Some("the model is still writing this call"));
        app.state.flash = None;
    }
    for key in ["r", "k r"] {
        assert_eq!(app.press(key), []);
        assert_eq!(flash(&app), Some("this call has not run yet"));
        app.state.flash = None;
    }
    app.aside("person_1", "sleep 5");
    app.press("G i");
    let why = "you ran this yourself; the model isn't waiting for it";
    assert_eq!(flash(&app), Some(why));
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn the_persons_command_can_go_to_the_background_when_no_turn_runs() {
    let mut app = App::new();
    app.aside("person_1", "sleep 5");
    assert_eq!(
        app.press("ctrl+b"),
        [Effect::Send(Command::Call(
            "person_1".into(),
            CallCommand::Background
        ))]
    );
}

#[test]
fn the_lines_of_a_result_are_counted_once() {
    let app = three_calls();
    let call = app.state.calls.get(app.state.panel.calls()[0]);
    assert_eq!(call.completed().map(|it| it.lines), Some(3));
}

/// A command that was left in the background.
fn left_running() -> App {
    let mut app = App::working();
    app.tool("a", "Bash")
        .queued(json!({"command": "npm run dev"}))
        .running()
        .ends_as(CallOutcome::Backgrounded, "it runs");
    app.ends(Ending::Done);
    app
}

#[test]
fn a_command_in_the_background_can_be_stopped_until_it_has_ended() {
    let mut app = left_running();
    app.press("ctrl+t");
    assert_eq!(
        app.commands("x"),
        [Command::Call("a".into(), CallCommand::Cancel)]
    );
    app.background_ended("a", BackgroundEnd::Stopped);
    let notice = match &app.state.transcript.last().expect("a notice").cell {
        Cell::Notice { text, .. } => text.as_str(),
        other => panic!("{other:?}"),
    };
    assert_eq!(notice, "background command stopped: npm run dev");
    assert_eq!(app.commands("x"), []);
    assert_eq!(flash(&app), Some("already finished"));
}

#[test]
fn quitting_says_each_time_which_background_commands_it_stops() {
    let mut app = left_running();
    let text = "press again to quit; this stops `npm run dev` in the background";
    for key in ["ctrl+c", "ctrl+d"] {
        for _ in 0..2 {
            assert_eq!(app.press(key), [], "{key}");
            assert_eq!(flash(&app), Some(text), "{key}");
            app.after(millis(5_000));
        }
        app.press(key);
        assert_eq!(app.press(key), [Effect::Quit(ExitReason::Asked)], "{key}");
        app.after(millis(5_000));
    }

    let mut app = left_running();
    let text = "/quit again to quit; this stops `npm run dev` in the background";
    assert_eq!(run(&mut app, "/quit"), []);
    assert_eq!(flash(&app), Some(text));
    app.after(millis(60_000));
    assert_eq!(run(&mut app, "/quit"), [], "forgotten since");
    assert_eq!(flash(&app), Some(text));
    assert_eq!(run(&mut app, "/quit"), [Effect::Quit(ExitReason::Asked)]);

    let mut app = left_running();
    app.background_ended("a", BackgroundEnd::Stopped);
    assert_eq!(run(&mut app, "/quit"), [Effect::Quit(ExitReason::Asked)]);
}

#[test]
fn only_possible_actions_for_the_selected_call_are_offered() {
    use crate::keymap::Action::{AnswerByHand, Background, CancelCall, RunAgain};
    let mut app = three_calls();
    app.press("ctrl+t g");
    let offered = |app: &App| {
        [CancelCall, RunAgain, Background, AnswerByHand]
            .map(|action| app.state.can_do_to_call(action))
    };
    assert_eq!(offered(&app), [false, true, false, false], "over");
    app.press("j");
    assert_eq!(offered(&app), [true, true, true, true], "runs");
    app.press("j");
    assert_eq!(offered(&app), [true, false, false, true], "queued");
}

#[test]
fn stopping_a_call_is_said_before_it_has_ended() {
    let mut app = three_calls();
    let call = app.state.panel.calls()[1];
    app.press("ctrl+t k x");
    assert!(app.state.calls.get(call).is_stopping);
    app.tool("b", "Bash").ends_as(CallOutcome::Cancelled, "");
    assert!(!app.state.calls.get(call).is_stopping);

    let mut app = left_running();
    app.press("ctrl+t x");
    let call = app.state.chosen_call().expect("it is listed");
    assert!(app.state.calls.get(call).is_stopping);
    app.background_ended("a", BackgroundEnd::Stopped);
    assert!(!app.state.calls.get(call).is_stopping);
}

#[test]
fn a_letter_without_a_meaning_among_the_calls_is_typed_into_the_input() {
    let mut app = three_calls();
    app.press("ctrl+t");
    app.types("why?");
    assert_eq!(app.state.focus, Focus::Composer);
    assert_eq!(app.draft(), "why?");
    // Keys of the list keep their meaning, and keys that type nothing do nothing.
    let mut app = three_calls();
    app.press("ctrl+t k f5 alt+w");
    assert_eq!(app.state.focus, Focus::Panel);
    assert_eq!(app.draft(), "");
}

#[test]
fn the_input_has_the_keys_after_an_interrupt_from_the_list() {
    let mut app = three_calls();
    app.press("ctrl+t k enter ctrl+c");
    assert_eq!(app.state.focus, Focus::Composer);
    app.types("instead");
    assert_eq!(app.draft(), "instead");
}

#[test]
fn a_question_mark_shows_the_keys_of_the_list() {
    for keys in ["ctrl+t ?", "ctrl+t enter ?", "ctrl+s ?"] {
        let mut app = three_calls();
        app.press(keys);
        assert!(
            matches!(app.state.dialogs.as_slice(), [Dialog::Help(_)]),
            "{keys}"
        );
    }
}

#[test]
fn a_new_conversation_says_which_background_commands_it_stopped() {
    let mut app = left_running();
    run(&mut app, "/clear");
    let notices: Vec<&str> = app
        .state
        .transcript
        .entries()
        .iter()
        .filter_map(|entry| match &entry.cell {
            Cell::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        ["stopped with the previous conversation: npm run dev"]
    );
}

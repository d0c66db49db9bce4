use crate::app::escape::EscapeStep;
use crate::app::rig::{App, millis};
use crate::app::{Effect, ExitReason, Focus, Msg, Stage};
use crate::keymap::Action;
use crate::protocol::{CallCommand, Command, Ending, TurnCommand, TurnEvent};

#[test]
fn ctrl_c_closes_one_thing_at_a_time_and_quits_last() {
    let mut app = App::asked("Bash");
    app.types("draft");
    app.after(millis(300));
    app.press("home");

    assert_eq!(app.state.ctrl_c(), EscapeStep::Dialog);
    app.press("ctrl+c");
    assert!(app.state.dialogs.is_empty());
    // The dialog's answer has interrupted the turn already.
    assert_eq!(app.state.ctrl_c(), EscapeStep::Force);
    assert_eq!(
        app.commands("ctrl+c"),
        [Command::Turn(TurnCommand::Interrupt)]
    );
    let stage = app.state.work().map(|work| work.stage.clone());
    assert_eq!(stage, Some(Stage::Killing));

    app.ends(Ending::Interrupted);
    app.types("draft");
    assert_eq!(app.state.ctrl_c(), EscapeStep::Draft);
    assert_eq!(app.press("ctrl+c"), []);
    assert_eq!(app.draft(), "");

    assert_eq!(app.state.ctrl_c(), EscapeStep::ArmQuit);
    assert_eq!(app.press("ctrl+c"), []);
    assert_eq!(app.state.ctrl_c(), EscapeStep::Quit);
    assert_eq!(app.press("ctrl+c"), [Effect::Quit(ExitReason::Asked)]);
}

#[test]
fn the_first_ctrl_c_is_remembered_for_two_seconds() {
    let mut app = App::new();
    app.press("ctrl+c");
    app.after(millis(1999));
    assert_eq!(app.state.ctrl_c(), EscapeStep::Quit);
    app.after(millis(1));
    assert_eq!(app.state.ctrl_c(), EscapeStep::ArmQuit);
    assert_eq!(app.state.wake_at(), None);
}

#[test]
fn any_action_between_two_ctrl_c_makes_the_second_a_first() {
    for between in ["x", "ctrl+o", "pgup", "left"] {
        let mut app = App::new();
        app.press("ctrl+c");
        app.press(between);
        app.press("backspace");
        assert_eq!(app.state.ctrl_c(), EscapeStep::ArmQuit, "{between}");
    }
    let mut app = App::new();
    app.press("ctrl+c");
    app.update(Msg::Pasted("pasted".to_owned()));
    app.press("ctrl+c");
    assert_eq!(app.draft(), "");
    assert_eq!(app.press("ctrl+c"), []);
}

#[test]
fn ctrl_c_never_quits_while_something_runs() {
    let mut app = App::working();
    for _ in 0..5 {
        assert_eq!(
            app.commands("ctrl+c"),
            [Command::Turn(TurnCommand::Interrupt)]
        );
    }
    let mut app = App::new();
    app.aside("person_1", "sleep 10");
    for _ in 0..5 {
        assert_eq!(
            app.press("ctrl+c"),
            [Effect::Send(Command::Turn(TurnCommand::Interrupt))]
        );
    }
}

#[test]
fn ctrl_d_quits_from_an_empty_input_but_not_while_something_runs() {
    assert_eq!(
        App::new().press("ctrl+d"),
        [Effect::Quit(ExitReason::Asked)]
    );
    assert_eq!(App::typed("draft").press("ctrl+d"), []);
    let mut app = App::working();
    assert_eq!(app.press("ctrl+d"), []);
    assert!(app.state.flash.is_some());
}

#[test]
fn esc_interrupts_then_clears_and_never_quits() {
    let mut app = App::working();
    app.types("draft");
    assert_eq!(app.commands("esc"), [Command::Turn(TurnCommand::Interrupt)]);
    assert_eq!(app.draft(), "draft");
    app.ends(Ending::Interrupted);
    assert_eq!(app.press("esc"), []);
    assert_eq!(app.draft(), "");
    for _ in 0..3 {
        assert_eq!(app.state.esc(), EscapeStep::Nothing);
        assert_eq!(app.press("esc"), []);
    }
}

#[test]
fn esc_gives_the_keys_back_before_it_interrupts() {
    let mut app = App::working();
    app.press("ctrl+s");
    assert_eq!(app.state.focus, Focus::Conversation);
    assert_eq!(app.press("esc"), []);
    assert_eq!(app.state.focus, Focus::Composer);
    assert_eq!(app.commands("esc"), [Command::Turn(TurnCommand::Interrupt)]);
}

#[test]
fn ctrl_c_interrupts_from_wherever_the_keys_are() {
    for keys in ["ctrl+s", "ctrl+t", "ctrl+t enter"] {
        let mut app = App::working();
        app.tool("a", "Read").running();
        app.press(keys);
        assert_eq!(
            app.commands("ctrl+c"),
            [Command::Turn(TurnCommand::Interrupt)],
            "{keys}"
        );
    }
}

#[test]
fn the_search_is_closed_before_the_turn_is_stopped() {
    let mut app = App::working();
    app.press("ctrl+s /");
    app.types("word");
    assert_eq!(app.press("ctrl+c"), []);
    assert_eq!(app.state.search, None);
    assert_eq!(
        app.commands("ctrl+c"),
        [Command::Turn(TurnCommand::Interrupt)]
    );
}

#[test]
fn a_paste_ends_what_would_hide_the_input() {
    let mut app = App::working();
    app.tool("a", "Read").running();
    app.press("ctrl+t enter");
    app.update(Msg::Pasted("text".to_owned()));
    assert_eq!(app.state.focus, Focus::Composer);
    assert_eq!(app.state.panel.detail, None);

    app.press("ctrl+s /");
    app.types("wo");
    app.update(Msg::Pasted("rd".to_owned()));
    assert_eq!(app.state.search, None);
    assert_eq!(app.draft(), "textrd");
}

#[test]
fn before_a_retry_the_panel_has_its_keys() {
    let mut app = App::working();
    app.tool("a", "Read").running();
    app.turn_event(TurnEvent::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        wait: millis(5000),
    });
    app.press("ctrl+t");
    assert_eq!(
        app.commands("r"),
        [Command::Call("a".into(), CallCommand::RunAgain)]
    );
    app.press("esc");
    assert_eq!(app.state.focus, Focus::Composer);
}

#[test]
fn keys_that_do_nothing_say_so() {
    let flash = |app: &App| app.state.flash.as_ref().map(|flash| flash.text.clone());
    let mut app = App::new();
    app.press("esc esc");
    let text = "nothing to stop; Ctrl+C twice quits";
    assert_eq!(flash(&app).as_deref(), Some(text));

    let mut app = App::working();
    app.tool("a", "Bash").running().exits(0, "");
    app.press("ctrl+o");
    let text = "everything is shown already";
    assert_eq!(flash(&app).as_deref(), Some(text));
    app.tool("b", "Bash").running().exits(0, "one\ntwo");
    app.press("ctrl+o");
    assert_eq!(flash(&app), None);
}

#[test]
fn a_letter_without_a_meaning_in_the_conversation_is_typed_into_the_input() {
    let mut app = App::new();
    app.press("ctrl+s");
    app.types("why?");
    assert_eq!(app.state.focus, Focus::Composer);
    assert_eq!(app.draft(), "why?");
    // Letters of a search are its query.
    let mut app = App::new();
    app.press("ctrl+s /");
    app.types("why");
    assert_eq!(app.state.focus, Focus::Conversation);
    assert_eq!(app.draft(), "");
    // While a question waits, the input is not there.
    let mut app = App::asked("Bash");
    app.press("ctrl+s w");
    assert_eq!(app.state.focus, Focus::Conversation);
    assert_eq!(app.draft(), "");
}

#[test]
fn every_action_is_handled_or_belongs_elsewhere() {
    for action in Action::ALL {
        App::new().state.perform(*action);
    }
}

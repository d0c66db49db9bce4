use crate::app::dialogs::{Dialog, DialogLayout};
use crate::app::rig::{App, choice, millis, reply, request, sent};
use crate::protocol::{Answer, CallOutcome, Chosen, Command, Ending, Reply, TurnCommand};

/// A turn runs, and a tool's question is visible and armed.
fn asked() -> App {
    let mut app = App::working();
    app.asks(choice("call", &["Postgres", "SQLite"]));
    read(&mut app);
    app
}

fn read(app: &mut App) {
    let dialog = app.state.dialogs.last_mut().expect("a dialog is open");
    dialog.record_layout(DialogLayout {
        furthest: 0,
        visible: 10,
        ..DialogLayout::default()
    });
    app.after(millis(300));
}

fn second() -> Reply {
    Reply::Chosen(vec![Chosen {
        options: vec![1],
        text: None,
        ..Chosen::default()
    }])
}

#[test]
fn the_chosen_answer_goes_to_the_call_that_asked() {
    let mut app = asked();
    assert_eq!(app.commands("down enter"), [reply("call", second())]);
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn a_question_is_dismissed_without_stopping_the_turn() {
    for key in ["esc", "ctrl+c"] {
        let mut app = asked();
        assert_eq!(app.commands(key), [reply("call", Reply::Dismissed)]);
        assert!(app.state.dialogs.is_empty() && app.state.is_working());
    }
}

#[test]
fn typing_while_a_question_appears_answers_nothing() {
    let mut app = App::working();
    app.types("1 wait");
    app.asks(choice("call", &["Postgres", "SQLite"]));
    assert_eq!(app.press("2 space x enter esc ctrl+c"), []);
    assert_eq!(app.draft(), "1 wait");
    assert_eq!(app.state.dialogs.len(), 1);
}

#[test]
fn all_questions_wait_in_one_dialog() {
    let mut app = asked();
    app.asks(request("second", "Bash"));
    assert_eq!(app.state.dialogs.len(), 1);
    assert_eq!(app.commands("down enter"), [reply("call", second())]);
    assert_eq!(app.press("y"), [], "not seen yet");
    read(&mut app);
    let allow = reply("second", Reply::Permission(Answer::Allow));
    assert_eq!(app.commands("y"), [allow]);
}

#[test]
fn a_permission_question_in_front_of_it_still_denies_and_stops() {
    let mut app = App::asked("Bash");
    app.asks(choice("second", &["Postgres"]));
    read(&mut app);
    let deny = reply("call", Reply::Permission(Answer::Deny { reason: None }));
    let stop = Command::Turn(TurnCommand::Interrupt);
    assert_eq!(app.commands("esc"), [stop, deny]);
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn the_mode_does_not_change_while_a_tool_asks() {
    let mut app = asked();
    assert_eq!(app.press("shift+tab"), []);
}

#[test]
fn a_question_closes_when_its_call_no_longer_waits_for_it() {
    let mut app = asked();
    app.tool("call", "Asks").running();
    assert!(app.state.dialogs.is_empty());
    let mut app = asked();
    app.tool("call", "Asks").ends_as(CallOutcome::Cancelled, "");
    assert!(app.state.dialogs.is_empty());
    let mut app = asked();
    app.ends(Ending::Interrupted);
    assert!(app.state.dialogs.is_empty());
    let mut app = asked();
    app.tool("call", "Asks").waits();
    assert!(matches!(
        app.state.dialogs.last(),
        Some(Dialog::Question(_))
    ));
}

#[test]
fn the_person_is_notified() {
    let mut app = App::working();
    app.state.focused = false;
    let effects = app.asks(choice("call", &["Postgres"]));
    assert!(!effects.is_empty());
    assert_eq!(sent(effects), []);
}

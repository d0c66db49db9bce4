use crate::app::dialogs::{Dialog, DialogLayout};
use crate::app::job::{Job, JobResult};
use crate::app::rig::{App, millis, request};
use crate::app::{Effect, Msg, Stage};
use crate::keymap::{Context, Keymap};
use crate::protocol::{
    Answer, CallCommand, CallEvent, CallRef, Command, Ending, Mode, Reply, SessionCommand,
    TurnCommand, TurnEvent,
};
use crate::theme::{Depth, Theme};

/// All of the request was visible, and the delay is over.
fn read(app: &mut App) {
    shown(app);
    app.after(millis(300));
}

fn shown(app: &mut App) {
    let dialog = app.state.dialogs.last_mut().expect("a dialog is open");
    dialog.record_layout(DialogLayout {
        furthest: 0,
        visible: 10,
        ..DialogLayout::default()
    });
}

fn allow(call: &str) -> Effect {
    Effect::Send(Command::Call(
        call.into(),
        CallCommand::Reply(Reply::Permission(Answer::Allow)),
    ))
}

fn deny(call: &str) -> Command {
    Command::Call(
        call.into(),
        CallCommand::Reply(Reply::Permission(Answer::Deny { reason: None })),
    )
}

#[test]
fn typing_ahead_never_answers() {
    let mut app = App::asked("Bash");
    shown(&mut app);
    app.after(millis(299));
    assert_eq!(app.press("y"), []);
    // Each key that comes too early restarts the delay.
    app.after(millis(299));
    assert_eq!(app.press("y"), []);
    app.after(millis(300));
    assert_eq!(app.press("y"), [allow("call")]);
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn changes_that_were_not_visible_cannot_be_accepted() {
    let mut app = App::asked("Bash");
    app.after(millis(300));
    assert_eq!(app.press("y"), []);
    read(&mut app);
    assert_eq!(app.press("y"), [allow("call")]);
}

#[test]
fn the_draft_is_untouched_by_a_question() {
    let mut app = App::working();
    app.types("my draft");
    app.asks(request("call", "Bash"));
    app.types("yes no maybe");
    read(&mut app);
    app.press("n");
    assert_eq!(app.draft(), "my draft");
}

#[test]
fn questions_queue_up_and_each_has_its_own_pause() {
    let mut app = App::asked("Bash");
    app.asks(request("second", "Edit"));
    assert_eq!(app.state.dialogs.len(), 1);
    read(&mut app);
    assert_eq!(app.press("y"), [allow("call")]);
    assert_eq!(app.press("y"), []);
    read(&mut app);
    assert_eq!(app.press("y"), [allow("second")]);
}

#[test]
fn a_question_closes_when_its_call_stops_waiting() {
    let mut app = App::asked("Bash");
    app.tool("call", "Bash").completes("answered elsewhere");
    assert!(app.state.dialogs.is_empty());

    let mut app = App::asked("Bash");
    app.tool("call", "Bash").running();
    assert!(app.state.dialogs.is_empty());

    let mut app = App::asked("Bash");
    app.asks(request("second", "Bash"));
    app.decided("second", "rule Bash(cargo test:*)", true);
    let Some(Dialog::Question(dialog)) = app.state.dialogs.last() else {
        panic!("the first question is still open");
    };
    assert_eq!(dialog.position(), (1, 1));
}

#[test]
fn questions_of_a_turn_that_is_over_go_with_it() {
    let mut app = App::asked("Bash");
    app.ends(Ending::Interrupted);
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn esc_denies_and_interrupts() {
    for keys in ["esc", "ctrl+c"] {
        let mut app = App::asked("Bash");
        app.asks(request("second", "Bash"));
        read(&mut app);
        assert_eq!(
            app.commands(keys),
            [Command::Turn(TurnCommand::Interrupt), deny("call")]
        );
        assert!(app.state.dialogs.is_empty());
        assert_eq!(
            app.state.work().map(|work| &work.stage),
            Some(&Stage::Stopping)
        );
    }
}

#[test]
fn ctrl_c_goes_back_from_a_stage_of_the_question() {
    for (keys, context) in [
        ("a", Context::RuleEdit),
        ("e", Context::Reason),
        ("tab", Context::Hunks),
    ] {
        let mut app = App::asked("Edit");
        read(&mut app);
        app.press(keys);
        assert_eq!(app.state.contexts()[0], context);
        app.after(millis(300));
        assert_eq!(app.press("ctrl+c"), [], "{keys}");
        assert_eq!(app.state.contexts()[0], Context::Permission, "{keys}");
    }
}

#[test]
fn a_denial_with_a_reason_tells_the_model_why() {
    let mut app = App::asked("Bash");
    read(&mut app);
    app.press("e");
    app.types("use nextest");
    app.after(millis(300));
    let reason = Some("use nextest".to_owned());
    let answer = Command::Call(
        "call".into(),
        CallCommand::Reply(Reply::Permission(Answer::Deny { reason })),
    );
    assert_eq!(app.commands("enter"), [answer]);
}

#[test]
fn a_covered_question_is_disarmed_again() {
    let mut app = App::asked("Bash");
    read(&mut app);
    app.update(Msg::JobDone(JobResult::Themes(themes())));
    app.press("esc");
    assert_eq!(app.press("y"), []);
    read(&mut app);
    assert_eq!(app.press("y"), [allow("call")]);
}

#[test]
fn a_question_is_disarmed_again_when_the_dialog_over_it_closes_by_itself() {
    let mut app = App::working();
    app.aside("person_1", "touch x");
    let asked = CallEvent::Asked(request("person_1", "Bash"));
    app.call_event("person_1", asked);
    read(&mut app);
    let why = "a limit".to_owned();
    app.turn_event(TurnEvent::Paused { why });
    app.ends(Ending::Interrupted);
    assert_eq!(app.press("y"), []);
    read(&mut app);
    assert_eq!(app.press("y"), [allow("person_1")]);
}

#[test]
fn at_a_limit_the_person_continues_or_stops() {
    let paused = || {
        let mut app = App::working();
        let why = "the same call three times".to_owned();
        app.turn_event(TurnEvent::Paused { why });
        app
    };
    let mut app = paused();
    app.after(millis(299));
    assert_eq!(app.press("enter"), []);
    app.after(millis(1));
    assert_eq!(
        app.press("enter"),
        [Effect::Send(Command::Turn(TurnCommand::Continue))]
    );
    assert!(app.state.dialogs.is_empty());

    let mut app = paused();
    app.after(millis(300));
    assert_eq!(
        app.press("esc"),
        [Effect::Send(Command::Turn(TurnCommand::Interrupt))]
    );
    assert!(app.state.dialogs.is_empty());
}

fn themes() -> Vec<Theme> {
    Theme::names().filter_map(Theme::builtin).collect()
}

fn theme(app: &App) -> &str {
    &app.state.settings.theme.name
}

#[test]
fn a_selected_theme_is_previewed_and_esc_restores_the_old_one() {
    let mut app = App::typed("/theme");
    let effects = app.press("enter");
    assert!(effects.contains(&Effect::Start(Job::ListThemes)));
    app.update(Msg::JobDone(JobResult::Themes(themes())));
    let before = app.state.settings.theme.clone();
    app.press("down down");
    let second = Theme::names().nth(2).expect("there are more than two");
    assert_eq!(theme(&app), second);
    assert_eq!(app.press("esc"), []);
    assert_eq!(app.state.settings.theme, before);
}

#[test]
fn a_chosen_theme_is_saved() {
    let mut app = App::new();
    app.update(Msg::JobDone(JobResult::Themes(themes())));
    app.types("high-contrast-l");
    let keep = Job::KeepTheme("high-contrast-light".to_owned());
    assert_eq!(app.press("enter"), [Effect::Start(keep)]);
    assert_eq!(theme(&app), "high-contrast-light");
    let expected = Theme::builtin("high-contrast-light").map(|it| it.at(Depth::None));
    assert_eq!(Some(app.state.settings.theme.clone()), expected);
}

#[test]
fn home_and_end_reach_both_ends_of_a_list() {
    let mut app = App::new();
    app.press("ctrl+p end");
    let picker = |app: &App| match app.state.dialogs.last() {
        Some(Dialog::Picker(picker)) => (picker.chosen_number(), picker.shown().len()),
        _ => panic!("a list is open"),
    };
    let (chosen, count) = picker(&app);
    assert_eq!(chosen + 1, count);
    app.press("home");
    assert_eq!(picker(&app).0, 0);
}

#[test]
fn the_palette_performs_the_chosen_command() {
    let mut app = App::new();
    app.press("ctrl+p");
    app.types("next permission");
    let effects = app.press("enter");
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(matches!(
        effects[0],
        Effect::Send(Command::Session(SessionCommand::SetMode(_)))
    ));
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn a_question_comes_before_a_list_that_is_open() {
    let mut app = App::working();
    app.press("ctrl+p");
    app.asks(request("call", "Bash"));
    assert_eq!(app.state.contexts()[0], Context::Permission);
    read(&mut app);
    app.press("n");
    assert_eq!(app.state.contexts()[0], Context::Picker);
}

#[test]
fn help_opens_on_an_empty_line_and_closes_again() {
    let mut app = App::new();
    app.press("?");
    assert_eq!(app.state.contexts()[0], Context::Help);
    app.types("?");
    assert_eq!(app.state.dialogs.len(), 1, "letters narrow it");
    app.press("esc");
    assert!(app.state.dialogs.is_empty());
    let mut app = App::typed("why");
    app.press("?");
    assert_eq!(app.draft(), "why?");
}

#[test]
fn the_mode_can_be_changed_while_a_call_waits_for_permission() {
    let mut app = App::asked("Bash");
    read(&mut app);
    let mode = Mode::AcceptEdits;
    assert_eq!(
        app.commands("shift+tab"),
        [Command::Session(SessionCommand::SetMode(mode))]
    );
    assert_eq!(app.state.dialogs.len(), 1);
}

#[test]
fn switching_the_mode_allows_nothing_that_was_not_read_to_the_end() {
    let mut app = App::asked("Bash");
    shown(&mut app);
    assert_eq!(app.press("shift+tab"), [], "too early");
    let mut app = App::asked("Bash");
    app.after(millis(300));
    assert_eq!(app.press("shift+tab"), [], "nothing of it was in view");
    let Some(Dialog::Question(questions)) = app.state.dialogs.last() else {
        panic!("it still asks");
    };
    let dialog = questions.permission().expect("whether it may run");
    assert_eq!(dialog.notice(), dialog.obstacle().as_deref());
}

/// The help lists them by what they do.
#[test]
fn every_key_of_the_pause_does_something() {
    let keymap = Keymap::builtin();
    for (chord, action) in keymap.hints(Context::Question) {
        let mut app = App::working();
        let why = "the same call three times".to_owned();
        app.turn_event(TurnEvent::Paused { why });
        app.after(millis(300));
        assert_ne!(app.press(&chord.to_string()), [], "{chord} {action:?}");
        assert!(app.state.dialogs.is_empty());
    }
}

#[test]
fn a_question_of_the_persons_own_call_outlives_the_turn() {
    let mut app = App::working();
    app.asks(request("a", "Bash"));
    app.aside("person_1", "touch x");
    let id: CallRef = "person_1".into();
    let asked = CallEvent::Asked(request(id, "Bash"));
    app.call_event(id, asked);
    app.ends(Ending::Done);
    let Some(Dialog::Question(dialog)) = app.state.dialogs.last() else {
        panic!("it still asks");
    };
    assert_eq!(dialog.current().map(|request| &request.call), Some(&id));
    app.tool("person_1", "Bash").running();
    assert!(app.state.dialogs.is_empty());
}

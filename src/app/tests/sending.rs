use crate::app::job::{Job, JobResult};
use crate::app::rig::{App, millis, submit};
use crate::app::transcript::Cell;
use crate::app::{Effect, Msg};
use crate::protocol::{
    AgentEvent, Block, Command, Ending, Image, Mode, SessionCommand, SessionEvent, TurnEvent,
};

pub fn sent_prompts(app: &App) -> Vec<String> {
    let entries = app.state.transcript.entries().iter();
    entries
        .filter_map(|entry| match &entry.cell {
            Cell::User { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn enter_sends_the_draft() {
    let mut app = App::typed("fix the failing test");
    let effects = app.press("enter");
    assert_eq!(
        effects,
        [
            Effect::Start(Job::KeepInHistory("fix the failing test".to_owned())),
            Effect::Start(Job::KeepDraft(String::new())),
            Effect::Send(submit("fix the failing test")),
        ]
    );
    assert!(app.state.is_working());
    assert_eq!(sent_prompts(&app), ["fix the failing test"]);
    assert_eq!(app.draft(), "");
}

#[test]
fn a_message_that_the_agent_accepts_is_shown_once() {
    let mut app = App::typed("hello");
    app.press("enter");
    app.accept_message("hello");
    assert_eq!(sent_prompts(&app), ["hello"]);
}

#[test]
fn nothing_is_sent_from_an_empty_input() {
    let mut app = App::typed("   ");
    assert_eq!(app.press("enter"), []);
    assert_eq!(App::new().press("enter"), []);
}

#[test]
fn a_message_can_be_sent_before_the_session_is_open() {
    let mut app = App::starting();
    app.types("early");
    assert_eq!(app.commands("enter"), [submit("early")]);
    assert!(app.state.is_working());
}

#[test]
fn the_mode_shown_is_the_one_that_the_agent_reports() {
    let mut app = App::new();
    app.receive(AgentEvent::Session(SessionEvent::ModeIs(Mode::Plan)));
    assert_eq!(app.state.session.mode, Mode::Plan);
}

#[test]
fn events_of_another_turn_are_ignored() {
    let mut app = App::working();
    app.turn.number += 7;
    app.model_writes("from nowhere");
    assert_eq!(app.state.transcript.len(), 2);
}

#[test]
fn shift_tab_goes_through_three_modes() {
    let mut app = App::new();
    for mode in [Mode::AcceptEdits, Mode::Plan, Mode::Default] {
        assert_eq!(
            app.commands("shift+tab"),
            [Command::Session(SessionCommand::SetMode(mode))]
        );
        assert_eq!(app.state.session.mode, mode);
    }
}

#[test]
fn a_command_with_an_exclamation_mark_is_run_directly() {
    let mut app = App::typed("!git status");
    assert_eq!(
        app.commands("enter"),
        [Command::Session(SessionCommand::Run(
            "git status".to_owned()
        ))]
    );
    assert!(!app.state.is_working());
}

#[test]
fn a_note_is_remembered_and_the_person_is_told_where() {
    let mut app = App::typed("#tests run with cargo nextest");
    let effects = app.press("enter");
    let remember = Job::Remember("tests run with cargo nextest".to_owned());
    assert!(effects.contains(&Effect::Start(remember)), "{effects:?}");
    app.update(Msg::JobDone(JobResult::Remembered(Ok("AGENTS.md".into()))));
    let flash = app.state.flash.as_ref().map(|flash| flash.text.as_str());
    assert_eq!(flash, Some("noted in AGENTS.md"));
}

#[test]
fn a_flash_disappears_by_itself() {
    let mut app = App::new();
    app.update(Msg::JobDone(JobResult::Failed("no such file".to_owned())));
    assert!(app.state.flash.is_some());
    app.after(millis(3000));
    assert_eq!(app.state.flash, None);
    assert_eq!(app.state.wake_at(), None);
}

#[test]
fn images_that_were_sent_are_counted() {
    let mut app = App::new();
    let image = Block::Image(Image::base64("image/png", "AAAA"));
    let message = crate::protocol::Message::from_user(vec![image, Block::text("what is it?")]);
    app.turn_event(TurnEvent::Prompted(message));
    let shown = app.state.transcript.last().map(|entry| entry.cell.clone());
    let text = "what is it?".to_owned();
    assert_eq!(shown, Some(Cell::User { text, images: 1 }));
}

#[test]
fn a_message_that_a_hook_refuses_ends_its_turn_and_stays_in_view() {
    let mut app = App::typed("my secret");
    app.press("enter");
    app.turn_event(TurnEvent::Refused);
    assert!(app.state.is_working());
    let ending = Ending::Failed {
        problem: "the hook refuses the message".to_owned(),
        hint: None,
    };
    app.ends(ending);
    assert!(!app.state.is_working());
    assert_eq!(sent_prompts(&app), ["my secret"]);
}

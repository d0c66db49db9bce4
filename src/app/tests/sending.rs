use crate::app::job::{Job, JobResult};
use crate::app::rig::{App, millis, submit};
use crate::app::transcript::Cell;
use crate::app::{Effect, Msg, Stage};
use crate::protocol::{
    AgentEvent, Block, Command, Ending, Image, Mode, SessionCommand, SessionEvent, TurnCommand,
    TurnEvent,
};

fn said_by_person(app: &App) -> Vec<String> {
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
    assert_eq!(said_by_person(&app), ["fix the failing test"]);
    assert_eq!(app.draft(), "");
}

#[test]
fn a_message_that_the_agent_takes_up_is_shown_once() {
    let mut app = App::typed("hello");
    app.press("enter");
    app.taken_up("hello");
    assert_eq!(said_by_person(&app), ["hello"]);
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
fn what_is_sent_while_a_turn_runs_waits_in_view() {
    let mut app = App::working();
    app.types("and the docs");
    assert_eq!(app.commands("enter"), [submit("and the docs")]);
    assert_eq!(app.state.queue, ["and the docs"]);
    assert_eq!(said_by_person(&app), ["fix the failing test"]);

    app.taken_up("and the docs");
    assert!(app.state.queue.is_empty());
    assert_eq!(
        said_by_person(&app),
        ["fix the failing test", "and the docs"]
    );
}

#[test]
fn a_message_that_waited_is_shown_in_the_words_that_it_waited_in() {
    let mut app = App::working();
    app.update(Msg::Pasted("line\n".repeat(100)));
    app.press("enter");
    let waited = app.state.queue.clone();
    app.taken_up(&"line\n".repeat(100));
    assert_eq!(said_by_person(&app)[1..], waited);
    assert!(waited[0].len() < 50, "{waited:?}");
}

#[test]
fn enter_on_an_empty_line_sends_what_waits_at_once() {
    let mut app = App::working();
    app.types("rather this");
    app.press("enter");
    assert_eq!(
        app.commands("enter"),
        [Command::Turn(TurnCommand::SendQueue)]
    );
    assert_eq!(
        app.state.work().map(|work| &work.stage),
        Some(&Stage::MakingWay)
    );

    // The turn stops for the message, which is not taken back.
    assert_eq!(app.ends(Ending::Interrupted), []);
    app.taken_up("rather this");
    assert!(app.state.queue.is_empty());
    assert!(app.state.is_working());
}

#[test]
fn enter_twice_on_an_empty_line_interrupts_once() {
    let mut app = App::working();
    app.types("rather this");
    app.press("enter enter");
    assert_eq!(app.press("enter"), []);
}

#[test]
fn an_interrupt_gives_back_what_waits() {
    let mut app = App::working();
    app.types("later");
    app.press("enter");
    app.types("half a thou");
    assert_eq!(app.commands("esc"), [Command::Turn(TurnCommand::Interrupt)]);
    assert_eq!(
        app.ends(Ending::Interrupted),
        [Effect::Send(Command::Session(SessionCommand::TakeBack))]
    );
    app.told(AgentEvent::Session(SessionEvent::TakenBack(vec![vec![
        Block::text("later"),
    ]])));
    assert!(app.state.queue.is_empty());
    assert_eq!(app.draft(), "later\nhalf a thou");
}

#[test]
fn enter_while_what_waited_is_on_its_way_back_sends_it_when_it_is_there() {
    let mut app = App::working();
    app.types("later");
    app.press("enter esc");
    app.ends(Ending::Interrupted);
    assert_eq!(app.press("enter"), []);
    let later = vec![Block::text("later")];
    let back = AgentEvent::Session(SessionEvent::TakenBack(vec![later.clone()]));
    let sent = Effect::Send(Command::Session(SessionCommand::Submit(later)));
    assert!(app.told(back).contains(&sent));
    assert_eq!(app.draft(), "");
}

#[test]
fn a_failure_gives_back_what_waits_too() {
    let mut app = App::working();
    app.types("later");
    app.press("enter");
    let failed = Ending::Failed {
        problem: "no way".to_owned(),
        hint: None,
    };
    assert_eq!(
        app.ends(failed),
        [Effect::Send(Command::Session(SessionCommand::TakeBack))]
    );
}

#[test]
fn the_mode_shown_is_the_one_that_the_agent_tells() {
    let mut app = App::new();
    app.told(AgentEvent::Session(SessionEvent::ModeIs(Mode::Plan)));
    assert_eq!(app.state.session.mode, Mode::Plan);
}

#[test]
fn the_words_of_another_turn_are_not_heard() {
    let mut app = App::working();
    app.turn.number += 7;
    app.says("from nowhere");
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
fn a_word_beside_the_keys_goes_away_by_itself() {
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
    app.hear(TurnEvent::Prompted(message));
    let shown = app.state.transcript.last().map(|entry| entry.cell.clone());
    let text = "what is it?".to_owned();
    assert_eq!(shown, Some(Cell::User { text, images: 1 }));
}

#[test]
fn nothing_taken_back_leaves_the_draft_alone() {
    let mut app = App::typed("draft");
    app.told(AgentEvent::Session(SessionEvent::TakenBack(Vec::new())));
    assert_eq!(app.draft(), "draft");
}

#[test]
fn an_image_that_waited_comes_back_with_its_message() {
    let mut app = App::working();
    app.update(Msg::Pasted("/tmp/a.png".to_owned()));
    let image = Block::Image(Image::base64("image/png", "AAAA"));
    app.update(Msg::JobDone(JobResult::Attached {
        path: "/tmp/a.png".into(),
        result: Ok(image.clone()),
    }));
    let sent = app.commands("enter");
    let [Command::Session(SessionCommand::Submit(blocks))] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert!(blocks.contains(&image));
    app.told(AgentEvent::Session(SessionEvent::TakenBack(vec![
        blocks.clone(),
    ])));
    assert_eq!(app.state.flash, None);
    assert_eq!(app.commands("enter"), sent);
}

#[test]
fn an_image_that_cannot_come_back_is_told_of() {
    let mut app = App::working();
    let image = Block::Image(Image::base64("image/png", "AAAA"));
    let message = vec![image, Block::text("what is it?")];
    app.told(AgentEvent::Session(SessionEvent::TakenBack(vec![message])));
    assert_eq!(app.draft(), "what is it?");
    let flash = app.state.flash.as_ref().map(|flash| flash.text.as_str());
    assert_eq!(
        flash,
        Some("an image could not be put back; attach it again")
    );
}

#[test]
fn a_message_that_a_hook_refuses_ends_its_turn_and_stays_in_view() {
    let mut app = App::typed("my secret");
    app.press("enter");
    app.hear(TurnEvent::Refused);
    assert!(app.state.is_working());
    let ending = Ending::Failed {
        problem: "the hook refuses the message".to_owned(),
        hint: None,
    };
    app.ends(ending);
    assert!(!app.state.is_working());
    assert_eq!(said_by_person(&app), ["my secret"]);
}

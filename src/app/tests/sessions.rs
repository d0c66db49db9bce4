//! The list of earlier sessions.

use super::slash::{flash, picker, run};
use crate::app::job::{Job, JobResult, SessionContent, SessionRow};
use crate::app::page::Line;
use crate::app::rig::App;
use crate::app::{Effect, Msg, OpeningSession};
use crate::protocol::{AgentEvent, Command, SessionCommand, SessionEvent};

/// The list of sessions, filled.
fn sessions(app: &mut App) {
    run(app, "/sessions");
    let row = |id: &str| SessionRow {
        id: id.to_owned(),
        when: "3 hours ago".to_owned(),
        age: "Today",
        title: format!("about {id}"),
        ..SessionRow::default()
    };
    let rows = vec![row("one"), row("two")];
    app.update(Msg::JobDone(JobResult::Sessions(rows)));
}

#[test]
fn the_content_of_a_session_is_shown_and_searched() {
    let mut app = App::new();
    sessions(&mut app);
    let content = SessionContent {
        id: "two".to_owned(),
        title: Some("skip bad rows".to_owned()),
        model: "large".to_owned(),
        branch: Some("main".to_owned()),
        messages: 9,
        calls: 1,
        cost: Some(0.211),
        added: 38,
        removed: 9,
        end: vec![Line::text("bad rows are skipped")],
    };
    app.update(Msg::JobDone(JobResult::SessionRead(Box::new(content))));
    app.types("skipped");
    let item = picker(&app).chosen().expect("it is found");
    assert_eq!(item.label, "skip bad rows");
    assert_eq!(item.about, "main · 9 messages · 1 call · $0.21");
    assert_eq!(item.hint, "+38 −9  3 hours ago");
    let preview: Vec<String> = item.preview.iter().map(Line::plain).collect();
    assert_eq!(preview[0], "skip bad rows");
    assert_eq!(preview[1], "3 hours ago · large · main");
    assert_eq!(preview[4], "bad rows are skipped");
}

#[test]
fn a_session_is_forked_and_deleted_only_after_a_second_press() {
    let mut app = App::new();
    sessions(&mut app);
    assert_eq!(app.press("ctrl+d down"), []);
    assert_eq!(app.press("ctrl+d"), [], "another one, so it is asked again");
    let delete = Job::DeleteSession("two".to_owned());
    assert_eq!(app.press("ctrl+d"), [Effect::Start(delete)]);
    app.update(Msg::JobDone(JobResult::SessionDeleted {
        id: "two".to_owned(),
        result: Ok(()),
    }));
    assert_eq!(picker(&app).len(), 2, "with the open one");
    let effects = app.press("ctrl+f");
    let [Effect::Open(opening)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(opening.session, OpeningSession::Fork("one".to_owned()));
}

#[test]
fn a_session_gets_another_title_in_the_list() {
    let mut app = App::new();
    sessions(&mut app);
    app.press("down ctrl+r");
    assert_eq!(picker(&app).renaming(), Some("about two"));
    app.press("ctrl+u");
    app.types("q");
    assert_eq!(
        app.press("esc"),
        [],
        "the list stays, and so does the title"
    );
    app.press("ctrl+r ctrl+w");
    app.types("2 ");
    let rename = Job::RenameSession {
        id: "two".to_owned(),
        title: "about 2".to_owned(),
    };
    assert_eq!(app.press("enter"), [Effect::Start(rename)]);
    assert_eq!(picker(&app).renaming(), None);
    app.update(Msg::JobDone(JobResult::SessionRenamed {
        id: "two".to_owned(),
        result: Ok("about 2".to_owned()),
    }));
    let titles: Vec<&str> = picker(&app).shown().map(|item| &*item.label).collect();
    assert_eq!(titles, ["No messages yet", "about one", "about 2"]);
    assert_eq!(picker(&app).filter(), "");
}

#[test]
fn the_open_session_is_renamed_by_a_command() {
    let mut app = App::new();
    let effects = run(&mut app, "/rename  skip bad rows ");
    let rename = SessionCommand::Rename("skip bad rows".to_owned());
    assert_eq!(effects, [Effect::Send(Command::Session(rename))]);
    let renamed = SessionEvent::Renamed("skip bad rows".to_owned());
    app.receive(AgentEvent::Session(renamed));
    assert_eq!(flash(&app), Some("session renamed"));
}

#[test]
fn the_sessions_of_all_directories_are_a_key_away() {
    let mut app = App::new();
    sessions(&mut app);
    let list = |everywhere| [Effect::Start(Job::ListSessions { everywhere })];
    assert_eq!(app.press("tab"), list(true));
    assert_eq!(app.state.dialogs.len(), 1);
    assert_eq!(app.press("tab"), list(false));
}

#[test]
fn a_list_that_was_closed_while_loading_stays_closed() {
    let mut app = App::new();
    run(&mut app, "/sessions");
    assert_eq!(app.state.dialogs.len(), 1, "it is there at once");
    app.press("esc");
    app.update(Msg::JobDone(JobResult::Sessions(vec![SessionRow {
        id: "one".to_owned(),
        when: "yesterday".to_owned(),
        title: "about one".to_owned(),
        ..SessionRow::default()
    }])));
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn sessions_that_a_program_has_open_are_marked_and_not_resumed() {
    let mut app = App::new();
    run(&mut app, "/sessions");
    let row = |id: &str, is_open| SessionRow {
        id: id.to_owned(),
        title: format!("about {id}"),
        is_open,
        ..SessionRow::default()
    };
    let rows = vec![row("session", true), row("busy", true), row("free", false)];
    app.update(Msg::JobDone(JobResult::Sessions(rows)));
    let about: Vec<&str> = picker(&app).shown().map(|item| &*item.about).collect();
    assert_eq!(about, ["this session", "open elsewhere", ""]);
    assert_eq!(app.press("enter"), []);
    assert_eq!(
        flash(&app),
        Some("another agent-tui is using it; Ctrl+F continues with a copy")
    );
    assert_eq!(app.press("ctrl+d ctrl+d"), []);
    assert_eq!(
        flash(&app),
        Some("another agent-tui is using it; quit that one first")
    );
    assert_eq!(app.press("up enter"), []);
    assert_eq!(flash(&app), Some("this session is already open"));
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn the_open_session_is_listed_alone_and_renamed_by_the_agent() {
    let mut app = App::new();
    run(&mut app, "/sessions");
    app.update(Msg::JobDone(JobResult::Sessions(Vec::new())));
    let item = picker(&app).chosen().expect("the open session");
    assert_eq!(
        (&*item.label, &*item.about),
        ("No messages yet", "this session")
    );
    app.press("ctrl+r ctrl+u");
    app.types("plans");
    let rename = SessionCommand::Rename("plans".to_owned());
    let rename = Effect::Send(Command::Session(rename));
    assert_eq!(app.press("enter"), [rename]);
    assert_eq!(picker(&app).chosen().expect("still there").label, "plans");
}

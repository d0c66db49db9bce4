use std::time::Duration;

use serde_json::json;

use super::slash::{flash, run};
use crate::app::dialogs::Dialog;
use crate::app::dialogs::picker::{Mark, Picker};
use crate::app::rig::App;
use crate::app::{Focus, Msg};
use crate::protocol::{BackgroundEnd, CallCommand, CallOutcome, Command, Ending};

/// Two commands run in the background, each of which has printed something.
fn two_in_background() -> App {
    let mut app = App::working();
    for (call, command) in [("a", "npm run dev\n# on 3000"), ("b", "cargo watch")] {
        app.tool(call, "Bash")
            .queued(json!({"command": command}))
            .running()
            .prints("compiling\n")
            .ends_as(CallOutcome::Backgrounded, "it runs");
    }
    app.ends(Ending::Done);
    app
}

fn list(app: &App) -> &Picker {
    match app.state.dialogs.last() {
        Some(Dialog::Picker(picker)) => picker,
        other => panic!("no list is open: {other:?}"),
    }
}

/// What the list shows for each: its command, what it printed last, its state.
fn listed(app: &App) -> Vec<(&str, &str, &str)> {
    list(app)
        .items()
        .iter()
        .map(|item| (&*item.label, &*item.about, &*item.hint))
        .collect()
}

#[test]
fn without_background_commands_there_is_nothing_to_list() {
    let mut app = App::new();
    run(&mut app, "/tasks");
    assert!(app.state.dialogs.is_empty());
    assert_eq!(flash(&app), Some("nothing runs in the background"));
}

#[test]
fn the_list_says_how_each_command_is_doing() {
    let mut app = two_in_background();
    app.after(Duration::from_secs(62));
    run(&mut app, "/tasks");
    assert_eq!(
        listed(&app),
        [
            ("npm run dev", "compiling", "running 1m 02s"),
            ("cargo watch", "compiling", "running 1m 02s"),
        ]
    );
}

#[test]
fn the_open_list_is_updated_by_events() {
    let mut app = two_in_background();
    run(&mut app, "/tasks");
    app.press("down");
    app.tool("b", "Bash")
        .prints("\x1b[32mok\x1b[0m 3 tests\n\n");
    app.background_ended("a", BackgroundEnd::Exited(1));
    app.after(Duration::from_secs(3));
    app.update(Msg::Tick);
    assert_eq!(
        listed(&app),
        [
            ("npm run dev", "compiling", "failed (exit 1)"),
            ("cargo watch", "ok 3 tests", "running 3s"),
        ]
    );
    let chosen = list(&app).chosen().expect("one is chosen");
    assert_eq!(chosen.label, "cargo watch", "the chosen one stays it");
    let preview: Vec<&str> = chosen.preview.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(preview, ["compiling", "ok 3 tests", ""]);
}

#[test]
fn a_command_that_goes_to_the_background_joins_the_open_list() {
    let mut app = two_in_background();
    run(&mut app, "/tasks");
    app.accept_message("more");
    app.tool("c", "Bash")
        .queued(json!({"command": "make"}))
        .running()
        .ends_as(CallOutcome::Backgrounded, "it runs");
    assert_eq!(listed(&app).last(), Some(&("make", "", "running 0s")));
}

#[test]
fn running_commands_come_before_ended_ones() {
    let mut app = two_in_background();
    app.background_ended("a", BackgroundEnd::Exited(0));
    run(&mut app, "/tasks");
    let marks: Vec<_> = list(&app).items().iter().map(|item| item.mark).collect();
    assert_eq!(marks, [Some(Mark::Running), Some(Mark::Done)]);
    assert_eq!(listed(&app)[1].2, "finished (exit 0)");
}

#[test]
fn a_key_stops_the_chosen_command_once() {
    let mut app = two_in_background();
    run(&mut app, "/tasks");
    app.press("down");
    assert_eq!(
        app.commands("ctrl+x"),
        [Command::Call("b".into(), CallCommand::Cancel)]
    );
    assert_eq!(listed(&app)[1].2, "stopping");
    app.background_ended("b", BackgroundEnd::Stopped);
    assert_eq!(listed(&app)[1].2, "stopped");
    assert_eq!(app.commands("ctrl+x"), []);
    assert_eq!(flash(&app), Some("already finished"));
}

#[test]
fn enter_opens_the_chosen_command_and_esc_leads_back() {
    let mut app = two_in_background();
    app.background_ended("a", BackgroundEnd::Exited(0));
    app.accept_message("another turn");
    run(&mut app, "/tasks");
    app.press("end enter");
    assert!(app.state.dialogs.is_empty());
    assert_eq!(app.state.focus, Focus::Panel);
    let detail = app.state.panel.detail.as_ref().expect("a detail view");
    assert_eq!(app.state.calls.get(detail.call).id, "a".into());
    app.press("esc");
    assert_eq!(app.state.panel.detail, None);
    let chosen = list(&app).chosen().expect("one is chosen");
    assert_eq!(chosen.label, "npm run dev", "the same as before");
    app.press("esc");
    assert_eq!(app.state.focus, Focus::Composer);
    assert!(app.state.dialogs.is_empty());
}

use super::slash::{flash, last_notice, run};
use crate::app::rig::App;
use crate::protocol::TurnEvent;

fn decided(app: &mut App, call: &str, by: &str, settled: bool) {
    app.hear(TurnEvent::Decided {
        call: call.into(),
        by: by.to_owned(),
        settled,
    });
}

#[test]
fn why_tells_what_decided_about_the_last_call() {
    let mut app = App::working();
    assert_eq!(run(&mut app, "/why"), []);
    assert_eq!(flash(&app), Some("nothing has been decided about yet"));

    app.tool("a", "Bash").running();
    decided(&mut app, "a", "read-only command", true);
    app.tool("b", "Edit").running();
    decided(&mut app, "b", "asked about: edits are asked about", false);
    decided(&mut app, "b", "you, once", true);
    run(&mut app, "/why");
    let subject = app
        .state
        .calls
        .iter()
        .next_back()
        .expect("a call")
        .1
        .subject();
    let told = format!("Edit {subject}\nasked about: edits are asked about\nyou, once");
    assert_eq!(last_notice(&app), Some(told.as_str()));
}

#[test]
fn why_finds_a_call_by_its_tool_or_what_it_is_about() {
    let mut app = App::working();
    app.tool("a", "Bash").running();
    decided(&mut app, "a", "read-only command", true);
    app.tool("b", "Edit").running();
    decided(&mut app, "b", "you, once", true);
    run(&mut app, "/why bash");
    let told = last_notice(&app).expect("told");
    assert!(told.ends_with("\nread-only command"), "{told}");
    run(&mut app, "/why nonsense");
    assert_eq!(
        flash(&app),
        Some("nothing has been decided about a call with `nonsense`")
    );
}

#[test]
fn a_call_that_is_asked_about_goes_on_waiting() {
    let mut app = App::asked("Bash");
    decided(&mut app, "call", "asked about: no rule covers it", false);
    assert_eq!(app.state.dialogs.len(), 1);
    decided(&mut app, "call", "allowed by mode bypassPermissions", true);
    assert!(app.state.dialogs.is_empty());
}

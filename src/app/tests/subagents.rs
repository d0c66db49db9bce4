//! Subagents on the screen: listed under the call that started them, opened as conversations of their own, ended one by one.

use serde_json::json;

use crate::app::Focus;
use crate::app::rig::App;
use crate::app::subagents::SubagentActivity;
use crate::app::transcript::Cell;
use crate::protocol::{
    AgentEvent, AgentId, CallCommand, CallEvent, CallOutcome, CallRef, Command, Ending, Message,
    Phase, TurnCommand, TurnEvent,
};

/// The tools of the rows that can be selected, each after its depth.
fn rows(app: &App) -> Vec<String> {
    let rows = app.state.rows().into_iter();
    let named = rows.map(|row| {
        let call = app.state.calls.get(row.call);
        format!("{}{}", " ".repeat(row.place.depth().into()), call.subject())
    });
    named.collect()
}

fn cancelled(call: CallRef) -> Command {
    Command::Call(call, CallCommand::Cancel)
}

fn texts(app: &App) -> Vec<String> {
    let entries = app.state.conversation().entries().iter();
    let texts = entries.filter_map(|entry| match &entry.cell {
        Cell::User { text, .. } => Some(text.clone()),
        Cell::Answer(answer) => Some(answer.text.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn the_latest_calls_of_a_subagent_are_listed_below_the_call_that_started_it() {
    let mut app = App::with_agents(&["callers", "tests"]);
    for file in ["a", "b", "c", "d"] {
        let mut call = app.nested("callers", file, "Read");
        call.queued(json!({ "file_path": file })).running();
        if file != "a" {
            call.completes("text");
        }
    }
    // A running call stays listed, however old it is.
    assert_eq!(rows(&app), ["callers", " a", " c", " d", "tests"]);
    app.press("ctrl+t").len();
    assert_eq!(app.state.focus, Focus::Panel);
    app.press("home space");
    assert_eq!(rows(&app), ["callers", " a", " b", " c", " d", "tests"]);
    app.press("space");
    assert_eq!(rows(&app), ["callers", "tests"]);
}

#[test]
fn folding_from_one_of_its_calls_chooses_the_subagent() {
    let mut app = App::with_agents(&["callers", "tests"]);
    app.nested("tests", "a", "Read")
        .queued(json!({ "file_path": "a" }))
        .running();
    app.press("ctrl+t end");
    assert_eq!(rows(&app), ["callers", "tests", " a"]);
    app.press("space");
    assert_eq!(rows(&app), ["callers", "tests"]);
    assert_eq!(app.state.panel.chosen, 1);
}

#[test]
fn a_subagent_that_is_over_shows_its_calls_only_when_it_is_unfolded() {
    let mut app = App::with_agents(&["callers"]);
    app.nested("callers", "a", "Read")
        .queued(json!({ "file_path": "a" }))
        .running()
        .completes("text");
    app.agent_ends("callers", "There is one.");
    assert_eq!(rows(&app), ["callers"]);
    app.press("ctrl+t space");
    assert_eq!(rows(&app), ["callers", " a"]);
}

#[test]
fn enter_opens_its_conversation_and_esc_leads_back_to_where_it_was_opened() {
    let mut app = App::with_agents(&["callers", "tests"]);
    app.subagent_writes("callers", "I look ");
    app.press("ctrl+t home enter");
    assert_eq!(app.state.focus, Focus::Conversation);
    assert_eq!(texts(&app), ["do callers", "I look "]);
    // Its own new text is there, and the text of others is not.
    app.subagent_writes("callers", "everywhere.");
    app.subagent_writes("tests", "I test.");
    assert_eq!(texts(&app), ["do callers", "I look everywhere."]);
    app.press("esc");
    assert_eq!(app.state.focus, Focus::Panel);
    assert!(app.state.viewed().is_none());
    assert_eq!(texts(&app)[0], "fix the failing test");
}

#[test]
fn its_calls_are_the_list_while_it_is_in_view() {
    let mut app = App::with_agents(&["callers", "tests"]);
    app.nested("callers", "a", "Read")
        .queued(json!({ "file_path": "a" }))
        .running();
    app.press("ctrl+t home enter ctrl+t");
    assert_eq!(rows(&app), ["a"]);
    app.press("enter");
    assert!(app.state.panel.detail.is_some());
    app.press("esc esc");
    assert_eq!(app.state.focus, Focus::Conversation);
    assert!(app.state.viewed().is_some());
    app.press("esc esc");
    assert_eq!(app.state.focus, Focus::Composer);
    assert!(app.state.viewed().is_none());
}

#[test]
fn what_is_sent_from_its_view_goes_to_the_person_s_conversation_and_shows_it() {
    let mut app = App::with_agents(&["callers"]);
    app.press("ctrl+t enter");
    app.update(crate::app::Msg::Pasted("and the docs".to_owned()));
    assert!(app.state.viewed().is_none());
    app.press("enter");
    assert_eq!(app.state.queue.len(), 1);
}

#[test]
fn one_subagent_is_ended_and_one_of_its_calls_is_cancelled() {
    let mut app = App::with_agents(&["callers", "tests"]);
    app.nested("tests", "a", "Bash")
        .queued(json!({ "command": "make" }))
        .running();
    app.press("ctrl+t home");
    assert_eq!(app.commands("x"), [cancelled("callers".into())]);
    app.press("end");
    let call = app.nested_call("tests", "a");
    assert_eq!(app.commands("x"), [cancelled(call)]);
    // Ctrl+C stops the turn, and all of them with it.
    let interrupt = Command::Turn(TurnCommand::Interrupt);
    assert_eq!(app.commands("ctrl+c"), [interrupt]);
}

#[test]
fn a_finished_call_of_a_subagent_cannot_run_again() {
    let mut app = App::with_agents(&["callers"]);
    app.nested("callers", "a", "Read")
        .queued(json!({ "file_path": "a" }))
        .running()
        .completes("text");
    app.press("ctrl+t end");
    assert_eq!(app.commands("r"), []);
    assert!(app.state.flash.is_some());
}

#[test]
fn what_it_does_is_known_from_its_events() {
    let mut app = App::with_agents(&["callers"]);
    let doing = |app: &App| {
        let nested = app.state.subagents.get(app.agent("callers"));
        nested.expect("it was started").activity(&app.state.calls)
    };
    assert_eq!(doing(&app), SubagentActivity::Waiting);
    app.subagent_event("callers", TurnEvent::Thinking("hm".to_owned()));
    assert_eq!(doing(&app), SubagentActivity::Thinking);
    app.subagent_writes("callers", "I look.");
    assert_eq!(doing(&app), SubagentActivity::Writing);
    app.nested("callers", "a", "Read").arrives();
    assert!(matches!(doing(&app), SubagentActivity::Calling(_)));
    app.agent_ends("callers", "Done.");
    assert_eq!(doing(&app), SubagentActivity::Nothing);
}

#[test]
fn only_what_can_be_seen_of_a_subagent_is_worth_a_frame() {
    let mut app = App::with_agents(&["callers"]);
    let agent = app.agent("callers");
    let text = AgentEvent::Turn(app.turn_of("callers"), TurnEvent::Text("x".to_owned()));
    assert!(app.state.can_show(&text), "it begins to write");
    app.receive(text.clone());
    assert!(!app.state.can_show(&text), "it writes on, out of view");
    app.press("ctrl+t enter");
    assert!(app.state.can_show(&text), "it is in view");
    app.press("esc");
    assert!(!app.state.can_show(&text));
    let call = CallRef { agent, number: 1 };
    let ran = AgentEvent::Call {
        call,
        at: std::time::Duration::ZERO,
        event: CallEvent::Reached(Phase::Running),
    };
    assert!(app.state.can_show(&ran));
    let main = AgentEvent::Turn(app.turn, TurnEvent::Text("x".to_owned()));
    assert!(app.state.can_show(&main));
}

#[test]
fn a_question_of_one_in_the_background_outlives_the_turn() {
    let mut app = App::with_agents(&["callers"]);
    app.tool("callers", "Task")
        .ends_as(CallOutcome::Backgrounded, "It works on");
    let call = app.nested_call("callers", "a");
    app.asks(crate::app::rig::request(call, "Bash"));
    app.ends(Ending::Done);
    assert_eq!(app.state.dialogs.len(), 1);
}

#[test]
fn what_a_subagent_plans_and_spends_is_its_own() {
    let mut app = App::with_agents(&["callers"]);
    let before = app.state.session.spending;
    let spent = crate::protocol::Spending {
        cost: Some(3.0),
        ..before
    };
    app.subagent_event("callers", TurnEvent::Spent(spent));
    app.subagent_event("callers", TurnEvent::Planned(Vec::new()));
    assert_eq!(app.state.session.spending, before);
    let nested = app.state.subagents.get(AgentId(2)).expect("it was started");
    assert_eq!(nested.spending, spent);
    let prompted = texts(&app);
    app.subagent_event("callers", TurnEvent::Prompted(Message::user("more")));
    assert_eq!(texts(&app), prompted);
}

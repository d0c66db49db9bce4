//! Tools that are added and removed, between responses and during them.

use serde_json::json;

use super::rig::{Rig, call};
use crate::protocol::{AgentEvent, AgentId, Answer, Block, SessionCommand, SessionEvent};
use crate::protocol::{CallEvent, CallOutcome, Command};
use crate::tools::named::named;
use crate::tools::registry::{Origin, Registry};

/// A call of a tool that repeats its input.
fn echo_call(id: &str, tool: &str, text: &str) -> Block {
    call(id, tool, json!({ "text": text }))
}

fn add_tool(rig: &Rig, tool: &'static str) {
    let origin = Origin::Guest("a server".into());
    let added = rig.context.tools.add(named(tool), origin);
    added.expect("an unused name");
}

fn without_own(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let own = Registry::built_in();
    let guests = names.into_iter().filter(|name| own.find(name).is_none());
    guests.collect()
}

/// The offered tools in an event, except the built-in ones.
fn guests(event: AgentEvent) -> Option<Vec<String>> {
    let AgentEvent::Session(SessionEvent::Tools(tools)) = event else {
        return None;
    };
    let names = tools.iter().map(|tool| tool.name.to_string());
    Some(without_own(names))
}

#[tokio::test]
async fn an_added_tool_is_reported_and_offered_and_a_removed_one_is_not() {
    let mut rig = Rig::new([
        vec![echo_call("a", "Guest", "hello")],
        vec![Block::text("done")],
        vec![echo_call("b", "Guest", "again")],
    ]);
    add_tool(&rig, "Guest");
    assert_eq!(rig.wait_for(guests).await, ["Guest"]);
    rig.submit("go");
    let (_, result, outcome) = rig.over(AgentId::MAIN).await;
    assert_eq!(
        (&*result, outcome),
        ("Guest: hello", CallOutcome::Succeeded)
    );
    rig.finished().await;
    add_tool(&rig, "Other");
    assert!(rig.context.tools.remove("Guest"));
    rig.submit("go on");
    let (_, result, outcome) = rig.over(AgentId::MAIN).await;
    assert_eq!(outcome, CallOutcome::Failed);
    assert!(result.contains("No such tool available: Guest"), "{result}");
    rig.finished().await;
    let offered: Vec<Vec<String>> = rig.offered().into_iter().map(without_own).collect();
    assert_eq!(offered, [["Guest"], ["Guest"], ["Other"], ["Other"]]);
}

#[tokio::test]
async fn the_calls_of_a_response_find_the_tools_that_its_request_offered() {
    let mut rig = Rig::new([
        vec![
            call("a", "Bash", json!({ "command": "touch x" })),
            echo_call("b", "Guest", "still here"),
            echo_call("c", "Late", "not yet"),
        ],
        vec![
            echo_call("d", "Guest", "gone"),
            echo_call("e", "Late", "now"),
        ],
    ]);
    add_tool(&rig, "Guest");
    rig.submit("go");
    let asks = rig.wait_for_question(AgentId::MAIN).await;
    // The others are queued after it.
    assert!(rig.context.tools.remove("Guest"));
    add_tool(&rig, "Late");
    rig.answer(asks, Answer::Allow);
    let mut results = Vec::new();
    for _ in 0..5 {
        results.push(rig.over(AgentId::MAIN).await.1);
    }
    rig.finished().await;
    assert_eq!(results[1], "Guest: still here");
    assert!(results[2].contains("No such tool available: Late"));
    assert!(results[3].contains("No such tool available: Guest"));
    assert_eq!(results[4], "Late: now");
}

#[tokio::test]
async fn the_screen_learns_of_a_tool_before_its_calls() {
    let mut rig = Rig::new([
        vec![call("a", "Bash", json!({ "command": "touch x" }))],
        vec![echo_call("b", "Late", "hello")],
    ]);
    rig.submit("go");
    let asks = rig.wait_for_question(AgentId::MAIN).await;
    add_tool(&rig, "Late");
    rig.answer(asks, Answer::Allow);
    let events = rig.whole_turn().await;
    let tools = events
        .iter()
        .position(|event| guests(event.clone()).is_some());
    let called = events.iter().position(|event| {
        matches!(event, AgentEvent::Call { event: CallEvent::Queued { tool, .. }, .. } if tool == "Late")
    });
    assert!(tools.is_some() && tools < called, "{tools:?} {called:?}");
}

#[tokio::test]
async fn a_command_of_the_person_needs_a_tool_that_runs_commands() {
    let mut rig = Rig::new([]);
    rig.context.tools.remove("Bash");
    rig.send(Command::Session(SessionCommand::Run("ls".to_owned())));
    let notice = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    });
    assert_eq!(notice.await, "no tool for running commands is available");
}

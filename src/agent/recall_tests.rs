//! A resumed session shows what the person saw before: cells, calls, decisions, times and diffs.

use std::time::Instant;

use serde_json::json;

use super::rig::{Rig, call};
use crate::app::rig::{App, seen};
use crate::app::{Msg, update};
use crate::protocol::{
    AgentEvent, AgentId, Answer, Block, CallEvent, CallOutcome, ChangeSize, Command, Ending,
    Envelope, SessionCommand, SessionEvent, Shown, TurnCommand, TurnEvent,
};

/// A screen that receives all events of the agent.
struct Watched {
    rig: Rig,
    app: App,
    events: Vec<Envelope>,
}

impl Watched {
    async fn until(&mut self, is_it: impl Fn(&AgentEvent) -> bool) {
        loop {
            let envelope = self.rig.next().await;
            let found = is_it(&envelope.event);
            self.events.push(envelope.clone());
            self.app.state.now = Instant::now();
            update(&mut self.app.state, Msg::Agent(envelope));
            // The rig answers for the person.
            self.app.state.dialogs.clear();
            if found {
                return;
            }
        }
    }

    async fn wait_for_question(&mut self) -> crate::protocol::CallRef {
        let is_question = |event: &AgentEvent| {
            matches!(
                event,
                AgentEvent::Call {
                    event: CallEvent::Asked(_),
                    ..
                }
            )
        };
        self.until(is_question).await;
        match self.events.last().map(|envelope| &envelope.event) {
            Some(AgentEvent::Call { call, .. }) => *call,
            other => panic!("{other:?}"),
        }
    }

    async fn ended(&mut self) {
        let is_end =
            |event: &AgentEvent| matches!(event, AgentEvent::Turn(_, TurnEvent::Finished(_)));
        self.until(is_end).await;
    }

    async fn aside_over(&mut self) {
        let is_end = |event: &AgentEvent| match event {
            AgentEvent::Call { call, event, .. } => {
                call.agent == AgentId::PERSON && matches!(event, CallEvent::Completed { .. })
            }
            AgentEvent::Session(_) | AgentEvent::Turn(..) => false,
        };
        self.until(is_end).await;
    }
}

fn bash(id: &str, command: &str) -> Block {
    call(id, "Bash", json!({ "command": command }))
}

/// A session with every kind of content, and the screen that has seen it.
async fn full_session() -> Watched {
    let edit = json!({"file_path": "poem", "old_string": "two", "new_string": "2"});
    let rig = Rig::new([
        vec![
            Block::text("I look."),
            call("1", "Read", json!({"file_path": "poem"})),
            bash("1", "ls not-there"),
        ],
        vec![call("1", "Edit", edit), bash("2", "touch made")],
        vec![Block::text("Done.")],
        vec![
            Block::text("I wait."),
            bash("1", "sleep 1000"),
            bash("2", "ls"),
        ],
    ]);
    rig.scratch.put("poem", "one\ntwo\nthree\n");
    let app = App::starting();
    let mut watched = Watched {
        rig,
        app,
        events: Vec::new(),
    };
    watched.rig.submit("go");
    let call = watched.wait_for_question().await;
    watched.rig.answer(call, Answer::Allow);
    let call = watched.wait_for_question().await;
    watched.rig.answer(call, Answer::Deny { reason: None });
    watched.ended().await;
    let run = SessionCommand::Run("echo by myself".to_owned());
    watched.rig.send(Command::Session(run));
    watched.aside_over().await;
    watched.rig.submit("and now");
    let call = watched.wait_for_question().await;
    watched.rig.answer(call, Answer::Allow);
    // Not the other one, which runs without asking.
    let runs = |event: &AgentEvent| {
        let running = CallEvent::Reached(crate::protocol::Phase::Running);
        matches!(event, AgentEvent::Call { call: it, event, .. } if *it == call && *event == running)
    };
    watched.until(runs).await;
    watched.rig.send(Command::Turn(TurnCommand::Interrupt));
    watched.ended().await;
    watched
}

#[tokio::test]
async fn a_resumed_session_looks_the_same() {
    let Watched {
        rig,
        mut app,
        events: envelope,
    } = full_session().await;
    let mut rig = rig.resumed().await;
    let mut again = App::starting();
    let opened = rig.next().await;
    again.state.now = Instant::now();
    update(&mut again.state, Msg::Agent(opened));
    // Background commands and the cost of the turn do not matter here.
    app.state.session = again.state.session.clone();
    assert_eq!(seen(&again.state), seen(&app.state));

    let outcomes: Vec<CallOutcome> = again
        .state
        .calls
        .iter()
        .filter_map(|(_, call)| Some(call.completed()?.outcome.clone()))
        .collect();
    for expected in [
        CallOutcome::Succeeded,
        CallOutcome::Failed,
        CallOutcome::Denied,
        CallOutcome::Cancelled,
    ] {
        assert!(outcomes.contains(&expected), "{outcomes:?}");
    }
    let shows = |shown: &Shown| !shown.changes().is_empty();
    let mut calls = again.state.calls.iter();
    let change = calls.find(|(_, call)| call.completed().is_some_and(|it| shows(&it.shown)));
    assert!(change.is_some(), "the change is shown");
    let numbers = envelope.iter().filter_map(|envelope| envelope.record);
    assert!(numbers.is_sorted_by_key(|record| record.seq), "in order");
}

#[tokio::test]
async fn a_change_is_stored_by_its_checkpoints_and_shown_by_its_size_without_them() {
    let Watched { rig, .. } = full_session().await;
    let log = rig.scratch.root.with_file_name("log.jsonl");
    let text = std::fs::read_to_string(log).expect("a log");
    let result = text
        .lines()
        .find(|line| line.contains("\"changed\""))
        .expect("a result with a change");
    assert!(!result.contains("three\\nEND"), "contents are not in it");
    assert!(result.contains(r#""added":1,"removed":1"#), "{result}");
    let kept = rig.context.shared.env.checkpoints.directory().to_owned();
    std::fs::remove_dir_all(kept).expect("removed");
    let mut rig = rig.resumed().await;
    let mut again = App::starting();
    let opened = rig.next().await;
    update(&mut again.state, Msg::Agent(opened));
    let mut calls = again.state.calls.iter();
    let forgotten = calls.find_map(|(_, call)| {
        let completed = call.completed()?;
        completed.is_forgotten().then(|| completed.changed.clone())
    });
    let poem = ChangeSize {
        path: "poem".to_owned(),
        added: 1,
        removed: 1,
    };
    assert_eq!(forgotten, Some(vec![poem]));
}

#[tokio::test]
async fn a_new_run_only_reports_that_the_session_was_opened() {
    let Watched { rig, .. } = full_session().await;
    let mut rig = rig.resumed().await;
    let opened = rig.next().await;
    assert!(matches!(
        &opened.event,
        AgentEvent::Session(SessionEvent::Opened(opened)) if !opened.past.is_empty()
    ));
    rig.submit("go on");
    assert_eq!(rig.finished().await, Ending::Done);
}

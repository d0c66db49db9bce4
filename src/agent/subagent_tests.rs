//! Subagents: at the same time, stopped, asking, in the background, in the log.

use serde_json::{Value, json};

use super::rig::{Rig, call};
use crate::conversation::Limits;
use crate::hooks::Event;
use crate::hooks::rig::hook;
use crate::protocol::{
    AgentEvent, AgentId, Answer, BackgroundEnd, Block, CallCommand, CallEvent, CallOutcome,
    CallRef, Command, Ending, Message, Phase, QuestionKind, Subagent, TurnCommand, TurnEvent,
    Usage,
};
use crate::session::History;

fn task(id: &str, prompt: &str, more: Value) -> Block {
    let mut input = json!({ "description": format!("do {prompt}"), "prompt": prompt });
    if let (Some(input), Value::Object(more)) = (input.as_object_mut(), more) {
        input.extend(more);
    }
    call(id, "Task", input)
}

fn text_answer(text: &str) -> Vec<Block> {
    vec![Block::text(text)]
}

fn bash(command: &str) -> Vec<Block> {
    vec![call("call_1", "Bash", json!({ "command": command }))]
}

/// The texts of the results in a history, in order.
fn results(messages: &[Message]) -> Vec<String> {
    let results = messages.iter().flat_map(Message::tool_results);
    results.map(crate::protocol::ToolResult::as_text).collect()
}

fn started(event: AgentEvent) -> Option<Subagent> {
    match event {
        AgentEvent::Call {
            event: CallEvent::Started(subagent),
            ..
        } => Some(subagent),
        _ => None,
    }
}

/// Waits until a call of any subagent runs, and returns it.
async fn runs(rig: &mut Rig) -> CallRef {
    rig.wait_for(|event| match event {
        AgentEvent::Call {
            call,
            event: CallEvent::Reached(Phase::Running),
            ..
        } if call.agent.is_subagent() => Some(call),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_subagents_last_message_is_the_result_with_its_cost() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))], text_answer("all done")],
        [("look", vec![bash("pwd"), text_answer("It is here.")])],
    );
    rig.uses(Usage {
        input_tokens: Some(100),
        output_tokens: Some(10),
        ..Usage::default()
    });
    rig.submit("go");
    let subagent = rig.wait_for(started).await;
    assert_eq!(
        (subagent.agent, subagent.call),
        (AgentId(2), CallRef::main(1))
    );
    assert_eq!(
        (subagent.kind.as_str(), subagent.description.as_str()),
        ("general", "do look")
    );
    assert_eq!(rig.finished().await, Ending::Done);
    let result = results(&rig.last_request()).join("");
    assert!(result.starts_with("It is here."), "{result}");
    assert!(
        result.contains("(general: 2 answers, 1 call, 200 tokens in, 20 out, "),
        "{result}"
    );
    // It has all tools except the one that starts subagents.
    let offered = rig.offered();
    assert!(offered[0].iter().any(|tool| tool == "Task"));
    assert!(offered[1].iter().any(|tool| tool == "Write"));
    assert!(
        !offered[1].iter().any(|tool| tool.starts_with("Task")),
        "{:?}",
        offered[1]
    );
}

#[tokio::test]
async fn an_unknown_type_is_an_error_that_lists_the_known_ones() {
    let wrong = task("t", "look", json!({ "subagent_type": "wizard" }));
    let mut rig = Rig::new([vec![wrong], text_answer("done")]);
    rig.submit("go");
    rig.finished().await;
    let result = results(&rig.last_request()).join("");
    assert_eq!(
        result,
        "Unknown subagent type `wizard`. Use one of: explore, general"
    );
}

#[tokio::test]
async fn an_exploring_subagent_has_only_tools_that_read() {
    let explore = task("t", "look", json!({ "subagent_type": "explore" }));
    let mut rig = Rig::with_subagents([vec![explore]], [("look", vec![text_answer("seen")])]);
    rig.submit("go");
    rig.finished().await;
    let offered = &rig.offered()[1];
    let reads = crate::tools::subagents::read_only();
    assert!(
        offered.iter().all(|tool| reads.contains(tool)),
        "{offered:?}"
    );
    assert!(offered.contains(&"Read".to_owned()), "{offered:?}");
}

#[tokio::test]
async fn ten_run_at_once_although_their_calls_have_the_same_ids() {
    const PROMPTS: [&str; 10] = ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"];
    let tasks = PROMPTS.iter().map(|prompt| task("same", prompt, json!({})));
    let mut rig = Rig::new([tasks.collect(), text_answer("done")]);
    // Each waits for the files of all others.
    let waits = "touch $ME; until [ $(ls p? | wc -l) = 10 ]; do sleep 0.01; done";
    rig.script_subagents(PROMPTS.map(|prompt| {
        let command = waits.replace("$ME", prompt);
        (
            prompt,
            vec![bash(&command), text_answer(&format!("I am {prompt}"))],
        )
    }));
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    assert_eq!(rig.finished().await, Ending::Done);
    let results = results(&rig.last_request());
    assert_eq!(results.len(), 10);
    for (result, prompt) in results.iter().zip(PROMPTS) {
        assert!(result.starts_with(&format!("I am {prompt}")), "{result}");
    }
}

#[tokio::test]
async fn cancelling_one_of_three_stops_only_it_and_its_calls() {
    let three = ["one", "two", "three"].map(|prompt| task(prompt, prompt, json!({})));
    let mut rig = Rig::with_subagents(
        [three.to_vec(), text_answer("done")],
        [
            ("one", vec![bash("sleep 1000"), text_answer("never")]),
            ("two", vec![text_answer("two is done")]),
            ("three", vec![text_answer("three is done")]),
        ],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    let inner = runs(&mut rig).await;
    rig.order(CallRef::main(1), CallCommand::Cancel);
    let (over, _, outcome) = rig.over(inner.agent).await;
    assert_eq!((over, outcome), (inner, CallOutcome::Cancelled));
    assert_eq!(rig.finished().await, Ending::Done);
    let results = results(&rig.last_request());
    assert!(
        results[0].starts_with("Cancelled by the user"),
        "{results:?}"
    );
    assert!(results[1].starts_with("two is done"), "{results:?}");
    assert!(results[2].starts_with("three is done"), "{results:?}");
}

#[tokio::test]
async fn an_interrupt_stops_the_subagents_too() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))]],
        [("look", vec![bash("sleep 1000")])],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    let inner = runs(&mut rig).await;
    rig.send(Command::Turn(TurnCommand::Interrupt));
    let (over, ..) = rig.over(inner.agent).await;
    assert_eq!(over, inner);
    let (_, _, outcome) = rig.over(AgentId::MAIN).await;
    assert_eq!(outcome, CallOutcome::Cancelled);
    assert_eq!(rig.finished().await, Ending::Interrupted);
}

#[tokio::test]
async fn a_question_names_the_subagent_and_the_answer_reaches_its_call() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))], text_answer("done")],
        [("look", vec![bash("touch made"), text_answer("made it")])],
    );
    rig.submit("go");
    let (call, question) = rig
        .wait_for(|event| match event {
            AgentEvent::Call {
                call,
                event: CallEvent::Asked(question),
                ..
            } => Some((call, question)),
            _ => None,
        })
        .await;
    assert_eq!(call.agent, AgentId(2));
    assert_eq!(question.asker.as_deref(), Some("do look"));
    assert!(matches!(question.kind, QuestionKind::Permission(_)));
    rig.answer(call, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(results(&rig.last_request())[0].starts_with("made it"));
    assert_eq!(rig.scratch.names(), ["made"]);
}

#[tokio::test]
async fn a_background_subagent_returns_an_id_at_once_and_the_next_request_reports_its_end() {
    let background = task("t", "look", json!({ "run_in_background": true }));
    let look = |block: bool| {
        vec![call(
            "o",
            "TaskOutput",
            json!({ "task_id": "task_1", "block": block }),
        )]
    };
    let mut rig = Rig::with_subagents(
        [
            vec![background],
            look(false),
            look(true),
            text_answer("done"),
        ],
        [(
            "look",
            vec![
                bash("until [ -e go ]; do sleep 0.01; done"),
                text_answer("found it"),
            ],
        )],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    let (_, text, outcome) = rig.over(AgentId::MAIN).await;
    assert_eq!(outcome, CallOutcome::Backgrounded);
    assert!(text.contains("with the ID task_1"), "{text}");
    let (_, text, _) = rig.over(AgentId::MAIN).await;
    assert_eq!(text, "task_1 is still running: do look");
    rig.scratch.put("go", "");
    let ended = rig.background_ended().await;
    assert_eq!(ended, (CallRef::main(1), BackgroundEnd::Done));
    assert_eq!(rig.finished().await, Ending::Done);
    let last = rig.last_request();
    assert!(results(&last)[2].starts_with("found it"), "{last:?}");
    let sent: Vec<String> = rig.requests().last().expect("one").clone();
    let note = "The background subagent task_1 (do look) has ended: done. Use TaskOutput to get its result.";
    assert!(sent.iter().any(|text| text.contains(note)), "{sent:?}");
    // It has only the tools for the background.
    let of_subagent = rig.offered()[1..3]
        .iter()
        .find(|tools| !tools.contains(&"Task".to_owned()))
        .cloned();
    let of_subagent = of_subagent.expect("its request");
    for tool in ["Bash", "Edit", "Glob", "Grep", "Read"] {
        assert!(of_subagent.iter().any(|name| name == tool), "{tool}");
    }
    for tool in ["Write", "KillShell", "Task", "TaskOutput"] {
        assert!(!of_subagent.iter().any(|name| name == tool), "{tool}");
    }
}

#[tokio::test]
async fn a_background_subagent_survives_the_turn_and_an_interrupt_and_can_be_ended() {
    let background = task("t", "look", json!({ "run_in_background": true }));
    let kill = vec![call("k", "KillShell", json!({ "shell_id": "task_1" }))];
    let mut rig = Rig::with_subagents(
        [
            vec![background],
            text_answer("started"),
            kill,
            text_answer("done"),
        ],
        [("look", vec![bash("sleep 1000")])],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    let inner = runs(&mut rig).await;
    rig.send(Command::Turn(TurnCommand::Interrupt));
    rig.submit("end it");
    let (over, ..) = rig.over(inner.agent).await;
    assert_eq!(over, inner);
    assert_eq!(rig.background_ended().await.1, BackgroundEnd::Stopped);
    rig.finished().await;
    let results = results(&rig.last_request());
    assert!(
        results.contains(&"Killed task_1 (do look)".to_owned()),
        "{results:?}"
    );
}

#[tokio::test]
async fn the_person_can_end_a_background_subagent() {
    let background = task("t", "look", json!({ "run_in_background": true }));
    let mut rig = Rig::with_subagents([vec![background]], [("look", vec![bash("sleep 1000")])]);
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    runs(&mut rig).await;
    rig.order(CallRef::main(1), CallCommand::Cancel);
    assert_eq!(rig.background_ended().await.1, BackgroundEnd::Stopped);
}

#[tokio::test]
async fn a_running_subagent_can_continue_in_the_background() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))], text_answer("done")],
        [(
            "look",
            vec![
                bash("until [ -e go ]; do sleep 0.01; done"),
                text_answer("found"),
            ],
        )],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    runs(&mut rig).await;
    rig.order(CallRef::main(1), CallCommand::Background);
    assert_eq!(rig.finished().await, Ending::Done);
    rig.scratch.put("go", "");
    assert_eq!(
        rig.background_ended().await,
        (CallRef::main(1), BackgroundEnd::Done)
    );
}

#[tokio::test]
async fn its_usage_counts_for_the_session_and_its_limits() {
    let limits = Limits {
        max_tokens: Some(250),
        ..Limits::default()
    };
    let mut rig = Rig::limited(
        [vec![task("t", "look", json!({}))], text_answer("never")],
        limits,
    );
    rig.script_subagents([("look", vec![bash("pwd"), text_answer("found")])]);
    rig.uses(Usage {
        input_tokens: Some(90),
        output_tokens: Some(10),
        ..Usage::default()
    });
    rig.submit("go");
    let mut spent = Vec::new();
    let summary = loop {
        match rig.next().await.event {
            AgentEvent::Turn(turn, TurnEvent::Spent(spending)) if turn.agent.is_main() => {
                spent.push(spending.used.worked_on());
            }
            AgentEvent::Turn(turn, TurnEvent::Finished(summary)) if turn.agent.is_main() => {
                break summary;
            }
            _ => {}
        }
    };
    assert_eq!(spent, [100, 200, 300]);
    assert_eq!(summary.usage.worked_on(), 300);
    assert!(
        matches!(&summary.ending, Ending::Failed { problem, .. } if problem.contains("300 of 250")),
        "{summary:?}"
    );
}

#[tokio::test]
async fn a_hook_can_make_it_continue_and_learns_which_subagent_it_is() {
    let once = "cat > stop.json; if [ -e again ]; then exit 0; fi; touch again; echo 'not yet' >&2; exit 2";
    let mut rig = Rig::hooked(
        [vec![task("t", "look", json!({}))], text_answer("done")],
        vec![hook(Event::SubagentStop, once)],
    );
    rig.script_subagents([("look", vec![text_answer("one"), text_answer("two")])]);
    rig.submit("go");
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(results(&rig.last_request())[0].starts_with("two"));
    let sent: Value = serde_json::from_slice(&rig.scratch.bytes("stop.json")).expect("JSON");
    assert_eq!(sent["hook_event_name"], "SubagentStop");
    assert_eq!(
        (&sent["agent_id"], &sent["agent_type"]),
        (&json!("task_1"), &json!("general"))
    );
    assert_eq!(sent["stop_hook_active"], true);
}

#[tokio::test]
async fn it_is_in_the_log_and_shown_again_when_the_session_is_resumed() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))], text_answer("done")],
        [("look", vec![bash("pwd"), text_answer("here")])],
    );
    rig.submit("go");
    rig.finished().await;
    let mut rig = rig
        .resumed_with([vec![task("t", "more", json!({}))], text_answer("done")])
        .await;
    let past = rig
        .wait_for(|event| match event {
            AgentEvent::Session(crate::protocol::SessionEvent::Opened(opened)) => Some(opened.past),
            _ => None,
        })
        .await;
    let sent = |wanted: &dyn Fn(&AgentEvent) -> bool| past.iter().any(|sent| wanted(&sent.event));
    assert!(sent(
        &|event| started(event.clone()).is_some_and(|it| it.agent == AgentId(2))
    ));
    assert!(sent(&|event| matches!(
        event,
        AgentEvent::Call { call, event: CallEvent::Completed { .. }, .. } if call.agent == AgentId(2)
    )));
    // The next one has another number, so that their calls cannot be confused.
    rig.submit("again");
    assert_eq!(rig.wait_for(started).await.agent, AgentId(3));
    rig.finished().await;
    let path = rig.scratch.root.with_file_name("log.jsonl");
    let contents = crate::session::log::read_file(&path).expect("a log");
    let first = History::of(&contents.lines, AgentId(2));
    assert_eq!(first.last_text(), "here");
}

/// The text that a request brings the model besides what the person wrote.
fn notes(messages: &[Message]) -> Vec<String> {
    let last = messages.last().map_or(&[][..], |last| &last.content);
    let notes = last.iter().filter_map(|block| match block {
        Block::Text {
            text,
            note: Some(_),
            ..
        } => Some(text.clone()),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn an_end_that_the_model_was_not_told_of_is_told_after_a_resume_and_only_once() {
    let background = task("t", "look", json!({ "run_in_background": true }));
    let mut rig = Rig::with_subagents(
        [vec![background], text_answer("started")],
        [("look", vec![text_answer("found it")])],
    );
    rig.submit("go");
    rig.finished().await;
    rig.background_ended().await;
    let read = vec![call("o", "TaskOutput", json!({ "task_id": "task_1" }))];
    let mut rig = rig.resumed_with([read, text_answer("done")]).await;
    rig.submit("and?");
    rig.finished().await;
    let request = rig.last_request();
    let sent = "The background subagent task_1 (do look) has ended: done.";
    let all = format!("{request:?}");
    assert_eq!(all.matches(sent).count(), 1, "{all}");
    let results = results(&request);
    let output = results.last().expect("a result");
    assert!(output.starts_with("found it"), "{output}");
    let mut rig = rig.resumed_with([text_answer("again")]).await;
    rig.submit("more");
    rig.finished().await;
    assert_eq!(notes(&rig.last_request()), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_ran_when_the_program_was_killed_is_told_as_ended_by_that() {
    let background = task("t", "look", json!({ "run_in_background": true }));
    let mut rig = Rig::with_subagents(
        [vec![background], text_answer("started")],
        [("look", vec![bash("sleep 1000")])],
    );
    rig.context
        .shared
        .set_mode(crate::protocol::Mode::BypassPermissions);
    rig.submit("go");
    runs(&mut rig).await;
    rig.finished().await;
    let mut rig = super::reopen_tests::killed(rig, [text_answer("done")]).await;
    rig.submit("and?");
    rig.finished().await;
    let sent = notes(&rig.last_request()).join("\n");
    assert!(
        sent.contains("task_1 (do look) has ended: agent-tui ended while it ran"),
        "{sent}"
    );
}

#[tokio::test]
async fn a_finished_subagent_call_is_run_again_with_a_new_subagent() {
    let mut rig = Rig::with_subagents(
        [vec![task("t", "look", json!({}))], text_answer("done")],
        [("look", vec![text_answer("one"), text_answer("two")])],
    );
    rig.submit("go");
    assert_eq!(rig.wait_for(started).await.agent, AgentId(2));
    rig.finished().await;
    rig.order(CallRef::main(1), CallCommand::RunAgain);
    let again = rig.wait_for(started).await;
    assert_eq!(
        (again.agent, again.call.agent),
        (AgentId(3), AgentId::PERSON)
    );
    let (_, text, outcome) = rig.aside_over().await;
    assert!(text.starts_with("two"), "{text}");
    assert_eq!(outcome, CallOutcome::Succeeded);
}

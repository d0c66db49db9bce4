//! The program is killed while a call waits for the person. The resumed session asks again, and the answer goes to the model.

use std::time::Instant;

use serde_json::json;

use super::rig::{Rig, call};
use crate::app::call::CallKey;
use crate::app::rig::{App, seen};
use crate::app::{Msg, update};
use crate::conversation::Limits;
use crate::protocol::{
    AgentEvent, Answer, BackgroundEnd, Block, CallCommand, CallEvent, CallRef, Chosen, Ending,
    Message, Mode, Question, QuestionKind, Reply, Role, SessionEvent, ToolResult, TurnEvent,
};
use crate::session::repair;

/// Resumes the session as if the program had been killed now.
pub async fn killed(rig: Rig, answers: impl IntoIterator<Item = Vec<Block>>) -> Rig {
    let log = rig.scratch.root.with_file_name("log.jsonl");
    let written = std::fs::read(&log).expect("a log");
    let (scratch, _) = rig.left().await;
    std::fs::write(&log, written).expect("written");
    Rig::in_scratch(scratch, answers, Limits::default(), None)
}

/// The same, as if the program had been killed right after it wrote the first record of this kind about a call.
async fn killed_after(
    rig: Rig,
    (kind, call): (&str, CallRef),
    answers: impl IntoIterator<Item = Vec<Block>>,
) -> Rig {
    let log = rig.scratch.root.with_file_name("log.jsonl");
    let written = std::fs::read_to_string(&log).expect("a log");
    let (scratch, _) = rig.left().await;
    let is_it = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["kind"] == kind && line["call"] == json!(call)
    };
    let lines: Vec<&str> = written.lines().collect();
    let at = lines.iter().position(|line| is_it(line));
    let kept = &lines[..=at.unwrap_or_else(|| panic!("no {kind} in {written}"))];
    std::fs::write(&log, kept.join("\n") + "\n").expect("written");
    Rig::in_scratch(scratch, answers, Limits::default(), None)
}

fn ask() -> Block {
    let options = json!([
        {"label": "Memory", "description": "simple"},
        {"label": "Redis", "description": "shared"},
    ]);
    let question = json!({"question": "Where?", "header": "Place", "options": options});
    call("q", "AskUserQuestion", json!({ "questions": [question] }))
}

fn bash(id: &str, command: &str) -> Block {
    call(id, "Bash", json!({ "command": command }))
}

async fn question(rig: &mut Rig) -> Question {
    rig.wait_for(|event| match event {
        AgentEvent::Call {
            event: CallEvent::Asked(question),
            ..
        } => Some(question),
        _ => None,
    })
    .await
}

fn second() -> Reply {
    Reply::Chosen(vec![Chosen {
        options: vec![1],
        ..Chosen::default()
    }])
}

/// The results in the last message that the model was sent.
fn results(rig: &Rig) -> Vec<String> {
    let messages = rig.last_request();
    assert!(repair::is_sound(&messages), "{messages:?}");
    let last: &Message = messages.last().expect("a message");
    assert_eq!(last.role, Role::User);
    let results = last.content.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result.as_text()),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn an_open_question_is_asked_again_and_its_answer_goes_to_the_model() {
    let mut rig = Rig::new([vec![Block::text("Two things."), ask()]]);
    rig.submit("go");
    let before = question(&mut rig).await;
    let mut rig = killed(rig, [vec![Block::text("Redis it is.")]]).await;
    let again = question(&mut rig).await;
    assert_eq!(again, before);
    rig.order(again.call, CallCommand::Reply(second()));
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(
        results(&rig),
        ["User has answered your questions: \"Where?\"=\"Redis\""]
    );
    rig.submit("and now");
    assert_eq!(rig.finished().await, Ending::Done, "the session goes on");
}

#[tokio::test]
async fn it_is_asked_as_often_as_the_program_is_killed_and_can_be_dismissed() {
    let mut rig = Rig::new([vec![ask()]]);
    rig.submit("go");
    question(&mut rig).await;
    for _ in 0..3 {
        rig = killed(rig, [vec![Block::text("As you like.")]]).await;
        question(&mut rig).await;
    }
    rig.order(CallRef::main(1), CallCommand::Reply(Reply::Dismissed));
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(results(&rig)[0].starts_with("The user does not want to answer"));
}

#[tokio::test]
async fn a_plan_that_waited_for_approval_is_presented_again() {
    let plan = call("p", "ExitPlanMode", json!({"plan": "# Fix it\n\n1. look"}));
    let mut rig = Rig::new([vec![plan]]);
    rig.context.shared.set_mode(Mode::Plan);
    rig.submit("go");
    question(&mut rig).await;
    // The program sets the mode before the agent starts; here it is set before the call is looked at.
    let mut rig = killed(rig, [vec![Block::text("Done.")]]).await;
    rig.context.shared.set_mode(Mode::Plan);
    let again = question(&mut rig).await;
    let QuestionKind::Choice(requests) = &again.kind else {
        panic!("{again:?}");
    };
    assert_eq!(requests[0].body.as_deref(), Some("# Fix it\n\n1. look"));
    let approved = Chosen {
        options: vec![0],
        ..Chosen::default()
    };
    rig.order(
        again.call,
        CallCommand::Reply(Reply::Chosen(vec![approved])),
    );
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(results(&rig)[0].ends_with("# Fix it\n\n1. look"));
    assert_eq!(rig.context.shared.mode(), Mode::AcceptEdits);
}

#[tokio::test]
async fn permission_is_asked_again_and_calls_behind_it_run_but_none_runs_twice() {
    let mut rig = Rig::new([vec![
        call("r", "Read", json!({"file_path": "poem"})),
        bash("1", "echo one >> made"),
        bash("2", "echo two >> made"),
    ]]);
    rig.scratch.put("poem", "a line\n");
    rig.submit("go");
    question(&mut rig).await;
    let mut rig = killed(rig, [vec![Block::text("Done.")]]).await;
    for _ in 0..2 {
        let asked = question(&mut rig).await;
        assert!(matches!(asked.kind, QuestionKind::Permission(_)));
        rig.answer(asked.call, Answer::Allow);
    }
    assert_eq!(rig.finished().await, Ending::Done);
    let results = results(&rig);
    assert_eq!(results.len(), 3);
    assert!(
        results[0].contains("a line"),
        "what was read before: {results:?}"
    );
    let made = std::fs::read_to_string(rig.scratch.root.join("made")).expect("a file");
    assert_eq!(made, "one\ntwo\n");
}

fn edit_after_read() -> [Vec<Block>; 2] {
    let edit = json!({"file_path": "poem", "old_string": "line", "new_string": "verse"});
    [
        vec![call("r", "Read", json!({"file_path": "poem"}))],
        vec![call("e", "Edit", edit)],
    ]
}

#[tokio::test]
async fn an_edit_that_waited_for_permission_does_not_need_another_read() {
    let mut rig = Rig::new(edit_after_read());
    rig.scratch.put("poem", "a line\n");
    rig.submit("go");
    question(&mut rig).await;
    let mut rig = killed(rig, [vec![Block::text("Done.")]]).await;
    let asked = question(&mut rig).await;
    rig.answer(asked.call, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    let poem = std::fs::read_to_string(rig.scratch.root.join("poem")).expect("a file");
    assert_eq!(poem, "a verse\n", "{:?}", results(&rig));
}

#[tokio::test]
async fn a_file_that_was_changed_while_the_program_was_not_running_has_to_be_read_again() {
    let mut rig = Rig::new(edit_after_read());
    rig.scratch.put("poem", "a line\n");
    rig.submit("go");
    question(&mut rig).await;
    rig.scratch.put("poem", "a line of somebody else\n");
    let mut rig = killed(rig, [vec![Block::text("I see.")]]).await;
    assert_eq!(rig.finished().await, Ending::Done);
    let results = results(&rig);
    assert!(results[0].contains("changed"), "{results:?}");
    let poem = std::fs::read_to_string(rig.scratch.root.join("poem")).expect("a file");
    assert_eq!(poem, "a line of somebody else\n");
}

#[tokio::test]
async fn a_call_that_was_about_to_ask_when_the_program_was_killed_asks() {
    let call = CallRef::main(1);
    for kind in ["begun", "decision", "reached"] {
        let mut rig = Rig::new([vec![bash("b", "echo one >> made")]]);
        rig.submit("go");
        question(&mut rig).await;
        let mut rig = killed_after(rig, (kind, call), [vec![Block::text("Done.")]]).await;
        let asked = question(&mut rig).await;
        rig.answer(asked.call, Answer::Allow);
        assert_eq!(rig.finished().await, Ending::Done, "{kind}");
        let made = std::fs::read_to_string(rig.scratch.root.join("made")).expect("a file");
        assert_eq!(made, "one\n", "{kind}");
    }
    for kind in ["begun", "decision", "reached"] {
        let mut rig = Rig::new([vec![ask()]]);
        rig.submit("go");
        question(&mut rig).await;
        let mut rig = killed_after(rig, (kind, call), [vec![Block::text("Done.")]]).await;
        let asked = question(&mut rig).await;
        rig.order(asked.call, CallCommand::Reply(second()));
        assert_eq!(rig.finished().await, Ending::Done, "{kind}");
        assert!(results(&rig)[0].contains("Redis"), "{kind}");
    }
}

#[tokio::test]
async fn a_call_that_needs_no_answer_is_not_started_by_resuming() {
    let mut rig = Rig::new([vec![bash("b", "echo hello")], vec![Block::text("Hello.")]]);
    rig.submit("go");
    assert_eq!(rig.finished().await, Ending::Done);
    let begun = ("begun", CallRef::main(1));
    let mut rig = killed_after(rig, begun, [vec![Block::text("I see.")]]).await;
    let notice = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    });
    assert_eq!(
        notice.await,
        "calls interrupted by the last exit (not re-run): 1"
    );
    rig.submit("what happened?");
    assert_eq!(rig.finished().await, Ending::Done);
    let messages = rig.last_request();
    let results = messages.iter().flat_map(Message::tool_results);
    let results: Vec<String> = results.map(ToolResult::as_text).collect();
    assert!(results[0].contains("It was not run"), "{results:?}");
}

fn subagent(background: bool) -> Vec<Block> {
    let input = json!({
        "description": "make it", "prompt": "make it", "run_in_background": background,
    });
    vec![call("t", "Task", input)]
}

#[tokio::test]
async fn a_question_of_a_subagent_is_asked_again_and_the_subagent_continues() {
    let mut rig = Rig::new([subagent(false), vec![bash("b", "echo one >> made")]]);
    rig.submit("go");
    let before = question(&mut rig).await;
    assert!(before.call.agent.is_subagent());
    for _ in 0..2 {
        rig = killed(
            rig,
            [vec![Block::text("Made.")], vec![Block::text("Done.")]],
        )
        .await;
        let again = question(&mut rig).await;
        assert_eq!(again, before, "of the same call of the same subagent");
    }
    rig.answer(before.call, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    let results = results(&rig);
    assert!(results[0].starts_with("Made."), "{results:?}");
    let made = std::fs::read_to_string(rig.scratch.root.join("made")).expect("a file");
    assert_eq!(made, "one\n");
    // The session can be resumed as any other.
    let rig = rig.resumed_with([vec![Block::text("Fine.")]]).await;
    drop(rig);
}

#[tokio::test]
async fn a_question_of_a_subagent_in_the_background_is_asked_again_without_a_turn() {
    let made = vec![bash("b", "echo one >> made")];
    let mut rig = Rig::with_subagents(
        [subagent(true), vec![Block::text("It runs.")]],
        [("make it", vec![made])],
    );
    rig.submit("go");
    let before = question(&mut rig).await;
    let mut rig = killed(rig, []).await;
    let again = question(&mut rig).await;
    assert_eq!(again, before);
    rig.answer(again.call, Answer::Allow);
    let how = rig.wait_for(|event| match event {
        AgentEvent::Call {
            event: CallEvent::BackgroundEnded(how),
            ..
        } => Some(how),
        _ => None,
    });
    assert_eq!(how.await, BackgroundEnd::Done);
    rig.submit("and?");
    assert_eq!(rig.finished().await, Ending::Done);
    let envelope = format!("{:?}", rig.last_request());
    assert!(envelope.contains("has ended"), "{envelope}");
}

#[tokio::test]
async fn a_call_that_was_answered_before_the_program_ended_is_not_asked_again() {
    let mut rig = Rig::new([vec![bash("b", "touch made; sleep 1000")]]);
    rig.submit("go");
    let asked = question(&mut rig).await;
    rig.answer(asked.call, Answer::Allow);
    let runs = CallEvent::Reached(crate::protocol::Phase::Running);
    rig.wait_for(|event| {
        matches!(event, AgentEvent::Call { event, .. } if event == runs).then_some(())
    })
    .await;
    let mut rig = killed(rig, [vec![Block::text("It was cut off.")]]).await;
    rig.submit("what happened?");
    let first = rig
        .wait_for_turn(|event| match event {
            TurnEvent::Prompted(message) => Some(message.text()),
            TurnEvent::Reopened { .. } => Some("reopened".to_owned()),
            _ => None,
        })
        .await;
    assert_eq!(first, "what happened?");
}

#[tokio::test]
async fn the_screen_shows_the_question_in_its_row_and_the_same_again_afterwards() {
    let mut rig = Rig::new([vec![Block::text("Two things."), ask()]]);
    rig.submit("go");
    question(&mut rig).await;
    let mut rig = killed(rig, [vec![Block::text("Redis it is.")]]).await;
    let mut app = App::starting();
    loop {
        let envelope = rig.next().await;
        let is_end = matches!(envelope.event, AgentEvent::Turn(_, TurnEvent::Finished(_)));
        let asks = matches!(
            &envelope.event,
            AgentEvent::Call {
                event: CallEvent::Asked(_),
                ..
            }
        );
        app.state.now = Instant::now();
        update(&mut app.state, Msg::Agent(envelope));
        if asks {
            assert!(app.state.is_working());
            assert_eq!(app.state.dialogs.len(), 1);
            assert!(app.state.asking_cell().is_some(), "the row that asks");
            assert_eq!(app.state.calls.len(), 1, "the same row");
            rig.order(CallRef::main(1), CallCommand::Reply(second()));
        }
        if is_end {
            break;
        }
    }
    assert!(app.state.dialogs.is_empty());
    let mut rig = rig.resumed().await;
    let mut again = App::starting();
    again.state.now = Instant::now();
    update(&mut again.state, Msg::Agent(rig.next().await));
    // The time between the two runs passes for the resumed one only.
    let cells = |app: &App| seen(&app.state)[..4].to_vec();
    assert_eq!(cells(&again), cells(&app));
    let outcome = |app: &App| {
        let call = app.state.calls.get(CallKey(0));
        call.completed()
            .map(|it| (it.outcome.clone(), it.text.clone()))
    };
    assert_eq!(outcome(&again), outcome(&app));
}

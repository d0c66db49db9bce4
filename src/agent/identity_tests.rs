//! The identity of calls: a model may use the same id for every call, in one answer and in all answers, and no call
//! is mistaken for another.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::rig::{Rig, call};
use crate::conversation::turn::{Fact, Next};
use crate::conversation::turn_tests::{call_with, ended, over, turn, whole};
use crate::protocol::{
    AgentEvent, AgentId, Answer, BackgroundEnd, Block, CallCommand, CallEvent, CallRef, Command,
    Ending, Message, SessionCommand, StopReason, ToolCall, WireId,
};

/// The only id that this model uses.
const ID: &str = "call_1";

fn bash(command: &str) -> Block {
    call(ID, "Bash", json!({ "command": command }))
}

fn echo(word: &str) -> Block {
    bash(&format!("echo {word}"))
}

/// What `pick` selects from the events of calls, with their references.
fn of_calls<T>(events: &[AgentEvent], pick: impl Fn(&CallEvent) -> Option<T>) -> Vec<(CallRef, T)> {
    let picked = events.iter().filter_map(|event| match event {
        AgentEvent::Call { call, event, .. } => Some((*call, pick(event)?)),
        _ => None,
    });
    picked.collect()
}

/// The calls of a request, each with the text of its result. No id may occur twice.
fn pairs(messages: &[Message]) -> Vec<(Value, String)> {
    let mut ids: HashSet<&WireId> = HashSet::new();
    let mut pairs = Vec::new();
    for pair in messages.windows(2) {
        for call in pair[0].tool_uses() {
            assert!(ids.insert(&call.id), "{} comes twice", call.id);
            let mut results = pair[1].tool_results();
            let result = results.find(|result| result.tool_use_id == call.id);
            let text = result.expect("every call has its result").as_text();
            pairs.push((call.input["command"].clone(), text));
        }
    }
    pairs
}

#[tokio::test]
async fn calls_with_the_same_id_have_their_own_references_and_results() {
    let mut rig = Rig::new([
        vec![echo("one"), echo("two"), echo("three")],
        vec![echo("four")],
        vec![echo("five"), echo("six")],
    ]);
    rig.submit("go");
    let events = rig.whole_turn().await;
    let words = ["one", "two", "three", "four", "five", "six"];
    let named: Vec<(CallRef, String)> = (1..)
        .map(CallRef::main)
        .zip(words.map(str::to_owned))
        .collect();

    let queued = of_calls(&events, |event| match event {
        CallEvent::Queued { wire, input, .. } => {
            assert_eq!(wire.as_ref(), Some(&ID.into()));
            Some(input["command"].as_str()?.replace("echo ", ""))
        }
        _ => None,
    });
    assert_eq!(queued, named);
    let mut completed = of_calls(&events, |event| match event {
        CallEvent::Completed { result, .. } => Some(result.as_text()),
        _ => None,
    });
    // Calls of one answer may end in any order.
    completed.sort();
    assert_eq!(completed, named);
    let yielded = of_calls(&events, |event| {
        (*event == CallEvent::Yielded).then_some(())
    });
    assert_eq!(yielded.len(), words.len());

    let sent = words.map(|word| (json!(format!("echo {word}")), word.to_owned()));
    assert_eq!(pairs(&rig.last_request()), sent);
}

#[tokio::test]
async fn a_resumed_session_with_one_id_for_all_calls_has_every_result_in_its_place() {
    let mut rig = Rig::new([vec![echo("one"), echo("two")], vec![echo("three")]]);
    rig.submit("go");
    rig.finished().await;
    let mut rig = rig.resumed_with([vec![echo("four")]]).await;
    rig.submit("more");
    let events = rig.whole_turn().await;
    let queued = of_calls(&events, |event| {
        matches!(event, CallEvent::Queued { .. }).then_some(())
    });
    assert_eq!(queued, [(CallRef::main(4), ())]);
    let words = ["one", "two", "three", "four"];
    let sent = words.map(|word| (json!(format!("echo {word}")), word.to_owned()));
    assert_eq!(pairs(&rig.last_request()), sent);
}

#[test]
fn a_call_that_never_ran_gets_no_data_of_another_call_with_its_id() {
    let mut turn = turn();
    let blocks = [call_with(ID, Value::Null), call_with(ID, json!({"n": 1}))];
    let mut nexts: Vec<Next> = Vec::new();
    for block in &blocks {
        nexts.extend(turn.handle(ended(block.clone())));
    }
    let executed: Vec<&ToolCall> = nexts.iter().filter_map(executed).collect();
    assert_eq!(
        executed.iter().map(|call| call.call).collect::<Vec<_>>(),
        [CallRef::main(2)]
    );
    turn.handle(over(whole(&blocks, StopReason::ToolUse)));
    let nexts = turn.handle(Fact::Drained);
    let settled = nexts.iter().filter_map(|next| match next {
        Next::Settle { call, result } => Some((call.call, result.as_text())),
        _ => None,
    });
    let settled: Vec<_> = settled.collect();
    let [(call, text)] = settled.as_slice() else {
        panic!("one was never run: {settled:?}")
    };
    assert_eq!(*call, CallRef::main(1));
    assert!(text.contains("not a JSON object"), "{text}");
    let delivered = nexts.iter().find_map(|next| match next {
        Next::Deliver { calls, .. } => Some(calls.clone()),
        _ => None,
    });
    assert_eq!(delivered, Some(vec![CallRef::main(1), CallRef::main(2)]));
}

fn executed(next: &Next) -> Option<&ToolCall> {
    match next {
        Next::Execute(call) => Some(call),
        _ => None,
    }
}

#[tokio::test]
async fn a_command_for_an_earlier_call_does_not_reach_a_later_one_with_the_same_id() {
    let forever = json!({"command": "sleep 1000", "run_in_background": true});
    let mut rig = Rig::new([vec![call(ID, "Bash", forever)], vec![bash("touch made")]]);
    let (earlier, later) = (CallRef::main(1), CallRef::main(2));
    rig.submit("go");
    assert_eq!(rig.wait_for_question(AgentId::MAIN).await, earlier);
    rig.answer(earlier, Answer::Allow);
    assert_eq!(rig.wait_for_question(AgentId::MAIN).await, later);

    rig.answer(earlier, Answer::Deny { reason: None });
    rig.order(earlier, CallCommand::AnswerByHand("typed".into()));
    rig.order(earlier, CallCommand::Cancel);
    let (call, how) = rig.background_ended().await;
    assert_eq!((call, how), (earlier, BackgroundEnd::Stopped));

    rig.answer(later, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(rig.scratch.root.join("made").exists());
}

#[tokio::test]
async fn a_later_call_is_cancelled_alone() {
    let forever = json!({"command": "sleep 1000", "run_in_background": true});
    let mut rig = Rig::new([vec![call(ID, "Bash", forever)], vec![bash("touch made")]]);
    rig.submit("go");
    let earlier = rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(earlier, Answer::Allow);
    let later = rig.wait_for_question(AgentId::MAIN).await;
    rig.order(later, CallCommand::Cancel);
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(!rig.scratch.root.join("made").exists());
    assert_eq!(rig.context.shared.env.groups.running(), ["sleep 1000"]);
    rig.resumed().await;
}

#[tokio::test]
async fn the_right_call_runs_again_also_in_the_next_run_of_the_program() {
    let mut rig = Rig::new([vec![echo("one"), echo("two")], vec![echo("three")]]);
    rig.submit("go");
    rig.finished().await;
    rig.order(CallRef::main(2), CallCommand::RunAgain);
    assert_eq!(rig.aside_over().await.1, "two");
    let mut rig = rig.resumed().await;
    for (number, word) in [(3, "three"), (1, "one")] {
        rig.order(CallRef::main(number), CallCommand::RunAgain);
        assert_eq!(rig.aside_over().await.1, word);
    }
}

#[tokio::test]
async fn numbering_continues_after_a_resume_and_no_number_is_used_twice() {
    let mut rig = Rig::new([vec![echo("one")], vec![echo("two")]]);
    let run = |rig: &Rig| rig.send(Command::Session(SessionCommand::Run("echo x".into())));
    let mut names = Vec::new();
    for _ in 0..3 {
        rig.submit("go");
        let events = rig.whole_turn().await;
        let queued = of_calls(&events, |event| {
            matches!(event, CallEvent::Queued { .. }).then_some(())
        });
        names.extend(queued.into_iter().map(|(call, ())| call));
        run(&rig);
        names.push(rig.aside_over().await.0);
        rig = rig.resumed_with([vec![echo("three"), echo("four")]]).await;
    }
    let expected = [
        "1.1", "1.2", "0.1", "1.3", "1.4", "0.2", "1.5", "1.6", "0.3",
    ];
    assert_eq!(
        names.iter().map(CallRef::to_string).collect::<Vec<_>>(),
        expected
    );
}

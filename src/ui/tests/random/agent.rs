//! What the agent can report: turns, calls, questions and notices.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::events::any_text;
use crate::app::rig::{change, completed, request, turn};
use crate::protocol::{
    AgentEvent, BackgroundEnd, Block, CallEvent, CallOutcome, CallRef, ChoiceOption, ChoiceRequest,
    Ending, KnownRule, Message, Phase, Question, QuestionKind, RuleList, SessionEvent, Source,
    Spending, StopReason, ToolResult, TurnEvent, TurnSummary, Usage,
};

fn any_call() -> impl Strategy<Value = CallRef> {
    prop::sample::select(&["a", "b", "c", "person_1", "person_2"][..]).prop_map(CallRef::from)
}

fn any_tool() -> impl Strategy<Value = String> {
    let names = &[
        "Bash",
        "Edit",
        "Read",
        "Write",
        "mcp__server__tool",
        "\x1b[2J",
        "",
    ];
    prop::sample::select(&names[..]).prop_map(str::to_owned)
}

fn any_outcome() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        Just(CallOutcome::Succeeded),
        Just(CallOutcome::Failed),
        Just(CallOutcome::Denied),
        any_text().prop_map(|why| CallOutcome::Skipped { why }),
        Just(CallOutcome::Cancelled),
        Just(CallOutcome::ByHand),
        Just(CallOutcome::Backgrounded),
    ]
}

fn any_call_event() -> impl Strategy<Value = CallEvent> {
    prop_oneof![
        2 => any_tool().prop_map(|tool| CallEvent::Arriving { tool }),
        2 => prop_oneof![
            Just("{\"file_path\": \"src/a.rs\", \"new_string\": \"".to_owned()),
            Just("{\"command\": \"ls\\".to_owned()),
            any_text(),
        ].prop_map(CallEvent::Input),
        6 => any_state(),
        2 => prop::sample::select(&["Bash", "Edit"][..])
            .prop_map(|tool| CallEvent::Asked(request("a", tool))),
        1 => any_choice().prop_map(CallEvent::Asked),
        1 => (any_text(), any::<bool>()).prop_map(|(by, settled)| CallEvent::Decided { by, settled, note: None }),
        1 => any_text().prop_map(|problem| CallEvent::BackgroundEnded(BackgroundEnd::Failed(problem))),
    ]
}

fn any_choice() -> impl Strategy<Value = Question> {
    let option = (any_text(), any_text()).prop_map(|(label, about)| ChoiceOption { label, about });
    let options = prop::collection::vec(option, 0..4);
    let request = (any_text(), options, any::<bool>(), any::<bool>());
    request.prop_map(|(question, options, several, free_text)| Question {
        call: "a".into(),
        asker: several.then(|| question.clone()),
        kind: QuestionKind::Choice(vec![ChoiceRequest {
            question,
            options,
            several,
            free_text,
            ..ChoiceRequest::default()
        }]),
    })
}

fn any_state() -> impl Strategy<Value = CallEvent> {
    let phases = [
        Phase::Validating,
        Phase::InHooks,
        Phase::WaitingForApproval,
        Phase::Running,
        Phase::Finishing,
    ];
    prop_oneof![
        (any_tool(), any_text()).prop_map(|(tool, text)| queued(tool, json!({"command": text}))),
        (any_tool(), any_text()).prop_map(|(tool, text)| {
            queued(
                tool,
                json!({"file_path": text, "old_string": "a", "new_string": ["b"]}),
            )
        }),
        prop::sample::select(phases.to_vec()).prop_map(CallEvent::Reached),
        any_text().prop_map(|text| CallEvent::Progress(text.into())),
        (any_text(), any_outcome(), 0..3_usize).prop_map(|(text, outcome, changes)| {
            let result = ToolResult::text("a".into(), text);
            completed(result, outcome, vec![change(); changes].into())
        }),
        Just(CallEvent::Yielded),
    ]
}

fn queued(tool: String, input: Value) -> CallEvent {
    let wire = Some("a".into());
    CallEvent::Queued {
        tool,
        wire,
        input: input.into(),
    }
}

fn any_ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Done),
        Just(Ending::MaxTurns),
        Just(Ending::Interrupted),
        (any_text(), prop::option::of(any_text()))
            .prop_map(|(problem, hint)| Ending::Failed { problem, hint }),
    ]
}

fn any_turn_event() -> impl Strategy<Value = TurnEvent> {
    let usage = Usage {
        input_tokens: Some(1000),
        output_tokens: Some(u64::from(u32::MAX)),
        ..Usage::default()
    };
    prop_oneof![
        2 => any_text().prop_map(|text| TurnEvent::Prompted(Message::user(text))),
        1 => (0u32..3).prop_map(|attempt| TurnEvent::Requested { attempt }),
        1 => (any_text(), 0u64..5000).prop_map(|(problem, wait)| TurnEvent::Retrying {
            problem,
            attempt: 1,
            wait: Duration::from_millis(wait),
        }),
        6 => any_text().prop_map(TurnEvent::Text),
        2 => any_text().prop_map(TurnEvent::Thinking),
        1 => any_text().prop_map(|why| TurnEvent::Paused { why }),
        1 => any_text().prop_map(move |text| TurnEvent::Answered {
            message: Message::user(text),
            stop_reason: Some(StopReason::MaxTokens),
            usage,
        }),
        1 => (prop::option::of(any::<u64>()), prop::option::of(0.0..1e9)).prop_map(move |(context, cost)| {
            TurnEvent::Spent(Spending { used: usage, cost, context })
        }),
        1 => (0u64..5000).prop_map(|saved| TurnEvent::Saved(Duration::from_millis(saved))),
        1 => any_ending().prop_map(|ending| TurnEvent::Finished(TurnSummary {
            ending,
            text: String::new(),
            responses: 1,
            usage: Usage::default(),
            cost: None,
            took: Duration::from_secs(100),
            denials: Vec::new(),
        })),
    ]
}

/// Means the running turn.
pub(super) const THIS_TURN: u64 = u64::MAX;

pub(super) fn any_agent_event() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        11 => (prop_oneof![12 => Just(THIS_TURN), 1 => 0u64..3], any_turn_event())
            .prop_map(|(number, event)| AgentEvent::Turn(turn(number), event)),
        13 => (any_call(), any_call_event()).prop_map(|(call, mut event)| {
            if let CallEvent::Asked(request) = &mut event {
                request.call = call;
            }
            AgentEvent::Call { call, at: Duration::ZERO, event }
        }),
        1 => any_text().prop_map(|text| AgentEvent::Session(SessionEvent::Notice(text))),
        1 => any_text().prop_map(|text| AgentEvent::Session(SessionEvent::TakenBack(vec![vec![Block::text(text)]]))),
        1 => (any_text(), any_text()).prop_map(|(rule, from)| {
            let (list, from) = (RuleList::Deny, Source::file("/f", from));
            AgentEvent::Session(SessionEvent::Rules(vec![KnownRule { list, rule, from }]))
        }),
    ]
}

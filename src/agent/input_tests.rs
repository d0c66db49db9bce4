//! Inputs and results are stored in memory once, however many parts of the program use them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::rig::{Rig, call};
use crate::permissions::Grant;
use crate::protocol::{
    AgentId, Answer, Block, CallEvent, CallInput, Level, QuestionKind, ToolResult, Touches,
    TurnEvent,
};
use crate::tools::any::Erased;
use crate::tools::registry::Origin;
use crate::tools::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec};

/// Returns the address of its input text in memory.
struct Locates;

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    text: usize,
}

/// A borrowed text is still at its original address.
fn address<'de, D: Deserializer<'de>>(text: D) -> Result<usize, D::Error> {
    <&str>::deserialize(text).map(|text| text.as_ptr().addr())
}

impl Tool for Locates {
    type Input = Place;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("Locates", "", Level::Confirm, "text")
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(&self, input: Place, _: Grant, _: ToolCx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(input.text.to_string()))
    }
}

fn inputs(blocks: &[Block]) -> Vec<CallInput> {
    let inputs = blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.input.clone()),
        _ => None,
    });
    inputs.collect()
}

fn results(blocks: &[Block]) -> Vec<ToolResult> {
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

fn asking() -> Rig {
    let rig = Rig::new([vec![call("a", "Locates", json!({"text": "long"}))]]);
    let origin = Origin::Guest("a test".into());
    let added = rig
        .context
        .tools
        .add(Arc::new(Erased::new(Locates)), origin);
    added.expect("an unused name");
    rig.submit("go");
    rig
}

#[tokio::test]
async fn the_model_the_events_the_question_the_tool_and_the_history_share_one_input() {
    let mut rig = asking();
    let queued = rig.wait_for_call(AgentId::MAIN, |_, event| match event {
        CallEvent::Queued { input, .. } => Some(input),
        _ => None,
    });
    let queued = queued.await;
    let asked = rig.wait_for_call(AgentId::MAIN, |call, event| match event {
        CallEvent::Asked(question) => Some((call, question.kind)),
        _ => None,
    });
    let (call, asked) = asked.await;
    let QuestionKind::Permission(request) = asked else {
        panic!("not a question for a permission: {asked:?}");
    };
    assert!(request.input.is_same(&queued), "the question");
    rig.answer(call, Answer::Allow);
    let (_, place, _) = rig.over(AgentId::MAIN).await;
    let text = queued["text"].as_str().expect("a text");
    assert_eq!(place, text.as_ptr().addr().to_string(), "the tool");
    rig.finished().await;
    let history = rig.last_request();
    let kept: Vec<CallInput> = history.iter().flat_map(|it| inputs(&it.content)).collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].is_same(&queued), "the history");
}

#[tokio::test]
async fn the_events_and_the_history_share_one_result() {
    let mut rig = asking();
    let call = rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(call, Answer::Allow);
    let completed = rig.wait_for_call(AgentId::MAIN, |_, event| match event {
        CallEvent::Completed { result, .. } => Some(result),
        _ => None,
    });
    let completed = completed.await;
    let delivered = rig.wait_for_turn(|event| match event {
        TurnEvent::Delivered(message) => Some(results(&message.content)),
        _ => None,
    });
    let delivered = delivered.await;
    rig.finished().await;
    let history = rig.last_request();
    let kept: Vec<ToolResult> = history.iter().flat_map(|it| results(&it.content)).collect();
    assert_eq!((delivered.len(), kept.len()), (1, 1));
    for result in delivered.iter().chain(&kept) {
        assert!(Arc::ptr_eq(&result.content, &completed.content));
    }
}

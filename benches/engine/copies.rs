//! How often the input of a call is copied in memory while it is decided and run.

use std::collections::BTreeSet;
use std::path::Path;

use agent_tui::executor::Asking;
use agent_tui::permissions::Grant;
use agent_tui::protocol::{
    AgentEvent, Answer, Block, CallCommand, CallEvent, Command, Level, Mode, QuestionKind, Reply,
    Touches, TurnEvent,
};
use agent_tui::tools::registry::Registry;
use agent_tui::tools::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::{Bar, Figure, spawn, submit};

/// Returns the address of its text.
struct Locates;

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    text: usize,
}

/// A text that is borrowed from the input has the same address.
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

/// The tool, the events, the question and the answer in the history: all are kept until the end, so that no address is
/// reused.
pub fn of_an_input() -> Figure {
    let home = tempfile::tempdir().expect("a directory");
    let script = home.path().join("script.jsonl");
    let step = json!({"call": "Locates", "input": {"text": "x".repeat(1 << 20)}});
    let lines = format!(
        "{}\n{}\n",
        json!({"steps": [step]}),
        json!({"text": "Over."})
    );
    std::fs::write(&script, lines).expect("written");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let places = runtime.block_on(places(home.path(), &script));
    Figure {
        what: "places of a call's input in memory",
        value: places as f64,
        unit: "",
        bar: Bar::AtMost(1.0),
    }
}

async fn places(home: &Path, script: &Path) -> usize {
    let mut tools = Registry::built_in();
    tools.add(Locates).expect("a name of its own");
    let mut agent = spawn(home, script, tools, (Mode::Default, Asking::Person));
    submit(&agent);
    let (mut events, mut places, mut made) = (Vec::new(), BTreeSet::new(), 0);
    while let Some(envelope) = agent.events.recv().await {
        match &envelope.event {
            AgentEvent::Call { call, event, .. } => match event {
                CallEvent::Queued { input, .. } => places.extend(place(input)),
                CallEvent::Asked(question) => {
                    if let QuestionKind::Permission(request) = &question.kind {
                        places.extend(place(&request.input));
                    }
                    let allow = CallCommand::Reply(Reply::Permission(Answer::Allow));
                    let allow = Command::Call(*call, allow);
                    agent.commands.send(allow).expect("it listens");
                }
                CallEvent::Completed { result, .. } => {
                    made += 1;
                    places.insert(result.as_text().parse().expect("a place"));
                }
                _ => {}
            },
            AgentEvent::Turn(_, TurnEvent::Answered { message, .. }) => {
                let calls = message.content.iter().filter_map(|block| match block {
                    Block::ToolUse(call) => place(&call.input),
                    _ => None,
                });
                places.extend(calls);
            }
            AgentEvent::Turn(_, TurnEvent::Finished(_)) => break,
            _ => {}
        }
        events.push(envelope);
    }
    assert_eq!(made, 1, "the call was made");
    places.len()
}

fn place(input: &Value) -> Option<usize> {
    input["text"].as_str().map(|text| text.as_ptr().addr())
}

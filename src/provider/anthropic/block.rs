//! One content block while it streams in.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::protocol::{Block, ToolUse, WireId};
use crate::provider::StreamEvent;
use crate::provider::wire::{self, WireIds};

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "citations_delta")]
    Citations { citation: Value },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Unknown,
}

/// A block that is still growing.
#[derive(Debug)]
pub(super) enum Draft {
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    Call(Call),
    ServerCall(Call),
    /// Arrived complete with its start event.
    Whole(Block),
}

#[derive(Debug)]
pub(super) struct Call {
    id: WireId,
    name: String,
    /// The input in the start event: a placeholder, unless nothing follows.
    start: Map<String, Value>,
    raw: String,
}

impl Draft {
    /// A block as it was announced.
    pub(super) fn open(block: Value, ids: &mut WireIds, events: &mut Vec<StreamEvent>) -> Self {
        let text = |name: &str| {
            let value = block.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        match text("type").as_str() {
            "text" => {
                let citations = block.get("citations").and_then(Value::as_array);
                Self::Text {
                    text: show(text("text"), StreamEvent::Text, events),
                    citations: citations.cloned().unwrap_or_default(),
                }
            }
            "thinking" => Self::Thinking {
                thinking: show(text("thinking"), StreamEvent::Thinking, events),
                signature: text("signature"),
            },
            "redacted_thinking" => Self::Whole(Block::RedactedThinking { data: text("data") }),
            "tool_use" => {
                let call = Call::new(ids.claim(&text("id")), text("name"), &block);
                events.push(StreamEvent::ToolStarted {
                    id: call.id.clone(),
                    name: call.name.clone(),
                });
                Self::Call(call)
            }
            "server_tool_use" => {
                Self::ServerCall(Call::new(WireId(text("id")), text("name"), &block))
            }
            _ => Self::Whole(Block::Other {
                wire_type: text("type"),
                start: block,
            }),
        }
    }

    pub(super) fn push(&mut self, delta: Delta, events: &mut Vec<StreamEvent>) {
        match (delta, self) {
            (Delta::Text { text: more }, Draft::Text { text, .. }) => {
                text.push_str(&show(more, StreamEvent::Text, events));
            }
            (Delta::Citations { citation }, Draft::Text { citations, .. }) => {
                citations.push(citation);
            }
            (Delta::Thinking { thinking: more }, Draft::Thinking { thinking, .. }) => {
                thinking.push_str(&show(more, StreamEvent::Thinking, events));
            }
            (Delta::Signature { signature: new }, Draft::Thinking { signature, .. }) => {
                *signature = new;
            }
            (Delta::InputJson { partial_json }, Draft::Call(call)) => {
                call.raw.push_str(&partial_json);
                call.show(partial_json, events);
            }
            (Delta::InputJson { partial_json }, Draft::ServerCall(call)) => {
                call.raw.push_str(&partial_json);
            }
            // A delta of an unknown kind, or one that does not fit its block.
            (
                Delta::Text { .. }
                | Delta::Citations { .. }
                | Delta::Thinking { .. }
                | Delta::Signature { .. }
                | Delta::InputJson { .. }
                | Delta::Unknown,
                _,
            ) => {}
        }
    }

    /// The block has ended.
    pub(super) fn end(self, events: &mut Vec<StreamEvent>) -> Block {
        match self {
            Self::Call(call) => Block::ToolUse(call.end(events)),
            Self::Text { .. } | Self::Thinking { .. } | Self::ServerCall(_) | Self::Whole(_) => {
                self.cut()
            }
        }
    }

    /// The stream ended without the block's end event.
    pub(super) fn cut(self) -> Block {
        match self {
            Self::Text { text, citations } => Block::Text {
                text,
                note: None,
                shown: None,
                citations,
                phase: None,
            },
            Self::Thinking {
                thinking,
                signature,
            } => Block::Thinking {
                thinking,
                signature: Some(signature).filter(|signature| !signature.is_empty()),
                item: None,
            },
            Self::Call(call) => Block::ToolUse(wire::cut_tool_use(call.id, call.name, call.raw)),
            Self::ServerCall(Call {
                id,
                name,
                start,
                raw,
            }) => Block::ServerToolUse {
                id: id.0,
                name,
                input: match wire::parse_input(&raw) {
                    Some(input) if input.is_empty() => Value::Object(start),
                    Some(input) => Value::Object(input),
                    None => Value::Null,
                },
            },
            Self::Whole(block) => block,
        }
    }
}

impl Call {
    fn new(id: WireId, name: String, block: &Value) -> Self {
        let start = block.get("input").and_then(Value::as_object);
        Self {
            id,
            name,
            start: start.cloned().unwrap_or_default(),
            raw: String::new(),
        }
    }

    fn end(self, events: &mut Vec<StreamEvent>) -> ToolUse {
        if self.raw.trim_ascii().is_empty() && !self.start.is_empty() {
            let input = Value::Object(self.start.clone());
            self.show(input.to_string(), events);
            return wire::whole_tool_use(self.id, self.name, self.start);
        }
        wire::tool_use(self.id, self.name, self.raw)
    }

    fn show(&self, fragment: String, events: &mut Vec<StreamEvent>) {
        if !fragment.is_empty() {
            events.push(StreamEvent::ToolInput {
                id: self.id.clone(),
                fragment,
            });
        }
    }
}

fn show(text: String, event: fn(String) -> StreamEvent, events: &mut Vec<StreamEvent>) -> String {
    if !text.is_empty() {
        events.push(event(text.clone()));
    }
    text
}

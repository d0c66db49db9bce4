//! Reads the stream of the Messages API.
//!
//! Blocks are tied together by their `index`. A block ends with its `content_block_stop`; one whose stop never came is
//! complete only if the message ended normally, and such a call is not run.

use serde::Deserialize;
use serde_json::{Value, json};

use super::block::{Delta, Draft};
use crate::protocol::{Block, StopReason, Usage};
use crate::provider::errors::Body;
use crate::provider::sse::Frame;
use crate::provider::wire::{self, WireIds};
use crate::provider::{self, Response, StreamError, StreamEvent};

/// Decodes one response.
#[derive(Debug, Default)]
pub struct Decoder {
    response: Response,
    slots: Vec<Slot>,
    ids: WireIds,
    stopped: bool,
    over: bool,
}

#[derive(Debug)]
struct Slot {
    index: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(Draft),
    Ended(Block),
}

#[derive(Deserialize)]
struct MessageStart {
    message: Head,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default, deserialize_with = "wire::lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct BlockStart {
    #[serde(default)]
    index: u64,
    content_block: Value,
}

#[derive(Deserialize)]
struct BlockDelta {
    #[serde(default)]
    index: u64,
    delta: Delta,
}

/// The most frequent event, read without building a tree: most of a stream's cost is here.
#[derive(Deserialize)]
struct QuickDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: QuickText<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickText<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
}

#[derive(Deserialize)]
struct BlockStop {
    #[serde(default)]
    index: u64,
}

#[derive(Deserialize)]
struct MessageDelta {
    #[serde(default, deserialize_with = "wire::lenient")]
    delta: Option<End>,
    #[serde(default, deserialize_with = "wire::lenient")]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct End {
    #[serde(rename = "stop_reason")]
    reason: Option<String>,
    #[serde(rename = "stop_sequence")]
    sequence: Option<String>,
    #[serde(rename = "stop_details")]
    details: Option<Value>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "wire::lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl provider::Decoder for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<StreamEvent>) {
        if self.over {
            return;
        }
        if let Some(change) = quick_delta(frame) {
            self.block_delta(change, events);
            return;
        }
        let outcome = match wire::parse::<Value>(frame) {
            None => Ok(()),
            Some(Ok(value)) => self.event(frame.event, &value, events),
            Some(Err(error)) => Err(error),
        };
        if let Err(error) = outcome {
            self.response.error = Some(error);
            self.over = true;
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Response {
        let Self {
            mut response,
            mut slots,
            stopped,
            ..
        } = std::mem::take(self);
        self.over = true;
        let reason = response.stop_reason_raw.clone().map(StopReason::from);
        wire::complete(&mut response, stopped || reason.is_some(), reason);
        // Stable: of two blocks with one index, the one that came first stays first.
        slots.sort_by_key(|slot| slot.index);
        for slot in slots {
            let block = match slot.state {
                State::Ended(block) => block,
                State::Open(draft) => {
                    let block = draft.cut();
                    if response.complete {
                        wire::push_ended(events, &block);
                    }
                    block
                }
            };
            response.blocks.push(block);
        }
        response
    }
}

/// A delta of one of the plain kinds. Everything else takes the slow path.
fn quick_delta(frame: &Frame<'_>) -> Option<BlockDelta> {
    if frame
        .event
        .is_some_and(|name| name != "content_block_delta")
    {
        return None;
    }
    let QuickDelta { kind, index, delta } = serde_json::from_str(frame.data).ok()?;
    let delta = match (
        kind,
        delta.kind,
        delta.text,
        delta.thinking,
        delta.partial_json,
    ) {
        ("content_block_delta", "text_delta", Some(text), None, None) => Delta::Text { text },
        ("content_block_delta", "thinking_delta", None, Some(thinking), None) => {
            Delta::Thinking { thinking }
        }
        ("content_block_delta", "input_json_delta", None, None, Some(partial_json)) => {
            Delta::InputJson { partial_json }
        }
        _ => return None,
    };
    Some(BlockDelta { index, delta })
}

impl Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        value: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        // Proxies drop `event` lines, and some servers the `type`: either is enough.
        let kind = value.get("type").and_then(Value::as_str).or(name);
        // llama.cpp's error event has a flat body, with the kind of error as its `type`.
        if name == Some("error") || (kind.is_none() && value.get("error").is_some()) {
            return Err(error(value));
        }
        match kind.unwrap_or_default() {
            "message_start" => self.message_start(wire::read(value)?),
            "content_block_start" => self.block_start(wire::read(value)?, events),
            "content_block_delta" => self.block_delta(wire::read(value)?, events),
            "content_block_stop" => self.block_stop(&wire::read(value)?, events),
            "message_delta" => self.message_delta(wire::read(value)?),
            "message_stop" => {
                self.stopped = true;
                self.over = true;
            }
            "ping" => {}
            "error" => return Err(error(value)),
            unknown => wire::push_ignored(&mut self.response, unknown),
        }
        Ok(())
    }

    fn message_start(&mut self, start: MessageStart) {
        let Head { id, model, usage } = start.message;
        self.response.id = id;
        self.response.model = model;
        if let Some(counts) = usage {
            self.response.usage.update(counts.into());
        }
    }

    fn message_delta(&mut self, change: MessageDelta) {
        if let Some(counts) = change.usage {
            self.response.usage.update(counts.into());
        }
        let Some(end) = change.delta else { return };
        if end.sequence.is_some() {
            self.response.stop_sequence = end.sequence;
        }
        if let Some(reason) = end.reason {
            if reason == "refusal"
                && let Some(Value::Object(details)) = end.details
            {
                let field = |name| details.get(name).cloned().unwrap_or_default();
                self.response.stop_details = Some(json!({
                    "category": field("category"),
                    "explanation": field("explanation"),
                }));
            }
            self.response.stop_reason_raw = Some(reason);
        }
    }

    fn block_start(&mut self, start: BlockStart, events: &mut Vec<StreamEvent>) {
        let draft = Draft::open(start.content_block, &mut self.ids, events);
        self.slots.push(Slot {
            index: start.index,
            state: State::Open(draft),
        });
    }

    fn block_delta(&mut self, change: BlockDelta, events: &mut Vec<StreamEvent>) {
        let Some(Slot {
            state: State::Open(draft),
            ..
        }) = self.open_slot(change.index)
        else {
            return;
        };
        draft.push(change.delta, events);
    }

    fn block_stop(&mut self, stop: &BlockStop, events: &mut Vec<StreamEvent>) {
        let Some(slot) = self.open_slot(stop.index) else {
            return;
        };
        // The placeholder lives only until the next line.
        let placeholder = State::Ended(Block::text(""));
        if let State::Open(draft) = std::mem::replace(&mut slot.state, placeholder) {
            let block = draft.end(events);
            wire::push_ended(events, &block);
            slot.state = State::Ended(block);
        }
    }

    /// If several blocks share an index, the last one is meant.
    fn open_slot(&mut self, index: u64) -> Option<&mut Slot> {
        let mut slots = self.slots.iter_mut().rev();
        slots.find(|slot| slot.index == index && matches!(slot.state, State::Open(_)))
    }
}

fn error(value: &Value) -> StreamError {
    let body = Body::read(value);
    let code = body
        .kind
        .or(body.code)
        .unwrap_or_else(|| "api_error".into());
    wire::api_error(code, body.message.unwrap_or_default())
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        Self {
            input_tokens: counts.input_tokens,
            output_tokens: counts.output_tokens,
            cache_read_input_tokens: counts.cache_read_input_tokens,
            cache_creation_input_tokens: counts.cache_creation_input_tokens,
            reasoning_tokens: counts
                .output_tokens_details
                .and_then(|details| details.thinking_tokens),
        }
    }
}

#[cfg(test)]
mod tests;

//! Reads the stream of the Responses API.
//!
//! Events are tied to their item by `item_id`, items are ordered by `output_index`; with servers that send neither, the
//! order of arrival decides. An item ends with its `output_item.done`, or with the list in the terminal event.

use serde::Deserialize;
use serde_json::Value;

use super::item::{Draft, Part, word};
use crate::protocol::{Block, StopReason, Usage};
use crate::provider::errors::Body;
use crate::provider::sse::Frame;
use crate::provider::wire::{self, WireIds};
use crate::provider::{self, Response, StreamError, StreamEvent};

/// Decodes one response.
#[derive(Debug, Default)]
pub struct Decoder {
    response: Response,
    items: Vec<Item>,
    ids: WireIds,
    /// As the server counts: the cached tokens are in the input, too.
    counts: Usage,
    ended: bool,
}

#[derive(Debug)]
struct Item {
    id: String,
    index: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(Draft),
    Done(Vec<Block>),
}

#[derive(Deserialize)]
struct ItemEvent {
    #[serde(default, deserialize_with = "wire::lenient")]
    output_index: Option<u64>,
    item: Value,
}

#[derive(Deserialize)]
struct DeltaEvent {
    #[serde(default, deserialize_with = "wire::lenient")]
    item_id: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    output_index: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    summary_index: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    content_index: Option<u64>,
    /// `arguments` in the event that sums them up.
    #[serde(alias = "arguments")]
    delta: String,
}

#[derive(Deserialize)]
struct ResponseEvent {
    response: Value,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "wire::lenient")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl provider::Decoder for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<StreamEvent>) {
        // Some gateways end the stream with `[DONE]`, like Chat Completions.
        if self.is_over() || frame.data.trim_ascii() == "[DONE]" {
            return;
        }
        let outcome = match wire::parse::<Value>(frame) {
            None => Ok(()),
            Some(Ok(value)) => self.event(frame.event, &value, events),
            Some(Err(error)) => Err(error),
        };
        if let Err(error) = outcome {
            self.response.error = Some(error);
        }
    }

    fn is_over(&self) -> bool {
        self.ended || self.response.error.is_some()
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Response {
        let Self {
            mut response,
            mut items,
            ended,
            ..
        } = std::mem::take(self);
        self.ended = true;
        let complete = ended && response.error.is_none();
        items.sort_by_key(|item| item.index);
        for item in items {
            match item.state {
                State::Done(blocks) => response.blocks.extend(blocks),
                State::Open(draft) => {
                    let blocks = draft.cut();
                    if complete {
                        for block in &blocks {
                            wire::push_ended(events, block);
                        }
                    }
                    response.blocks.extend(blocks);
                }
            }
        }
        let reason = stop_reason(&response);
        wire::complete(&mut response, ended, Some(reason));
        response
    }
}

impl Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        value: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        let kind = value.get("type").and_then(Value::as_str).or(name);
        if kind.is_none() && value.get("error").is_some() {
            return Err(error(value));
        }
        match kind.unwrap_or_default() {
            "response.created" | "response.in_progress" | "response.queued" => {
                let ResponseEvent { response } = wire::read(value)?;
                self.head(&response);
            }
            "response.output_item.added" => self.added(&wire::read(value)?, events),
            "response.output_item.done" => self.done(wire::read(value)?, events),
            "response.output_text.delta" => {
                let event: DeltaEvent = wire::read(value)?;
                if let Some(draft) = self.draft(&event, Draft::message) {
                    draft.push_text(event.delta, events);
                }
            }
            "response.refusal.delta" => {
                let event: DeltaEvent = wire::read(value)?;
                if let Some(draft) = self.draft(&event, Draft::message) {
                    draft.push_refusal(event.delta, events);
                }
            }
            "response.reasoning_summary_text.delta" => {
                let event: DeltaEvent = wire::read(value)?;
                let part = Part::Summary(event.summary_index.unwrap_or(0));
                if let Some(draft) = self.draft(&event, Draft::reasoning) {
                    draft.push_reasoning(part, &event.delta, events);
                }
            }
            "response.reasoning_text.delta" => {
                let event: DeltaEvent = wire::read(value)?;
                let part = Part::Raw(event.content_index.unwrap_or(0));
                if let Some(draft) = self.draft(&event, Draft::reasoning) {
                    draft.push_reasoning(part, &event.delta, events);
                }
            }
            "response.function_call_arguments.delta" => {
                let event: DeltaEvent = wire::read(value)?;
                if let Some(draft) = self.known_draft(&event) {
                    draft.push_arguments(event.delta, events);
                }
            }
            "response.function_call_arguments.done" => {
                let event: DeltaEvent = wire::read(value)?;
                if let Some(draft) = self.known_draft(&event) {
                    draft.close_arguments(&event.delta, events);
                }
            }
            terminal @ ("response.completed" | "response.incomplete" | "response.failed") => {
                let ResponseEvent { response } = wire::read(value)?;
                return self.end(&terminal["response.".len()..], &response, events);
            }
            "error" => return Err(error(value)),
            // Repeated in the finished item.
            "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.output_text.annotation.added"
            | "response.refusal.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done" => {}
            unknown => wire::push_ignored(&mut self.response, unknown),
        }
        Ok(())
    }

    fn head(&mut self, response: &Value) {
        let named = |name| Some(word(response, name).to_owned()).filter(|word| !word.is_empty());
        self.response.id = named("id").or(self.response.id.take());
        self.response.model = named("model").or(self.response.model.take());
        if let Some(usage) = response.get("usage")
            && let Ok(counts) = wire::read::<Counts>(usage)
        {
            self.counts.update(counts.into());
            self.response.usage = wire::without_cached(self.counts);
        }
    }

    fn added(&mut self, event: &ItemEvent, events: &mut Vec<StreamEvent>) {
        let draft = Draft::open(&event.item, &mut self.ids, events);
        self.push(word(&event.item, "id"), event.output_index, draft);
    }

    fn done(&mut self, event: ItemEvent, events: &mut Vec<StreamEvent>) {
        let ItemEvent { output_index, item } = event;
        let at = self
            .find(word(&item, "id"), output_index)
            .unwrap_or_else(|| {
                let draft = Draft::open(&item, &mut self.ids, events);
                self.push(word(&item, "id"), output_index, draft)
            });
        let state = &mut self.items[at].state;
        if matches!(state, State::Done(_)) {
            return;
        }
        if let State::Open(mut draft) = std::mem::replace(state, State::Done(Vec::new())) {
            // The kind that the deltas were assumed to have before the item was announced.
            if !draft.fits(&item) {
                draft = Draft::open(&item, &mut self.ids, events);
            }
            let blocks = draft.done(item, events);
            for block in &blocks {
                wire::push_ended(events, block);
            }
            *state = State::Done(blocks);
        }
    }

    fn end(
        &mut self,
        status: &str,
        response: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        self.head(response);
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        self.response.stop_reason_raw = Some(match reason {
            Some(reason) => format!("{status}:{reason}"),
            None => status.to_owned(),
        });
        if status == "failed" {
            return Err(error(response));
        }
        let output = response.get("output").and_then(Value::as_array);
        for (item, index) in output.into_iter().flatten().zip(0..) {
            let known = self.find(word(item, "id"), Some(index));
            if known.is_none_or(|at| matches!(self.items[at].state, State::Open(_))) {
                let event = ItemEvent {
                    output_index: Some(index),
                    item: item.clone(),
                };
                self.done(event, events);
            }
        }
        self.ended = true;
        Ok(())
    }

    /// The item that a delta belongs to; opened here if nothing announced it.
    fn draft(&mut self, event: &DeltaEvent, open: fn() -> Draft) -> Option<&mut Draft> {
        let id = event.item_id.as_deref().unwrap_or_default();
        if self.find(id, event.output_index).is_none() {
            self.push(id, event.output_index, open());
        }
        self.known_draft(event)
    }

    fn known_draft(&mut self, event: &DeltaEvent) -> Option<&mut Draft> {
        let id = event.item_id.as_deref().unwrap_or_default();
        let at = self.find(id, event.output_index)?;
        match &mut self.items[at].state {
            State::Open(draft) => Some(draft),
            State::Done(_) => None,
        }
    }

    fn push(&mut self, id: &str, index: Option<u64>, draft: Draft) -> usize {
        let at = self.items.len();
        self.items.push(Item {
            id: id.to_owned(),
            index: index.unwrap_or(at as u64),
            state: State::Open(draft),
        });
        at
    }

    /// By id, else by position; with neither, the last item is meant if it is open.
    fn find(&self, id: &str, index: Option<u64>) -> Option<usize> {
        let by_id = |item: &Item| !id.is_empty() && item.id == id;
        let by_index = |item: &Item| Some(item.index) == index;
        let items = || self.items.iter();
        items().rposition(by_id).or_else(|| match index {
            Some(_) => items().rposition(by_index),
            None if id.is_empty() => {
                let last = self.items.len().checked_sub(1)?;
                matches!(self.items[last].state, State::Open(_)).then_some(last)
            }
            None => None,
        })
    }
}

fn stop_reason(response: &Response) -> StopReason {
    let raw = response.stop_reason_raw.as_deref().unwrap_or_default();
    let has = |wanted: fn(&Block) -> bool| response.blocks.iter().any(wanted);
    match raw.split_once(':') {
        Some((_, "max_output_tokens")) => StopReason::MaxTokens,
        Some((_, "content_filter")) => StopReason::Refusal,
        Some((_, other)) => StopReason::Unknown(other.to_owned()),
        None if has(|block| matches!(block, Block::ToolUse(_))) => StopReason::ToolUse,
        None if has(|block| matches!(block, Block::Refusal { .. })) => StopReason::Refusal,
        None => StopReason::EndTurn,
    }
}

fn error(value: &Value) -> StreamError {
    let body = Body::read(value);
    let code = body.code.or(body.kind).unwrap_or_else(|| "error".into());
    wire::api_error(code, body.message.unwrap_or_default())
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let input = counts.input_tokens_details.unwrap_or_default();
        Self {
            input_tokens: counts.input_tokens,
            output_tokens: counts.output_tokens,
            cache_read_input_tokens: input.cached_tokens,
            cache_creation_input_tokens: input.cache_write_tokens,
            reasoning_tokens: counts
                .output_tokens_details
                .and_then(|details| details.reasoning_tokens),
        }
    }
}

#[cfg(test)]
mod tests;

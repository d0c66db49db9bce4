//! Reads the stream of Chat Completions.
//!
//! There is one answer in it, in deltas whose every field may be missing, null or empty. Text and thinking end with the
//! stream; a call ends after its last brace (see [`super::arguments`]), if nothing more of it follows, or with the
//! `finish_reason`.

use serde::Deserialize;
use serde_json::Value;

use super::calls::{CallDelta, Calls, Ending};
use super::reasoning;
use crate::protocol::{Block, StopReason, Usage};
use crate::provider::errors::Body;
use crate::provider::sse::Frame;
use crate::provider::{self, Response, StreamError, StreamEvent, wire};

/// Decodes one response.
#[derive(Debug, Default)]
pub struct Decoder {
    response: Response,
    thinking: String,
    details: Vec<Value>,
    text: String,
    refusal: String,
    calls: Calls,
    /// As the server counts: the cached tokens are in the input, too.
    counts: Usage,
    /// `[DONE]` came.
    done: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "wire::lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    object: Option<String>,
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "wire::lenient")]
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "wire::lenient")]
    index: Option<u64>,
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "wire::lenient")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default, deserialize_with = "wire::lenient")]
    content: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "wire::lenient")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "wire::lenient")]
    completion_tokens_details: Option<CompletionDetails>,
    /// What DeepSeek calls the cached tokens.
    #[serde(default, deserialize_with = "wire::lenient")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl provider::Decoder for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, events: &mut Vec<StreamEvent>) {
        if self.is_over() {
            return;
        }
        if frame.data.trim_ascii() == "[DONE]" {
            self.done = true;
            self.end_calls(events);
            return;
        }
        match wire::parse::<Chunk>(frame) {
            None => {}
            Some(Ok(chunk)) => self.chunk(chunk, frame.data, events),
            Some(Err(error)) => self.response.error = Some(error),
        }
    }

    fn is_over(&self) -> bool {
        self.done || self.response.error.is_some()
    }

    fn is_waiting(&self) -> bool {
        !self.is_over() && self.calls.is_waiting()
    }

    fn quiet(&mut self, events: &mut Vec<StreamEvent>) {
        self.calls.settle(None, events);
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Response {
        let reason = self.stop_reason();
        let ended = self.done || self.response.stop_reason_raw.is_some();
        let taken = std::mem::take(self);
        self.done = true;
        let mut response = taken.response;
        wire::complete(&mut response, ended, Some(reason));

        if !taken.thinking.is_empty() || !taken.details.is_empty() {
            let has_details = !taken.details.is_empty();
            response.blocks.push(Block::Thinking {
                thinking: taken.thinking,
                signature: None,
                item: has_details.then_some(Value::Array(taken.details)),
            });
        }
        if !taken.text.is_empty() {
            response.blocks.push(Block::text(taken.text));
        }
        if !taken.refusal.is_empty() {
            let text = taken.refusal;
            response.blocks.push(Block::Refusal { text });
        }
        if response.complete {
            for block in &response.blocks {
                wire::push_ended(events, block);
            }
        }
        response.blocks.extend(taken.calls.into_blocks());
        response
    }
}

impl Decoder {
    fn chunk(&mut self, chunk: Chunk, data: &str, events: &mut Vec<StreamEvent>) {
        let failed = chunk.error.is_some() || chunk.object.as_deref() == Some("error");
        let named = |name: Option<String>| name.filter(|name| !name.is_empty());
        if self.response.id.is_none() {
            self.response.id = named(chunk.id);
        }
        if self.response.model.is_none() {
            self.response.model = named(chunk.model);
        }
        if let Some(counts) = chunk.usage {
            self.counts.update(counts.into());
            self.response.usage = wire::without_cached(self.counts);
        }
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| choice.index.unwrap_or(0) == 0) {
            // The last text may be in the chunk with the reason. After an error nothing else matters.
            if let Some(delta) = choice.delta.filter(|_| !failed) {
                self.delta(delta, events);
            }
            if let Some(reason) = named(choice.finish_reason) {
                self.response.stop_reason_raw = Some(reason);
            }
        }
        if failed {
            self.response.error = Some(error(data));
        } else if self.response.stop_reason_raw.as_deref() == Some("error") {
            let message = "the server ended the response without a reason";
            self.response.error = Some(wire::api_error("error".into(), message.into()));
        } else if self.response.stop_reason_raw.is_some() {
            self.end_calls(events);
        }
    }

    fn delta(&mut self, delta: Delta, events: &mut Vec<StreamEvent>) {
        let full = |text: &String| !text.is_empty();
        // Some gateways send the same text under both names.
        let thinking = delta.reasoning_content.filter(full);
        if let Some(thinking) = thinking.or(delta.reasoning.filter(full)) {
            self.thinking.push_str(&thinking);
            events.push(StreamEvent::Thinking(thinking));
        }
        for detail in delta.reasoning_details.into_iter().flatten() {
            reasoning::merge(&mut self.details, detail);
        }
        if let Some(text) = delta.content.filter(full) {
            self.text.push_str(&text);
            events.push(StreamEvent::Text(text));
        }
        if let Some(refusal) = delta.refusal.filter(full) {
            self.refusal.push_str(&refusal);
            events.push(StreamEvent::Text(refusal));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.calls.take(call, events);
        }
    }

    fn end_calls(&mut self, events: &mut Vec<StreamEvent>) {
        let ending = match self.stop_reason() {
            StopReason::MaxTokens => Ending::OutOfTokens,
            _ => Ending::Regular,
        };
        self.calls.end(ending, events);
    }

    /// The calls themselves decide, not what the server says.
    fn stop_reason(&self) -> StopReason {
        match self.response.stop_reason_raw.as_deref() {
            Some("length" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            _ if !self.refusal.is_empty() => StopReason::Refusal,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            None | Some("stop" | "tool_calls" | "function_call" | "eos" | "end_turn") => {
                StopReason::EndTurn
            }
            Some(other) => StopReason::Unknown(other.to_owned()),
        }
    }
}

fn error(data: &str) -> StreamError {
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    let body = Body::read(&value);
    let code = body.kind.or(body.code).unwrap_or_else(|| "error".into());
    wire::api_error(code, body.message.unwrap_or_default())
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let prompt = counts.prompt_tokens_details.unwrap_or_default();
        Self {
            input_tokens: counts.prompt_tokens,
            output_tokens: counts.completion_tokens,
            cache_read_input_tokens: prompt.cached_tokens.or(counts.prompt_cache_hit_tokens),
            cache_creation_input_tokens: prompt.cache_write_tokens,
            reasoning_tokens: counts
                .completion_tokens_details
                .and_then(|details| details.reasoning_tokens),
        }
    }
}

#[cfg(test)]
mod tests;

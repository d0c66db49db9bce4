//! What the three decoders share: reading a frame's JSON, the input of a tool call, errors inside a stream.
//!
//! Fields of the wrong type are read as missing, because servers disagree about details. An event that is not JSON ends
//! the response: its content is unknown, and a tool must not run on a guess.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::sse::{Frame, LineTooLong};
use super::{Response, StreamError, StreamErrorKind, StreamEvent, made_up_call_id};
use crate::protocol::{Block, CallInput, StopReason, ToolUse, Usage, WireId};

/// The JSON of a frame; `None` if the frame is blank, or if the end of the stream cut it in two.
pub(super) fn parse<'a, T: Deserialize<'a>>(frame: &Frame<'a>) -> Option<Result<T, StreamError>> {
    let data = frame.data.trim_ascii();
    if data.is_empty() {
        return None;
    }
    match serde_json::from_str(data) {
        Ok(value) => Some(Ok(value)),
        Err(_) if frame.cut => None,
        Err(error) => Some(Err(malformed(&error))),
    }
}

/// A part of an event whose shape is known.
pub(super) fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, StreamError> {
    T::deserialize(value).map_err(|error| malformed(&error))
}

/// For a field that is treated as missing if it has another type.
pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// An error that the server reported inside the stream.
pub(in crate::provider) fn api_error(code: String, message: String) -> StreamError {
    StreamError {
        kind: StreamErrorKind::Api,
        retryable: retryable(&code),
        code,
        message,
    }
}

/// Counts of OpenAI and compatible servers, where the input contains what was read from the cache or written to it, as
/// [`Usage`] expects them.
pub(in crate::provider) fn without_cached(counts: Usage) -> Usage {
    let read = counts.cache_read_input_tokens.unwrap_or(0);
    let written = counts.cache_creation_input_tokens.unwrap_or(0);
    Usage {
        input_tokens: counts
            .input_tokens
            .map(|input| input.saturating_sub(read).saturating_sub(written)),
        ..counts
    }
}

fn malformed(error: &serde_json::Error) -> StreamError {
    StreamError {
        kind: StreamErrorKind::Api,
        code: "malformed_event".into(),
        message: format!("the server sent an unreadable event: {error}"),
        retryable: true,
    }
}

impl From<LineTooLong> for StreamError {
    fn from(error: LineTooLong) -> Self {
        Self {
            kind: StreamErrorKind::Api,
            code: "line_too_long".into(),
            message: error.to_string(),
            retryable: false,
        }
    }
}

fn retryable(code: &str) -> bool {
    if let Ok(status) = code.parse::<u16>() {
        return !(400..500).contains(&status) || matches!(status, 408 | 409 | 429);
    }
    let is_about_an_image = code.starts_with("invalid_image") || code.starts_with("image_");
    let is_final = matches!(
        code,
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "billing_error"
            | "request_too_large"
            | "insufficient_quota"
            | "invalid_prompt"
            | "context_length_exceeded"
            | "exceed_context_size_error"
            | "data_residency_mismatch"
            | "bio_policy"
            | "misalignment_policy_violation"
            | "vector_store_timeout"
    );
    !is_final && !is_about_an_image
}

/// Completes a response: one that neither ended nor failed was cut off, and only one that ended has a reason.
pub(super) fn complete(response: &mut Response, ended: bool, stop_reason: Option<StopReason>) {
    response.complete = ended && response.error.is_none();
    if response.complete {
        response.stop_reason = stop_reason;
    } else if response.error.is_none() {
        response.error = Some(StreamError {
            kind: StreamErrorKind::Truncated,
            code: "truncated".into(),
            message: "the stream ended in the middle of the response".into(),
            retryable: true,
        });
    }
}

/// Reports a complete block, unless it is a call that cannot be run.
pub(super) fn push_ended(events: &mut Vec<StreamEvent>, block: &Block) {
    if let Block::ToolUse(call) = block
        && !call.input.is_object()
    {
        return;
    }
    events.push(StreamEvent::BlockEnded(block.clone()));
}

pub(super) fn push_ignored(response: &mut Response, kind: &str) {
    if !response.ignored_events.iter().any(|known| known == kind) {
        response.ignored_events.push(kind.to_owned());
    }
}

/// Hands out the ids of the calls of one response, no id twice.
#[derive(Debug, Default)]
pub(super) struct WireIds(HashSet<String>);

impl WireIds {
    /// The id that the wire gave, or one of our own if it gave none or has used it already.
    pub(super) fn claim(&mut self, wire_id: &str) -> WireId {
        if !wire_id.is_empty() && self.0.insert(wire_id.to_owned()) {
            return WireId(wire_id.to_owned());
        }
        let id = made_up_call_id();
        self.0.insert(id.0.clone());
        id
    }
}

/// A call whose input is complete. An empty input, or only white space, is the empty object.
pub(super) fn tool_use(id: WireId, name: String, raw: String) -> ToolUse {
    match parse_input(&raw) {
        Some(input) => whole_tool_use(id, name, input),
        None => broken_tool_use(id, name, raw, "invalid_json"),
    }
}

/// A call whose end was never seen. Even an input that looks complete is not trusted, especially an empty one.
pub(super) fn cut_tool_use(id: WireId, name: String, raw: String) -> ToolUse {
    let error = match parse_input(&raw) {
        Some(_) => "incomplete",
        None => "invalid_json",
    };
    broken_tool_use(id, name, raw, error)
}

pub(super) fn whole_tool_use(id: WireId, name: String, input: Map<String, Value>) -> ToolUse {
    ToolUse {
        id,
        name,
        input: Value::Object(input).into(),
        input_raw: None,
        input_error: None,
    }
}

fn broken_tool_use(id: WireId, name: String, raw: String, error: &str) -> ToolUse {
    ToolUse {
        id,
        name,
        input: CallInput::default(),
        input_raw: Some(raw),
        input_error: Some(error.into()),
    }
}

/// The object that `raw` holds. Nesting is limited by `serde_json`, so hostile input cannot overflow the stack.
pub(super) fn parse_input(raw: &str) -> Option<Map<String, Value>> {
    if raw.trim_ascii().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_str(raw).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{WireIds, cut_tool_use, parse, retryable, tool_use};
    use crate::provider::sse::Frame;

    fn frame(data: &str) -> Frame<'_> {
        Frame {
            event: None,
            data,
            cut: false,
        }
    }

    #[test]
    fn blank_frames_say_nothing_and_broken_ones_are_errors() {
        assert_eq!(parse::<Value>(&frame(" ")), None);
        assert_eq!(parse::<Value>(&frame(" {} \t")), Some(Ok(json!({}))));
        let error = parse::<Value>(&frame("{\"a\":")).expect("not blank");
        let error = error.expect_err("not JSON");
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("malformed_event", true)
        );
    }

    #[test]
    fn a_frame_that_the_end_cut_in_two_is_passed_over() {
        let cut = |data| Frame {
            cut: true,
            ..frame(data)
        };
        assert_eq!(parse::<Value>(&cut("{\"a\":")), None);
        assert_eq!(parse::<Value>(&cut("{\"a\":1}")), Some(Ok(json!({"a": 1}))));
    }

    #[test]
    fn only_an_object_is_an_input() {
        let call = |raw: &str| tool_use("1".into(), "run".into(), raw.into());
        assert_eq!(call(" \n").input, json!({}));
        assert_eq!(call(" {\"a\": 1}\n").input, json!({"a": 1}));
        for raw in ["[1]", "\"{}\"", "7", "{\"a\":", "{}{}", "null"] {
            let call = call(raw);
            assert_eq!(call.input, Value::Null, "{raw}");
            assert_eq!(call.input_raw.as_deref(), Some(raw));
            assert_eq!(call.input_error.as_deref(), Some("invalid_json"));
        }
    }

    #[test]
    fn ten_thousand_levels_are_an_error_and_no_stack_overflow() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let call = tool_use("1".into(), "run".into(), deep);
        assert_eq!(call.input_error.as_deref(), Some("invalid_json"));
    }

    #[test]
    fn a_call_without_its_end_is_never_whole() {
        let error = |raw: &str| cut_tool_use("1".into(), "run".into(), raw.into()).input_error;
        assert_eq!(error("").as_deref(), Some("incomplete"));
        assert_eq!(error("{}").as_deref(), Some("incomplete"));
        assert_eq!(error("{\"a").as_deref(), Some("invalid_json"));
    }

    #[test]
    fn no_id_is_handed_out_twice() {
        let mut ids = WireIds::default();
        assert_eq!(ids.claim("a").0, "a");
        let second = ids.claim("a");
        assert!(second.0.starts_with("call_"), "{second}");
        assert_ne!(ids.claim(""), ids.claim(""));
        assert_ne!(ids.claim(&second.0), second);
    }

    #[test]
    fn errors_that_would_come_again_are_not_retried() {
        for code in [
            "overloaded_error",
            "server_error",
            "502",
            "429",
            "slow_down",
            "",
        ] {
            assert!(retryable(code), "{code}");
        }
        for code in [
            "insufficient_quota",
            "400",
            "404",
            "invalid_image_url",
            "bio_policy",
        ] {
            assert!(!retryable(code), "{code}");
        }
    }
}

//! Texts about answers and calls that failed or are incomplete. Pure.

use serde_json::Value;

use crate::protocol::{Ending, StopReason, ToolResult, ToolUse};
use crate::provider::{StreamError, StreamErrorKind};

/// About an answer that is empty or blank.
pub(super) const EMPTY_ANSWER: &str = "the model returned an empty answer";
/// About an answer that continues after a pause.
pub(super) const PAUSED: &str = "the provider paused the answer";

/// The result of a call that never reached the executor.
pub(super) fn not_run(call: &ToolUse, stop_reason: Option<&StopReason>) -> ToolResult {
    let name = &call.name;
    let text = if call.input.is_object() {
        format!("{name} was not executed: the same call was made too often in a row")
    } else if stop_reason == Some(&StopReason::MaxTokens) {
        format!(
            "{name} was not executed: the answer reached its length limit inside the call's input. Make the call again \
             with a smaller input, in several steps if need be"
        )
    } else {
        let raw = call.input_raw.as_deref().unwrap_or_default();
        let head: String = raw.chars().take(200).collect();
        format!(
            "{name} was not executed: its input is not a JSON object. What came begins with: {head}"
        )
    };
    ToolResult::error(call.id.clone(), text)
}

pub(super) fn stream_problem(error: &StreamError) -> String {
    match error.kind {
        StreamErrorKind::Api => format!(
            "the provider stopped in the middle of the answer: {} ({})",
            error.message, error.code
        ),
        StreamErrorKind::Truncated => {
            format!("the connection to the provider broke: {}", error.message)
        }
    }
}

/// The notice for the person about an incomplete answer that is kept.
pub(super) fn kept_of(error: &StreamError) -> String {
    let broke = match error.kind {
        StreamErrorKind::Api => format!(
            "The provider stopped in the middle of the answer ({})",
            error.code
        ),
        StreamErrorKind::Truncated => "The connection broke".to_owned(),
    };
    format!("{broke}; what had arrived was kept")
}

/// What to do about that.
pub(super) const STREAM_HINT: &str =
    "the answer so far is kept; send \"continue\", or resume with --continue";

/// The text about an answer that ended early.
pub(super) fn cut_short(stop_reason: Option<&StopReason>) -> Option<String> {
    match stop_reason? {
        StopReason::MaxTokens => Some("the answer was cut off: it reached its length limit".into()),
        StopReason::ContextWindowExceeded => {
            Some("the answer was cut off: the conversation fills the model's context".into())
        }
        StopReason::Unknown(reason) => Some(format!("the answer ended with `{reason}`")),
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Refusal
        | StopReason::PauseTurn => None,
    }
}

/// The ending of an exchange without any text or call.
pub(super) fn silent(problem: Option<String>) -> Ending {
    Ending::Failed {
        problem: problem.unwrap_or_else(|| EMPTY_ANSWER.to_owned()),
        hint: Some("rephrase the request, or switch the model with --model".into()),
    }
}

pub(super) fn refusal(details: Option<&Value>) -> Ending {
    let text = |key: &str| {
        details
            .and_then(|details| details.get(key))
            .and_then(Value::as_str)
    };
    let because = text("explanation")
        .or(text("category"))
        .map(|why| format!(": {why}"));
    Ending::Failed {
        problem: format!(
            "the model declined to answer{}",
            because.unwrap_or_default()
        ),
        hint: Some("rephrase the request, or switch the model with --model".into()),
    }
}

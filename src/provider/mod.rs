//! Models: one neutral stream of events, whatever is on the wire.
//!
//! A [`Provider`] opens a response, a [`ResponseStream`] yields its events and at the end the whole [`Response`].
//! The wire formats are pure: bytes → [`sse`] frames → a [`Decoder`] → [`StreamEvent`]s. Retrying is the caller's
//! business; [`retry`] only says whether and when.

pub mod anthropic;
pub mod builtin;
pub mod choose;
pub mod errors;
pub mod http;
pub mod models;
pub mod openai;
mod pace;
mod playback;
pub mod responses;
pub mod retry;
pub mod script;
pub mod sse;
mod trace;
mod turns;
mod wire;
pub mod wires;

#[cfg(test)]
mod fixtures_test;
#[cfg(test)]
mod sample;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::protocol::{Block, Message, ServerTool, StopReason, ToolDefinition, Usage, WireId};

/// One request for a response. Cheap to clone: a retry sends the same one again.
#[derive(Debug, Clone)]
pub struct Request {
    pub model: String,
    /// The system prompt in parts, ordered from stable to changing, so that a prompt cache holds.
    pub system: Vec<String>,
    pub messages: Arc<Vec<Message>>,
    pub tools: Arc<Vec<ToolDefinition>>,
    /// How many of them, from the beginning, are the same in all requests of the session.
    pub lasting_tools: usize,
    pub max_tokens: u32,
    /// The same for all requests of a session.
    pub session: String,
}

/// What happens while a response streams.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    Text(String),
    Thinking(String),
    ToolStarted {
        id: WireId,
        name: String,
    },
    ToolInput {
        id: WireId,
        fragment: String,
    },
    /// The provider has begun to run one of its own tools. The block with its input and result follows.
    Serving {
        id: WireId,
        name: String,
    },
    /// A block is complete. A `Block::ToolUse` whose input is an object may be run from this moment on.
    BlockEnded(Block),
}

/// A whole response, or as much of it as came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Response {
    pub id: Option<String>,
    pub model: Option<String>,
    /// In the order in which they must be sent back.
    pub blocks: Vec<Block>,
    pub stop_reason: Option<StopReason>,
    pub stop_reason_raw: Option<String>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<serde_json::Value>,
    pub usage: Usage,
    /// The response ended normally. If false, `error` says why.
    pub complete: bool,
    pub error: Option<StreamError>,
    /// Kinds of events that were skipped because they are unknown.
    pub ignored_events: Vec<String>,
}

/// Why a response that had begun did not end normally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamError {
    pub kind: StreamErrorKind,
    pub code: String,
    pub message: String,
    pub retryable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamErrorKind {
    /// The server said so.
    Api,
    /// The stream just ended.
    Truncated,
}

/// Turns the frames of one wire format into neutral events. Pure; one per response.
pub trait Decoder: Send {
    /// Takes one SSE frame and pushes what it means.
    fn frame(&mut self, frame: &sse::Frame<'_>, events: &mut Vec<StreamEvent>);
    /// Whether a call is complete and only held back because more arguments would make it invalid.
    fn is_waiting(&self) -> bool {
        false
    }
    /// Nothing has arrived for a while: complete calls are no longer held back.
    fn quiet(&mut self, _events: &mut Vec<StreamEvent>) {}
    /// True once nothing that follows can change the response (terminal event or error).
    fn is_over(&self) -> bool;
    /// The stream has ended: the last events, and the response as a whole.
    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Response;
}

/// Why a request failed, grouped by what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    pub kind: ProviderErrorKind,
    /// What happened, in one line.
    pub message: String,
    /// What the person can do about it.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// A temporary problem: the same request may succeed later, `after` if the server said when.
    Retry { after: Option<Duration> },
    /// The history does not fit the model's window.
    ContextFull,
    /// A retry would not help.
    Final,
}

pub trait Provider: Send + Sync {
    /// `anthropic`, `openai`, `responses`, `builtin` or `script`.
    fn name(&self) -> &'static str;
    /// Whether it runs this tool itself where a request names it.
    fn serves(&self, _tool: ServerTool) -> bool {
        false
    }
    /// Sends the request and waits for the head of the answer.
    fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>>;
}

pub trait ResponseStream: Send {
    /// The next events, as many as are there at once. Cancel-safe. Not to be called after `Batch::Over`.
    fn next(&mut self) -> BoxFuture<'_, Batch>;
}

#[derive(Debug, Clone, PartialEq)]
pub enum Batch {
    Events(Vec<StreamEvent>),
    Over(Vec<StreamEvent>, Box<Response>),
}

/// An id for a call that has none on the wire.
pub fn made_up_call_id() -> WireId {
    let letters: String = (0..24).map(|_| fastrand::alphanumeric()).collect();
    WireId(format!("call_{letters}"))
}

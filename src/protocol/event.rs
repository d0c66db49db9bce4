//! What the agent tells its readers: the screen and the headless printer hear the same events.

use std::time::Duration;

use serde_json::Value;

use super::id::{CallId, SessionId, TurnId};
use super::message::{Message, StopReason, ToolResult, Usage};
use super::tool::Phase;

#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The session's log is open; nothing else comes before it.
    Opened(SessionOpened),
    /// Something a person should know, in one line.
    Notice(String),
    Turn(TurnId, TurnEvent),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionOpened {
    pub session: SessionId,
    pub provider: String,
    pub model: String,
    pub tools: Vec<String>,
    /// The conversation so far, when a session is resumed.
    pub history: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The person's message is in the log.
    Prompted(Message),
    /// A request goes out. What an earlier try of it had shown is void.
    Requested {
        attempt: u32,
    },
    /// A request failed and is tried again after `wait`.
    Retrying {
        problem: String,
        attempt: u32,
        wait: Duration,
    },
    Text(String),
    Thinking(String),
    ToolInputStarted {
        call: CallId,
        name: String,
    },
    ToolInput {
        call: CallId,
        fragment: String,
    },
    Tool {
        call: CallId,
        name: String,
        at: Duration,
        state: ToolState,
    },
    /// A call waits for the person.
    Asked(PermissionRequest),
    /// The assistant's message is complete and in the log.
    Answered {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// The results of its calls are in the log and go out with the next request.
    Delivered(Message),
    /// Work that the tools did while the model was still writing.
    Saved(Duration),
    Finished(TurnSummary),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolState {
    Queued { input: Value },
    Executing { phase: Phase },
    Progress { text: String },
    Completed { result: ToolResult, ran: Duration },
    Yielded,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    pub reason: String,
}

/// How an exchange ended, with all that is said of it afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    pub ending: Ending,
    /// The last text of the assistant.
    pub text: String,
    /// How many responses of the model it took.
    pub responses: u32,
    pub usage: Usage,
    pub took: Duration,
    pub denials: Vec<Denial>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Done,
    MaxTurns,
    Interrupted,
    Failed {
        problem: String,
        hint: Option<String>,
    },
}

/// A call that was not allowed to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    pub reason: String,
}

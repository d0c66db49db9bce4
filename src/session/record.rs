//! The format of a session's log: one JSON object a line.
//!
//! A promise to old files: kinds and fields may be added, never renamed. A reader passes over a kind it does not know.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::{
    Block, CallRef, Message, SessionId, Spending, StopReason, ToolCall, ToolResult, Usage,
};

/// The version of the format that this program writes.
pub const VERSION: u32 = 2;

/// A line of the log: a record, its number, and when it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line<R = Record> {
    pub seq: u64,
    pub at_ms: u64,
    #[serde(flatten)]
    pub record: R,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The first line of every log.
    Session {
        version: u32,
        id: SessionId,
        cwd: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<SessionId>,
    },
    /// A run of the program begins, the first one or one that goes on with the session.
    Run {
        provider: String,
        model: String,
        /// The format of what it writes: an old log may be gone on with.
        #[serde(default = "first_version")]
        version: u32,
    },
    /// The person's message.
    User { message: Message },
    /// The model is told this, though nobody has written it: hooks want it to go on.
    Told { message: Message },
    /// A request goes out. What came of an earlier, unfinished one is void, but for calls that were begun.
    Request {
        provider: String,
        model: String,
        attempt: u32,
    },
    /// Text of the answer, as it streamed in.
    Text { text: String },
    /// Thinking, as it streamed in: it was shown, but only its complete block goes back to the model.
    Thinking { text: String },
    /// A block of the answer, other than text and calls, that is complete.
    Block { block: Block },
    /// A call's block has ended; it is about to be queued.
    Call { call: ToolCall },
    /// A call is about to start. It may have had effects from here on.
    Begun { call: CallRef },
    /// A hook has made another input of a call, before it was decided about.
    Rewritten {
        call: CallRef,
        input: Value,
        by: String,
    },
    /// What was decided about a call, and what made the decision.
    Decision {
        call: CallRef,
        decision: String,
        reason: String,
        cause: String,
    },
    /// A file is about to be changed; `before` is the checkpoint of its content, if it existed, and `after` the hash of the
    /// new one.
    Change {
        call: CallRef,
        path: PathBuf,
        before: Option<String>,
        after: String,
    },
    /// A call has its result.
    Result { call: CallRef, result: ToolResult },
    /// The whole answer. Takes the place of its texts, blocks and calls.
    Assistant {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// What the conversation has used so far, this run and those before it.
    Spent { spending: Spending },
    /// The results go back to the model, in this order, followed by what else is said to it.
    Delivered {
        calls: Vec<CallRef>,
        then: Vec<Block>,
    },
    /// The history was repaired before it was sent.
    Repaired { what: Vec<String> },
    /// What came of the last request is void.
    Discarded,
    /// The shell has gone to another directory.
    Moved { cwd: PathBuf },
    /// The person runs something beside the conversation; with its result once it is over. The model is told with the next
    /// message, which has it.
    Aside {
        call: ToolCall,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
    },
    /// The exchange is over.
    End { ending: String },
}

/// Runs of the first format do not tell theirs.
fn first_version() -> u32 {
    1
}

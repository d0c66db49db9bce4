//! The format of a session's log: one JSON object per line.
//!
//! Old files must stay readable: kinds and fields may be added, never renamed. A reader skips kinds that it does not
//! know. `version1` reads what version 1 wrote differently.
//!
//! Records contain everything that their events contain, because the screen of a resumed session is built only from
//! them. Changed files are referenced by their checkpoints, not copied.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::protocol::todo::Todo;
use crate::protocol::{
    AgentId, AnswerNote, BackgroundEnd, Block, CallInput, CallOutcome, CallRef, ForPerson, Message,
    Mode, Phase, SeenFile, Seq, SessionId, Spending, StopReason, ToolCall, ToolResult, Usage,
};

/// The version that this program writes.
pub const VERSION: u32 = 2;

/// A line of the log: a record, its number, its time, and its conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line<R = Record> {
    pub seq: Seq,
    pub at_ms: u64,
    /// The conversation that it belongs to. Several can write to one log.
    #[serde(default = "AgentId::main", skip_serializing_if = "AgentId::is_main")]
    pub agent: AgentId,
    #[serde(flatten)]
    pub record: R,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    // The session.
    /// The first line of every log.
    Session {
        version: u32,
        id: SessionId,
        cwd: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<SessionId>,
    },
    /// A run of the program begins, the first one or a later one that resumes the session. The following lines have
    /// this version.
    Run {
        #[serde(default = "first_version")]
        version: u32,
        provider: String,
        model: String,
        /// The branch that the workspace's repository is on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A call has started this subagent. The first line of the subagent.
    Started {
        call: CallRef,
        /// The name of its type.
        agent_type: String,
        description: String,
        model: String,
        #[serde(default)]
        background: bool,
    },
    /// A line that the person was shown.
    Notice { text: String },
    /// The answer to a question or request of the person.
    Reply { text: String },
    /// The permission mode from now on.
    Mode { mode: Mode },
    /// The person gave the session a title.
    Renamed { title: String },
    /// The shell's directory changed.
    Moved { cwd: PathBuf },

    /// The model's planned steps from now on.
    Todos { todos: Vec<Todo> },

    /// The request that follows sends these tools for the first time, and announces those by name only for the first time.
    Offered {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        announced: Vec<String>,
    },
    /// What the conversation knows of these files from now on.
    Seen { files: Vec<SeenFile> },

    /// The model has asked for these tools: requests send them from now on.
    Activated { tools: Vec<String> },

    // Turns.
    /// The person's message.
    User { message: Message },
    /// A message of the person was not sent to the model. Its content is not logged: it may be the reason why a hook
    /// blocked it.
    Refused,
    /// A message from the program to the model: hooks want it to continue.
    Told { message: Message },
    /// A request is sent. What was discarded of an earlier one is void, except for calls that have begun.
    Request {
        provider: String,
        model: String,
        attempt: u32,
    },
    /// The request failed and is sent again later.
    Retry {
        problem: String,
        attempt: u32,
        wait_ms: u64,
    },
    /// Text of the answer, as it arrived.
    Text { text: String },
    /// Thinking, as it arrived: it was shown, but only its complete block is sent back to the model.
    Thinking { text: String },
    /// A complete block of the answer, other than text and calls.
    Block {
        block: Block,
        /// The call that the block is about, if the provider runs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRef>,
    },
    /// The model has finished writing its answer; its calls may still run.
    Streamed,
    /// The complete answer. Replaces its texts, blocks and calls.
    Assistant {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// The answer to the last request is void.
    Discarded,
    /// The answer broke after one of its calls had started: its complete parts are kept. The text is what the person
    /// was told.
    Broken { text: String },
    /// The results that are sent to the model, in this order, followed by other notes.
    Delivered {
        calls: Vec<CallRef>,
        then: Vec<Block>,
    },
    /// What the conversation has used so far, in this run and earlier ones.
    Spent { spending: Spending },
    /// How much work the tools did while the model was still writing.
    Saved { saved_ms: u64 },
    /// The history was repaired before it was sent.
    Repaired { what: Vec<String> },
    /// A limit was reached, and the person is asked.
    Paused { why: String },
    /// The turn continues after a pause.
    #[serde(rename = "gone_on")]
    Continued,
    /// The run before ended while these calls waited for an answer of the person, or for their turn to start. They
    /// continue, and the turn with them.
    Reopened { calls: Vec<CallRef> },
    /// The turn has ended.
    End {
        ending: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        #[serde(default)]
        took_ms: u64,
        /// The number of responses of the model.
        #[serde(default)]
        responses: u32,
        #[serde(default)]
        usage: Usage,
        /// In dollars, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },

    // Calls, of the model and of the person.
    /// The model has begun to write a call.
    Arriving { call: CallRef, tool: String },
    /// A call is complete, and about to be queued.
    Call { call: ToolCall },
    /// A call is about to start. It may have effects from here on.
    Begun { call: CallRef },
    /// A call waits for the person, or has begun its work.
    Reached { call: CallRef, phase: Phase },
    /// The person has answered the question of a call. From here on it is not asked again.
    Answered { call: CallRef },
    /// A hook has replaced the input of a call, before the decision.
    Rewritten {
        call: CallRef,
        input: CallInput,
        by: String,
    },
    /// The decision about a call, and what made it.
    Decision {
        call: CallRef,
        decision: String,
        reason: String,
        cause: String,
        /// The decision in one line, for people.
        #[serde(default)]
        by: String,
        /// False if the person decides next.
        #[serde(default = "yes")]
        settled: bool,
        /// What the person's answer did in addition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<AnswerNote>,
    },
    /// A file is about to be changed; `before` is the checkpoint of its content, if it existed, and `after` the hash
    /// of the new one.
    Change {
        call: CallRef,
        path: PathBuf,
        before: Option<String>,
        after: String,
    },
    /// A call has its result.
    Result {
        call: CallRef,
        result: ToolResult,
        ran_ms: u64,
        outcome: CallOutcome,
        /// What the person was told.
        #[serde(default, skip_serializing_if = "ForPerson::is_empty")]
        for_person: ForPerson,
        /// The files that it changed, as shown to the person.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Changed>,
    },
    /// The command that a call left in the background has ended.
    BackgroundEnded {
        call: CallRef,
        #[serde(deserialize_with = "BackgroundEnd::logged")]
        how: BackgroundEnd,
    },
}

/// A change of one file that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The name that was shown.
    pub path: String,
    /// The checkpoint of the old content; `None` for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The checkpoint of the new content; `None` if it is not stored, so that the change cannot be shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// In lines.
    pub added: usize,
    pub removed: usize,
}

const fn yes() -> bool {
    true
}

/// Runs of version 1 do not contain their version.
fn first_version() -> u32 {
    1
}

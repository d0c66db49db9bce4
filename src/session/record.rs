//! The format of a session's log: one JSON object a line.
//!
//! A promise to old files: kinds and fields may be added, never renamed. A reader passes over a kind it does not know. What
//! version 1 wrote in another way is read by `version1`.
//!
//! Records are as rich as the events that are told of them: the screen of a session that is resumed is made of nothing
//! else. What a call changed is named by the checkpoints of the files, not copied.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::protocol::todo::Todo;
use crate::protocol::{
    AgentId, AnswerNote, Block, CallInput, CallOutcome, CallRef, ForPerson, Message, Mode, Phase,
    Seq, SessionId, Spending, StopReason, ToolCall, ToolResult, Usage,
};

/// The version of the format that this program writes.
pub const VERSION: u32 = 2;

/// A line of the log: a record, its number, when it was written, and whose it is.
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
    /// A run of the program begins, the first one or one that resumes the session. What follows is of this version.
    Run {
        #[serde(default = "first_version")]
        version: u32,
        provider: String,
        model: String,
        /// The branch that the workspace's repository is on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A call has started this conversation, beside its own. The first line of the conversation's.
    Started {
        call: CallRef,
        /// The name of its type.
        agent_type: String,
        description: String,
        model: String,
        #[serde(default)]
        background: bool,
    },
    /// Something that the person was told, in one line.
    Notice { text: String },
    /// The answer to something that the person wanted to know, or to be done.
    Reply { text: String },
    /// The permission mode from now on.
    Mode { mode: Mode },
    /// The person gave the session a title.
    Renamed { title: String },
    /// The shell has gone to another directory.
    Moved { cwd: PathBuf },

    /// What the model plans to do from now on.
    Todos { todos: Vec<Todo> },

    // Turns.
    /// The person's message.
    User { message: Message },
    /// A message of the person does not go to the model. What it said is not kept: a hook may have refused it for that.
    Refused,
    /// The model is told this, though nobody has written it: hooks want it to go on.
    Told { message: Message },
    /// A request goes out. What was discarded of an earlier one is void, but for calls that were begun.
    Request {
        provider: String,
        model: String,
        attempt: u32,
    },
    /// The request failed and is tried again after a while.
    Retry {
        problem: String,
        attempt: u32,
        wait_ms: u64,
    },
    /// Text of the answer, as it streamed in.
    Text { text: String },
    /// Thinking, as it streamed in: it was shown, but only its complete block goes back to the model.
    Thinking { text: String },
    /// A block of the answer, other than text and calls, that is complete.
    Block { block: Block },
    /// The model has written all of its answer; calls of it may still run.
    Streamed,
    /// The whole answer. Takes the place of its texts, blocks and calls.
    Assistant {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// What came of the last request is void.
    Discarded,
    /// The answer broke off after a call of it had started: what is complete of it is kept. What the person was told.
    Broken { text: String },
    /// The results go back to the model, in this order, followed by what else is said to it.
    Delivered {
        calls: Vec<CallRef>,
        then: Vec<Block>,
    },
    /// What the conversation has used so far, this run and those before it.
    Spent { spending: Spending },
    /// Work that the tools did while the model was still writing.
    Saved { saved_ms: u64 },
    /// The history was repaired before it was sent.
    Repaired { what: Vec<String> },
    /// A limit was reached, and the person is asked.
    Paused { why: String },
    /// It goes on after a pause.
    GoneOn,
    /// The turn is over.
    End {
        ending: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        #[serde(default)]
        took_ms: u64,
        /// How many responses of the model it took.
        #[serde(default)]
        responses: u32,
        #[serde(default)]
        usage: Usage,
        /// In dollars, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },

    // Calls, of the model and of the person.
    /// The model has begun to write a call.
    Arriving { call: CallRef, tool: String },
    /// A call is whole, and about to be queued.
    Call { call: ToolCall },
    /// A call is about to start. It may have had effects from here on.
    Begun { call: CallRef },
    /// A call waits for the person, or has begun its work.
    Reached { call: CallRef, phase: Phase },
    /// A hook has made another input of a call, before it was decided about.
    Rewritten {
        call: CallRef,
        input: CallInput,
        by: String,
    },
    /// What was decided about a call, and what made the decision.
    Decision {
        call: CallRef,
        decision: String,
        reason: String,
        cause: String,
        /// All of that in one line, for people.
        #[serde(default)]
        by: String,
        /// False where the person decides next.
        #[serde(default = "yes")]
        settled: bool,
        /// What the person's answer did besides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<AnswerNote>,
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
    Result {
        call: CallRef,
        result: ToolResult,
        ran_ms: u64,
        outcome: CallOutcome,
        /// What the person was told.
        #[serde(default, skip_serializing_if = "ForPerson::is_empty")]
        for_person: ForPerson,
        /// The files that it changed, as the person was shown them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Changed>,
    },
    /// The command that a call has left in the background is over.
    BackgroundEnded { call: CallRef, how: String },
}

/// A change of one file that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// As it was shown.
    pub path: String,
    /// The checkpoint of what it held; `None` for a file that is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The checkpoint of what it holds now; `None` where there is none, and the change cannot be shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Lines.
    pub added: usize,
    pub removed: usize,
}

const fn yes() -> bool {
    true
}

/// Runs of the first format do not tell theirs.
fn first_version() -> u32 {
    1
}

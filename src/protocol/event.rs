//! What the agent tells its readers: the screen and the headless printer hear the same events.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::id::{CallId, SessionId, TurnId};
use super::message::{Block, Message, StopReason, ToolResult, Usage};
use super::source::Source;
use super::spending::Spending;
use super::tool::{Mode, Phase, RuleList};

#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The session's log is open; nothing else comes before it.
    Opened(SessionOpened),
    /// Something a person should know, in one line.
    Notice(String),
    /// Whether the session is being saved from now on; if not, why.
    Saving(Result<(), String>),
    /// The mode in force from now on: the answer to every [`SetMode`](super::Command::SetMode).
    ModeIs(Mode),
    /// The messages that waited are the person's again.
    TakenBack(Vec<Vec<Block>>),
    /// The answer to something that the person wanted to know, or to be done.
    Reply(String),
    /// The permission rules in force.
    Rules(Vec<KnownRule>),
    /// A hook has made another input of a call: it is this one now.
    Rewritten {
        call: CallId,
        input: Value,
        by: String,
    },
    /// A command that a call has left in the background is over; how it ended, in a few words.
    BackgroundEnded(CallId, String),
    /// A call that the person makes, beside the turns.
    Aside(CallId, Aside),
    Turn(TurnId, TurnEvent),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Aside {
    Started {
        tool: String,
        input: Value,
    },
    /// It was not permitted before, or not whole, and waits for the person.
    Asked(PermissionRequest),
    /// As [`TurnEvent::Decided`].
    Decided {
        by: String,
        settled: bool,
    },
    State(ToolState),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionOpened {
    pub session: SessionId,
    pub provider: String,
    pub model: String,
    pub mode: Mode,
    pub tools: Vec<String>,
    /// The branch that the workspace's repository is on.
    pub branch: Option<String>,
    /// How many tokens the model can take in, where that is known.
    pub context_window: Option<u64>,
    /// What the conversation has used so far, when a session is resumed.
    pub spending: Spending,
    /// The hooks in force.
    pub hooks: Vec<HookInfo>,
    /// The conversation so far, when a session is resumed.
    pub history: Vec<Message>,
}

/// A hook, as far as a person wants to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInfo {
    pub event: &'static str,
    pub matcher: String,
    pub command: String,
    /// The file that it stands in.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The person's message is in the log.
    Prompted(Message),
    /// The person's message does not go to the model: a hook refused it, or it was stopped before.
    Refused,
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
    /// Whether a call may run, and what made that decision: a rule and its file, the mode, the classifier, the person.
    Decided {
        call: CallId,
        by: String,
        /// False where the decision is to ask the person, who decides next.
        settled: bool,
    },
    /// A limit was reached; nothing goes out until the person says [`GoOn`](super::Command::GoOn) or interrupts.
    Paused {
        why: String,
    },
    /// The model has written all of its response; calls of it may still run.
    Streamed,
    /// The assistant's message is complete and in the log.
    Answered {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// What the conversation has used so far, with the response that has just ended.
    Spent(Spending),
    /// The results of its calls are in the log and go out with the next request.
    Delivered(Message),
    /// Work that the tools did while the model was still writing.
    Saved(Duration),
    Finished(TurnSummary),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolState {
    Queued {
        input: Value,
    },
    Executing {
        phase: Phase,
    },
    Progress {
        text: String,
    },
    Completed {
        result: ToolResult,
        ran: Duration,
        outcome: CallOutcome,
        /// What changed, where the tool can show it better than its result says it.
        shown: Option<FileDiff>,
    },
    Yielded,
}

/// How a call came to its result.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    Succeeded,
    Failed,
    /// A rule, the mode or the person did not allow it.
    Denied,
    /// It did not run, or was stopped, because of something else; in a few words.
    Skipped {
        why: String,
    },
    /// An interrupt or the person stopped it.
    Cancelled,
    /// The person gave the result.
    ByHand,
    Backgrounded,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileDiff {
    pub path: String,
    /// `None` for a file that is new.
    pub before: Option<Arc<str>>,
    pub after: Arc<str>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    pub reason: String,
    /// What the call would change, if that can be told beforehand.
    pub change: Option<FileDiff>,
    /// The rule that "always" would save and the file it would go to; `None` where no rule may cover such a call.
    pub rule: Option<RuleOffer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOffer {
    pub rule: String,
    pub file: PathBuf,
}

/// A permission rule, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRule {
    pub list: RuleList,
    pub rule: String,
    pub from: Source,
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

//! The agent's events. The screen and the headless printer receive the same ones.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::about::ToolInfo;
use super::background::BackgroundEnd;
use super::extension::{CustomCommand, Extensions, Skill};
use super::for_person::{ForPerson, Printed};
use super::id::{CallRef, Seq, SessionId, TurnId, WireId};
use super::input::CallInput;
use super::mcp::McpServerStatus;
use super::message::{Block, Message, StopReason, ToolResult, Usage};
use super::question::{AnswerNote, Question};
use super::shown::Shown;
use super::source::Source;
use super::spending::Spending;
use super::subagent::{AgentKind, Subagent};
use super::todo::Todo;
use super::tool::{Mode, Phase, RuleList};

/// An event with its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The record with the same content; `None` for an event that is not logged, such as the progress of a call.
    pub record: Option<Recorded>,
    pub event: AgentEvent,
}

/// A record of the session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub seq: Seq,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Grouped by subject: the session, a turn, or a call.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    Session(SessionEvent),
    Turn(TurnId, TurnEvent),
    Call {
        call: CallRef,
        /// The time since the turn began, or since the call began if it is independent of the turns.
        at: Duration,
        event: CallEvent,
    },
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one occurs once in a session"
)]
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// The session's log is open. This is always the first event.
    Opened(SessionOpened),
    /// A run of the program began in which the session was resumed; only reported for past runs. Everything that was
    /// running in the run before ended with it.
    RunBegan { provider: String, model: String },
    /// A line that the person should see.
    Notice(String),
    /// Whether the session is being saved from now on; if not, why.
    Saving(Result<(), String>),
    /// The active mode: the answer to every [`SetMode`](super::SessionCommand::SetMode).
    ModeIs(Mode),
    /// The person gave the session a title: the answer to [`Rename`](super::SessionCommand::Rename).
    Renamed(String),
    /// Queued messages go back to the person. Empty if the requested one was already sent.
    TakenBack(Vec<Vec<Block>>),
    /// The answer to a question or request of the person.
    Reply(String),
    /// The tools that the model is offered from the next request on.
    Tools(Vec<ToolInfo>),
    /// All custom commands.
    Commands(Vec<CustomCommand>),
    /// The active permission rules.
    Rules(Vec<KnownRule>),
    /// The types of subagents.
    Agents(Vec<AgentKind>),
    /// The hooks that are active now, to be listed.
    Hooks(Vec<HookInfo>),
    /// The skills.
    Skills(Vec<Skill>),
    /// All MCP servers, whenever something about one of them has changed.
    Mcp(Vec<McpServerStatus>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionOpened {
    pub session: SessionId,
    pub provider: String,
    pub model: String,
    pub mode: Mode,
    /// The tools that the model is offered.
    pub tools: Vec<ToolInfo>,
    /// The MCP servers.
    pub servers: Vec<McpServerStatus>,
    /// The current branch of the workspace's repository.
    pub branch: Option<String>,
    /// The size of the model's context in tokens, if known.
    pub context_window: Option<u64>,
    /// What the conversation has used so far, in a resumed session.
    pub spending: Spending,
    /// What files add.
    pub extensions: Arc<Extensions>,
    /// All earlier events of a resumed session, oldest first.
    pub past: Vec<Envelope>,
}

/// A hook, with what a person wants to know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInfo {
    pub event: &'static str,
    pub matcher: String,
    pub command: String,
    /// Its file.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The person's message is in the log.
    Prompted(Message),
    /// The person's message is not sent to the model: a hook blocked it, or the person stopped it.
    Refused,
    /// A request is sent. What was discarded before it stays discarded.
    Requested {
        attempt: u32,
    },
    /// The answer to the last request is not used: it is requested again, or was declined.
    Discarded,
    /// The answer broke after one of its calls had started. What had arrived is kept; in words for the person.
    Broken(String),
    /// A request failed and is sent again after `wait`.
    Retrying {
        problem: String,
        attempt: u32,
        wait: Duration,
    },
    Text(String),
    Thinking(String),
    /// The model's whole list of planned steps.
    Planned(Vec<Todo>),
    /// A limit was reached; nothing is sent until the person sends [`Continue`](super::TurnCommand::Continue) or interrupts.
    Paused {
        why: String,
    },
    /// The person continued it after a pause.
    Continued,
    /// The program ended while calls of this turn waited for the person. They continue, and the turn with them.
    Reopened {
        calls: Vec<CallRef>,
    },
    /// The model has finished writing its answer; its calls may still run.
    Streamed,
    /// The assistant's message is complete and in the log.
    Answered {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// What the conversation has used so far, including the response that just ended.
    Spent(Spending),
    /// The results of its calls are in the log and are sent with the next request.
    Delivered(Message),
    /// How much work the tools did while the model was still writing.
    Saved(Duration),
    Finished(TurnSummary),
}

/// What happens to a call, from its first letter to the delivery of its result.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvent {
    /// The model has begun to write it.
    Arriving {
        tool: String,
    },
    /// More of its input, as the model writes it.
    Input(String),
    /// It is complete, and queued.
    Queued {
        tool: String,
        /// Its id on the wire; `None` for a call of the person.
        wire: Option<WireId>,
        input: CallInput,
    },
    Reached(Phase),
    /// It has printed something.
    Progress(Printed),
    /// A hook has replaced its input with this one.
    Rewritten {
        input: CallInput,
        by: String,
    },
    /// It waits for the person.
    Asked(Question),
    /// Whether it may run, and what decided that: a rule and its file, the mode, the classifier, the person.
    Decided {
        by: String,
        /// False if the decision is to ask the person, who decides next.
        settled: bool,
        /// What the person's answer did in addition, if anything.
        note: Option<AnswerNote>,
    },
    Completed {
        result: ToolResult,
        ran: Duration,
        outcome: CallOutcome,
        /// What the person is told about it.
        for_person: ForPerson,
        /// What the tool can show better than its text. Empty if the contents of the files are no longer stored.
        shown: Shown,
        /// How much it changed in which files.
        changed: Vec<ChangeSize>,
    },
    /// Its result was sent to the model.
    Yielded,
    /// The command or subagent that it left in the background has ended.
    BackgroundEnded(BackgroundEnd),
    /// It has started a subagent.
    Started(Subagent),
}

/// The size of a change in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSize {
    /// The name for the screen.
    pub path: String,
    /// In lines.
    pub added: usize,
    pub removed: usize,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Succeeded,
    Failed,
    /// A rule, the mode or the person did not allow it.
    Denied,
    /// It did not run, or was stopped, for this other reason.
    Skipped {
        why: String,
    },
    /// An interrupt or the person stopped it.
    Cancelled,
    /// The person gave the result.
    ByHand,
    Backgrounded,
}

/// A permission rule, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRule {
    pub list: RuleList,
    pub rule: String,
    pub from: Source,
}

/// How an exchange ended, with everything that is reported afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    pub ending: Ending,
    /// The last text of the assistant.
    pub text: String,
    /// The number of responses of the model.
    pub responses: u32,
    pub usage: Usage,
    /// The cost in dollars; `None` if any of the prices is unknown.
    pub cost: Option<f64>,
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

impl TurnSummary {
    /// An exchange with nothing but its ending.
    pub fn of(ending: Ending, took: Duration) -> Self {
        Self {
            ending,
            text: String::new(),
            responses: 0,
            usage: Usage::default(),
            cost: None,
            took,
            denials: Vec::new(),
        }
    }
}

impl Ending {
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Done => "success",
            Ending::MaxTurns => "error_max_turns",
            Ending::Interrupted => "interrupted",
            Ending::Failed { .. } => "error_during_execution",
        }
    }
}

/// A call that was not allowed to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    /// Its id on the wire.
    pub call: WireId,
    pub tool: String,
    pub input: CallInput,
    pub reason: String,
}

impl From<AgentEvent> for Envelope {
    /// An event without a record.
    fn from(event: AgentEvent) -> Self {
        Self {
            record: None,
            event,
        }
    }
}

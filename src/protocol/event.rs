//! What the agent tells its readers: the screen and the headless printer hear the same events.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::about::{CustomCommand, ToolInfo};
use super::for_person::{ForPerson, Printed};
use super::id::{CallRef, Seq, SessionId, TurnId, WireId};
use super::input::CallInput;
use super::message::{Block, Message, StopReason, ToolResult, Usage};
use super::question::{AnswerNote, Question};
use super::shown::Shown;
use super::source::Source;
use super::spending::Spending;
use super::subagent::{AgentKind, Subagent};
use super::todo::Todo;
use super::tool::{Mode, Phase, RuleList};

/// An event on its way to those who read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The record that says the same; `None` for what passes by and is not kept, such as the progress of a call.
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

/// By what it is about: the session, a turn, or a call.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    Session(SessionEvent),
    Turn(TurnId, TurnEvent),
    Call {
        call: CallRef,
        /// Since the turn began, or the call where it stands beside the turns.
        at: Duration,
        event: CallEvent,
    },
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one comes once in a session"
)]
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// The session's log is open; nothing else comes before it.
    Opened(SessionOpened),
    /// A run of the program began in which the session was resumed; told of runs that are past. What the one before it
    /// had under way ended with it.
    RunBegan { provider: String, model: String },
    /// Something a person should know, in one line.
    Notice(String),
    /// Whether the session is being saved from now on; if not, why.
    Saving(Result<(), String>),
    /// The active mode from now on: the answer to every [`SetMode`](super::SessionCommand::SetMode).
    ModeIs(Mode),
    /// The person gave the session a title: the answer to [`Rename`](super::SessionCommand::Rename).
    Renamed(String),
    /// Messages that waited are the person's again. Empty where the one that was wanted back has been sent already.
    TakenBack(Vec<Vec<Block>>),
    /// The answer to something that the person wanted to know, or to be done.
    Reply(String),
    /// What the model is offered from the next request on.
    Tools(Vec<ToolInfo>),
    /// The commands of the person's own, all of them.
    Commands(Vec<CustomCommand>),
    /// The active permission rules.
    Rules(Vec<KnownRule>),
    /// The types of subagents.
    Agents(Vec<AgentKind>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionOpened {
    pub session: SessionId,
    pub provider: String,
    pub model: String,
    pub mode: Mode,
    /// What the model is offered.
    pub tools: Vec<ToolInfo>,
    /// The branch that the workspace's repository is on.
    pub branch: Option<String>,
    /// How many tokens the model can take in, where that is known.
    pub context_window: Option<u64>,
    /// What the conversation has used so far, when a session is resumed.
    pub spending: Spending,
    /// The active hooks.
    pub hooks: Vec<HookInfo>,
    /// All that was told so far, when a session is resumed: the oldest first.
    pub past: Vec<Told>,
}

/// A hook, as far as a person wants to know it.
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
    /// The person's message does not go to the model: a hook refused it, or it was stopped before.
    Refused,
    /// A request goes out. What was discarded before it stays discarded.
    Requested {
        attempt: u32,
    },
    /// What came of the last request will not be used: it is asked for again, or was declined.
    Discarded,
    /// The response broke off after a call of it had started. What had arrived is kept; in words for the person.
    Broken(String),
    /// A request failed and is tried again after `wait`.
    Retrying {
        problem: String,
        attempt: u32,
        wait: Duration,
    },
    Text(String),
    Thinking(String),
    /// What the model plans to do, all of it.
    Planned(Vec<Todo>),
    /// A limit was reached; nothing goes out until the person says [`GoOn`](super::TurnCommand::GoOn) or interrupts.
    Paused {
        why: String,
    },
    /// It goes on after a pause: the person said so.
    GoneOn,
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

/// What happens to a call, from its first letter to its delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvent {
    /// The model has begun to write it.
    Arriving {
        tool: String,
    },
    /// More of its input, as the model writes it.
    Input(String),
    /// It is whole, and waits for its turn.
    Queued {
        tool: String,
        /// What the model calls it; `None` for a call of the person.
        wire: Option<WireId>,
        input: CallInput,
    },
    Reached(Phase),
    /// It has printed something.
    Progress(Printed),
    /// A hook has made another input of it: it is this one now.
    Rewritten {
        input: CallInput,
        by: String,
    },
    /// It waits for the person.
    Asked(Question),
    /// Whether it may run, and what made that decision: a rule and its file, the mode, the classifier, the person.
    Decided {
        by: String,
        /// False where the decision is to ask the person, who decides next.
        settled: bool,
        /// What the person's answer did besides, where it did.
        note: Option<AnswerNote>,
    },
    Completed {
        result: ToolResult,
        ran: Duration,
        outcome: CallOutcome,
        /// What a person is told of it.
        for_person: ForPerson,
        /// What the tool can show better than its result says it. Nothing, where the files' contents are not kept any more.
        shown: Shown,
        /// How much it changed of which files.
        changed: Vec<ChangeSize>,
    },
    /// The model has its result.
    Yielded,
    /// What it left in the background is over; how it ended, in a few words.
    BackgroundEnded(String),
    /// It has started a conversation.
    Started(Subagent),
}

/// How much of a file a change has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSize {
    /// As it is shown.
    pub path: String,
    /// Lines.
    pub added: usize,
    pub removed: usize,
}

/// How a call came to its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// What that cost, in dollars; `None` if the price of any of it is not known.
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
    /// An exchange of which nothing is known but its end.
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
    /// What the model calls it.
    pub call: WireId,
    pub tool: String,
    pub input: CallInput,
    pub reason: String,
}

impl From<AgentEvent> for Told {
    /// It is in no log.
    fn from(event: AgentEvent) -> Self {
        Self {
            record: None,
            event,
        }
    }
}

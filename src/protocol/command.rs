//! The person's requests to the agent, sent by the screen or a signal.

use serde_json::Value;

use super::event::KnownRule;
use super::id::CallRef;
use super::mcp::McpCommand;
use super::message::Block;
use super::question::Reply;
use super::tool::{Mode, RuleList};

/// Grouped by subject: the session, the running turn, or a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Session(SessionCommand),
    Turn(TurnCommand),
    Call(CallRef, CallCommand),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SessionCommand {
    /// A message of the person. During a turn it is queued for the next request.
    Submit(Vec<Block>),
    /// A command that the person runs directly. Its output goes to the model with the next message.
    Run(String),
    /// Give back queued messages, so that the person can edit them.
    TakeBack(QueuedSelection),
    SetMode(Mode),
    /// Give the session a title.
    Rename(String),
    Rules(RulesCommand),
    /// Something about MCP servers.
    Mcp(McpCommand),
    /// Report the types of subagents with [`SessionEvent::Agents`](super::SessionEvent::Agents).
    ListAgents,
    /// Report the skills with [`SessionEvent::Skills`](super::SessionEvent::Skills).
    ListSkills,
    /// Report the active hooks with [`SessionEvent::Hooks`](super::SessionEvent::Hooks).
    ListHooks,
    /// Check for changed commands; [`SessionEvent::Commands`](super::SessionEvent::Commands) reports them.
    FindCommands,
    /// No more commands follow, for this reason.
    Leave(LeaveReason),
}

/// Which of the queued messages to give back.
#[derive(Debug, Clone, PartialEq)]
pub enum QueuedSelection {
    All,
    /// The last one with exactly this content, if it has not been sent.
    One(Vec<Block>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCommand {
    /// Stop the turn, and give back queued messages; sent again, also stop the calls that an interrupt lets finish.
    /// Messages submitted after it are sent once the turn has stopped.
    Interrupt,
    /// Stop the turn, and send the queued messages.
    SendQueue,
    /// Continue although a limit was reached.
    Continue,
    /// Skip the wait before the next attempt of a failed request.
    RetryNow,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallCommand {
    /// The person's reply to its question.
    Reply(Reply),
    /// Cancel it; its siblings and the turn continue.
    Cancel,
    /// Use this as its result, instead of waiting for it.
    AnswerByHand(String),
    /// Stop it and start it again. A finished call runs again for the person: it asks first, unless it was allowed as
    /// a whole.
    RunAgain,
    /// Let a running command continue in the background; the model continues with a note about it.
    Background,
}

/// Why the person leaves a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    /// To begin a new one.
    ForNew,
    /// To resume another one, or the same one in another way.
    ForOther,
    /// To quit the program.
    Quit,
}

/// Questions about the permission rules, and changes of them.
#[derive(Debug, Clone, PartialEq)]
pub enum RulesCommand {
    /// Report the active ones with [`SessionEvent::Rules`](super::SessionEvent::Rules).
    List,
    /// Add one for this project, and save it.
    Add { list: RuleList, rule: String },
    /// Remove one, also from its file.
    Remove(KnownRule),
    /// Report what would be decided about a call. The call is not made.
    Test { tool: String, input: Value },
}

//! What a person, through the screen or a signal, asks of the agent.

use serde_json::Value;

use super::event::KnownRule;
use super::id::CallRef;
use super::message::Block;
use super::question::Reply;
use super::tool::{Mode, RuleList};

/// By what it is about: the session, the turn that runs, or a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Session(SessionCommand),
    Turn(TurnCommand),
    Call(CallRef, CallCommand),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SessionCommand {
    /// A message of the person. While a turn runs it waits for the next request.
    Submit(Vec<Block>),
    /// A command that the person runs directly. Its output goes to the model with the next message.
    Run(String),
    /// Give back messages that wait, for the person to change them.
    TakeBack(Wanted),
    SetMode(Mode),
    /// Give the session a title.
    Rename(String),
    Rules(RulesCommand),
    /// Tell the types of subagents, with [`SessionEvent::Agents`](super::SessionEvent::Agents).
    ListAgents,
    /// Why nothing more will come after this.
    Leave(Leaving),
}

/// Which of the messages that wait are wanted back.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    All,
    /// The last one that says just this, if it has not been sent.
    One(Vec<Block>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCommand {
    /// Stop the turn, and give back what waits; sent again, stop also the calls that an interrupt lets finish. What is
    /// submitted after it is sent once the turn has stopped.
    Interrupt,
    /// Stop the turn, and send what waits.
    SendQueue,
    /// Go on although a limit was reached.
    GoOn,
    /// Skip the wait before the next try of a failed request.
    RetryNow,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallCommand {
    /// What the person says to its question.
    Reply(Reply),
    /// Cancel it; its siblings and the turn go on.
    Cancel,
    /// This is its result, instead of waiting for it.
    AnswerByHand(String),
    /// Stop it and start it again; a call that has its result already runs once more, on the person's behalf: asked about,
    /// unless it was permitted whole.
    RunAgain,
    /// Let a running command go on in the background; the model continues with what it is told about it.
    Background,
}

/// Why a conversation is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// A new one is begun instead.
    ForNew,
    /// Another one is resumed, or the same in another way.
    ForOther,
    /// The person leaves the program.
    Quit,
}

/// What the person wants to know of the permission rules, or changes in them.
#[derive(Debug, Clone, PartialEq)]
pub enum RulesCommand {
    /// Tell the active ones, with [`SessionEvent::Rules`](super::SessionEvent::Rules).
    List,
    /// Add one for this project, and keep it.
    Add { list: RuleList, rule: String },
    /// Remove one, also from its file.
    Remove(KnownRule),
    /// Tell what would be decided about a call. It is not made.
    Test { tool: String, input: Value },
}

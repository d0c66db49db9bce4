//! What a person, through the screen or a signal, asks of the agent.

use super::id::CallId;
use super::message::Block;
use super::tool::Mode;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A message of the person. While a turn runs it waits for the next request.
    Submit(Vec<Block>),
    /// Stop the turn; sent again, stop also the calls that an interrupt lets finish. What waits stays where it is.
    Interrupt,
    /// Stop the turn, and send what waits.
    SendQueue,
    Answer(CallId, Answer),
    /// Cancel one call; its siblings and the turn go on.
    Cancel(CallId),
    /// Give a call's result by hand instead of waiting for it.
    AnswerByHand(CallId, String),
    SetMode(Mode),
    /// Skip the wait before the next try of a failed request.
    RetryNow,
}

/// A person's answer to a [`PermissionRequest`](super::event::PermissionRequest).
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Allow,
    Deny { reason: Option<String> },
}

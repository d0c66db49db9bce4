//! The agent: one conversation with a model, its log, and the loop that answers the person's messages.
//!
//! [`turn`] is pure. [`driver`] is the task around them: it awaits the stream, the running calls and the
//! person's commands ([`obey`]), asks hooks, writes a record of everything first and tells the screen second. [`asides`] are what the
//! person runs beside the turns.

pub mod asides;
pub mod context;
pub mod driver;
mod hooking;
pub mod journal;
pub mod limits;
mod obey;
mod rules;
pub mod turn;
mod words;

#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod resume_tests;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod turn_endings_tests;
#[cfg(test)]
mod turn_random_tests;
#[cfg(test)]
mod turn_tests;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::executor::{Context, Policy};
use crate::protocol::{AgentEvent, Command, Price, SessionId};
use crate::provider::{Provider, retry};
use crate::session::{History, Log};
use crate::tools::bash::groups::Groups;

/// How many events may wait for a slow reader before the stream waits too.
const EVENTS: usize = 1024;

/// All that a conversation needs.
pub struct Setup {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub system: Vec<String>,
    pub context: Arc<Context>,
    pub policy: Policy,
    pub limits: limits::Limits,
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    pub session: SessionId,
    pub log: Log,
    /// What the session has been so far.
    pub history: History,
    /// The branch that the workspace's repository is on.
    pub branch: Option<String>,
    pub context_window: Option<u64>,
    pub price: Option<Price>,
    /// Why the session begins, for hooks.
    pub beginning: crate::hooks::occasion::Source,
    /// What a person should know before anything else.
    pub notices: Vec<String>,
}

/// The other end of a running agent.
pub struct AgentHandle {
    pub commands: mpsc::UnboundedSender<Command>,
    pub events: mpsc::Receiver<AgentEvent>,
    /// Ends everything, running calls included.
    pub session: CancellationToken,
    /// What runs in the background.
    pub groups: Groups,
}

pub fn spawn(setup: Setup) -> AgentHandle {
    let (commands, inbox) = mpsc::unbounded_channel();
    let (outbox, events) = mpsc::channel(EVENTS);
    let session = CancellationToken::new();
    let groups = setup.context.env.groups.clone();
    let agent = driver::Agent::new(setup, inbox, outbox, session.clone());
    tokio::spawn(agent.run());
    AgentHandle {
        commands,
        events,
        session,
        groups,
    }
}

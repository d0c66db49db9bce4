//! The person's agent: a conversation with a model, and what runs at the same time.
//!
//! [`driver`] is its task: it runs the conversation and waits for the person's [`commands`], for [`asides`], which
//! the person runs independently of the turns, for the conversations that calls start ([`subagents`]), and for
//! background commands. It also runs the hooks of the session's start and end.

pub mod asides;
mod commands;
pub mod driver;
mod extending;
mod mcp;
mod rules;
mod session_hooks;
mod subagents;
pub mod system_prompt;

#[cfg(test)]
mod aside_tests;
#[cfg(test)]
mod extending_tests;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod identity_tests;
#[cfg(test)]
mod input_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod recall_random_tests;
#[cfg(test)]
mod recall_tests;
#[cfg(test)]
mod reopen_tests;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod spending_tests;
#[cfg(test)]
mod subagent_tests;
#[cfg(test)]
mod tool_tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::conversation::Limits;
use crate::executor::{Context, Policy};
use crate::mcp::manager::Manager;
use crate::protocol::{Command, Envelope, Price, SessionId, TurnCommand};
use crate::provider::{Provider, retry};
use crate::session::subagents::PastSubagents;
use crate::session::{History, Writer};
use crate::tools::bash::groups::Groups;
use crate::tools::subagents::StartRequests;

/// How many events may wait for a slow reader before the stream waits too.
const EVENTS: usize = 1024;

/// Everything that an agent needs.
pub struct Setup {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub system: Vec<String>,
    pub context: Arc<Context>,
    pub policy: Policy,
    pub limits: Limits,
    /// The prices of models, by name.
    pub prices: Arc<BTreeMap<String, Price>>,
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    pub session: SessionId,
    pub log: Writer,
    /// The session so far.
    pub history: History,
    /// Requests of calls to start subagents.
    pub start_requests: StartRequests,
    /// The subagents that earlier runs of the session started.
    pub subagents: PastSubagents,
    /// The events of the session so far, for a reader that shows it again.
    pub past: Vec<Envelope>,
    /// The current branch of the workspace's repository.
    pub branch: Option<String>,
    pub context_window: Option<u64>,
    /// Why the session starts, for hooks.
    pub beginning: crate::hooks::payload::Source,
    /// What the person should know first.
    pub notices: Vec<String>,
    /// The MCP servers, if any are configured.
    pub servers: Option<Manager>,
}

/// The other end of a running agent.
pub struct AgentHandle {
    pub commands: mpsc::UnboundedSender<Command>,
    pub events: mpsc::Receiver<Envelope>,
    /// Ends everything, running calls included.
    pub session: CancellationToken,
    /// What runs in the background.
    pub groups: Groups,
}

impl AgentHandle {
    /// Stops what is running: the first interrupt asks, the second one forces it.
    pub fn stop(&self) {
        let _ = self.commands.send(Command::Turn(TurnCommand::Interrupt));
        let _ = self.commands.send(Command::Turn(TurnCommand::Interrupt));
    }

    /// Gives it this long to finish, and then ends the rest. It has ended when its events end; they are returned.
    pub async fn end(self, grace: Duration) -> Vec<Envelope> {
        let Self {
            commands,
            mut events,
            session,
            groups,
        } = self;
        drop(commands);
        let mut envelopes = Vec::new();
        let gone = async { while events.recv_many(&mut envelopes, EVENTS).await > 0 {} };
        let _ = timeout(grace, gone).await;
        session.cancel();
        groups.end().await;
        envelopes
    }
}

pub fn spawn(setup: Setup) -> AgentHandle {
    let (commands, inbox) = mpsc::unbounded_channel();
    let (outbox, events) = mpsc::channel(EVENTS);
    let session = CancellationToken::new();
    let groups = setup.context.shared.env.groups.clone();
    let agent = driver::Agent::new(setup, inbox, outbox, session.clone());
    tokio::spawn(agent.run());
    AgentHandle {
        commands,
        events,
        session,
        groups,
    }
}

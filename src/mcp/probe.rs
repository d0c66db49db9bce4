//! Connects to a server once, to see whether it works.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::config::Server;
use super::connection::{Connection, Failure, Limit, ServerContext};
use super::listing::{self, ListedTool};
use super::log::Log;
use crate::protocol::McpState;

/// What was found out, step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// [`McpState::Ready`], [`McpState::Failed`] or [`McpState::NeedsLogin`].
    pub state: McpState,
    /// What went wrong.
    pub problem: Option<String>,
    /// How long connecting took, if it worked.
    pub connected: Option<Duration>,
    /// How long listing the tools took, if it worked.
    pub listed: Option<Duration>,
    pub tools: Vec<ListedTool>,
    /// What is wrong with single tools.
    pub left_out: Vec<String>,
    /// The last lines that the server printed.
    pub lines: Vec<String>,
}

/// How many of the server's last lines are kept.
const MOST_LINES: usize = 10;

/// Connects, lists the tools, and ends the connection. `token` is what a login gave. Each step has the server's own time
/// limit.
pub async fn probe(server: &Server, context: &ServerContext, token: Option<String>) -> Probe {
    let log = Log::default();
    let mut probe = Probe {
        state: McpState::Failed,
        problem: None,
        connected: None,
        listed: None,
        tools: Vec::new(),
        left_out: Vec::new(),
        lines: Vec::new(),
    };
    let began = Instant::now();
    let opening = Connection::open(server, context, log.clone(), token);
    match timeout(server.timeout, opening).await {
        Ok(Ok(connection)) => {
            probe.connected = Some(began.elapsed());
            probe.list(&connection, server.timeout).await;
            connection.close().await;
        }
        Ok(Err(Failure::Broken(problem))) => probe.problem = Some(problem),
        Ok(Err(Failure::NeedsLogin)) => probe.state = McpState::NeedsLogin,
        Err(_) => {
            let seconds = server.timeout.as_secs_f64();
            probe.problem = Some(format!("no answer to `initialize` within {seconds} s"));
        }
    }
    probe.lines = log.tail(MOST_LINES);
    probe
}

impl Probe {
    async fn list(&mut self, connection: &Arc<Connection>, idle: Duration) {
        let began = Instant::now();
        if connection.capabilities.tools {
            let limit = Limit {
                idle,
                cancel: &CancellationToken::new(),
            };
            match connection.list("tools/list", "tools", &limit).await {
                Ok(entries) => (self.tools, self.left_out) = listing::tools(&entries),
                Err(error) => {
                    self.problem = Some(format!("it did not list its tools: {error}"));
                    return;
                }
            }
        }
        self.listed = Some(began.elapsed());
        self.state = McpState::Ready;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::rig;

    async fn probed(mode: &str) -> Probe {
        let (context, _home) = rig::server_context();
        probe(&rig::server(mode), &context, None).await
    }

    #[tokio::test]
    async fn a_working_server_is_ready_with_its_tools_and_the_time_of_each_step() {
        let found = probed("plain").await;
        assert_eq!((found.state, &found.problem), (McpState::Ready, &None));
        assert!(found.connected.is_some() && found.listed.is_some());
        assert!(!found.tools.is_empty());
    }

    #[tokio::test]
    async fn a_server_that_ends_at_once_has_failed_with_its_last_words() {
        let found = probed("exits").await;
        assert_eq!((found.state, found.connected), (McpState::Failed, None));
        let problem = found.problem.expect("a problem");
        assert_eq!(problem, "the server exited with code 3: TOKEN is not set");
        let last = found.lines.last().map(String::as_str);
        assert_eq!(last, Some("TOKEN is not set"));
    }

    #[tokio::test]
    async fn a_program_that_does_not_exist_is_named() {
        let (context, _home) = rig::server_context();
        let mut server = rig::server("plain");
        server.transport = crate::mcp::config::Transport::Stdio {
            command: "no-such-program".to_owned(),
            args: Vec::new(),
            env: std::collections::BTreeMap::new(),
        };
        let found = probe(&server, &context, None).await;
        let problem = found.problem.expect("a problem");
        assert!(
            problem.contains("`no-such-program` was not found"),
            "{problem}"
        );
    }
}

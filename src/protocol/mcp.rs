//! MCP servers as the screen, the headless printer and the log see them.

use std::time::Duration;

/// What an MCP server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpState {
    Connecting,
    Ready,
    /// It could not be started or reached, or its connection ended.
    Failed,
    /// It wants the person to log in first.
    NeedsLogin,
    /// The person switched it off.
    Disabled,
    /// It comes with a project that the person has not trusted.
    Untrusted,
    /// Its configuration cannot be used, for example because a variable is not set.
    Unusable,
}

impl McpState {
    /// The word in stream-json's init line, as Claude Code spells it where it has such a state.
    pub fn name(self) -> &'static str {
        match self {
            McpState::Connecting => "pending",
            McpState::Ready => "connected",
            McpState::Failed => "failed",
            McpState::NeedsLogin => "needs-auth",
            McpState::Disabled => "disabled",
            McpState::Untrusted => "untrusted",
            McpState::Unusable => "unusable",
        }
    }
}

/// A server, with everything that a person may want to know about it. It contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerStatus {
    pub name: String,
    /// The name of its file, for people.
    pub source: String,
    pub state: McpState,
    /// Why it is in this state, and what to do about it.
    pub detail: Option<String>,
    /// Its command line or address, for people.
    pub transport: String,
    pub tools: Vec<McpToolStatus>,
    /// How long it took to connect and to list its tools.
    pub ready_after: Option<Duration>,
    /// How many calls it got in this run.
    pub calls: u64,
    /// The last lines that it printed to stderr, oldest first.
    pub stderr_tail: Vec<String>,
}

impl McpServerStatus {
    /// What to say about a server whose tools are missing, in one line.
    pub fn problem(&self) -> Option<String> {
        let state = match self.state {
            McpState::Ready | McpState::Disabled => return None,
            McpState::Connecting => "is not ready yet",
            McpState::Failed => "failed",
            McpState::NeedsLogin => "needs a login",
            McpState::Untrusted => "is not trusted",
            McpState::Unusable => "can't be used",
        };
        let why = self.detail.as_deref().map(|why| format!(": {why}"));
        let why = why.unwrap_or_default();
        Some(format!("MCP server `{}` {state}{why}", self.name))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpToolStatus {
    /// The server's own name for it.
    pub name: String,
    /// The name that the model and permission rules use.
    pub wire_name: String,
    pub description: String,
    /// The size of its definition, in tokens.
    pub tokens: usize,
    /// Whether the person left it on.
    pub enabled: bool,
}

/// What the person wants of a server, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpCommand {
    /// Report all servers with [`SessionEvent::Mcp`](super::SessionEvent::Mcp).
    List,
    /// End the connection, and connect again.
    Restart(String),
    /// Switch it on or off, and remember that.
    SetServer {
        server: String,
        on: bool,
    },
    /// Switch one of its tools on or off, and remember that.
    SetTool {
        server: String,
        tool: String,
        on: bool,
    },
    /// Trust this server of the project, and connect.
    Trust(String),
    Login(String),
}

//! Rules whose name is that of an MCP server or tool, or a pattern for names.

use super::rule::RuleList;
use super::wildcard::Wildcard;

/// What a tool name is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamePattern {
    Exact(String),
    /// `mcp__server`: every tool of the server. The value is `mcp__server__`.
    Server(String),
    Glob(Wildcard),
}

impl NamePattern {
    /// `None` when a pattern is too wide for its list.
    pub fn parse(name: &str, list: RuleList) -> Option<Self> {
        let server = name.strip_prefix("mcp__");
        if !name.contains('*') {
            let whole = server.is_some_and(|server| !server.is_empty() && !server.contains("__"));
            return Some(if whole {
                Self::Server(format!("{name}__"))
            } else {
                Self::Exact(name.to_owned())
            });
        }
        let literal_server = server
            .and_then(|rest| rest.split_once("__"))
            .is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'));
        match list {
            RuleList::Deny | RuleList::Ask => Some(Self::Glob(Wildcard::new(name))),
            RuleList::Allow => literal_server.then(|| Self::Glob(Wildcard::new(name))),
        }
    }

    pub fn matches(&self, tool: &str) -> bool {
        match self {
            Self::Exact(name) => name == tool,
            Self::Server(prefix) => tool.starts_with(prefix.as_str()),
            Self::Glob(pattern) => pattern.matches(tool),
        }
    }
}

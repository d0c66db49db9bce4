//! Subagents: conversations that calls have started.

use super::id::{AgentId, CallRef};
use super::tool::Mode;

/// A type of subagent, defined by a file or built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKind {
    pub name: String,
    /// When to use it, for the model that chooses one.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// Its tools; `None` for all that a subagent can have.
    pub tools: Option<Vec<String>>,
    /// Tools that are removed from this list.
    pub disallowed: Vec<String>,
    /// `None` for the model of the conversation that starts it.
    pub model: Option<String>,
    /// The permission mode of its calls, if it is stricter than the session's.
    pub mode: Option<Mode>,
    /// How many answers it may give.
    pub max_turns: u32,
    /// Where it is defined: the name of its file, or the program.
    pub source: String,
}

/// A subagent, with what is shown of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    pub agent: AgentId,
    /// The call that started it.
    pub call: CallRef,
    /// The name of its type.
    pub kind: String,
    /// Its task in a few words.
    pub description: String,
    pub model: String,
    /// It runs in the background.
    pub background: bool,
}

/// How many answers a subagent may give, unless its type says otherwise.
pub const MAX_TURNS: u32 = 50;

/// The source of the types that come with the program.
pub const BUILT_IN: &str = "built in";

impl AgentKind {
    /// Whether this type has a tool, provided that subagents can have it at all. `mcp__server` means all tools of a
    /// server.
    pub fn has(&self, tool: &str) -> bool {
        let names = |listed: &String| {
            let rest = tool.strip_prefix(listed.as_str());
            listed == "*"
                || rest == Some("")
                || (listed.starts_with("mcp__") && rest.is_some_and(|rest| rest.starts_with("__")))
        };
        let granted = self.tools.as_ref();
        granted.is_none_or(|tools| tools.iter().any(names)) && !self.disallowed.iter().any(names)
    }

    /// Whether it comes with the program.
    pub fn is_built_in(&self) -> bool {
        self.source == BUILT_IN
    }

    /// Its tools, in a few words.
    pub fn tools_text(&self) -> String {
        let has = match &self.tools {
            Some(tools) if !tools.iter().any(|tool| tool == "*") => tools.join(", "),
            Some(_) | None => "all tools".to_owned(),
        };
        if self.disallowed.is_empty() {
            has
        } else {
            format!("{has} without {}", self.disallowed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AgentKind;

    fn kind(tools: Option<&[&str]>, disallowed: &[&str]) -> AgentKind {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        AgentKind {
            name: "k".into(),
            description: String::new(),
            prompt: String::new(),
            tools: tools.map(owned),
            disallowed: owned(disallowed),
            model: None,
            mode: None,
            max_turns: super::MAX_TURNS,
            source: String::new(),
        }
    }

    #[test]
    fn a_type_has_its_listed_tools_except_the_disallowed_ones() {
        assert!(kind(None, &[]).has("Read"));
        assert!(kind(Some(&["*"]), &[]).has("Read"));
        assert!(kind(Some(&["Read"]), &[]).has("Read"));
        assert!(!kind(Some(&["Read"]), &[]).has("ReadMe"));
        assert!(!kind(None, &["Bash"]).has("Bash"));
        assert!(!kind(Some(&["Bash"]), &["Bash"]).has("Bash"));
    }

    #[test]
    fn a_server_name_means_all_of_its_tools() {
        let only = kind(Some(&["mcp__docs"]), &[]);
        assert!(only.has("mcp__docs__search"));
        assert!(!only.has("mcp__docsy__search"));
        assert!(kind(Some(&["mcp__docs__search"]), &[]).has("mcp__docs__search"));
    }
}

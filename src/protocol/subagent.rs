//! Subagents: conversations that a call has started beside the person's.

use super::id::{AgentId, CallRef};
use super::tool::Mode;

/// A type of subagent, as a file or the program describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKind {
    pub name: String,
    /// When to use it, for the model that chooses one.
    pub description: String,
    /// What it is told before anything else.
    pub prompt: String,
    /// The tools that it has; `None` for all that a subagent can have.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not have all the same.
    pub disallowed: Vec<String>,
    /// `None` for the model of the conversation that starts it.
    pub model: Option<String>,
    /// The mode that its calls are decided in, where that is stricter than the session's.
    pub mode: Option<Mode>,
    /// How many answers it has.
    pub max_turns: u32,
    /// Where it is from: its file as people know it, or the program.
    pub source: String,
}

/// A subagent, as those who watch it know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    pub agent: AgentId,
    /// The call that has started it.
    pub call: CallRef,
    /// The name of its type.
    pub kind: String,
    /// What it is to do, in a few words.
    pub description: String,
    pub model: String,
    /// Nobody waits for it.
    pub background: bool,
}

/// How many answers a subagent has, unless its type says otherwise.
pub const MAX_TURNS: u32 = 50;

impl AgentKind {
    /// Whether one of this type has a tool, if subagents can have it at all. `mcp__server` stands for all tools of a server.
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

    /// The tools that it has, in a few words.
    pub fn tools_in_words(&self) -> String {
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
    fn a_type_has_the_tools_that_it_lists_but_for_those_it_must_not_have() {
        assert!(kind(None, &[]).has("Read"));
        assert!(kind(Some(&["*"]), &[]).has("Read"));
        assert!(kind(Some(&["Read"]), &[]).has("Read"));
        assert!(!kind(Some(&["Read"]), &[]).has("ReadMe"));
        assert!(!kind(None, &["Bash"]).has("Bash"));
        assert!(!kind(Some(&["Bash"]), &["Bash"]).has("Bash"));
    }

    #[test]
    fn a_server_stands_for_all_of_its_tools() {
        let only = kind(Some(&["mcp__docs"]), &[]);
        assert!(only.has("mcp__docs__search"));
        assert!(!only.has("mcp__docsy__search"));
        assert!(kind(Some(&["mcp__docs__search"]), &[]).has("mcp__docs__search"));
    }
}

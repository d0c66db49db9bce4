//! The names that rules are written with: part of their syntax, like the parentheses.
//!
//! Rules about paths are written with two of them, whatever tool touches the path; each tool says itself what it
//! touches. Tools that do not exist here cannot: what such tools of other programs with the same rules would touch is
//! in [`touched_by_absent`].

use std::path::{Component, Path};

use serde_json::Value;

use crate::protocol::Touches;
use crate::text;

/// Rules for all that reads files.
pub const READ: &str = "Read";
/// Rules for all that changes files.
pub const EDIT: &str = "Edit";
/// Rules for commands.
pub const BASH: &str = "Bash";
/// Rules for hosts.
pub const WEB_FETCH: &str = "WebFetch";
/// Rules for searches of the web.
pub const WEB_SEARCH: &str = "WebSearch";

/// The tools that come with the program. Others are custom tools and MCP tools.
pub(super) const TOOLS: [&str; 23] = [
    READ,
    "Write",
    EDIT,
    "MultiEdit",
    "FileSearch",
    BASH,
    "BashOutput",
    "KillShell",
    "Glob",
    "Grep",
    "LS",
    WEB_FETCH,
    WEB_SEARCH,
    "NotebookEdit",
    "TodoWrite",
    "Task",
    "TaskOutput",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "ToolSearch",
    "Skill",
    "SlashCommand",
];

/// Whether a tool comes with the program, perhaps in another build.
pub fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name)
}

/// Which rules speak of a tool that is named with a specifier.
pub(super) enum Family {
    Commands,
    Paths,
    /// Its rules are written with another name.
    WrittenAs(&'static str),
    Hosts,
    Fields,
}

pub(super) fn family(tool: &str) -> Family {
    match tool {
        BASH => Family::Commands,
        READ | EDIT => Family::Paths,
        "Write" | "MultiEdit" | "NotebookEdit" => Family::WrittenAs(EDIT),
        "Glob" | "Grep" | "LS" | "FileSearch" => Family::WrittenAs(READ),
        WEB_FETCH => Family::Hosts,
        _ => Family::Fields,
    }
}

/// A rule for some calls of a tool.
pub fn rule(tool: &str, specifier: &str) -> String {
    format!("{tool}({specifier})")
}

/// What the author of a rule is told if its tool's name looks like a built-in tool's with a typing mistake. Other
/// unknown names may be those of custom tools.
pub fn mistyped(tool: &str) -> Option<String> {
    if is_tool(tool) || tool.starts_with("mcp__") || tool.contains('*') {
        return None;
    }
    let meant = text::mistyped(tool, TOOLS)?;
    Some(format!("names no tool: `{tool}`; did you mean `{meant}`?"))
}

/// The rule for reading all that is below a directory; `None` where no rule can name it.
pub fn reading_below(directory: &Path) -> Option<String> {
    if directory
        .components()
        .any(|part| part == Component::ParentDir)
    {
        return None;
    }
    let mut pattern = String::new();
    for letter in directory.display().to_string().chars() {
        if "*?[]\\".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    Some(rule(READ, &format!("/{pattern}/**")))
}

/// What a call of a tool that does not exist here touches.
pub fn touched_by_absent(tool: &str, input: &Value) -> Touches {
    match tool {
        "NotebookEdit" => Touches::writing(input, "notebook_path"),
        WEB_FETCH => Touches::web(input, "url"),
        _ => Touches::Nothing,
    }
}

/// Whether a tool that does not exist here would be read-only.
pub(super) fn is_read_only_if_absent(tool: &str) -> bool {
    matches!(
        tool,
        WEB_FETCH | WEB_SEARCH | "TodoWrite" | "Task" | "TaskOutput" | "AskUserQuestion"
    )
}

/// What may not be read may not be overwritten either; but a notebook's cells are changed without showing any.
pub(super) fn reading_rules_deny_writing(tool: &str) -> bool {
    tool != "NotebookEdit"
}

/// The tools that an invalid rule may have meant; in doubt, all of them.
pub fn tools_meant(rule: &str) -> &str {
    let tool = rule.trim().split('(').next().unwrap_or_default();
    // A rule about paths is about every tool that reads or writes.
    if tool == BASH || tool == WEB_FETCH || tool.starts_with("mcp__") {
        tool
    } else {
        "*"
    }
}

#[cfg(test)]
mod tests {
    use super::TOOLS;
    use crate::tools::registry::Registry;

    #[test]
    fn rules_know_every_tool_by_its_name() {
        for tool in Registry::built_in().names() {
            assert!(TOOLS.contains(&tool), "{tool}");
        }
    }
}

//! The types of subagents: built-in ones, and Markdown files.

use super::LONGEST_DESCRIPTION;
use crate::config::front_matter::{FrontMatter, Mistake};
use crate::permissions::names;
use crate::protocol::subagent::{BUILT_IN, MAX_TURNS};
use crate::protocol::{AgentKind, Mode};

pub(super) fn kind(
    text: &str,
    name: &str,
    problems: &mut Vec<String>,
) -> Result<AgentKind, Mistake> {
    let found = FrontMatter::read(text)?;
    let missing = |key: &str| Mistake {
        line: 1,
        problem: format!("`{key}` is missing in the front matter; the file is not used"),
    };
    let line = |key: &str| found.field(key).map_or(1, |field| field.line);
    let called = found.text("name").ok_or_else(|| missing("name"))?;
    if !called
        .chars()
        .all(|it| it.is_alphanumeric() || "-_.:".contains(it))
    {
        return Err(Mistake {
            line: line("name"),
            problem: format!("`name` has letters, digits, - and _ only, not `{called}`"),
        });
    }
    let description = found
        .text("description")
        .ok_or_else(|| missing("description"))?;
    let mut complain = |key: &str, problem: &str| {
        problems.push(format!("`{name}`, line {}: {problem}", line(key)));
    };
    let mode = found.text("permissionMode").map(|mode| {
        let known = Mode::from_name(&mode);
        if known.is_none() {
            let names = Mode::ALL.map(Mode::name).join(", ");
            complain(
                "permissionMode",
                &format!("`permissionMode` is one of {names}"),
            );
        }
        // The strict default if in doubt.
        known.unwrap_or_default()
    });
    let max_turns = found.text("maxTurns").map(|turns| {
        let number = turns.parse::<u32>().ok().filter(|number| *number > 0);
        number.unwrap_or_else(|| {
            complain("maxTurns", "`maxTurns` is a number from 1 on");
            MAX_TURNS
        })
    });
    for key in ["tools", "disallowedTools"] {
        for tool in found.list(key).unwrap_or_default() {
            if let Some(problem) = names::mistyped(&tool) {
                complain(key, &format!("`{key}` {problem}"));
            }
        }
    }
    let model = found.text("model").filter(|model| model != "inherit");
    Ok(AgentKind {
        name: called,
        description: description.chars().take(LONGEST_DESCRIPTION).collect(),
        prompt: found.body.clone(),
        tools: found.list("tools"),
        disallowed: found.list("disallowedTools").unwrap_or_default(),
        model,
        mode,
        max_turns: max_turns.unwrap_or(MAX_TURNS),
        source: name.to_owned(),
    })
}

pub(super) fn built_in(read_only: Vec<String>) -> Vec<AgentKind> {
    let general = AgentKind {
        name: "general".to_owned(),
        description: "Works on any task that takes several steps".to_owned(),
        prompt: include_str!("../../../assets/prompts/general.md")
            .trim_end()
            .to_owned(),
        tools: None,
        disallowed: Vec::new(),
        model: None,
        mode: None,
        max_turns: MAX_TURNS,
        source: BUILT_IN.to_owned(),
    };
    let explore = AgentKind {
        name: "explore".to_owned(),
        description:
            "Looks around and answers questions about files; it reads only and changes nothing"
                .to_owned(),
        prompt: include_str!("../../../assets/prompts/explore.md")
            .trim_end()
            .to_owned(),
        tools: Some(read_only),
        ..general.clone()
    };
    vec![explore, general]
}

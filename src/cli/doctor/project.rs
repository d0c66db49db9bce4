//! What the settings say, in which file, and whether the project is trusted.

use serde_json::Value;

use super::super::args::Args;
use super::super::project::Project;
use super::{Finding, Level};
use crate::config::{LONGEST_FILE, read_regular};
use crate::keymap::Keymap;
use crate::permissions::{Rule, Source};
use crate::settings::files::Content;
use crate::settings::trust::State;
use crate::text::plural;

/// More rules of one file are counted, not listed.
const MOST_RULES: usize = 20;

pub fn settings(args: &Args, project: &Project) -> Vec<Finding> {
    const AREA: &str = "settings";
    let mut findings = Vec::new();
    for layer in &project.files.layers {
        let errors: Vec<String> = project
            .settings
            .errors
            .iter()
            .filter(|error| error.path() == Some(layer.path.as_path()))
            .map(ToString::to_string)
            .collect();
        let path = layer.path.display();
        match &layer.content {
            Content::Missing => {
                findings.push(Finding::new(AREA, Level::Note, format!("{path}: none")));
            }
            Content::Text(_) if errors.is_empty() => {
                let hooks = count(&layer.content, "hooks");
                let servers = count(&layer.content, "mcpServers");
                let mut parts = vec![path.to_string()];
                for (what, count) in [("hook", hooks), ("MCP server", servers)] {
                    if count > 0 {
                        parts.push(plural(count, what));
                    }
                }
                findings.push(Finding::new(AREA, Level::Fine, parts.join(", ")));
            }
            Content::Text(_) | Content::Unreadable(_) => {}
        }
        findings.extend(errors.into_iter().map(|error| {
            Finding::new(AREA, Level::Error, error)
                .hint("fix or move the file; until then, everything it might forbid asks")
        }));
    }
    let warnings = project
        .warnings(&project.extensions(args).0.now().tools)
        .into_iter();
    findings.extend(warnings.map(|warning| Finding::new(AREA, Level::Warning, warning)));
    for (key, source) in &project.settings.origins {
        let text = format!("{key}: from {source}");
        findings.push(Finding::new(AREA, Level::Fine, text));
    }
    for directory in &project.settings.additional_directories {
        let (path, source) = (directory.value.display(), &directory.source);
        let text = format!("additional directory {path}: from {source}");
        findings.push(Finding::new(AREA, Level::Fine, text));
    }
    findings
}

/// The person's own keys.
pub fn keymap(project: &Project) -> Vec<Finding> {
    const AREA: &str = "keys";
    let file = project.dirs.config.join("keymap.toml");
    let Ok(bytes) = read_regular(&file, LONGEST_FILE) else {
        return Vec::new();
    };
    let (_, problems) = Keymap::with_user(&String::from_utf8_lossy(&bytes), &file);
    if problems.is_empty() {
        return vec![Finding::new(AREA, Level::Fine, file.display().to_string())];
    }
    let findings = problems.into_iter().map(|problem| {
        let text = format!(
            "`{}`, line {}, column {}: {}",
            problem.file.display(),
            problem.line,
            problem.column,
            problem.what
        );
        Finding::new(AREA, Level::Warning, text).hint(problem.hint)
    });
    findings.collect()
}

pub fn rules(project: &Project) -> Vec<Finding> {
    const AREA: &str = "rules";
    let rules = &project.settings.rules;
    let mut sources: Vec<&Source> = Vec::new();
    let all = rules.deny.iter().chain(&rules.ask).chain(&rules.allow);
    for rule in all {
        if !sources.contains(&&rule.source) {
            sources.push(&rule.source);
        }
    }
    let mut findings = Vec::new();
    for source in sources {
        let mut lines = vec![source.to_string()];
        for (list, rules) in [
            ("deny", &rules.deny),
            ("ask", &rules.ask),
            ("allow", &rules.allow),
        ] {
            let of_it = rules.iter().filter(|rule| rule.source == *source);
            let of_it: Vec<&Rule> = of_it.collect();
            let listed = of_it.iter().take(MOST_RULES);
            lines.extend(listed.map(|rule| format!("{list} {}", rule.text)));
            if of_it.len() > MOST_RULES {
                lines.push(format!("{list} … and {} more", of_it.len() - MOST_RULES));
            }
        }
        findings.push(Finding::new(AREA, Level::Fine, lines.join("\n")));
    }
    if findings.is_empty() {
        findings.push(Finding::new(AREA, Level::Note, "none"));
    }
    findings
}

/// The active hooks, with their files.
pub fn hooks(project: &Project) -> Vec<Finding> {
    const AREA: &str = "hooks";
    if project.settings.disable_all_hooks == Some(true) {
        let text = "none run: `disableAllHooks` is set";
        return vec![Finding::new(AREA, Level::Note, text)];
    }
    let texts = project.settings.hooks.iter().map(|hook| {
        let text = format!("{}: {}\n{}", hook.event.name(), hook.command, hook.origin);
        Finding::new(AREA, Level::Fine, text)
    });
    let mut findings: Vec<Finding> = texts.take(MOST_RULES).collect();
    match project.settings.hooks.len() {
        0 => findings.push(Finding::new(AREA, Level::Note, "none")),
        all if all > MOST_RULES => {
            let text = format!("… and {} more", all - MOST_RULES);
            findings.push(Finding::new(AREA, Level::Fine, text));
        }
        _ => {}
    }
    findings
}

/// What files add: skills, commands, subagents and tools.
pub fn extensions(args: &Args, project: &Project) -> Vec<Finding> {
    const AREA: &str = "extensions";
    let (catalogue, mut problems) = project.extensions(args);
    problems.extend(Project::registry(&catalogue).1);
    let now = catalogue.now();
    let typed = now.commands.iter().filter(|it| it.skill.is_none());
    let subagents = now.agents.iter().filter(|it| !it.is_built_in());
    let counts = [
        (now.skills.len(), "skill"),
        (typed.count(), "custom command"),
        (subagents.count(), "custom subagent"),
        (now.tools.len(), "custom tool"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = counts.map(|(count, what)| plural(*count, what)).collect();
    let mut findings = match (texts.is_empty(), problems.is_empty()) {
        (true, true) => vec![Finding::new(AREA, Level::Note, "none")],
        (true, false) => Vec::new(),
        (false, _) => vec![Finding::new(AREA, Level::Fine, texts.join(", "))],
    };
    let problems = problems.into_iter();
    findings.extend(problems.map(|problem| Finding::new(AREA, Level::Warning, problem)));
    findings
}

pub fn trust(args: &Args, project: &Project) -> Vec<Finding> {
    const AREA: &str = "trust";
    let wants = project.review.summary();
    let finding = match project.review.state {
        _ if args.trust => Finding::new(
            AREA,
            Level::Note,
            "--trust: all of the project's settings apply",
        ),
        State::Nothing => Finding::new(AREA, Level::Fine, "nothing to trust"),
        State::Trusted => {
            let text = format!("you trust the project to {wants}");
            Finding::new(AREA, Level::Fine, text).hint("headless runs still need --trust")
        }
        State::Unknown => {
            let text = format!("the project is not trusted, so it can't {wants}");
            Finding::new(AREA, Level::Warning, text)
                .hint("start `agent-tui` here to review it; headless: --trust")
        }
        State::Changed => {
            let new = project
                .review
                .items
                .iter()
                .filter(|item| item.is_new)
                .count();
            let text = format!(
                "{new} requests are new since you trusted the project; it wants to {wants}"
            );
            Finding::new(AREA, Level::Warning, text)
                .hint("start `agent-tui` here to review it; headless: --trust")
        }
    };
    let mut findings = vec![finding];
    if let Some(layer) = &project.files.servers
        && layer.content != Content::Missing
    {
        let servers = count(&layer.content, "mcpServers");
        let text = format!(".mcp.json: {}", plural(servers, "MCP server"));
        let level = if project.trusted {
            Level::Fine
        } else {
            Level::Note
        };
        findings.push(Finding::new(AREA, level, text));
    }
    for error in &project.servers.errors {
        let finding = Finding::new(AREA, Level::Error, error.to_string());
        findings.push(finding.hint("fix the file"));
    }
    for server in &project.servers.unusable {
        let text = format!("MCP server {} is off: {}", server.name, server.why);
        findings.push(Finding::new(AREA, Level::Warning, text));
    }
    findings
}

/// How many hooks or servers a file defines.
fn count(content: &Content, key: &str) -> usize {
    let Content::Text(text) = content else {
        return 0;
    };
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(entries) = value[key].as_object() else {
        return 0;
    };
    if key != "hooks" {
        return entries.len();
    }
    let matchers = entries.values().filter_map(Value::as_array).flatten();
    matchers
        .map(|matcher| matcher["hooks"].as_array().map_or(1, Vec::len))
        .sum()
}

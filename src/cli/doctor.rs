//! `agent-tui doctor`: what is configured, what is missing, and what to do about it. Keys are never shown.

mod machine;
mod project;

use serde_json::json;

use super::args::Args;
use super::project::{Audience, Project, TrustAnswer};
use super::{UsageError, launch, print_line};
use crate::app::page::{Line, Tone, lines};
use crate::executor::Asking;
use crate::process::sandbox;
use crate::provider::choose::{Choice, KeyFound};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    area: &'static str,
    level: Level,
    text: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// All right.
    Fine,
    /// Good to know.
    Note,
    /// Something has no effect, or is not saved.
    Warning,
    /// Something cannot work.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Fine => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

impl Finding {
    fn new(area: &'static str, level: Level, text: impl Into<String>) -> Self {
        Self {
            area,
            level,
            text: text.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

pub fn run(args: &Args, as_json: bool) -> Result<u8, UsageError> {
    let (findings, broken) = inspect(args)?;
    let worst = findings.iter().map(|finding| finding.level).max();
    print_line(&if as_json {
        in_json(&findings)
    } else {
        as_text(&findings)
    });
    Ok(match worst {
        _ if broken => 2,
        Some(Level::Error) => 1,
        Some(Level::Fine | Level::Note | Level::Warning) | None => 0,
    })
}

/// The same for the screen.
pub fn for_screen(args: &Args) -> Vec<Line> {
    match inspect(args) {
        Ok((findings, _)) => as_lines(&findings),
        Err(error) => lines(&error.problem, Tone::Bad),
    }
}

/// All findings, and whether settings are broken. This is slow.
fn inspect(args: &Args) -> Result<(Vec<Finding>, bool), UsageError> {
    // Checked before anything here creates or repairs a directory.
    let mut findings = machine::directories(&crate::config::Dirs::find());
    let project = Project::inspect(args, Audience::Person, &TrustAnswer::default())?;
    let broken = !project.settings.errors.is_empty();
    findings.splice(0..0, project::settings(args, &project));
    findings.extend(project::keymap(&project));
    findings.extend(project::rules(&project));
    findings.push(machine::sandbox(
        project.settings.unasked.unwrap_or_default(),
        sandbox::state(),
    ));
    findings.extend(project::hooks(&project));
    findings.extend(project::extensions(args, &project));
    findings.extend(project::trust(args, &project));
    let programs = project.programs(args);
    launch::this_thread()?.block_on(async {
        findings.push(model(args, &project).await);
        findings.extend(machine::programs(&programs).await);
    });
    findings.extend(machine::terminal(|name| std::env::var(name).ok()));
    Ok((findings, broken))
}

async fn model(args: &Args, project: &Project) -> Finding {
    const AREA: &str = "model";
    let choice = launch::choose(args, &project.settings, Asking::Nobody).await;
    let Choice {
        provider,
        model,
        about,
    } = match choice {
        Ok(choice) => choice,
        Err(error) => {
            let finding = Finding::new(AREA, Level::Error, error.problem);
            return match error.hint {
                Some(hint) => finding.hint(hint),
                None => finding,
            };
        }
    };
    let origin = |key: &str| project.settings.origins.get(key);
    let from = match (&args.model, origin("model")) {
        (Some(_), _) => " (--model)".to_owned(),
        (None, Some(source)) => format!(" ({source})"),
        (None, None) => String::new(),
    };
    let name = provider.name();
    let why = match origin("provider") {
        Some(source) if args.provider.is_none() => format!("set in {source}"),
        _ => about.why,
    };
    let mut text = format!("{name}, model {model}{from}: {why}");
    if let Some((address, by)) = about.address {
        text = format!("{text}; at {address} ({by})");
    }
    match about.key {
        KeyFound::NotNeeded => Finding::new(AREA, Level::Fine, text),
        KeyFound::In(variable) => {
            Finding::new(AREA, Level::Fine, format!("{text}; key from {variable}"))
        }
        KeyFound::Missing(wire) => {
            let text = format!("{text}; no API key set");
            Finding::new(AREA, Level::Error, text).hint(wire.facts().how_to_get_a_key())
        }
    }
}

fn in_json(findings: &[Finding]) -> String {
    let list: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "area": finding.area, "level": finding.level.name(), "text": shown(&finding.text),
                "hint": finding.hint.as_deref().map(shown),
            })
        })
        .collect();
    let ok = findings.iter().all(|finding| finding.level < Level::Error);
    format!("{:#}", json!({ "ok": ok, "findings": list }))
}

fn as_text(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            let gap = if area.is_empty() { "" } else { "\n" };
            area = finding.area;
            lines.push(format!("{gap}{area}"));
        }
        let text = shown(&finding.text);
        lines.push(format!("  {:<8}{text}", finding.level.name()));
        if let Some(hint) = &finding.hint {
            lines.push(format!("          → {}", shown(hint)));
        }
    }
    lines.join("\n")
}

/// Groups with their marks, each remedy on its own line.
fn as_lines(findings: &[Finding]) -> Vec<Line> {
    let mut page: Vec<Line> = Vec::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            if !page.is_empty() {
                page.push(Line::blank());
            }
            area = finding.area;
            page.push(Line::heading(area));
        }
        let (mark, tone) = match finding.level {
            Level::Fine => ("✓", Tone::Good),
            Level::Note => ("·", Tone::Muted),
            Level::Warning => ("!", Tone::Warning),
            Level::Error => ("✗", Tone::Bad),
        };
        let text = crate::config::hidden(crate::text::clean(&finding.text));
        for (number, line) in text.lines().enumerate() {
            let mark = if number == 0 { mark } else { " " };
            page.push(Line::text(line).lead(tone, format!("  {mark} ")));
        }
        if let Some(hint) = &finding.hint {
            let hint = crate::config::hidden(crate::text::clean(hint));
            page.push(Line::text(hint).lead(Tone::Muted, "    → "));
        }
    }
    page
}

/// Text of the project without control characters and keys.
fn shown(text: &str) -> String {
    crate::config::hidden(crate::text::clean(text)).replace('\n', "\n          ")
}

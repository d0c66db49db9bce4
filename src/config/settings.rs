//! Settings files and how they are merged: user, project, project-local, `--settings`, each over the one before.
//!
//! Lists of rules concatenate, scalars override. Until the person has trusted a workspace, its own files can only
//! tighten: their deny and ask rules count, nothing else of them does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::permissions::{RuleList, Rules, Source};
use crate::protocol::{InterruptBehavior, Mode, OnBashError};

/// A settings file is read up to here; a longer one is refused.
const LONGEST_FILE: u64 = 4 << 20;
/// Where the person's own rules for a project are.
const OWN_FILE: (&str, &str) = (".agent-tui", "settings.local.json");

/// The settings in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub mode: Option<Mode>,
    pub rules: Rules,
    pub additional_directories: Vec<PathBuf>,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<f64>,
    /// By the name of the model.
    pub prices: BTreeMap<String, Price>,
    pub max_output_tokens: Option<u32>,
    /// How many tokens the model can take in.
    pub context_window: Option<u64>,
    pub max_tool_concurrency: Option<usize>,
    pub streaming_execution: Option<bool>,
    pub on_bash_error: Option<OnBashError>,
    pub interrupt_behavior: BTreeMap<String, InterruptBehavior>,
    pub stall_seconds: Option<u64>,
    pub retries: Option<u32>,
    /// How the screen looks: the name of a theme, or `auto`.
    pub theme: Option<String>,
    /// What a person should know about the files: unknown keys, rules that are not used.
    pub warnings: Vec<String>,
}

/// What a model costs, for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("`{path}` cannot be read: {problem}")]
    Unreadable {
        path: PathBuf,
        problem: std::io::Error,
    },
    #[error("`{path}`, line {line}, column {column}: {problem}")]
    Wrong {
        path: PathBuf,
        line: usize,
        column: usize,
        problem: String,
    },
    #[error("`{source_name}`: the rule `{rule}` is wrong: {problem}")]
    BadRule {
        source_name: String,
        rule: String,
        problem: String,
    },
}

/// How far a file is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'r> {
    Full,
    /// It can only tighten; but an allow rule that the person wrote there herself, one of these, counts.
    OnlyTightens {
        own: &'r [String],
    },
}

/// One settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    permissions: Permissions,
    max_turns: Option<u32>,
    max_tokens: Option<u64>,
    max_cost: Option<f64>,
    prices: BTreeMap<String, Price>,
    max_output_tokens: Option<u32>,
    context_window: Option<u64>,
    max_tool_concurrency: Option<usize>,
    streaming_execution: Option<bool>,
    on_bash_error: Option<OnBashError>,
    interrupt_behavior: BTreeMap<String, InterruptBehavior>,
    stall_seconds: Option<u64>,
    retries: Option<u32>,
    theme: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Permissions {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    default_mode: Option<Mode>,
    additional_directories: Vec<PathBuf>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

impl Settings {
    /// All files that there are, lowest first.
    pub fn load(
        config_dir: &Path,
        workspace: &Path,
        more: Option<&Path>,
        project: Trust<'_>,
    ) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        let own = config_dir.join("settings.json");
        settings.add_file(&own, &own, Trust::Full, Presence::Optional)?;
        // `.claude` is for people who come from Claude Code.
        for folder in [".claude", ".agent-tui"] {
            for name in ["settings.json", "settings.local.json"] {
                let path = workspace.join(folder).join(name);
                let trust = match project {
                    // The person's rules go to one file only; in another they are somebody else's.
                    Trust::OnlyTightens { .. } if (folder, name) != OWN_FILE => {
                        Trust::OnlyTightens { own: &[] }
                    }
                    trust => trust,
                };
                let name = Path::new(folder).join(name);
                settings.add_file(&path, &name, trust, Presence::Optional)?;
            }
        }
        if let Some(path) = more {
            settings.add_file(path, path, Trust::Full, Presence::Required)?;
        }
        Ok(settings)
    }

    /// Adds a rule of a flag.
    pub fn add_rule(
        &mut self,
        list: RuleList,
        text: &str,
        source: &Source,
    ) -> Result<(), SettingsError> {
        let added = self.rules.add(list, text, source);
        let warning = added.map_err(|problem| SettingsError::BadRule {
            source_name: source.0.clone(),
            rule: text.to_owned(),
            problem,
        })?;
        self.warnings
            .extend(warning.map(|warning| format!("{}: {}", source.0, warning.0)));
        Ok(())
    }

    /// Adds the file at `path`, whose rules are said to be of `name`.
    fn add_file(
        &mut self,
        path: &Path,
        name: &Path,
        trust: Trust<'_>,
        presence: Presence,
    ) -> Result<(), SettingsError> {
        // What the person names may be a pipe; what lies in a project may not.
        let read = match presence {
            Presence::Required => std::fs::read(path),
            Presence::Optional => super::read_regular(path, LONGEST_FILE),
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && presence == Presence::Optional =>
            {
                return Ok(());
            }
            Err(problem) => {
                return Err(SettingsError::Unreadable {
                    path: path.to_owned(),
                    problem,
                });
            }
        };
        let file = parse(path, &bytes)?;
        let source = Source(name.display().to_string());
        self.merge(file, path, &source, trust)
    }

    fn merge(
        &mut self,
        file: File,
        path: &Path,
        source: &Source,
        trust: Trust<'_>,
    ) -> Result<(), SettingsError> {
        let mut allow = file.permissions.allow;
        if let Trust::OnlyTightens { own } = trust {
            let all = allow.len();
            allow.retain(|rule| own.contains(rule));
            if allow.len() < all {
                self.warn(
                    path,
                    "its allow rules are not used, because the workspace is not trusted",
                );
            }
        }
        let lists = [
            (RuleList::Deny, file.permissions.deny),
            (RuleList::Ask, file.permissions.ask),
            (RuleList::Allow, allow),
        ];
        for (list, rules) in lists {
            for rule in rules {
                self.add_rule(list, &rule, source)?;
            }
        }
        let own = !path.components().any(|part| part.as_os_str() == ".claude");
        let unknown = file.unknown.keys().chain(file.permissions.unknown.keys());
        for key in unknown.filter(|_| own) {
            self.warn(
                path,
                &format!("`{key}` is not a setting that agent-tui knows"),
            );
        }
        if trust != Trust::Full {
            return Ok(());
        }
        self.additional_directories
            .extend(file.permissions.additional_directories);
        self.interrupt_behavior.extend(file.interrupt_behavior);
        override_with(&mut self.provider, file.provider);
        override_with(&mut self.model, file.model);
        override_with(&mut self.base_url, file.base_url);
        override_with(&mut self.mode, file.permissions.default_mode);
        override_with(&mut self.max_turns, file.max_turns);
        self.prices.extend(file.prices);
        override_with(&mut self.max_tokens, file.max_tokens);
        override_with(&mut self.max_cost, file.max_cost);
        override_with(&mut self.max_output_tokens, file.max_output_tokens);
        override_with(&mut self.context_window, file.context_window);
        override_with(&mut self.max_tool_concurrency, file.max_tool_concurrency);
        override_with(&mut self.streaming_execution, file.streaming_execution);
        override_with(&mut self.on_bash_error, file.on_bash_error);
        override_with(&mut self.stall_seconds, file.stall_seconds);
        override_with(&mut self.retries, file.retries);
        override_with(&mut self.theme, file.theme);
        Ok(())
    }

    fn warn(&mut self, path: &Path, what: &str) {
        self.warnings.push(format!("`{}`: {what}", path.display()));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Optional,
    Required,
}

fn parse(path: &Path, bytes: &[u8]) -> Result<File, SettingsError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        let whole = error.to_string();
        // The place is said before the problem, not again at its end.
        let problem = whole
            .rsplit_once(" at line ")
            .map_or(whole.as_str(), |(problem, _)| problem)
            .replace("struct File", "an object with settings")
            .replace("struct Permissions", "an object with rules")
            .replace("u32", "a whole number");
        SettingsError::Wrong {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            problem,
        }
    })
}

fn override_with<T>(setting: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *setting = value;
    }
}

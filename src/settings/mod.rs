//! The settings and memory files of a person and of a project: where they come from, and how far they are trusted.
//!
//! Settings are merged in layers: user, project, project-local, `--settings`, each over the previous one. Lists of
//! rules are concatenated, single values override, and every value knows its file. Until the person has trusted a
//! workspace, its own files can only make things stricter: only their deny and ask rules apply.
//!
//! A broken file never allows more. A file that cannot be read may have contained deny rules, so without it
//! everything asks; [`Settings::errors`] says what to fix.

pub mod extensions;
mod file;
pub mod files;
mod layers;
pub mod memory;
mod read;
pub mod tool;
pub mod trust;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::json::Wrong;
use crate::hooks::{Active, Hook};
use crate::permissions::{Rules, Source};
use crate::process::sandbox::Unasked;
use crate::protocol::{Deferral, InterruptBehavior, Mode, OnBashError, Price, WebSearch};

pub use file::{keys, schema};
pub use tool::ToolSettings;

/// The active settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub mode: Option<Mode>,
    pub rules: Rules,
    pub additional_directories: Vec<Sourced<PathBuf>>,
    /// More variables for the commands that tools run.
    pub env: BTreeMap<String, String>,
    /// Whether these commands also get the API keys of providers.
    pub pass_provider_keys: Option<bool>,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<f64>,
    /// By the name of the model.
    pub prices: BTreeMap<String, Price>,
    pub max_output_tokens: Option<u32>,
    /// Size of the model's context window, in tokens.
    pub context_window: Option<u64>,
    pub max_tool_concurrency: Option<usize>,
    pub streaming_execution: Option<bool>,
    pub on_bash_error: Option<OnBashError>,
    pub interrupt_behavior: BTreeMap<String, InterruptBehavior>,
    /// By the name of the tool.
    pub tools: BTreeMap<String, ToolSettings>,
    /// The longest input that can be piped in.
    pub max_input_mb: Option<u32>,
    pub stall_seconds: Option<u64>,
    pub retries: Option<u32>,
    /// Theme name, or `auto`.
    pub theme: Option<String>,
    /// Which file each setting comes from, by its key: `model`, `env.NAME`. Rules and directories have their own
    /// source.
    pub origins: BTreeMap<String, Source>,
    /// In the order of the files.
    pub hooks: Vec<Hook>,
    /// No hook runs.
    pub disable_all_hooks: Option<bool>,
    /// Whether commands that run without asking are sandboxed.
    pub unasked: Option<Unasked>,
    /// Who searches the web.
    pub web_search: Option<WebSearch>,
    /// The model that reads fetched pages.
    pub small_model: Option<String>,
    /// When tools are announced by name only.
    pub tool_search: Option<Deferral>,
    /// What a person should know about the files: unknown keys, ignored rules.
    pub warnings: Vec<String>,
    /// What a person must fix. It is not used, and if it may have denied something, everything asks.
    pub errors: Vec<SettingsError>,
}

/// A value and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("can't read `{path}`: {problem}")]
    Unreadable { path: PathBuf, problem: String },
    #[error("`{path}`, {wrong}")]
    Wrong { path: PathBuf, wrong: Wrong },
    #[error("{source_name}: {problem}")]
    BadRule {
        source_name: String,
        problem: String,
    },
}

impl Settings {
    /// The hooks that run, with their variables.
    pub fn active_hooks(&self) -> Active {
        let hooks = match self.disable_all_hooks {
            Some(true) => Vec::new(),
            Some(false) | None => self.hooks.clone(),
        };
        Active {
            hooks,
            env: self.env.clone(),
        }
    }
}

impl SettingsError {
    /// The path of its file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            SettingsError::Unreadable { path, .. } | SettingsError::Wrong { path, .. } => {
                Some(path)
            }
            SettingsError::BadRule { .. } => None,
        }
    }
}

/// How far a file is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'r> {
    Full,
    /// It can only make things stricter; but an allow rule that the person saved there themselves, one of these,
    /// applies.
    OnlyTightens {
        own: &'r [String],
    },
}

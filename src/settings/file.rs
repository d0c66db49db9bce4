//! What a settings file can say, as types: the schema for editors and the known keys come from them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::read;
use crate::hooks::HooksFile;
use crate::process::sandbox::Unasked;
use crate::protocol::{InterruptBehavior, Mode, OnBashError, Price};

/// Settings of agent-tui: `settings.json` in the configuration directory, `.agent-tui/settings.json` and
/// `.agent-tui/settings.local.json` in a project, or a file for `--settings`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "agent-tui settings")]
pub(super) struct File {
    /// Who to talk to: anthropic, openai, responses, builtin or script:FILE. In a project: only once it is trusted.
    pub(super) provider: Option<String>,
    /// The model to ask for. In a project: only once it is trusted.
    pub(super) model: Option<String>,
    /// Where the provider is. In a project: only once it is trusted.
    pub(super) base_url: Option<String>,
    /// What may run.
    pub(super) permissions: Permissions,
    /// Variables for the commands that tools run. In a project: only once it is trusted.
    pub(super) env: BTreeMap<String, String>,
    /// Whether the commands that tools run get the providers' keys, which they normally do not. Not in a project.
    pub(super) pass_provider_keys: Option<bool>,
    /// End a turn after so many answers of the model.
    pub(super) max_turns: Option<u32>,
    /// Pause after so many tokens.
    pub(super) max_tokens: Option<u64>,
    /// Pause after so many dollars; needs the model's price in `prices`.
    pub(super) max_cost: Option<f64>,
    /// What a million tokens cost, by the name of the model.
    pub(super) prices: BTreeMap<String, Price>,
    /// How long an answer may be, in tokens.
    pub(super) max_output_tokens: Option<u32>,
    /// How many tokens the model can take in.
    pub(super) context_window: Option<u64>,
    /// How many calls that only read run side by side.
    pub(super) max_tool_concurrency: Option<usize>,
    /// Whether calls start while the model is still writing.
    pub(super) streaming_execution: Option<bool>,
    /// What a failed command does to the other calls of its response.
    pub(super) on_bash_error: Option<OnBashError>,
    /// What an interrupt does to a running call, by the tool's name.
    pub(super) interrupt_behavior: BTreeMap<String, InterruptBehavior>,
    /// How many megabytes may be piped into a headless run.
    pub(super) max_input_mb: Option<u32>,
    /// How long a stream may be silent before it counts as broken.
    pub(super) stall_seconds: Option<u64>,
    /// How often a request that failed for a passing reason is tried again.
    pub(super) retries: Option<u32>,
    /// How the screen looks: the name of a theme, or `auto`.
    pub(super) theme: Option<String>,
    /// Commands to run when something happens. In a project: only once it is trusted.
    pub(super) hooks: HooksFile,
    /// Run no hooks at all.
    pub(super) disable_all_hooks: Option<bool>,
    /// What holds commands.
    pub(super) sandbox: Sandbox,
}

/// What may run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Permissions {
    /// Rules for calls that run without a question, e.g. `Bash(cargo test:*)`. In a project: only once it is trusted.
    pub(super) allow: Vec<String>,
    /// Rules for calls that are asked about in every mode. They beat allow rules.
    pub(super) ask: Vec<String>,
    /// Rules for calls that never run. They beat all others.
    pub(super) deny: Vec<String>,
    /// The permission mode to begin with. A project can only choose default, acceptEdits or plan.
    pub(super) default_mode: Option<Mode>,
    /// More directories that count as workspace. In a project: only once it is trusted.
    pub(super) additional_directories: Vec<PathBuf>,
}

/// What holds commands.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sandbox {
    /// Whether the kernel holds commands that nobody was asked about. A project can only choose `require`.
    pub(super) unasked: Option<Unasked>,
}

/// The JSON Schema of a settings file, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(File).to_value();
    let schema_key = serde_json::json!({
        "description": "Where this schema is, for editors.",
        "type": "string",
    });
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert("$schema".to_owned(), schema_key);
    }
    schema
}

/// The keys that a settings file can have.
pub fn keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(read::fields::<File>);
    &KEYS
}

/// Those of its `permissions`.
pub(super) fn permission_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(read::fields::<Permissions>);
    &KEYS
}

/// Those of its `sandbox`.
pub(super) fn sandbox_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(read::fields::<Sandbox>);
    &KEYS
}

pub(super) fn is_key(key: &str) -> bool {
    keys().iter().any(|known| known == key)
}

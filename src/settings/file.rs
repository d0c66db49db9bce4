//! The format of a settings file, as types: the schema for editors and the known keys come from them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read;
use super::tool::ToolSettings;
use crate::hooks::HooksFile;
use crate::process::sandbox::Unasked;
use crate::protocol::{Deferral, InterruptBehavior, Mode, OnBashError, Price, WebSearch};

/// Settings of agent-tui: `settings.json` in the configuration directory, `.agent-tui/settings.json` and
/// `.agent-tui/settings.local.json` in a project, or a file given with `--settings`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "agent-tui settings")]
pub(super) struct File {
    /// Provider: anthropic, openai, responses, builtin or script:FILE. In a project: only once it is trusted.
    pub(super) provider: Option<String>,
    /// Model to use. In a project: only once it is trusted.
    pub(super) model: Option<String>,
    /// Address of the provider. In a project: only once it is trusted.
    pub(super) base_url: Option<String>,
    /// Permission rules and mode.
    pub(super) permissions: Permissions,
    /// Variables for hooks and for the commands that tools run. In a project: only once it is trusted.
    pub(super) env: BTreeMap<String, String>,
    /// Pass the providers' API keys to the commands that tools run (default: false). Not in a project.
    pub(super) pass_provider_keys: Option<bool>,
    /// Stop after this many model turns.
    pub(super) max_turns: Option<u32>,
    /// Pause after this many tokens.
    pub(super) max_tokens: Option<u64>,
    /// Pause after this many dollars; needs the model's price in `prices`.
    pub(super) max_cost: Option<f64>,
    /// Price of a million tokens, by model name.
    pub(super) prices: BTreeMap<String, Price>,
    /// Longest answer, in tokens.
    pub(super) max_output_tokens: Option<u32>,
    /// Size of the model's context window, in tokens.
    pub(super) context_window: Option<u64>,
    /// How many read-only calls run at the same time.
    pub(super) max_tool_concurrency: Option<usize>,
    /// Start calls while the model is still writing.
    pub(super) streaming_execution: Option<bool>,
    /// What happens to the other calls of a response when a command fails.
    pub(super) on_bash_error: Option<OnBashError>,
    /// What an interrupt does to a running call, by tool name.
    pub(super) interrupt_behavior: BTreeMap<String, InterruptBehavior>,
    /// Settings of single tools, by name. In a project: only once it is trusted.
    pub(super) tools: BTreeMap<String, ToolSettings>,
    /// Longest input that can be piped into a headless run, in megabytes.
    pub(super) max_input_mb: Option<u32>,
    /// Seconds without a byte after which a stream is treated as broken.
    pub(super) stall_seconds: Option<u64>,
    /// How often a request is retried after a temporary failure.
    pub(super) retries: Option<u32>,
    /// Theme name, or `auto`.
    pub(super) theme: Option<String>,
    /// Commands to run when something happens. In a project: only once it is trusted.
    pub(super) hooks: HooksFile,
    /// MCP servers, by name, as in `.mcp.json`. In a project: only once it is trusted.
    pub(super) mcp_servers: BTreeMap<String, Value>,
    /// Run no hooks at all.
    pub(super) disable_all_hooks: Option<bool>,
    /// Sandbox for commands.
    pub(super) sandbox: Sandbox,
    /// Who searches the web; off unless set. In a project: only once it is trusted.
    pub(super) web_search: Option<WebSearch>,
    /// Model that answers the prompt of a fetched page; without it the page itself is the result. In a project: only once it
    /// is trusted.
    pub(super) small_model: Option<String>,
    /// When tools are announced by name only: auto (many tools, or large schemas), always or never.
    pub(super) tool_search: Option<Deferral>,
}

/// Permission rules and mode.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Permissions {
    /// Calls allowed without asking, e.g. `Bash(cargo test:*)`. In a project: only once it is trusted.
    pub(super) allow: Vec<String>,
    /// Calls that ask first, in every mode. They beat allow rules.
    pub(super) ask: Vec<String>,
    /// Calls that never run. They beat all other rules.
    pub(super) deny: Vec<String>,
    /// Permission mode at the start. A project can only choose default, acceptEdits or plan.
    pub(super) default_mode: Option<Mode>,
    /// More directories that belong to the workspace. In a project: only once it is trusted.
    pub(super) additional_directories: Vec<PathBuf>,
}

/// Sandbox for commands.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sandbox {
    /// Whether commands that run without asking are sandboxed. A project can only choose `require`.
    pub(super) unasked: Option<Unasked>,
}

/// The JSON Schema of a settings file, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(File).to_value();
    let schema_key = serde_json::json!({
        "description": "Address of this schema, for editors.",
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

/// The keys of its `permissions`.
pub(super) fn permission_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(read::fields::<Permissions>);
    &KEYS
}

/// The keys of its `sandbox`.
pub(super) fn sandbox_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(read::fields::<Sandbox>);
    &KEYS
}

pub(super) fn is_key(key: &str) -> bool {
    keys().iter().any(|known| known == key)
}

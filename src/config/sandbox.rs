//! The settings about what holds commands.

use schemars::JsonSchema;
use serde::Deserialize;

/// What holds commands.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sandbox {
    /// Whether the kernel holds commands that nobody was asked about. A project can only choose `require`.
    pub(super) unasked: Option<Unasked>,
}

/// Whether the kernel holds commands that nobody was asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Unasked {
    /// Where it can. Elsewhere commands that are known to only read run all the same.
    #[default]
    Auto,
    /// They run without it.
    Off,
    /// Where it cannot, every command is asked about.
    Require,
}

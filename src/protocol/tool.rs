//! The parts of a tool call that everyone needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{CallRef, WireId};
use super::input::CallInput;
use super::served::ServerTool;

/// A complete call whose input is a JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub call: CallRef,
    /// Its id on the wire.
    pub id: WireId,
    pub name: String,
    pub input: CallInput,
}

/// The definition of a tool for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<Value>,
    /// The provider's own tool that a request names instead of all this.
    #[serde(skip)]
    pub server: Option<ServerTool>,
}

impl ToolDefinition {
    /// About how many tokens it takes in each request, at four bytes per token.
    pub fn tokens(&self) -> usize {
        (self.description.len() + self.input_schema.to_string().len()) / 4
    }
}

/// How much harm a tool can do, before any rule is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Changes nothing: runs without asking inside the workspace.
    Safe,
    /// Changes something that can be shown and undone: asks.
    Confirm,
    /// Can do anything: asks, unless its input is known to be harmless.
    Dangerous,
    /// Never runs.
    Forbidden,
}

/// What an interrupt does to a running call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InterruptBehavior {
    /// Stopped at once; the model is told.
    Cancel,
    /// It finishes, because stopping it half-way would leave a worse state.
    Block,
}

/// What happens to the other calls of a response when a command fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBashError {
    #[default]
    CancelSiblings,
    /// Cancels only later calls that may change something.
    CancelLaterChanges,
    Continue,
}

/// The progress of an executing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Validating,
    InHooks,
    WaitingForApproval,
    Running,
    Finishing,
}

/// The permission mode of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    #[default]
    Default,
    AcceptEdits,
    Plan,
    DontAsk,
    BypassPermissions,
}

impl Mode {
    pub const ALL: [Mode; 5] = [
        Mode::Default,
        Mode::AcceptEdits,
        Mode::Plan,
        Mode::DontAsk,
        Mode::BypassPermissions,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::Plan => "plan",
            Mode::DontAsk => "dontAsk",
            Mode::BypassPermissions => "bypassPermissions",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The mode that asks more often.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let strictness = |mode: Self| match mode {
            Mode::BypassPermissions => 0,
            Mode::AcceptEdits => 1,
            Mode::Default => 2,
            Mode::DontAsk => 3,
            Mode::Plan => 4,
        };
        if strictness(other) > strictness(self) {
            other
        } else {
            self
        }
    }
}

/// The list that a rule belongs to. Deny beats ask beats allow, wherever the rules come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleList {
    Deny,
    Ask,
    Allow,
}

impl RuleList {
    pub const ALL: [RuleList; 3] = [RuleList::Deny, RuleList::Ask, RuleList::Allow];

    pub const fn name(self) -> &'static str {
        match self {
            RuleList::Deny => "deny",
            RuleList::Ask => "ask",
            RuleList::Allow => "allow",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}

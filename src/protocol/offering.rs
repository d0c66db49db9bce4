//! What the model knows about its tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When tools are deferred: announced by name only, until the model asks for their schemas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Deferral {
    /// When there are many tools, or their schemas are large.
    #[default]
    Auto,
    Always,
    Never,
}

/// What a request does with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolState {
    /// It is sent with its schema.
    Offered,
    /// It is announced by name only.
    Deferred,
    /// A deny rule names it as a whole.
    Denied,
    /// This session does not use it.
    Off,
}

impl ToolState {
    pub const fn name(self) -> &'static str {
        match self {
            ToolState::Offered => "offered",
            ToolState::Deferred => "deferred",
            ToolState::Denied => "denied",
            ToolState::Off => "off",
        }
    }
}

/// What the requests of a session have said about tools so far. Later requests repeat it in the same order, so that
/// the prompt cache stays valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentTools {
    /// The tools that were sent with their schemas, in order.
    pub offered: Vec<String>,
    /// How many of these were in the first request.
    pub first: usize,
    /// The tools that were announced by name only, in order. Some may have been activated since.
    pub announced: Vec<String>,
    /// The tools that the model has loaded.
    pub activated: Vec<String>,
}

impl SentTools {
    /// Records a request that contains these for the first time.
    pub fn record(&mut self, offered: &[String], announced: &[String]) {
        let is_first = self.offered.is_empty();
        self.offered.extend_from_slice(offered);
        self.announced.extend_from_slice(announced);
        if is_first {
            self.first = self.offered.len();
        }
    }

    pub fn activate(&mut self, tools: &[String]) {
        for tool in tools {
            if !self.activated.contains(tool) {
                self.activated.push(tool.clone());
            }
        }
    }
}

//! What a conversation has used, and what that cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::Usage;

/// What a model costs, for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
pub struct Price {
    /// What it reads, in dollars.
    pub input: f64,
    /// What it writes, in dollars.
    pub output: f64,
}

/// All that a conversation has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    pub used: Usage,
    /// In dollars; `None` if the price of any of it is not known.
    pub cost: Option<f64>,
    /// How many tokens of the context are in use since the last response, where it was told.
    pub context: Option<u64>,
}

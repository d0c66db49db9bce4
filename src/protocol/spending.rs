//! What a conversation has used, and what that cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::Usage;

/// The price of a model, per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
pub struct Price {
    /// For input, in dollars.
    pub input: f64,
    /// For output, in dollars.
    pub output: f64,
}

/// Everything that a conversation has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    pub used: Usage,
    /// In dollars; `None` if any of the prices is unknown.
    pub cost: Option<f64>,
    /// The size of the context in tokens after the last response, if it was reported.
    pub context: Option<u64>,
}

impl Spending {
    /// Nothing was used, which costs nothing.
    pub fn nothing() -> Self {
        Self {
            cost: Some(0.0),
            ..Self::default()
        }
    }

    /// Adds what others have used. The context stays as it is.
    pub fn add(&mut self, other: &Self) {
        self.used.add(other.used);
        let costs = self.cost.zip(other.cost);
        self.cost = costs.map(|(before, more)| before + more);
    }
}

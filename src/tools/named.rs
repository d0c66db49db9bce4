//! A tool with any name, for tests of tools that are added and removed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::any::{AnyTool, Erased};
use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec};
use crate::permissions::Grant;
use crate::protocol::{Level, Touches};

/// Answers with its name and its input.
pub struct Named(pub &'static str);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Input {
    text: String,
}

impl Tool for Named {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Repeats its input", Level::Safe, "text")
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(
        &self,
        input: Input,
        _grant: Grant,
        _cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{}: {}", self.0, input.text)))
    }
}

pub fn named(name: &'static str) -> Arc<dyn AnyTool> {
    Arc::new(Erased::new(Named(name)))
}

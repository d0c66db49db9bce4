//! `TaskOutput`: whether a background subagent is still working, and its result once it has ended.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, task};
use crate::permissions::Grant;
use crate::protocol::{Level, OutputFormat, Touches};

/// The default and the longest wait, in milliseconds.
const USUAL_WAIT: u64 = 30_000;
const LONGEST_WAIT: u64 = 600_000;

pub struct TaskOutput;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The ID of the subagent, as Task gave it
    pub task_id: String,
    /// Wait until it is over; true unless given
    #[serde(default)]
    pub block: Option<bool>,
    /// How long to wait, in milliseconds
    #[serde(default)]
    #[schemars(range(min = 0, max = 600_000))]
    pub timeout: Option<u64>,
}

impl Tool for TaskOutput {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            ruled: None,
            needs: Some(task::NAME.into()),
            doing: "waiting for a subagent".into(),
            output: OutputFormat::Markdown,
            ..ToolSpec::new(
                "TaskOutput",
                include_str!("../../assets/tools/task_output.md"),
                Level::Safe,
                "task_id",
            )
        }
    }

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let found = cx.env.tasks.find(&input.task_id);
        let mut task = found.map_err(|error| {
            ToolError::new(error.to_string()).with_sentence("no such background task")
        })?;
        let wait = if input.block == Some(false) {
            0
        } else {
            input.timeout.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT)
        };
        let id = task.id.clone();
        let over = tokio::select! {
            biased;
            over = task.wait() => over,
            () = tokio::time::sleep(Duration::from_millis(wait)) => None,
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
        };
        match over {
            Some(report) => task::result(&id, report),
            None => Ok(ToolOutput::text(format!(
                "{id} is still running: {}",
                task.description
            ))),
        }
    }
}

//! `KillShell`: ends a command in the background.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_RESULT_CHARS, Tool, ToolCx, ToolError, ToolOutput, ToolSpec};
use crate::permissions::Grant;
use crate::protocol::{InterruptBehavior, Level};

pub struct KillShell;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The ID of the command, as Bash gave it
    pub shell_id: String,
}

impl Tool for KillShell {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "KillShell".into(),
            description: include_str!("../../assets/tools/kill_shell.md").into(),
            // It ends only what the model has started itself.
            level: Level::Safe,
            interrupt: InterruptBehavior::Block,
            max_result_chars: MAX_RESULT_CHARS,
        }
    }

    fn subject(&self, input: &Input) -> String {
        input.shell_id.clone()
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let (id, groups) = (&input.shell_id, &cx.env.groups);
        let killed = groups.kill(id).await;
        if let Some(status) = killed.map_err(|error| ToolError::new(error.to_string()))? {
            return Err(ToolError::new(format!(
                "{id} does not run any more: {}",
                status.in_words()
            )));
        }
        let command = groups.jobs.command(id).unwrap_or_default();
        Ok(ToolOutput::text(format!("Killed {id} ({command})")))
    }
}

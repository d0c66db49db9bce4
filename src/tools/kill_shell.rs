//! `KillShell`: ends a background command or subagent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::bash::jobs::unknown;
use super::subagents::Task;
use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec};
use crate::permissions::Grant;
use crate::protocol::{InterruptBehavior, Level, Touches};

pub struct KillShell;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The ID of the command or the subagent, as Bash or Task gave it
    pub shell_id: String,
}

impl Tool for KillShell {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            interrupt: InterruptBehavior::Block,
            ruled: None,
            needs: Some(super::bash::NAME.into()),
            ..ToolSpec::new(
                "KillShell",
                include_str!("../../assets/tools/kill_shell.md"),
                // It only ends what the model has started itself.
                Level::Safe,
                "shell_id",
            )
        }
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let (id, groups) = (&input.shell_id, &cx.env.groups);
        if let Ok(task) = cx.env.tasks.find(id) {
            return kill_task(&task, &cx).await;
        }
        let killed = groups.kill(id).await;
        if let Some(status) = killed.map_err(|error| unknown(&error))? {
            return Err(ToolError::new(format!(
                "{id} is no longer running: {}",
                status.description()
            ))
            .with_sentence("already finished"));
        }
        let command = groups.jobs.command(id).unwrap_or_default();
        Ok(ToolOutput::text(format!("Killed {id} ({command})")))
    }
}

async fn kill_task(task: &Task, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let (id, about) = (&task.id, &task.description);
    match cx.env.tasks.kill(id).await {
        Ok(None) => Ok(ToolOutput::text(format!("Killed {id} ({about})"))),
        Ok(Some(_)) => Err(ToolError::new(format!(
            "{id} is no longer running: use TaskOutput to get its result"
        ))
        .with_sentence("already finished")),
        Err(error) => {
            Err(ToolError::new(error.to_string()).with_sentence("no such background task"))
        }
    }
}

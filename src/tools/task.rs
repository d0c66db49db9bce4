//! `Task`: runs a subagent, a separate conversation that works on a task and returns its last message.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::subagents::{Report, Started, Wanted, wait};
use super::{DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{Ending, Level, OutputFormat, ResultBlock, Touches};

pub const NAME: &str = "Task";
/// The type if the call names none.
const USUAL_KIND: &str = "general";

pub struct Task;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is to do, in three to five words
    pub description: String,
    /// The whole task: what to do, where, and what to report
    pub prompt: String,
    /// One of the types that the description lists
    #[serde(default)]
    pub subagent_type: Option<String>,
    /// Another model of the same provider
    #[serde(default)]
    pub model: Option<String>,
    /// Return at once, and let it work on
    #[serde(default)]
    pub run_in_background: Option<bool>,
}

impl Tool for Task {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "working on a task".into(),
            output: OutputFormat::Markdown,
            ruled: Some("subagent_type".into()),
            can_background: true,
            // The calls of the subagent ask for permission themselves.
            ..ToolSpec::new(
                NAME,
                include_str!("../../assets/tools/task.md"),
                Level::Safe,
                "description",
            )
        }
    }

    fn description(&self, about: &DescribeCx) -> String {
        let mut text = self.spec().description.to_string();
        for kind in &about.extensions.agents {
            let (name, use_it) = (&kind.name, kind.description.trim());
            let _ = writeln!(text, "- {name}: {use_it} ({})", kind.tools_text());
        }
        text
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        !about.extensions.agents.is_empty()
    }

    fn sample(&self) -> Value {
        json!({
            "description": "Find the parser",
            "prompt": "Find where command lines are parsed, and report the functions with their lines.",
            "subagent_type": USUAL_KIND,
        })
    }

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    /// Each call of the subagent is decided on its own.
    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        if input.prompt.trim().is_empty() {
            return Err(ToolError::new("`prompt` is empty: say what to do")
                .with_sentence("the prompt is empty"));
        }
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let background = input.run_in_background == Some(true);
        let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
        let wanted = Wanted {
            description: input.description,
            prompt: input.prompt,
            kind: given(input.subagent_type).unwrap_or_else(|| USUAL_KIND.to_owned()),
            model: given(input.model),
            background,
        };
        let (description, kind) = (wanted.description.clone(), wanted.kind.clone());
        let stop = CancellationToken::new();
        let starting = cx
            .starter
            .start(cx.call, cx.cwd.clone(), wanted, stop.clone());
        let mut started = starting.await?;
        if !background {
            tokio::select! {
                biased;
                report = wait(&mut started.end) => {
                    return report.map_or_else(|| Err(ToolError::cancelled()), |it| result(&kind, it));
                }
                () = cx.background.cancelled() => {}
                () = cx.cancel.cancelled() => {
                    stop.cancel();
                    // Give it a moment to stop by itself; dropping `started` ends it for good.
                    let report = wait(&mut started.end).await;
                    let text = report.map(|it| it.summary.text).unwrap_or_default();
                    return Err(ToolError::cancelled_after(text));
                }
            }
        }
        Ok(left_running(started, &description, &stop, &cx))
    }
}

/// The output for a subagent that continues in the background.
fn left_running(
    mut started: Started,
    description: &str,
    stop: &CancellationToken,
    cx: &ToolCx,
) -> ToolOutput {
    let (id, tasks) = (&started.id, &cx.env.tasks);
    tasks.add(id, cx.call, description, stop.clone(), started.end.clone());
    if let Some(guard) = started.end_with.take() {
        guard.disarm();
    }
    let text = format!(
        "The subagent works in the background, with the ID {id}. You will be told when it is over; TaskOutput reads its \
         result, KillShell ends it"
    );
    ToolOutput {
        backgrounded: true,
        ..ToolOutput::text(text)
    }
}

/// The result of a finished subagent.
pub fn result(kind: &str, report: Report) -> Result<ToolOutput, ToolError> {
    let cost = format!("({kind}: {})", report.cost_text());
    let text = report.summary.text.trim().to_owned();
    let answer = if text.is_empty() {
        String::new()
    } else {
        format!(" Its last message:\n\n{text}")
    };
    let text = match report.summary.ending {
        Ending::Done if text.is_empty() => "The subagent ended without a message.".to_owned(),
        Ending::Done => text,
        Ending::MaxTurns => {
            format!("The subagent reached its turn limit before it was done.{answer}")
        }
        Ending::Interrupted => {
            return Err(ToolError::new(format!(
                "The subagent was stopped before it was done.{answer}\n\n{cost}"
            ))
            .with_sentence("stopped before it was done"));
        }
        Ending::Failed { problem, .. } => {
            return Err(ToolError::new(format!(
                "The subagent failed: {problem}.{answer}\n\n{cost}"
            ))
            .with_sentence(format!("failed: {problem}")));
        }
    };
    Ok(ToolOutput {
        for_model: vec![ResultBlock::text(text), ResultBlock::text(cost)],
        ..ToolOutput::default()
    })
}

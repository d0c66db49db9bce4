//! The time limit for calls of a tool, from the settings.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::pipeline::GRACE;
use crate::protocol::{ForPerson, PreviewFields};
use crate::tools::{ToolError, ToolErrorKind, ToolOutput, ToolSpec};

/// Waits for a call, and stops it with `cancel` at its limit. The error contains its output so far.
pub(super) async fn within(
    limit: Option<Duration>,
    spec: &ToolSpec,
    cancel: &CancellationToken,
    mut work: BoxFuture<'_, Result<ToolOutput, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    let Some(limit) = limit else {
        return work.await;
    };
    tokio::select! {
        biased;
        output = &mut work => return output,
        () = sleep(limit) => {}
    }
    if cancel.is_cancelled() {
        // It was stopped by something else, and gets time to end.
        return work.await;
    }
    cancel.cancel();
    match timeout(GRACE, work).await {
        Ok(Err(error)) if error.kind == ToolErrorKind::Cancelled => {
            Err(exceeded(limit, spec, &error.message))
        }
        Ok(output) => output,
        Err(_) => Err(exceeded(limit, spec, "")),
    }
}

fn exceeded(limit: Duration, spec: &ToolSpec, output: &str) -> ToolError {
    let name = &spec.name;
    let mut message = format!(
        "{name} was stopped: it was still running after {} ms, the limit of `tools.{name}.timeout` in the settings",
        limit.as_millis()
    );
    if output.is_empty() {
        message.push_str(". It had printed nothing");
    } else {
        message.push_str(". Its output so far:\n");
    }
    let from = message.len();
    message.push_str(output);
    ToolError {
        for_person: ForPerson {
            sentence: Some(format!("stopped at its time limit, {limit:?}")),
            exit: None,
            output: Some(if output.is_empty() {
                0..0
            } else {
                from..message.len()
            }),
        },
        kind: match spec.preview {
            // A command that did not finish counts as failed.
            PreviewFields::Command { .. } => ToolErrorKind::CommandFailed,
            PreviewFields::Nothing | PreviewFields::Edit { .. } | PreviewFields::Write { .. } => {
                ToolErrorKind::Refused
            }
        },
        ..ToolError::new(message)
    }
}

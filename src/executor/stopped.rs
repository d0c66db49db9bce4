//! Calls that were stopped or never ran: the reason, the outcome, and the text for the model. Pure.

use super::machine::Traits;
use crate::protocol::{CallOutcome, ForPerson, ToolResult};

/// Why a call was stopped or never ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopCause {
    SiblingFailed(Failed),
    Interrupted,
    CancelledByPerson,
    Discarded,
}

/// A failed command, for the texts about its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    label: String,
    /// `cargo test` failed.
    summary: String,
}

impl Traits {
    /// The call in words: `Bash(npm test)`.
    fn label(&self) -> String {
        match &self.subject {
            Some(subject) => format!("{}({subject})", self.tool),
            None => self.tool.clone(),
        }
    }
}

impl Failed {
    pub fn of(traits: &Traits) -> Self {
        let command = traits.subject.as_ref().unwrap_or(&traits.tool);
        Self {
            label: traits.label(),
            summary: format!("`{command}` failed"),
        }
    }
}

impl StopCause {
    /// The outcome of a call that stops for this reason. A call that never ran was skipped, whatever the reason.
    pub fn outcome(&self, running: bool) -> CallOutcome {
        let skipped = |cause: &str| CallOutcome::Skipped {
            why: cause.to_owned(),
        };
        match self {
            StopCause::SiblingFailed(failed) => skipped(&failed.summary),
            StopCause::Discarded => skipped("the response was discarded"),
            StopCause::Interrupted if !running => skipped("interrupted"),
            StopCause::Interrupted | StopCause::CancelledByPerson => CallOutcome::Cancelled,
        }
    }
}

/// What a person is told about a call's end: `own` is the call's own text. For a stopped call, only its output is for
/// the person, and the outcome says the rest.
pub(super) fn for_person(outcome: &CallOutcome, own: ForPerson, result: &ToolResult) -> ForPerson {
    match outcome {
        CallOutcome::Succeeded
        | CallOutcome::Failed
        | CallOutcome::Denied
        | CallOutcome::Backgrounded => own,
        CallOutcome::ByHand => ForPerson::default(),
        CallOutcome::Skipped { .. } | CallOutcome::Cancelled => {
            // The output is at the end of the text for the model.
            let end = result.as_text().len();
            let printed = own.output.map_or(0, |printed| printed.len());
            ForPerson {
                output: Some(end.saturating_sub(printed)..end),
                ..ForPerson::default()
            }
        }
    }
}

/// The result of a call that was stopped or never ran: what happened to it, and why. `seen` is what it had produced
/// so far.
pub(super) fn synthetic(
    traits: &Traits,
    cause: &StopCause,
    seen: Option<&ToolResult>,
) -> ToolResult {
    let label = traits.label();
    let started = seen.is_some();
    let text = match (cause, started) {
        (StopCause::SiblingFailed(Failed { label: failed, .. }), false) => {
            format!("Skipped: {failed} failed, so {label} was not started")
        }
        (StopCause::SiblingFailed(Failed { label: failed, .. }), true) => {
            format!("Skipped: {failed} failed, so {label} was cancelled while it ran")
        }
        (StopCause::Interrupted, false) => {
            format!("Interrupted by the user: {label} was not started")
        }
        (StopCause::Interrupted, true) => {
            format!(
                "Interrupted by the user: {label} was stopped while it ran, so it may have had effects"
            )
        }
        (StopCause::CancelledByPerson, false) => {
            format!("Cancelled by the user: {label} was not started")
        }
        (StopCause::CancelledByPerson, true) => {
            format!(
                "Cancelled by the user: {label} was stopped while it ran, so it may have had effects"
            )
        }
        (StopCause::Discarded, _) => {
            format!("Discarded: the response that asked for {label} was thrown away")
        }
    };
    let output = seen.map(ToolResult::as_text).unwrap_or_default();
    if output.is_empty() {
        return ToolResult::error(traits.wire.clone(), text);
    }
    ToolResult::error(
        traits.wire.clone(),
        format!("{text}. Its output so far:\n{output}"),
    )
}

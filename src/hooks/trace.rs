//! What the debug log says about hooks: how each of them ran, and their combined answer.

use super::answer::Answer;
use super::config::Hook;
use super::output::HookOutput;
use super::payload::Payload;
use super::process::Ran;
use crate::config::logged;

pub fn ran(payload: &Payload, hook: &Hook, ran: &Ran, output: &HookOutput) {
    let (event, subject) = (payload.event.name(), logged(payload.subject()));
    let (command, origin) = (logged(&hook.command), logged(&hook.origin));
    let (ended, took) = (&ran.ended, ran.took);
    let stdout = ran.stdout.len();
    match &output.problem {
        None => tracing::debug!(
            event, %subject, %command, %origin, ?ended, ?took, stdout, stderr = ran.stderr.len(), "hook ran"
        ),
        Some(problem) => {
            let (problem, stderr) = (logged(problem), String::from_utf8_lossy(&ran.stderr));
            let stderr = logged(stderr);
            tracing::warn!(
                event, %subject, %command, %origin, ?ended, ?took, stdout, %stderr, %problem, "hook failed"
            );
        }
    }
}

pub fn answered(payload: &Payload, answer: &Answer) {
    let event = payload.event.name();
    if let Some(word) = &answer.decision {
        let (by, reason) = (logged(&word.by), logged(&word.reason));
        tracing::info!(event, decision = word.decision.name(), %by, %reason, "hooks decided");
    }
    if let Some(halt) = &answer.halt {
        tracing::info!(event, halt = %logged(halt), "hooks end the turn");
    }
    for context in &answer.context {
        tracing::debug!(event, context = %logged(context), "hooks tell the model");
    }
}

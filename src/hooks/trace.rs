//! What the debug log says about hooks: how each of them ran, and their combined answer.

use super::answer::Answer;
use super::config::Hook;
use super::occasion::Occasion;
use super::output::HookOutput;
use super::process::Ran;
use crate::config::logged;

pub fn ran(occasion: &Occasion, hook: &Hook, ran: &Ran, said: &HookOutput) {
    let (event, subject) = (occasion.event.name(), logged(occasion.subject()));
    let (command, origin) = (logged(&hook.command), logged(&hook.origin));
    let (ended, took) = (&ran.ended, ran.took);
    let stdout = ran.stdout.len();
    match &said.problem {
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

pub fn answered(occasion: &Occasion, answer: &Answer) {
    let event = occasion.event.name();
    if let Some(word) = &answer.word {
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

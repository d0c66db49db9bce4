//! The combined answer of all hooks of an event. Pure: deny beats ask beats allow, in whatever order the hooks ended.

use std::fmt;

use serde_json::Value;

use super::config::Hook;
use super::event::Event;
use super::output::{HookOutput, LONGEST_TEXT, rank, shortened};
use crate::permissions::{Decision, HookDecision};
use crate::text::first_line;

/// The longest message that is shown.
const LONGEST_NOTICE: usize = 2_000;
const MOST_LINES: usize = 20;
/// The longest part of a command that names a hook.
const LONGEST_NAME: usize = 80;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The decision about the call. For events without a decision, `Deny` means to block.
    pub decision: Option<HookDecision>,
    pub halt: Option<Halt>,
    /// The call's new input from a hook, and which hook.
    pub updated_input: Option<(Value, String)>,
    /// Notes for the model, in the order of the hooks.
    pub context: Vec<String>,
    /// Notices for the person.
    pub notices: Vec<String>,
}

/// A hook ends the turn: the reason, and which hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    pub reason: String,
    pub by: String,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hook {} stopped the turn: {}", self.by, self.reason)
    }
}

impl Answer {
    pub fn of<'h>(event: Event, outputs: impl IntoIterator<Item = (&'h Hook, HookOutput)>) -> Self {
        let mut answer = Self::default();
        for (hook, outputs) in outputs {
            answer.add(event, hook, outputs);
        }
        answer
    }

    /// Why the event is blocked.
    pub fn blocked(&self) -> Option<&HookDecision> {
        self.decision
            .as_ref()
            .filter(|decision| decision.decision == Decision::Deny)
    }

    fn add(&mut self, event: Event, hook: &Hook, output: HookOutput) {
        let name = name_of(hook);
        if let Some((decision, reason)) = output.decision {
            let stricter = self
                .decision
                .as_ref()
                .is_none_or(|hook_decision| rank(decision) > rank(hook_decision.decision));
            if stricter {
                self.decision = Some(HookDecision {
                    decision,
                    reason,
                    by: name.clone(),
                });
            }
        }
        if let Some(reason) = output.halt {
            let by = name.clone();
            self.halt.get_or_insert(Halt { reason, by });
        }
        if let Some(input) = output.updated_input {
            if let Some((before, other)) = &self.updated_input
                && *before != input
            {
                self.notices.push(format!(
                    "two hooks changed the same call; using the input of {name}, not of {other}"
                ));
            }
            self.updated_input = Some((input, name.clone()));
        }
        self.context.extend(
            output
                .context
                .map(|text| shortened(&text, LONGEST_TEXT, usize::MAX)),
        );
        let at = event.name();
        if let Some(message) = output.message {
            let message = shortened(&message, LONGEST_NOTICE, MOST_LINES);
            self.notices
                .push(format!("{at} hook {name} says: {message}"));
        }
        if let Some(problem) = output.problem {
            let problem = shortened(&problem, LONGEST_NOTICE, MOST_LINES);
            self.notices
                .push(format!("{at} hook {name} failed: {problem}"));
        }
    }
}

/// The name of a hook: its command and its file.
pub fn name_of(hook: &Hook) -> String {
    let command = first_line(&hook.command, LONGEST_NAME);
    format!("`{command}` in {}", hook.origin)
}

//! What all hooks of an event say together. Pure: deny beats ask beats allow, in whatever order they came to their end.

use std::fmt;

use serde_json::Value;

use super::config::Hook;
use super::event::Event;
use super::output::{HookOutput, LONGEST_TEXT, rank, shortened};
use crate::permissions::{Decision, HookWord};
use crate::text::first_line;

/// More than this of a message is not shown.
const LONGEST_NOTICE: usize = 2_000;
const MOST_LINES: usize = 20;
/// As much of a command as names it.
const LONGEST_NAME: usize = 80;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// About the call; for events that decide nothing, `Deny` is to block.
    pub word: Option<HookWord>,
    pub halt: Option<Halt>,
    /// The call's input as a hook wants it, and which hook.
    pub updated_input: Option<(Value, String)>,
    /// What the model is to know, in the order of the hooks.
    pub context: Vec<String>,
    /// What the person is to know.
    pub notices: Vec<String>,
}

/// The turn is to end: why, and which hook says so.
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
    pub fn of<'h>(event: Event, said: impl IntoIterator<Item = (&'h Hook, HookOutput)>) -> Self {
        let mut answer = Self::default();
        for (hook, said) in said {
            answer.add(event, hook, said);
        }
        answer
    }

    /// Why what was about to happen is not to happen.
    pub fn blocked(&self) -> Option<&HookWord> {
        self.word
            .as_ref()
            .filter(|word| word.decision == Decision::Deny)
    }

    fn add(&mut self, event: Event, hook: &Hook, said: HookOutput) {
        let name = name_of(hook);
        if let Some((decision, reason)) = said.decision {
            let stricter = self
                .word
                .as_ref()
                .is_none_or(|word| rank(decision) > rank(word.decision));
            if stricter {
                self.word = Some(HookWord {
                    decision,
                    reason,
                    by: name.clone(),
                });
            }
        }
        if let Some(reason) = said.halt {
            let by = name.clone();
            self.halt.get_or_insert(Halt { reason, by });
        }
        if let Some(input) = said.updated_input {
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
            said.context
                .map(|text| shortened(&text, LONGEST_TEXT, usize::MAX)),
        );
        let at = event.name();
        if let Some(message) = said.message {
            let message = shortened(&message, LONGEST_NOTICE, MOST_LINES);
            self.notices
                .push(format!("{at} hook {name} says: {message}"));
        }
        if let Some(problem) = said.problem {
            let problem = shortened(&problem, LONGEST_NOTICE, MOST_LINES);
            self.notices
                .push(format!("{at} hook {name} failed: {problem}"));
        }
    }
}

/// A hook in a few words: its command and its file.
pub fn name_of(hook: &Hook) -> String {
    let command = first_line(&hook.command, LONGEST_NAME);
    format!("`{command}` in {}", hook.origin)
}

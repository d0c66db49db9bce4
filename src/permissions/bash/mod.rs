//! The shell reader, and what is known about shell commands.
//!
//! One reader serves classifier, rules, path checks, dialog and log; all of them decide on the same parsed command.

mod brace;
pub(super) mod classify;
pub(super) mod commands;
mod compound;
pub(super) mod deny_list;
mod draft;
mod effects;
mod everyday;
mod expansion;
pub(super) mod feeding;
pub(super) mod files;
pub(super) mod find;
pub(super) mod flags;
mod fragments;
mod git;
mod jq;
pub(super) mod lists;
mod parse;
pub(super) mod programs;
mod ps;
pub(super) mod reach;
mod reader;
mod readers;
pub mod script;
mod sed;
mod text;
pub(super) mod wrappers;

use script::{Joint, Script};

pub use classify::{Classification, classify, classify_in, is_concurrency_safe};

/// Longer text is not parsed, only cut into fragments.
const MAX_PARSED: usize = 1 << 20;

/// A command line as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub script: Script,
    /// Why nothing in this text may be approved without asking. Deny rules still see `script`.
    pub refused: Option<String>,
}

impl Reading {
    /// Whether the text was only cut into fragments.
    pub fn is_cut(&self) -> bool {
        self.script.structure == Some(fragments::CUT)
    }
}

/// Reads a command line. Never fails: what cannot be read is refused and cut into fragments.
pub fn read(command: &str) -> Reading {
    let refused = text::refusal(command);
    if command.len() > MAX_PARSED {
        let script = fragments::fragment_script(command);
        return Reading { script, refused };
    }
    match expansion::parse(command) {
        Ok(mut script) => {
            if refused.is_some() && command.chars().any(text::is_deceptive) {
                // To bash these characters are ordinary; a person may not see them as such.
                script.parts.extend(fragments::fragments(command));
            }
            Reading { script, refused }
        }
        Err(broken) => Reading {
            script: fragments::fragment_script(command),
            refused: refused.or_else(|| Some(format!("it can't be parsed: {}", broken.0))),
        },
    }
}

/// The words of the command whose exit status is certainly that of the whole command line; `None` if that is not
/// certain.
pub fn last_words(command: &str) -> Option<Vec<String>> {
    let reading = read(command);
    let (last, before) = reading.script.parts.split_last()?;
    let sure = reading.refused.is_none()
        && reading.script.structure.is_none()
        && last.joint == Joint::Sequence
        && before.iter().all(|part| match part.joint {
            Joint::Sequence | Joint::Or | Joint::Pipe | Joint::Background => true,
            // The command before `&&` may be the one that failed: a missing directory is not the answer of a later
            // search.
            Joint::And => part.words.first().is_some_and(|word| word.raw == "cd"),
        });
    let words: Vec<String> = last.words.iter().map(|word| word.text.clone()).collect();
    (sure && !words.is_empty()).then_some(words)
}

/// The name of a program, without the directory.
pub(crate) fn base_name(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

//! `replace A with B`: find the files, read them, edit them.
//!
//! Three rounds, each with all its calls at once. A file that cannot be read or changed stops only itself.

use super::calls::{self, MAX_FILES};
use super::grammar::{Scope, Step};
use super::progress::{Past, State, failed, place, problem, well, wrong};
use super::report::{Part, code, is_remark};
use crate::protocol::ToolResult;
use crate::text::plural;

pub(super) struct Replace<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) scope: Option<&'a Scope>,
}

impl Replace<'_> {
    pub(super) fn advance(&self, step: &Step, past: &mut Past<'_>) -> State {
        let (old, new, place) = (code(self.old), code(self.new), place(self.scope));
        let grep = calls::files_with(self.old, self.scope);
        let Some(found) = past.take(&grep) else {
            return State::Wants {
                announcement: format!("Looking for {old}{place}."),
                calls: vec![grep],
            };
        };
        if found.is_error {
            return failed(step, found);
        }
        let text = found.as_text();
        let all = paths(&text);
        if all.is_empty() {
            let sentence = format!("{old} was not found{place}; nothing was replaced.");
            return well(vec![Part::Sentence(sentence)]);
        }
        let files = &all[..all.len().min(MAX_FILES)];
        let reads = files.iter().map(|file| calls::read(file)).collect();
        let read = match past.take_all(reads) {
            Ok(results) => results,
            Err(missing) => {
                return State::Wants {
                    announcement: format!("Reading {}.", plural(missing.len(), "file")),
                    calls: missing,
                };
            }
        };
        let (readable, unreadable): (Vec<_>, Vec<_>) = files
            .iter()
            .zip(read)
            .partition(|(_, result)| !result.is_error);
        let edits = readable
            .iter()
            .map(|(file, _)| calls::edit_all(file, self.old, self.new));
        let edited = match past.take_all(edits.collect()) {
            Ok(results) => results,
            Err(missing) => {
                let count = plural(missing.len(), "file");
                return State::Wants {
                    announcement: format!("Replacing {old} with {new} in {count}."),
                    calls: missing,
                };
            }
        };
        let (changed, unchanged): (Vec<_>, Vec<_>) = readable
            .iter()
            .map(|(file, _)| *file)
            .zip(edited)
            .partition(|(_, result)| !result.is_error);
        let changed: Vec<&str> = changed.into_iter().map(|(file, _)| *file).collect();
        let failures: Vec<_> = unreadable.into_iter().chain(unchanged).collect();
        self.summary(&changed, &failures, all.len() > files.len())
    }

    fn summary(
        &self,
        changed: &[&str],
        failures: &[(&&str, &ToolResult)],
        has_more: bool,
    ) -> State {
        let (old, new) = (code(self.old), code(self.new));
        let mut parts = Vec::new();
        if changed.is_empty() {
            parts.push(Part::Sentence(format!(
                "{old} was not replaced in any file."
            )));
        } else {
            let count = plural(changed.len(), "file");
            parts.push(Part::Sentence(format!(
                "Replaced {old} with {new} in {count}:"
            )));
            parts.push(Part::Quote(changed.join("\n")));
        }
        for (file, result) in failures {
            parts.push(Part::Sentence(format!(
                "{} was not changed: {}",
                code(file),
                problem(result)
            )));
        }
        if has_more {
            parts.push(Part::Sentence(format!(
                "More than {MAX_FILES} files match; ask again for the rest."
            )));
        }
        if failures.is_empty() {
            well(parts)
        } else {
            wrong(parts)
        }
    }
}

/// The paths in a result of Grep: one a line, followed by remarks in brackets.
fn paths(text: &str) -> Vec<&str> {
    if text.starts_with("No matches found") || text.starts_with("No files found") {
        return Vec::new();
    }
    text.lines()
        .filter(|line| !line.is_empty() && !is_remark(line))
        .collect()
}

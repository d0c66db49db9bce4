//! `MultiEdit`: several edits of one file, all or none.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::edit;
use super::files::document::Document;
use super::files::matching::Scope;
use super::files::numbered::{changed_range, snippet};
use super::files::part::only;
use super::files::{self, FileError, path};
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{FileDiff, InterruptBehavior, Level, PartOfFile, Touches};
use crate::text::shortened;

pub struct MultiEdit;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file to change: an absolute path, `~/…`, or relative to the working directory
    pub file_path: String,
    /// The edits, made in this order, each on the result of the one before
    #[schemars(length(min = 1))]
    pub edits: Vec<OneEdit>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneEdit {
    /// The text to replace, exactly as the file has it by then
    pub old_string: String,
    /// The text to put in its place; must differ from `old_string`
    pub new_string: String,
    /// Replace every occurrence of `old_string` instead of the only one
    #[serde(default)]
    pub replace_all: bool,
}

/// A document with all edits applied, not saved yet, and the number of places of each edit.
struct Edited {
    document: Document,
    places: Vec<usize>,
}

impl Input {
    /// Applies the edits in memory. Every error in the call is found here, before anything is written.
    fn make(&self, path: &Path, cx: &ToolCx, places: &Places) -> Result<Edited, FileError> {
        let creates = self
            .edits
            .first()
            .is_some_and(|first| first.old_string.is_empty());
        let mut document = edit::open(path, creates, cx, places)?;
        let mut made = Vec::with_capacity(self.edits.len());
        for (index, edit) in self.edits.iter().enumerate() {
            let count = edit
                .make(&mut document, index == 0)
                .map_err(|error| self.explain(index, error))?;
            made.push(count);
        }
        if !document.is_changed() {
            return Err(FileError::NoMatch {
                message: "The edits undo each other: the file would be as it was".into(),
                summary: "the edits undo each other".into(),
            });
        }
        Ok(Edited {
            document,
            places: made,
        })
    }

    fn explain(&self, index: usize, error: FileError) -> FileError {
        match error {
            FileError::NoMatch {
                message,
                summary: in_short,
            } => FileError::NoMatch {
                summary: format!("edit {} of {}: {in_short}", index + 1, self.edits.len()),
                message: format!(
                    "Edit {} of {} cannot be made, so none was: {message}",
                    index + 1,
                    self.edits.len()
                ),
            },
            error => error,
        }
    }

    /// The result for the model: what was done, by number, and what the file looks like now.
    fn describe(&self, path: &Path, places: &[usize]) -> String {
        let mut text = format!(
            "Applied {} edit{} to {}:",
            places.len(),
            if places.len() == 1 { "" } else { "s" },
            path::shown(path)
        );
        for (number, (edit, count)) in (1..).zip(self.edits.iter().zip(places)) {
            let _ = write!(text, "\n{number}. {}", edit.describe(*count));
        }
        text
    }
}

impl OneEdit {
    /// Returns the number of places.
    fn make(&self, document: &mut Document, is_first: bool) -> Result<usize, FileError> {
        let fills = self.old_string.is_empty() && is_first && document.text().is_empty();
        if fills && !self.new_string.is_empty() {
            document.set_text(&self.new_string);
            return Ok(1);
        }
        let scope = if self.replace_all {
            Scope::All
        } else {
            Scope::One
        };
        let replaced = document.replace(&self.old_string, &self.new_string, scope)?;
        Ok(replaced.ranges.len())
    }

    fn describe(&self, count: usize) -> String {
        let (old, new) = (quoted(&self.old_string), quoted(&self.new_string));
        let times = match count {
            1 => String::new(),
            count => format!(", at {count} places"),
        };
        match (self.old_string.is_empty(), self.new_string.is_empty()) {
            (true, _) => format!("Wrote {new}"),
            (false, true) => format!("Deleted {old}{times}"),
            (false, false) => format!("Replaced {old} with {new}{times}"),
        }
    }
}

fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    format!("{:?}", shortened(text, MOST, "…"))
}

impl Tool for MultiEdit {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            demand: Demand::Rare,
            doing: "changing a file".into(),
            interrupt: InterruptBehavior::Block,
            ..ToolSpec::new(
                "MultiEdit",
                include_str!("../../assets/tools/multi_edit.md"),
                Level::Confirm,
                "file_path",
            )
        }
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::writing(input, "file_path")
    }

    fn sample(&self) -> Value {
        json!({
            "file_path": "notes.txt",
            "edits": [{ "old_string": "helo", "new_string": "hello" }],
        })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let checked = files::on_file(input, &input.file_path, cx, |input, path, cx| {
            input.make(path, cx, &Places::default()).map(drop)
        });
        checked.await.map(|()| Validated::Fine)
    }

    async fn preview(&self, input: &Input, cx: &ToolCx) -> Vec<FileDiff> {
        let planned = files::on_file(input, &input.file_path, cx, |input, path, cx| {
            let edited = input.make(path, cx, &Places::default())?;
            Ok(edited.document.diff(&cx.env.workspace))
        });
        planned.await.ok().flatten().into_iter().collect()
    }

    async fn call_in_part(
        &self,
        input: Input,
        files: Vec<PartOfFile>,
        grant: Grant,
        cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let (path, after) = (path::resolve_file(&input.file_path, &cx.cwd)?, only(files)?);
        files::blocking(move || {
            // Dropped before the file is opened again, because a document locks its file.
            let planned = input
                .make(&path, &cx, grant.places())?
                .document
                .text()
                .to_owned();
            edit::save_part(&path, &planned, &after, &grant, &cx)
        })
        .await
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let path = path::resolve_file(&input.file_path, &cx.cwd)?;
        files::blocking(move || {
            let Edited { document, places } = input.make(&path, &cx, grant.places())?;
            let saved = document.save(&cx)?;
            let mut text = input.describe(&path, &places);
            let changed = changed_range(saved.before.as_deref().unwrap_or(""), &saved.after);
            let _ = write!(
                text,
                "\nHere's the result of running `cat -n` on a snippet of the edited file:\n{}",
                snippet(&saved.after, &changed)
            );
            Ok(saved.into_output(text))
        })
        .await
    }
}

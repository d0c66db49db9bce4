//! Edit: replaces exact text in a file.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::document::{Document, Need, Replaced};
use super::files::matching::Scope;
use super::files::numbered::{line_numbers, snippet};
use super::files::part::only;
use super::files::{self, FileError, notebook, path};
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{FileDiff, InterruptBehavior, Level, PartOfFile, PreviewFields, Touches};

pub struct Edit;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file to change: an absolute path, `~/…`, or relative to the working directory
    pub file_path: String,
    /// The text to replace, exactly as the file has it
    pub old_string: String,
    /// The text to put in its place; must differ from `old_string`
    pub new_string: String,
    /// Replace every occurrence of `old_string` instead of the only one
    #[serde(default)]
    pub replace_all: bool,
}

/// A document with the edit applied, not saved yet.
enum Edited {
    Created(Document),
    Replaced(Document, Replaced),
}

impl Edited {
    fn document(&self) -> &Document {
        match self {
            Edited::Created(document) | Edited::Replaced(document, _) => document,
        }
    }
}

impl Input {
    fn scope(&self) -> Scope {
        if self.replace_all {
            Scope::All
        } else {
            Scope::One
        }
    }

    /// Applies the edit in memory. Every error in the call is found here, before anything is written.
    fn make(&self, path: &Path, cx: &ToolCx, places: &Places) -> Result<Edited, FileError> {
        let creates = self.old_string.is_empty();
        let mut document = open(path, creates, cx, places)?;
        if creates && document.text().is_empty() && !self.new_string.is_empty() {
            document.set_text(&self.new_string);
            return Ok(Edited::Created(document));
        }
        let replaced = document.replace(&self.old_string, &self.new_string, self.scope())?;
        Ok(Edited::Replaced(document, replaced))
    }
}

/// Opens a file whose text is to be edited. With `creates` it does not have to exist.
pub(super) fn open(
    path: &Path,
    creates: bool,
    cx: &ToolCx,
    places: &Places,
) -> Result<Document, FileError> {
    let document = if creates {
        Document::open_or_new(path, Need::Parts, cx, places)?
    } else {
        Document::open(path, Need::Parts, cx, places)?
    };
    if is_notebook(path, document.text()) {
        return Err(FileError::BadContent(format!(
            "{} is a Jupyter notebook, whose cells are packed in JSON that an edit of its text could break. \
             Change its cells with NotebookEdit",
            path::shown(path)
        )));
    }
    Ok(document)
}

/// Whether Read shows it as cells. A text file that only has a notebook's name is edited like any text.
fn is_notebook(path: &Path, text: &str) -> bool {
    path.extension() == Some(OsStr::new("ipynb"))
        && notebook::cells(text.as_bytes()).is_ok_and(|cells| !cells.is_empty())
}

impl Tool for Edit {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "changing a file".into(),
            interrupt: InterruptBehavior::Block,
            preview: PreviewFields::Edit {
                path: "file_path".into(),
                old: "old_string".into(),
                new: "new_string".into(),
            },
            demand: Demand::Essential,
            ..ToolSpec::new(
                "Edit",
                include_str!("../../assets/tools/edit.md"),
                Level::Confirm,
                "file_path",
            )
        }
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::writing(input, "file_path")
    }

    fn sample(&self) -> Value {
        json!({ "file_path": "notes.txt", "old_string": "helo", "new_string": "hello" })
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
            Ok(edited.document().diff(&cx.env.workspace))
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
                .document()
                .text()
                .to_owned();
            save_part(&path, &planned, &after, &grant, &cx)
        })
        .await
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let path = path::resolve_file(&input.file_path, &cx.cwd)?;
        files::blocking(move || {
            let (document, text) = match input.make(&path, &cx, grant.places())? {
                Edited::Created(document) => {
                    let text = format!("File created successfully at: {}", path::shown(&path));
                    (document, text)
                }
                Edited::Replaced(document, replaced) => {
                    let text = describe(&path, document.text(), &replaced);
                    (document, text)
                }
            };
            Ok(document.save(&cx)?.into_output(text))
        })
        .await
    }
}

/// Makes the file contain `after`, the part of `planned` that the person allowed.
pub(super) fn save_part(
    path: &Path,
    planned: &str,
    after: &str,
    grant: &Grant,
    cx: &ToolCx,
) -> Result<ToolOutput, FileError> {
    let mut document = Document::open_or_new(path, Need::Parts, cx, grant.places())?;
    if document.text().is_empty() {
        document.set_text(after);
    } else {
        document.turn_into(after)?;
    }
    if !document.is_changed() {
        return Ok(ToolOutput::text(files::saved::NOTHING_ALLOWED));
    }
    Ok(document.save(cx)?.into_part(planned))
}

/// The result for the model: what the file looks like now.
fn describe(path: &Path, text: &str, replaced: &Replaced) -> String {
    const MOST_NAMED: usize = 10;
    let path = path::shown(path);
    let mut result = match replaced.ranges.as_slice() {
        [range] => format!(
            "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{}",
            snippet(text, range)
        ),
        ranges => {
            let starts: Vec<usize> = ranges.iter().map(|range| range.start).collect();
            let mut lines: Vec<String> =
                line_numbers(text, &starts[..starts.len().min(MOST_NAMED)])
                    .iter()
                    .map(ToString::to_string)
                    .collect();
            if starts.len() > MOST_NAMED {
                lines.push("…".into());
            }
            let mut result = format!(
                "The file {path} has been updated. All {} occurrences were successfully replaced (lines {}).",
                ranges.len(),
                lines.join(", ")
            );
            if let Some(first) = ranges.first() {
                let _ = write!(
                    result,
                    " Here's the result of running `cat -n` on a snippet around the first of them:\n{}",
                    snippet(text, first)
                );
            }
            result
        }
    };
    if replaced.quotes_differ {
        result.push_str(
            "\n<system-reminder>The file has other quotes than `old_string` (curly or straight). \
             They were kept where the text did not change.</system-reminder>",
        );
    }
    result
}

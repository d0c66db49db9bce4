//! `NotebookEdit`: changes one cell of a Jupyter notebook.
//!
//! The person sees and approves a change of the cell's source. The notebook is written with only that cell changed,
//! by [`cells`].

mod cells;
#[cfg(test)]
mod tests;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::cells::{CellType, Change, Order};
use super::files::document::{Document, Need};
use super::files::part::{left_out, only};
use super::files::{self, ContentHash, FileError, path};
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{
    FileDiff, InterruptBehavior, Level, PartOfFile, ResultBlock, Shown, Touches,
};

pub struct NotebookEdit;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The notebook: an absolute path, `~/…`, or relative to the working directory
    pub notebook_path: String,
    /// The new source of the cell
    pub new_source: String,
    /// The cell to replace or delete, or to insert behind, by the id that Read shows
    pub cell_id: Option<String>,
    /// The type of the cell; an inserted one needs it
    pub cell_type: Option<CellType>,
    /// What to do. Default: `replace`
    #[serde(default)]
    pub edit_mode: EditMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

/// A notebook with its cell changed, not saved yet.
struct Edited {
    document: Document,
    change: Change,
}

impl Input {
    fn order(&self, source: &str) -> Result<Order, FileError> {
        let cell = || {
            self.cell_id.clone().ok_or_else(|| {
                FileError::BadContent("`cell_id` must say which cell is meant".into())
            })
        };
        Ok(match self.edit_mode {
            EditMode::Replace => Order::Replace {
                cell: cell()?,
                source: source.to_owned(),
                cell_type: self.cell_type,
            },
            EditMode::Insert => Order::Insert {
                behind: self.cell_id.clone(),
                source: source.to_owned(),
                cell_type: self.cell_type.ok_or_else(|| {
                    FileError::BadContent(
                        "A cell that is inserted needs a `cell_type`: `code` or `markdown`".into(),
                    )
                })?,
            },
            EditMode::Delete => Order::Delete { cell: cell()? },
        })
    }

    /// Makes the change in memory. Every error in the call is found here, before anything is written.
    fn make(
        &self,
        source: &str,
        path: &Path,
        cx: &ToolCx,
        places: &Places,
    ) -> Result<Edited, FileError> {
        if path
            .extension()
            .is_none_or(|extension| extension != "ipynb")
        {
            return Err(FileError::BadContent(format!(
                "{} is not a notebook (`.ipynb`). Use Edit for other files",
                path::shown(path)
            )));
        }
        let mut document = Document::open(path, Need::Whole, cx, places)?;
        let order = self.order(source)?;
        let change = cells::change(document.text(), &order).map_err(|problem| {
            FileError::BadContent(format!("{}: {problem}", path::shown(path)))
        })?;
        document.turn_into(&change.notebook)?;
        Ok(Edited { document, change })
    }

    fn save(&self, edited: Edited, path: &Path, cx: &ToolCx) -> Result<ToolOutput, FileError> {
        let Edited { document, change } = edited;
        if !document.is_changed() {
            return Err(FileError::BadContent(format!(
                "The cell {} is like that already: nothing was written",
                change.cell
            )));
        }
        let shown = change.shown(path, cx);
        keep(&shown, cx);
        let done = match self.edit_mode {
            EditMode::Replace => "Updated",
            EditMode::Insert => "Inserted",
            EditMode::Delete => "Deleted",
        };
        let text = format!("{done} cell {} of {}", change.cell, path::shown(path));
        let text = match self.edit_mode {
            EditMode::Replace | EditMode::Insert => format!("{text}:\n{}", change.after),
            EditMode::Delete => text,
        };
        let mut output = document.save(cx)?.into_output(text);
        output.shown = Shown::Excerpts(vec![shown]);
        Ok(output)
    }
}

impl Change {
    fn shown(&self, path: &Path, cx: &ToolCx) -> FileDiff {
        FileDiff {
            path: format!(
                "{} cell {}",
                path::shown_from(path, &cx.env.workspace),
                self.cell
            ),
            before: Some(self.before.as_str().into()),
            after: self.after.as_str().into(),
        }
    }
}

/// Stores both sources, so that a resumed session can show the change. If that fails, only this diff is lost.
fn keep(shown: &FileDiff, cx: &ToolCx) {
    for text in shown.before.iter().chain([&shown.after]) {
        let _ = cx
            .env
            .checkpoints
            .keep(&ContentHash::of(text.as_bytes()), text.as_bytes());
    }
}

impl Tool for NotebookEdit {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            demand: Demand::Rare,
            doing: "changing a notebook".into(),
            interrupt: InterruptBehavior::Block,
            ..ToolSpec::new(
                "NotebookEdit",
                include_str!("../../assets/tools/notebook_edit.md"),
                Level::Confirm,
                "notebook_path",
            )
        }
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::writing(input, "notebook_path")
    }

    fn sample(&self) -> Value {
        json!({ "notebook_path": "analysis.ipynb", "cell_id": "cell-0", "new_source": "1 + 1" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let checked = files::on_file(input, &input.notebook_path, cx, |input, path, cx| {
            let source = &input.new_source;
            input.make(source, path, cx, &Places::default()).map(drop)
        });
        checked.await.map(|()| Validated::Fine)
    }

    async fn preview(&self, input: &Input, cx: &ToolCx) -> Vec<FileDiff> {
        let planned = files::on_file(input, &input.notebook_path, cx, |input, path, cx| {
            let edited = input.make(&input.new_source, path, cx, &Places::default())?;
            Ok(edited.change.shown(path, cx))
        });
        planned.await.into_iter().collect()
    }

    async fn call_in_part(
        &self,
        input: Input,
        files: Vec<PartOfFile>,
        grant: Grant,
        cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let (path, source) = (
            path::resolve_file(&input.notebook_path, &cx.cwd)?,
            only(files)?,
        );
        files::blocking(move || {
            // If a part of the cell stays, the cell is replaced and not deleted.
            let part = match input.edit_mode {
                EditMode::Delete if !source.is_empty() => Input {
                    edit_mode: EditMode::Replace,
                    ..input.clone()
                },
                EditMode::Delete | EditMode::Replace | EditMode::Insert => input.clone(),
            };
            let wanted = match input.edit_mode {
                EditMode::Delete => "",
                EditMode::Replace | EditMode::Insert => &input.new_source,
            };
            let edited = part.make(&source, &path, &cx, grant.places())?;
            if !edited.document.is_changed() {
                return Ok(ToolOutput::text(files::saved::NOTHING_ALLOWED));
            }
            let mut output = part.save(edited, &path, &cx)?;
            if let Some(diff) = left_out(&source, wanted) {
                output.for_model.push(ResultBlock::text(format!(
                    "The user allowed only a part of this change. This is missing, as a diff from what the cell has now to \
                     what you asked for. The user does not want it; do not try it again:\n{diff}"
                )));
            }
            Ok(output)
        })
        .await
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let path = path::resolve_file(&input.notebook_path, &cx.cwd)?;
        files::blocking(move || {
            let edited = input.make(&input.new_source, &path, &cx, grant.places())?;
            input.save(edited, &path, &cx)
        })
        .await
    }
}

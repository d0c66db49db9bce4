//! Write: creates a file, or replaces its whole content.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::document::{Document, Need};
use super::files::part::only;
use super::files::{self, path};
use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{FileDiff, InterruptBehavior, Level, PartOfFile, PreviewFields, Touches};

pub struct Write;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file to write: an absolute path, `~/…`, or relative to the working directory
    pub file_path: String,
    /// All that the file will have in it
    pub content: String,
}

impl Tool for Write {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "writing a file".into(),
            interrupt: InterruptBehavior::Block,
            preview: PreviewFields::Write {
                path: "file_path".into(),
                content: "content".into(),
            },
            ..ToolSpec::new(
                "Write",
                include_str!("../../assets/tools/write.md"),
                Level::Confirm,
                "file_path",
            )
        }
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::writing(input, "file_path")
    }

    fn sample(&self) -> Value {
        json!({ "file_path": "notes.txt", "content": "hello\n" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let checked = files::on_file(&(), &input.file_path, cx, |(), path, cx| {
            Document::open_or_new(path, Need::Whole, cx, &Places::default()).map(drop)
        });
        checked.await.map(|()| Validated::Fine)
    }

    async fn preview(&self, input: &Input, cx: &ToolCx) -> Vec<FileDiff> {
        let planned = files::on_file(input, &input.file_path, cx, |input, path, cx| {
            let mut document = Document::open_or_new(path, Need::Whole, cx, &Places::default())?;
            document.set_text(&input.content);
            Ok(document.diff(&cx.env.workspace))
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
            let mut document = Document::open_or_new(&path, Need::Whole, &cx, grant.places())?;
            document.set_text(&input.content);
            let planned = document.text().to_owned();
            document.set_text(&after);
            if !document.is_changed() {
                return Ok(ToolOutput::text(files::saved::NOTHING_ALLOWED));
            }
            Ok(document.save(&cx)?.into_part(&planned))
        })
        .await
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let path = path::resolve_file(&input.file_path, &cx.cwd)?;
        files::blocking(move || {
            let mut document = Document::open_or_new(&path, Need::Whole, &cx, grant.places())?;
            document.set_text(&input.content);
            if !document.is_changed() {
                return Ok(ToolOutput::text(format!(
                    "The file {} has exactly this content already: nothing was written.",
                    path::shown(&path)
                )));
            }
            let saved = document.save(&cx)?;
            let text = saved.description();
            Ok(saved.into_output(text))
        })
        .await
    }
}

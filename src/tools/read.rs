//! Read: shows a file to the model, and records what was shown.
//!
//! The kind of a file (text, image, notebook, PDF, binary) is decided by its content and handled in [`show`]. Reading
//! stops soon after the call is cancelled, even in the middle of a huge file. Only what the call returns is recorded
//! as shown: a thread that continues after a cancelled call has shown nothing.

mod show;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{self, View, open, path};
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{Level, OutputFormat, Touches};

/// What is shown unless the call asks for other lines.
const DEFAULT_VIEW: View = View {
    offset: 1,
    limit: 2_000,
};

pub struct Read;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file to read: an absolute path, `~/…`, or relative to the working directory
    pub file_path: String,
    /// The number of the first line to show, from 1; for files that are too long to show at once
    pub offset: Option<u64>,
    /// How many lines to show at most
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// Others put files into their texts with it.
pub const NAME: &str = "Read";

impl Input {
    fn view(&self) -> View {
        View {
            offset: self.offset.unwrap_or(DEFAULT_VIEW.offset).max(1),
            limit: self.limit.unwrap_or(DEFAULT_VIEW.limit).max(1),
        }
    }
}

impl Tool for Read {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            folds: true,
            output: OutputFormat::NumberedFile,
            doing: "reading a file".into(),
            // Pages are smaller than this. Writing a page to a file for Read to read would not help.
            max_result_chars: 200_000,
            demand: Demand::Essential,
            ..ToolSpec::new(
                NAME,
                include_str!("../../assets/tools/read.md"),
                Level::Safe,
                "file_path",
            )
        }
    }

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::reading(input, "file_path")
    }

    fn sample(&self) -> Value {
        json!({ "file_path": "README.md" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let path = path::resolve_file(&input.file_path, &cx.cwd)?;
        let env = cx.env.clone();
        files::blocking(move || open::open(&path, &env.workspace, &Places::default()).map(drop))
            .await?;
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let path = path::resolve_file(&input.file_path, &cx.cwd)?;
        let view = input.view();
        let (env, cancel) = (cx.env.clone(), cx.cancel.clone());
        let reading = files::blocking(move || {
            show::show(&path, view, &env.workspace, grant.places(), &|| {
                cancel.is_cancelled()
            })
        });
        tokio::select! {
            biased;
            // The reading thread notices by itself; nobody waits for it.
            () = cx.cancel.cancelled() => Err(ToolError::cancelled()),
            shown = reading => Ok(shown?.into_output(&cx.ledger)),
        }
    }
}

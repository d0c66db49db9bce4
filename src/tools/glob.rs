//! Glob: finds files by name, newest first.
//!
//! `query` interprets a pattern, `search` walks the tree with one worker per core. `tree` decides which files a walk
//! sees.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::permissions::{Grant, Places};
use crate::protocol::{Level, SubjectFields, Touches};
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::Stop;
use crate::tools::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated, tree};

mod query;
mod search;

use query::Query;
use search::search;

pub struct Glob;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The glob to match files against, e.g. `*.rs`, `src/**/*.{ts,tsx}`.
    pub pattern: String,
    /// The directory to search in. Default: the working directory.
    pub path: Option<String>,
}

impl Tool for Glob {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            folds: true,
            doing: "looking for files".into(),
            subject: SubjectFields::field_in("pattern", "path"),
            ..ToolSpec::new(
                "Glob",
                include_str!("../../assets/tools/glob.md"),
                Level::Safe,
                "pattern",
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
        Touches::searching(input, "path", Some("pattern"))
    }

    fn sample(&self) -> Value {
        json!({ "pattern": "TODO" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let (input, cwd) = (input.clone(), cx.cwd.clone());
        tree::run(&cx.cancel, move |_| Query::new(&input, &cwd)).await??;
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        run(
            input,
            &cx.cwd,
            &cx.cancel,
            cx.off_limits,
            grant.places().clone(),
        )
        .await
    }
}

async fn run(
    input: Input,
    cwd: &Path,
    cancel: &CancellationToken,
    off_limits: OffLimits,
    places: Places,
) -> Result<ToolOutput, ToolError> {
    let cwd = cwd.to_owned();
    let text = tree::run(cancel, move |stop| {
        answer(&input, &cwd, &off_limits, &places, stop)
    })
    .await??;
    Ok(match text.as_str() {
        search::NOTHING => ToolOutput::nothing_found("no files", text),
        _ => ToolOutput::text(text),
    })
}

/// A whole call without the runtime: returns the text for the model. Blocks until it is done or stopped.
pub fn answer(
    input: &Input,
    cwd: &Path,
    off_limits: &OffLimits,
    places: &Places,
    stop: &Stop,
) -> Result<String, ToolError> {
    let query = Query::new(input, cwd)?;
    tree::decided(&query.root, places)?;
    Ok(off_limits.with_remark(search(&query, off_limits, stop).text()))
}

#[cfg(test)]
mod tests;

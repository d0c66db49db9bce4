//! Grep: searches the contents of files with ripgrep's libraries, inside this process.
//!
//! `query` compiles an input or says what is wrong with it; `search` walks the tree with one worker per core; `sink`
//! takes the matches of one file; `report` builds the text for the model. The answer depends only on the tree, never
//! on which thread was faster.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::permissions::{Grant, Places};
use crate::protocol::{Level, SubjectFields, Touches};
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::{Stop, Unread};
use crate::tools::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated, tree};

mod query;
mod report;
mod search;
mod sink;

use query::Query;
pub(super) use query::{check_globs, split_globs};
use search::search;

pub struct Grep;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The regular expression to look for, in Rust's syntax (no look-around, no backreferences).
    pub pattern: String,
    /// The file or directory to search. Default: the working directory.
    pub path: Option<String>,
    /// Search only files that this glob matches, e.g. `*.rs`, `src/**/*.{ts,tsx}`. A leading `!` excludes; several are
    /// separated by commas.
    pub glob: Option<String>,
    /// Search only files of this type, by ripgrep's names: `rust`, `py`, `js`, `ts`, `go`, `md`, …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `files_with_matches` (the default): paths only. `content`: the matching lines. `count`: how many lines of each
    /// file match.
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Ignore case.
    #[serde(rename = "-i", default)]
    pub ignore_case: bool,
    /// Show line numbers, in `content` mode. Default: true.
    #[serde(rename = "-n")]
    pub line_numbers: Option<bool>,
    /// How many lines to show after each match, in `content` mode.
    #[serde(rename = "-A")]
    #[schemars(range(max = 10_000))]
    pub after: Option<u32>,
    /// How many lines to show before each match, in `content` mode.
    #[serde(rename = "-B")]
    #[schemars(range(max = 10_000))]
    pub before: Option<u32>,
    /// How many lines to show before and after each match, in `content` mode.
    #[serde(rename = "-C")]
    #[schemars(range(max = 10_000))]
    pub context: Option<u32>,
    /// Only the first so many lines of the result, in every mode. 0 is no limit.
    pub head_limit: Option<u32>,
    /// Let the pattern match across lines; `.` matches line ends too.
    #[serde(default)]
    pub multiline: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

impl Tool for Grep {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            folds: true,
            doing: "searching files".into(),
            subject: SubjectFields::field_in("pattern", "path"),
            ruled: Some("path".into()),
            ..ToolSpec::new(
                "Grep",
                include_str!("../../assets/tools/grep.md"),
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
        Touches::searching(input, "path", None)
    }

    fn sample(&self) -> Value {
        json!({ "pattern": "TODO" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let (input, cwd) = (input.clone(), cx.cwd.clone());
        // A large pattern takes time to compile, and a path may be on a slow disk.
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
        report::NOTHING => ToolOutput::nothing_found("no matches", text),
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
    let start = tree::decided(query.root.path(), places)?;
    let found = search(&query, &start, off_limits, stop, &AtomicUsize::new(0));
    Ok(off_limits.with_remark(report::text(&query, &found)))
}

/// Searches for files with a match, for tools that process these files further.
pub(super) struct Files(Query);

/// The files with a match.
pub(super) struct FoundFiles {
    /// Where the search started, without links.
    pub start: PathBuf,
    pub paths: Vec<PathBuf>,
    /// There are, or may be, more files.
    pub more: bool,
    /// The search was stopped before the end.
    pub stopped: bool,
    pub unread: Unread,
}

impl Files {
    pub fn new(input: &Input, cwd: &Path) -> Result<Self, ToolError> {
        Query::new(input, cwd).map(Self)
    }

    pub fn matcher(&self) -> &RegexMatcher {
        &self.0.matcher
    }

    /// Blocks until it is done or stopped. `searched` counts the files meanwhile.
    pub fn find(
        &self,
        off_limits: &OffLimits,
        places: &Places,
        stop: &Stop,
        searched: &AtomicUsize,
    ) -> Result<FoundFiles, ToolError> {
        let start = tree::decided(self.0.root.path(), places)?;
        let found = search(&self.0, &start, off_limits, stop, searched);
        let paths = found.files.into_iter().map(|file| file.key.into_path());
        Ok(FoundFiles {
            start,
            paths: paths.collect(),
            more: found.more,
            stopped: found.stopped,
            unread: found.unread,
        })
    }
}

#[cfg(test)]
mod tests;

//! `FileSearch`: finds a regular expression in many files, and replaces it in all of them as one change.
//!
//! Grep's walk and searcher find the files ([`plan`]). The changes to each file are computed in memory, shown, and
//! written together or not at all ([`apply`]).

mod apply;
mod plan;
mod report;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::plan::{Plan, Query};
use super::files::{self, ContentHash};
use super::off_limits::OffLimits;
use super::tree::Stop;
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated, tree};
use crate::permissions::{Grant, Places};
use crate::protocol::{
    CallRef, FileDiff, ForPerson, InterruptBehavior, Level, PartOfFile, SubjectFields, Touches,
};

/// How often a slow search reports its progress.
const PROGRESS: Duration = Duration::from_millis(200);
/// For how many calls the program remembers what the person was shown.
const MOST_SHOWN: usize = 32;

#[derive(Default)]
pub struct FileSearch {
    /// The contents of the files when the changes of a call were shown.
    shown: Mutex<VecDeque<(CallRef, Seen)>>,
    /// What the last validated call would change, for its preview.
    found: Mutex<Option<(CallRef, Plan)>>,
}

type Seen = Vec<(PathBuf, ContentHash)>;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The regular expression to look for, in Rust's syntax (no look-around, no backreferences)
    pub pattern: String,
    /// The file or directory to search. Default: the working directory
    pub path: Option<String>,
    /// Only files that this glob matches; several are separated by commas
    #[serde(default = "every_file")]
    pub file_glob: String,
    /// Globs of files to leave out, separated by commas
    pub exclude: Option<String>,
    /// Let the pattern match across lines; `.` matches line ends too
    #[serde(default)]
    pub multiline: bool,
    /// What to put in the place of each match; `$1` and `${name}` are groups of the pattern
    pub replace_with: Option<String>,
    /// Only show what would change. Default: true
    #[serde(default = "by_default")]
    pub preview_only: bool,
}

fn every_file() -> String {
    "*".to_owned()
}

fn by_default() -> bool {
    true
}

impl Input {
    /// Whether the call writes files.
    fn writes(&self) -> bool {
        self.replace_with.is_some() && !self.preview_only
    }
}

impl FileSearch {
    fn found(&self) -> MutexGuard<'_, Option<(CallRef, Plan)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, call: CallRef, plan: &Plan) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|(known, _)| *known != call);
        if shown.len() == MOST_SHOWN {
            shown.pop_front();
        }
        shown.push_back((call, plan.seen()));
    }

    /// Fails if the files differ from what the person was shown.
    fn check(&self, call: CallRef, plan: &Plan) -> Result<(), ToolError> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, before)) = shown.iter().find(|(known, _)| *known == call) else {
            return Ok(());
        };
        let now = plan.seen();
        let differs = before
            .iter()
            .find(|file| !now.contains(file))
            .or_else(|| now.iter().find(|file| !before.contains(file)));
        match differs {
            None => Ok(()),
            Some((path, _)) => Err(ToolError::new(format!(
                "{} has changed since the user was shown what this call would do. Nothing was written; call it again",
                tree::names::show(path)
            )).with_sentence("a file has changed since you saw the diff; nothing was written")),
        }
    }
}

impl Tool for FileSearch {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            demand: Demand::Rare,
            doing: "searching files".into(),
            interrupt: InterruptBehavior::Block,
            subject: SubjectFields::field_in("pattern", "path"),
            ruled: Some("path".into()),
            ..ToolSpec::new(
                "FileSearch",
                include_str!("../../assets/tools/file_search.md"),
                Level::Confirm,
                "pattern",
            )
        }
    }

    fn is_concurrency_safe(&self, input: &Input) -> bool {
        !input.writes()
    }

    fn is_read_only(&self, input: &Input) -> bool {
        !input.writes()
    }

    fn touches(&self, input: &Value) -> Touches {
        let given = |field: &str| input.get(field).is_some_and(|value| !value.is_null());
        let applies = input
            .get("preview_only")
            .is_some_and(|value| !matches!(value, Value::Bool(true) | Value::Null));
        if given("replace_with") && applies {
            Touches::replacing(input, "path", Some("file_glob"))
        } else {
            Touches::searching(input, "path", Some("file_glob"))
        }
    }

    fn sample(&self) -> Value {
        json!({ "pattern": "helo", "path": "src", "replace_with": "hello", "preview_only": false })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        if input.writes() {
            let plan = planned(input, cx, Places::default()).await?;
            if plan.count() == 0 && plan.is_complete() {
                return Err(ToolError::new(
                    "No matches found, so there is nothing to replace. Search without `replace_with` first",
                )
                .with_sentence("nothing to replace"));
            }
            self.found().replace((cx.call, plan));
            return Ok(Validated::Fine);
        }
        let (input, cwd) = (input.clone(), cx.cwd.clone());
        tree::run(&cx.cancel, move |_| Query::new(&input, &cwd).map(drop)).await??;
        Ok(Validated::Fine)
    }

    async fn preview(&self, input: &Input, cx: &ToolCx) -> Vec<FileDiff> {
        if !input.writes() {
            return Vec::new();
        }
        let found = self.found().take_if(|(call, _)| *call == cx.call);
        let plan = match found {
            Some((_, plan)) => Ok(plan),
            None => planned(input, cx, Places::default()).await,
        };
        match plan {
            Ok(plan) => {
                self.remember(cx.call, &plan);
                plan.diffs(&cx.env.workspace)
            }
            Err(_) => Vec::new(),
        }
    }

    async fn call_in_part(
        &self,
        input: Input,
        files: Vec<PartOfFile>,
        grant: Grant,
        cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let plan = planned(&input, &cx, grant.places().clone()).await?;
        self.check(cx.call, &plan)?;
        files::blocking(move || apply::part(&plan, files, &cx)).await
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let plan = planned(&input, &cx, grant.places().clone()).await?;
        if !input.writes() {
            let text = report::matches(&plan, &input);
            return Ok(ToolOutput {
                for_person: ForPerson {
                    sentence: Some(report::summary(&plan)),
                    ..ForPerson::default()
                },
                ..ToolOutput::text(cx.off_limits.with_remark(text))
            });
        }
        self.found().take_if(|(call, _)| *call == cx.call);
        self.check(cx.call, &plan)?;
        files::blocking(move || apply::whole(&plan, &cx)).await
    }
}

/// The whole answer of a call that only searches.
pub fn answer(
    input: &Input,
    cwd: &Path,
    off_limits: &OffLimits,
    places: &Places,
    stop: &Stop,
) -> Result<String, ToolError> {
    let searched = AtomicUsize::new(0);
    let plan = Query::new(input, cwd)?.run(off_limits, places, stop, &searched)?;
    Ok(report::matches(&plan, input))
}

/// Computes what the call finds and would change, and reports progress meanwhile.
async fn planned(input: &Input, cx: &ToolCx, places: Places) -> Result<Plan, ToolError> {
    let searched = Arc::new(AtomicUsize::new(0));
    let work = {
        let (input, cwd, off_limits) = (input.clone(), cx.cwd.clone(), cx.off_limits.clone());
        let searched = searched.clone();
        tree::run(&cx.cancel, move |stop| {
            Query::new(&input, &cwd)?.run(&off_limits, &places, stop, &searched)
        })
    };
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            plan = &mut work => return plan?,
            () = tokio::time::sleep(PROGRESS) => {
                let count = searched.load(Ordering::Relaxed);
                cx.progress.report(format!("{count} files searched"));
            }
        }
    }
}

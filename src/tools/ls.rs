//! LS: what is below a directory, as a tree.
//!
//! `tree` decides which files a walk sees; [`listing`] decides which of them are shown.

mod listing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::Types;
use ignore::{DirEntry, WalkState};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::listing::{Found, Kind, Listing};
use super::tree::{self, Hidden, Stop, Unread, names};
use super::{Demand, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, Places};
use crate::protocol::{Level, Touches};
use crate::tools::off_limits::OffLimits;

/// The most entries that are visited.
const MOST_ENTRIES: usize = 200_000;

pub struct LS;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The directory to list: an absolute path, `~/…`, or relative to the working directory. Default: the working directory
    pub path: Option<String>,
    /// Globs of what to leave out, e.g. `node_modules`, `*.lock`, `docs/**`
    #[serde(default)]
    pub ignore: Vec<String>,
}

struct Query {
    root: PathBuf,
    ignore: Override,
}

impl Query {
    fn new(input: &Input, cwd: &Path) -> Result<Self, ToolError> {
        let root = tree::root(input.path.as_deref(), cwd)?;
        let shown = names::show(&root);
        match std::fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                return Err(ToolError::new(format!(
                    "`{shown}` is a file, not a directory. Use Read to see what is in it"
                ))
                .with_sentence("this is a file, not a directory"));
            }
            Err(error) => {
                return Err(
                    ToolError::new(format!("`{shown}` cannot be listed: {error}"))
                        .with_sentence(format!("can't list it: {error}")),
                );
            }
        }
        let mut ignore = OverrideBuilder::new(&root);
        for glob in &input.ignore {
            tree::check_length("ignore", glob)?;
            let glob = glob.trim_start_matches('!');
            ignore.add(&format!("!{glob}")).map_err(bad_glob)?;
        }
        Ok(Self {
            ignore: ignore.build().map_err(bad_glob)?,
            root,
        })
    }

    fn is_left_out(&self, entry: &DirEntry, is_dir: bool) -> bool {
        !self.ignore.is_empty() && self.ignore.matched(entry.path(), is_dir).is_ignore()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn bad_glob(error: ignore::Error) -> ToolError {
    ToolError::new(format!("`ignore` is not valid: {error}")).with_sentence("the glob is not valid")
}

impl Tool for LS {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            demand: Demand::Rare,
            doing: "listing a directory".into(),
            ..ToolSpec::new(
                "LS",
                include_str!("../../assets/tools/ls.md"),
                Level::Safe,
                "path",
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
        json!({ "path": "src" })
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let (input, cwd) = (input.clone(), cx.cwd.clone());
        tree::run(&cx.cancel, move |_| Query::new(&input, &cwd).map(drop)).await??;
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let (cwd, off_limits, places) = (cx.cwd, cx.off_limits, grant.places().clone());
        let text = tree::run(&cx.cancel, move |stop| {
            answer(&input, &cwd, &off_limits, &places, stop)
        })
        .await??;
        Ok(ToolOutput::text(text))
    }
}

/// A whole call without the runtime: returns the text for the model.
fn answer(
    input: &Input,
    cwd: &Path,
    off_limits: &OffLimits,
    places: &Places,
    stop: &Stop,
) -> Result<String, ToolError> {
    let query = Query::new(input, cwd)?;
    tree::decided(&query.root, places)?;
    let (listing, unread) = list(&query, off_limits, stop);
    let mut text = listing.text(&query.root);
    if stop.is_set() {
        text.push_str("\n[It took too long, so entries are missing; list a subdirectory]");
    }
    if let Some(line) = unread.line() {
        text.push('\n');
        text.push_str(&line);
    }
    Ok(off_limits.with_remark(text))
}

fn list(query: &Query, off_limits: &OffLimits, stop: &Stop) -> (Listing, Unread) {
    let walk = tree::walk(&query.root, &Hidden::Skipped, Types::empty(), off_limits);
    let seen = Mutex::new((Vec::new(), Unread::default()));
    walk.builder.build_parallel().run(|| {
        Box::new(|entry| {
            if stop.is_set() {
                return WalkState::Quit;
            }
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let (found, unread) = &mut *seen;
            if found.len() >= MOST_ENTRIES {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.depth() == 0 => WalkState::Continue,
                Ok(entry) => {
                    let kind = Kind::of(&entry);
                    if query.is_left_out(&entry, kind == Kind::Directory) {
                        return WalkState::Skip;
                    }
                    let path = entry.path().strip_prefix(&query.root);
                    found.extend(path.ok().map(|path| Found {
                        path: path.to_owned(),
                        kind,
                    }));
                    WalkState::Continue
                }
                Err(error) => {
                    unread.note_walk(&error);
                    WalkState::Continue
                }
            }
        })
    });
    let (found, unread) = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_cut = found.len() >= MOST_ENTRIES;
    let unread = Unread {
        ignores: walk.ignores.left_out(),
        ..unread
    };
    (Listing::new(found, is_cut), unread)
}

//! Runs a query: counts every match, and keeps the newest.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ignore::types::Types;
use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkState};

use super::query::{Query, Target};
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::first::{Entry, First, Key, Limit, ThreadResults};
use crate::tools::tree::{self, Stop, Unread, names};

/// How many paths are shown; the rest is only counted.
const MAX_PATHS: usize = 100;

pub(super) const NOTHING: &str = "No files found";

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The newest [`MAX_PATHS`], newest first.
    pub paths: Vec<PathBuf>,
    /// The number of all matches.
    pub total: usize,
    /// The search was stopped before the end.
    pub stopped: bool,
    pub unread: Unread,
}

/// Searches. The result depends only on the tree, unless `stop` is set before the end.
pub(super) fn search(query: &Query, off_limits: &OffLimits, stop: &Stop) -> Found {
    let shared = Shared {
        query,
        stop,
        first: First::new(Limit {
            lines: MAX_PATHS,
            bytes: usize::MAX,
        }),
        total: AtomicUsize::new(0),
        unread: Mutex::default(),
    };
    let mut walk = tree::walk(&query.root, &query.hidden, Types::empty(), off_limits);
    walk.builder
        .max_depth(query.max_depth)
        .build_parallel()
        .visit(&mut &shared);
    let (files, _) = shared.first.finish();
    let unread = shared.unread.into_inner();
    Found {
        paths: files.into_iter().map(|file| file.key.into_path()).collect(),
        total: shared.total.into_inner(),
        stopped: stop.is_set(),
        unread: Unread {
            ignores: walk.ignores.left_out(),
            ..unread.unwrap_or_else(PoisonError::into_inner)
        },
    }
}

impl Found {
    /// The text for the model.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = self.paths.iter().map(|path| names::show(path)).collect();
        if lines.is_empty() {
            lines.push(NOTHING.into());
        }
        if self.total > self.paths.len() {
            lines.push(format!(
                "[{} more files match, older than these; narrow `pattern` or `path` to see them]",
                self.total - self.paths.len()
            ));
        }
        if self.stopped {
            lines.push(
                "[The search took too long and was stopped: files are missing; narrow `path`]"
                    .into(),
            );
        }
        lines.extend(self.unread.line());
        lines.join("\n")
    }
}

struct Shared<'a> {
    query: &'a Query,
    stop: &'a Stop,
    first: First<()>,
    total: AtomicUsize,
    unread: Mutex<Unread>,
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    results: ThreadResults<'a, ()>,
    total: usize,
    unread: Unread,
}

impl<'a> ParallelVisitorBuilder<'a> for &'a Shared<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Worker {
            shared: self,
            results: self.first.thread_results(),
            total: 0,
            unread: Unread::default(),
        })
    }
}

impl ParallelVisitor for Worker<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.shared.stop.is_set() {
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => self.visit_entry(entry),
            Err(error) => {
                self.unread.note_walk(&error);
                WalkState::Continue
            }
        }
    }
}

impl Worker<'_> {
    fn visit_entry(&mut self, entry: DirEntry) -> WalkState {
        let query = self.shared.query;
        let Some(kind) = entry.file_type() else {
            return WalkState::Continue;
        };
        if kind.is_dir() {
            let fixed = entry
                .depth()
                .checked_sub(1)
                .and_then(|at| query.fixed.get(at));
            return match fixed {
                Some(name) if entry.file_name() != name.as_str() => WalkState::Skip,
                _ => WalkState::Continue,
            };
        }
        let is_match = match query.target {
            Target::Name => query.matcher.is_match(entry.file_name()),
            Target::Path => entry
                .path()
                .strip_prefix(&query.root)
                .is_ok_and(|path| query.matcher.is_match(path)),
        };
        if is_match && (kind.is_file() || kind.is_symlink()) {
            self.add(entry);
        }
        WalkState::Continue
    }

    /// A link counts as the file that it points to. A link to a directory and a dangling link are ignored.
    fn add(&mut self, entry: DirEntry) {
        let metadata = match fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return,
            Err(error) => return self.unread.note_file(entry.path(), &error),
        };
        self.total += 1;
        let modified = tree::modified(&metadata);
        if self.results.wants(entry.path(), || modified) {
            self.results.add(Entry {
                key: Key::newest_first(modified, entry.into_path()),
                lines: 1,
                bytes: 0,
                value: (),
            });
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.shared.total.fetch_add(self.total, Ordering::Relaxed);
        self.shared
            .unread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .merge(std::mem::take(&mut self.unread));
    }
}

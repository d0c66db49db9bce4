//! Runs a query over a file or a tree: one worker per core, each with its own searcher.
//!
//! Files are read through a buffer and never mapped into memory: a mapped file that shrinks kills the process, and
//! for trees of small files mapping is slower, which is why `rg` does not do it there either.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkState};

use super::query::Root;
use super::sink::FileSink;
use super::{OutputMode, Query};
use crate::tools::files::place::Anchor;
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::first::{Entry, First, Key, ThreadResults};
use crate::tools::tree::{self, Stop, Unread};

/// The longest line, and with `multiline` the largest file, that is searched. Several of them may be in memory at once.
const MAX_BUFFER: usize = 32 * 1024 * 1024;

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// In the order of the answer.
    pub files: Vec<Entry<Hit>>,
    /// How many files were opened.
    pub searched: usize,
    /// There are, or may be, more matches than the limit allows.
    pub more: bool,
    /// The search was stopped before the end.
    pub stopped: bool,
    pub unread: Unread,
}

/// What one file contributes to the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// The lines in content mode, each with its line end; otherwise empty.
    pub text: String,
    pub count: u64,
}

/// Searches. The result depends only on the tree, unless `stop` is set before the end.
///
/// `start` is the root without links. Files are opened relative to a handle of it, so that a file that is swapped for
/// a link during the search is not searched.
pub(super) fn search(
    query: &Query,
    start: &Path,
    off_limits: &OffLimits,
    stop: &Stop,
    searched: &AtomicUsize,
) -> Found {
    let anchor = match &query.root {
        Root::File(_) => start.parent().map(Anchor::at),
        Root::Directory(_) => Some(Anchor::at(start)),
    };
    let shared = Shared {
        query,
        start,
        anchor: anchor.unwrap_or_else(|| Anchor::at(start)),
        stop,
        first: First::new(query.limit),
        searched,
        unread: Mutex::default(),
    };
    let mut ignores = None;
    match &query.root {
        Root::File(path) => {
            // A file that the input names is searched to its end, even if it is binary.
            let mut worker = shared.worker(BinaryDetection::convert(0));
            worker.search_file(path);
        }
        Root::Directory(path) => {
            let (hidden, types) = (&query.filter.hidden, &query.filter.types);
            let walk = tree::walk(path, hidden, types.clone(), off_limits);
            walk.builder.build_parallel().visit(&mut &shared);
            ignores = walk.ignores.left_out();
        }
    }
    let (files, more) = shared.first.finish();
    let unread = shared.unread.into_inner();
    Found {
        files,
        searched: searched.load(Ordering::Relaxed),
        more,
        stopped: stop.is_set(),
        unread: Unread {
            ignores,
            ..unread.unwrap_or_else(PoisonError::into_inner)
        },
    }
}

struct Shared<'a> {
    query: &'a Query,
    start: &'a Path,
    anchor: io::Result<Anchor>,
    stop: &'a Stop,
    first: First<Hit>,
    /// Updated file by file, so that progress can be shown.
    searched: &'a AtomicUsize,
    unread: Mutex<Unread>,
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    searcher: Searcher,
    results: ThreadResults<'a, Hit>,
    unread: Unread,
}

impl<'a> Shared<'a> {
    fn open(&self, path: &Path) -> io::Result<File> {
        let anchor = self.anchor.as_ref().map_err(io::Error::kind)?;
        let file = match &self.query.root {
            Root::File(_) => anchor.open(Path::new(self.start.file_name().unwrap_or_default()))?,
            Root::Directory(root) => {
                let below = path.strip_prefix(root).unwrap_or(path);
                anchor.open(below)?
            }
        };
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("it is no longer a regular file"))
        }
    }

    fn worker(&'a self, binary: BinaryDetection) -> Worker<'a> {
        let query = self.query;
        let searcher = SearcherBuilder::new()
            .line_terminator(query.line_terminator)
            .line_number(query.mode == OutputMode::Content && query.line_numbers)
            .before_context(query.before)
            .after_context(query.after)
            .multi_line(query.multiline)
            .heap_limit(Some(MAX_BUFFER))
            .binary_detection(binary)
            .build();
        Worker {
            shared: self,
            searcher,
            results: self.first.thread_results(),
            unread: Unread::default(),
        }
    }
}

impl<'a> ParallelVisitorBuilder<'a> for &'a Shared<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(self.worker(BinaryDetection::quit(0)))
    }
}

impl ParallelVisitor for Worker<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.shared.stop.is_set() {
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => self.visit_entry(&entry),
            Err(error) => {
                self.unread.note_walk(&error);
                WalkState::Continue
            }
        }
    }
}

impl Worker<'_> {
    fn visit_entry(&mut self, entry: &DirEntry) -> WalkState {
        if entry.depth() == 0 {
            return WalkState::Continue;
        }
        let query = self.shared.query;
        let path = entry.path();
        // No links and no devices, as with `rg`.
        let (is_dir, is_file) = entry
            .file_type()
            .map_or((false, false), |kind| (kind.is_dir(), kind.is_file()));
        // A separate filter and not the walker's override, because an override would also include ignored files.
        if !query.filter.globs.is_empty() && query.filter.globs.matched(path, is_dir).is_ignore() {
            return WalkState::Skip;
        }
        if is_dir {
            // The time of a directory says nothing about the files in it.
            let by_path = query.mode != OutputMode::FilesWithMatches;
            return if by_path && !self.results.wants(path, || SystemTime::UNIX_EPOCH) {
                WalkState::Skip
            } else {
                WalkState::Continue
            };
        }
        if is_file {
            let wanted = self.results.wants(path, || match query.mode {
                OutputMode::FilesWithMatches => entry
                    .metadata()
                    .map_or(SystemTime::UNIX_EPOCH, |metadata| tree::modified(&metadata)),
                OutputMode::Content | OutputMode::Count => SystemTime::UNIX_EPOCH,
            });
            if wanted {
                self.search_file(path);
            }
        }
        WalkState::Continue
    }

    fn search_file(&mut self, path: &Path) {
        let Shared { query, stop, .. } = *self.shared;
        let file = match self.shared.open(path) {
            Ok(file) => file,
            Err(error) => return self.unread.note_file(path, &error),
        };
        self.shared.searched.fetch_add(1, Ordering::Relaxed);
        let mut sink = FileSink::new(query, stop, path);
        let source = Source { file: &file, stop };
        if let Err(error) = self
            .searcher
            .search_reader(&query.matcher, source, &mut sink)
        {
            // Matches before the error are kept. A stop is not an error of the file.
            if !stop.is_set() {
                self.unread.note_file(path, &explain(error, query));
            }
        }
        if !sink.has_found() {
            return;
        }
        let key = match query.mode {
            OutputMode::FilesWithMatches => {
                let modified = file
                    .metadata()
                    .map_or(SystemTime::UNIX_EPOCH, |metadata| tree::modified(&metadata));
                Key::newest_first(modified, path.to_owned())
            }
            OutputMode::Content | OutputMode::Count => Key::by_path(path.to_owned()),
        };
        self.results.add(Entry {
            lines: sink.lines.max(1),
            bytes: sink.text.len().max(path.as_os_str().len()),
            value: Hit {
                text: sink.text,
                count: sink.count,
            },
            key,
        });
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.shared
            .unread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .merge(std::mem::take(&mut self.unread));
    }
}

/// The searcher's message for a full buffer says little. Errors of the system have a code and stay as they are.
fn explain(error: io::Error, query: &Query) -> io::Error {
    if error.raw_os_error().is_some() {
        return error;
    }
    let what = if query.multiline { "it" } else { "a line" };
    io::Error::other(format!("{what} is longer than {MAX_BUFFER} bytes"))
}

/// A reader that ends early when the search is stopped.
struct Source<'a> {
    file: &'a File,
    stop: &'a Stop,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

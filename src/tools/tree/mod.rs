//! Walks a tree of files as ripgrep does: the common part of Glob and Grep.
//!
//! Decides which entries a search sees (ignore files, hidden names, `.git`), how a search is stopped, and how
//! unreadable entries are reported. The tools decide what to look for and how to show it. Links are never followed,
//! so a cycle of links cannot trap a walk; only a root that is itself a link is entered.

use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use globset::GlobSet;
use ignore::types::Types;
use ignore::{DirEntry, WalkBuilder};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

mod excludes;
pub mod first;
pub mod ignores;
pub mod names;

use self::ignores::{IgnoreStatus, Ignores};
use crate::permissions::Places;
use crate::process::scarce;
use crate::tools::ToolError;
use crate::tools::files::{FileError, path};
use crate::tools::off_limits::OffLimits;

/// A search that takes longer returns what it has found so far, and says so.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How long its threads may take to notice that. A thread that waits for a pipe or a dead mount never does.
const GRACE: Duration = Duration::from_secs(5);

/// With a limit on threads and processes of at least this, searches never reach it.
const MANY_THREADS: u64 = 4096;

/// Longer patterns are refused: they cost more memory than any search needs.
const LONGEST_PATTERN: usize = 10_000;

/// Refuses a pattern that is too long.
pub fn check_length(field: &str, pattern: &str) -> Result<(), ToolError> {
    if pattern.len() <= LONGEST_PATTERN {
        return Ok(());
    }
    let length = pattern.len();
    Err(ToolError::new(format!(
        "`{field}` has {length} bytes, and the limit is {LONGEST_PATTERN}"
    ))
    .with_sentence("the pattern is too long"))
}

/// Tells the threads of one search to end. A separate atomic, because checking a cancellation token takes a lock, and
/// the threads check for every file and block.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a search on a thread for blocking work, until it is done, cancelled or out of time.
///
/// A cancelled search is not waited for: its threads notice the [`Stop`] at the next file or block, but a read from a
/// dead network mount may never return. Dropping the future also stops the search.
pub async fn run<T: Send + 'static>(
    cancel: &CancellationToken,
    search: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, ToolError> {
    let guard = StopOnDrop(Arc::new(Stop::default()));
    let stop = Arc::clone(&guard.0);
    let mut running = tokio::task::spawn_blocking(move || search(&stop));
    let timer = tokio::time::sleep(TIME_LIMIT);
    tokio::pin!(timer);
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::cancelled()),
            ended = &mut running => {
                return ended.map_err(broke_off);
            }
            () = &mut timer => {
                if guard.0.is_set() {
                    return Err(ToolError::new(
                        "the search hangs on a file or directory that does not respond; narrow `path`",
                    )
                    .with_sentence("a file or directory did not respond"));
                }
                guard.0.set();
                timer.as_mut().reset(Instant::now() + GRACE);
            }
        }
    }
}

fn broke_off(error: JoinError) -> ToolError {
    match error.try_into_panic() {
        Ok(panic) if scarce::is_cause(&*panic) => {
            let hint = scarce::HINT;
            ToolError::new(format!(
                "the search could not start a thread: the system allows no more; {hint}"
            ))
            .with_sentence("the system allows no more threads")
        }
        // The panic message does not help the model, and is in the log.
        Ok(_) => ToolError::new("the search failed; this is a bug in agent-tui, not in the call")
            .with_sentence("internal error in agent-tui"),
        // The runtime is shutting down.
        Err(_) => ToolError::cancelled(),
    }
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Which hidden entries a walk sees.
#[derive(Debug, Clone)]
pub enum Hidden {
    Skipped,
    /// Those with a name that one of the globs matches.
    Named(GlobSet),
}

/// A walk that can be started, with its ignore files.
pub struct Walk {
    pub builder: WalkBuilder,
    pub ignores: Arc<Ignores>,
}

/// A walk that sees what `rg` would see below `root`.
///
/// Inside a repository, git's rules decide what is ignored. Outside one, `rg` reads no `.gitignore` at all; here
/// those in and below `root` apply nevertheless, because nobody wants to search the `node_modules` of a tree that was
/// copied without its `.git`. Those above `root` do not apply then, because a home directory may well ignore
/// everything.
pub fn walk(root: &Path, hidden: &Hidden, types: Types, off_limits: &OffLimits) -> Walk {
    let ignores = Arc::new(Ignores::new(root));
    let mut builder = unread(root);
    builder.types(types.clone());
    let (hidden, off_limits) = (hidden.clone(), off_limits.clone());
    let filter = ignores.clone();
    builder.filter_entry(move |entry| {
        if entry.depth() == 0 {
            return true;
        }
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let status = filter.status(entry.path(), is_dir);
        let is_asked_for =
            || status == IgnoreStatus::Wanted || types.matched(entry.path(), is_dir).is_whitelist();
        let is_admitted = match &hidden {
            Hidden::Skipped => !is_hidden(entry) || is_asked_for(),
            Hidden::Named(names) => is_admitted(entry, names),
        };
        status != IgnoreStatus::Ignored && is_admitted && !off_limits.cover(entry.path())
    });
    Walk { builder, ignores }
}

/// A walker that does not read ignore files itself: see [`Ignores`].
pub fn unread(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .current_dir(root)
        .threads(threads());
    builder
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// How many threads a walk may start; 0 lets the walker decide. A walker that gets only some of its threads would
/// wait for the others forever, so if threads are scarce it gets one.
fn threads() -> usize {
    let scarce = rustix::process::getrlimit(rustix::process::Resource::Nproc);
    usize::from(scarce.current.is_some_and(|limit| limit < MANY_THREADS))
}

/// How many threads may help the current one; none if they are scarce.
pub fn spare_threads() -> usize {
    const MOST: usize = 12;
    match threads() {
        0 => std::thread::available_parallelism().map_or(0, |count| count.get().min(MOST) - 1),
        _ => 0,
    }
}

fn is_admitted(entry: &DirEntry, names: &GlobSet) -> bool {
    let name = entry.file_name();
    name != ".git" && (!is_hidden(entry) || names.is_match(name))
}

/// The globs for the hidden names that a glob contains: `.github` for `.github/**`, `.env*` for `**/.env*`.
///
/// Without this, `**` would have to mean either all hidden entries or none. Braces are split too, with a `*` for what
/// follows the brace: the walk may then see a few names too many, but the glob itself still decides what is found.
pub fn hidden_names<'a>(
    globs: impl IntoIterator<Item = &'a str>,
) -> Result<Hidden, globset::Error> {
    let mut names = Vec::new();
    for glob in globs {
        for piece in glob.split_inclusive(['/', '{', '}', ',']) {
            let name = piece.trim_end_matches(['/', '{', '}', ',']);
            if name.starts_with('.') && name != "." && name != ".." {
                let is_whole = piece.len() == name.len() || piece.ends_with('/');
                let continued = if is_whole { "" } else { "*" };
                names.push(globset::Glob::new(&format!("{name}{continued}"))?);
            }
        }
    }
    if names.is_empty() {
        return Ok(Hidden::Skipped);
    }
    let mut set = GlobSet::builder();
    for name in names {
        set.add(name);
    }
    Ok(Hidden::Named(set.build()?))
}

/// When a file was changed. Without a known time, a file counts as the oldest.
pub fn modified(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Where a search starts: at the path in a tool's input, which is resolved as in the other tools, or at `cwd`.
pub fn root(input: Option<&str>, cwd: &Path) -> Result<PathBuf, ToolError> {
    let path = match input {
        None | Some("") => cwd.to_owned(),
        Some(input) => path::resolve(input, cwd)?,
    };
    // This path is part of the results. Only the file system knows where `..` leads after a link.
    if path.components().any(|part| part == Component::ParentDir) {
        return Ok(std::fs::canonicalize(&path).unwrap_or(path));
    }
    Ok(path)
}

/// The error for a place that cannot be searched.
pub fn unreachable(shown: &str, error: &std::io::Error) -> ToolError {
    ToolError::new(format!("`{shown}` cannot be searched: {error}")).with_sentence(format!(
        "can't be searched: {}",
        crate::config::plain(error)
    ))
}

/// The start of a search without links, if it is the same as when the call was decided on.
pub fn decided(root: &Path, places: &Places) -> Result<PathBuf, ToolError> {
    let shown = names::show(root);
    let real = std::fs::canonicalize(root).map_err(|error| unreachable(&shown, &error))?;
    if places.admit_start(&real) {
        Ok(real)
    } else {
        Err(FileError::Moved { path: shown }.into())
    }
}

/// What a search could not read. Reported once at the end, so that the search does not fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    pub count: usize,
    /// The first one with its reason, as an example.
    pub example: Option<String>,
    /// What to report about skipped ignore files: there may be more results than intended.
    pub ignores: Option<String>,
}

impl Unread {
    /// Counts an error of the walk. An entry that was deleted after it was listed is not an error.
    pub fn note_walk(&mut self, error: &ignore::Error) {
        if error
            .io_error()
            .is_some_and(|cause| cause.kind() != io::ErrorKind::NotFound)
        {
            self.note(names::escape(&error.to_string()));
        }
    }

    pub fn note_file(&mut self, path: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.note(format!("{}: {error}", names::show(path)));
        }
    }

    pub fn merge(&mut self, other: Unread) {
        self.count += other.count;
        // The smallest one, so that the answer does not depend on which thread was faster.
        self.example = match (self.example.take(), other.example) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.ignores = self.ignores.take().or(other.ignores);
    }

    /// The remarks for the model, if any.
    pub fn line(&self) -> Option<String> {
        let unread = self.example.as_ref().map(|example| match self.count {
            1 => format!("[Not searched: {example}]"),
            count => {
                format!("[{count} files or directories were not searched, for example {example}]")
            }
        });
        let ignores = self.ignores.as_ref().map(|line| format!("[Note: {line}]"));
        let lines: Vec<String> = unread.into_iter().chain(ignores).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn note(&mut self, example: String) {
        self.merge(Unread {
            count: 1,
            example: Some(example),
            ignores: None,
        });
    }
}

#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod tests;

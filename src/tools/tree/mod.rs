//! Walking a tree of files as ripgrep does: what Glob and Grep share.
//!
//! Owns which entries a search sees (ignore files, hidden names, `.git`), how a search is stopped, and what is said
//! about entries that could not be read. What is looked for, and how it is shown, is up to the tools. Links are never
//! followed, so a cycle of links cannot trap a walk; only a root that is itself a link is entered.

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

use self::ignores::{Ignores, Said};
use crate::permissions::Places;
use crate::process::scarce;
use crate::tools::ToolError;
use crate::tools::files::{FileError, path};
use crate::tools::off_limits::OffLimits;

/// A search that takes longer gives what it has found until then, and says so.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How long its threads may take to see that. One that waits for a pipe or a dead mount never does.
const GRACE: Duration = Duration::from_secs(5);

/// With a limit on threads and processes from here on nobody comes near it.
const MANY_THREADS: u64 = 4096;

/// Longer patterns are not compiled: they cost more memory than any search needs.
const LONGEST_PATTERN: usize = 10_000;

/// Refuses a pattern that is too long to be meant.
pub fn check_length(field: &str, pattern: &str) -> Result<(), ToolError> {
    if pattern.len() <= LONGEST_PATTERN {
        return Ok(());
    }
    let length = pattern.len();
    Err(ToolError::new(format!(
        "`{field}` has {length} bytes, and the limit is {LONGEST_PATTERN}"
    ))
    .saying("the pattern is too long"))
}

/// Tells the threads of one search to end. An atomic of its own, because a look at a token takes a lock, and every
/// file and every block that is read looks.
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

/// Runs a search on a thread that may block, until it is done, cancelled or out of time.
///
/// A cancelled search is not waited for: its threads see the [`Stop`] at the next file or block, but a read from a
/// dead network mount may never return. Dropping the future stops the search too.
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
                        "the search hangs on a file or directory that does not answer; narrow `path`",
                    )
                    .saying("a file or directory did not answer"));
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
            .saying("the system allows no more threads")
        }
        // What it says is of no use to the model, and stands in the log.
        Ok(_) => ToolError::new("the search failed; this is a bug in agent-tui, not in the call")
            .saying("internal error in agent-tui"),
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
    /// Those whose name one of the globs matches.
    Named(GlobSet),
}

/// A walk that is about to begin, and the ignore files that it goes by.
pub struct Walk {
    pub builder: WalkBuilder,
    pub ignores: Arc<Ignores>,
}

/// A walk that sees what `rg` would see below `root`.
///
/// Inside a repository that is git's own notion of ignored. Outside one, `rg` reads no `.gitignore` at all; here those
/// at and below `root` count all the same, because a tree that was unpacked or copied without its `.git` is still not
/// meant to be searched in its `node_modules`. Those above `root` do not count there: a home directory may well ignore
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
        let said = filter.said(entry.path(), is_dir);
        let is_asked_for =
            || said == Said::Wanted || types.matched(entry.path(), is_dir).is_whitelist();
        let is_admitted = match &hidden {
            Hidden::Skipped => !is_hidden(entry) || is_asked_for(),
            Hidden::Named(names) => is_admitted(entry, names),
        };
        said != Said::Ignored && is_admitted && !off_limits.cover(entry.path())
    });
    Walk { builder, ignores }
}

/// A walker that reads no file by itself: see [`Ignores`].
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

/// How many threads a walk may start; 0 leaves it to the walker. If it got only some of those that it wants it would wait
/// for the others forever, so where they are scarce it gets one.
fn threads() -> usize {
    let scarce = rustix::process::getrlimit(rustix::process::Resource::Nproc);
    usize::from(scarce.current.is_some_and(|limit| limit < MANY_THREADS))
}

/// How many threads may help the one that is there; none where they are scarce.
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

/// The globs for the hidden names that a glob spells out: `.github` for `.github/**`, `.env*` for `**/.env*`.
///
/// Without this, `**` would have to mean either all hidden entries or none. The pieces of a brace are taken apart too,
/// with a `*` for what the brace continues with: that may admit a name too many to the walk, and the glob itself still
/// decides what is found.
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

/// When a file was changed; a file system that does not know makes it the oldest.
pub fn modified(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Where a search starts: at the path of a tool's input, which means what it means to the other tools, or at `cwd`.
pub fn root(input: Option<&str>, cwd: &Path) -> Result<PathBuf, ToolError> {
    let path = match input {
        None | Some("") => cwd.to_owned(),
        Some(input) => path::resolve(input, cwd)?,
    };
    // Shown with what is found. Only the file system knows where `..` leads when a link comes before it.
    if path.components().any(|part| part == Component::ParentDir) {
        return Ok(std::fs::canonicalize(&path).unwrap_or(path));
    }
    Ok(path)
}

/// A place that cannot be searched.
pub fn unreachable(shown: &str, error: &std::io::Error) -> ToolError {
    ToolError::new(format!("`{shown}` cannot be searched: {error}")).saying(format!(
        "can't be searched: {}",
        crate::config::plain(error)
    ))
}

/// Where a search really starts, if that is where it started when the call was decided on.
pub fn decided(root: &Path, places: &Places) -> Result<PathBuf, ToolError> {
    let shown = names::show(root);
    let real = std::fs::canonicalize(root).map_err(|error| unreachable(&shown, &error))?;
    if places.admit_start(&real) {
        Ok(real)
    } else {
        Err(FileError::Moved { path: shown }.into())
    }
}

/// What a search could not look into. Said once, at the end, instead of failing the whole search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    pub count: usize,
    /// The first one with its reason, as an example.
    pub example: Option<String>,
    /// What is to be said about ignore files that did not count: more may have been found than was meant.
    pub ignores: Option<String>,
}

impl Unread {
    /// Counts an error of the walk. An entry that has gone since it was listed is no error: trees change.
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

    /// The lines for the model, if there is anything to say.
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

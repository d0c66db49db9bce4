//! Which files are ignored in a walk: `.rgignore`, `.ignore`, `.gitignore`, `.git/info/exclude`, git's global ignore
//! file.
//!
//! The rules are those of the `ignore` crate, but the files are read here: a project may contain a pipe, a device or
//! an endless file with the name of an ignore file, and the crate opens it in any case. Everything except regular
//! files of limited size is skipped, and [`Ignores::left_out`] reports it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{excludes, names};
use crate::config::{is_missing, read_regular};

/// A longer ignore file is skipped: its patterns take many times its size in memory, and long to compile.
pub const LONGEST_FILE: u64 = 128 << 10;
/// The limit for all ignore files of one walk, for the same reason.
const MOST_IN_ALL: u64 = 1 << 20;
/// How many skipped files are remembered.
const MOST_NAMED: usize = 100;

/// What the ignore files say about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreStatus {
    Nothing,
    Ignored,
    /// A pattern with a `!` includes it, even if it is hidden.
    Wanted,
}

/// The ignore files of one walk, each read once.
#[derive(Debug)]
pub struct Ignores {
    number: u64,
    /// Where the walk starts, as in the paths of its entries.
    root: PathBuf,
    /// The same without links, for ignore files above it.
    real_root: PathBuf,
    in_repository: bool,
    /// Only then is each directory checked for being a `jj` repository, because every check costs time.
    uses_jj: bool,
    global: Gitignore,
    above: Option<Arc<Rules>>,
    below: RwLock<HashMap<PathBuf, Option<Arc<Rules>>>>,
    left_out: Mutex<BTreeMap<PathBuf, String>>,
    /// How many bytes were read.
    length: AtomicU64,
}

/// The ignore files of one directory, linked to those of the directories above it.
#[derive(Debug)]
struct Rules {
    parent: Option<Arc<Rules>>,
    /// Above the root of the walk: paths are compared without links.
    is_above: bool,
    /// Git's rules of the directories above do not apply here.
    is_repository: bool,
    rgignore: Gitignore,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
}

/// A directory of a walk, with its rules.
struct Known {
    number: u64,
    directory: PathBuf,
    rules: Option<Arc<Rules>>,
}

impl Known {
    fn is_about(&self, number: u64, directory: &[u8]) -> bool {
        self.number == number && self.directory.as_os_str().as_bytes() == directory
    }
}

thread_local! {
    /// Entries of one directory follow each other, so that most of them need no lock.
    static LAST: RefCell<Option<Known>> = const { RefCell::new(None) };
}

impl Ignores {
    /// The ignore files for a walk over `root`. Those above it apply only in a repository, because a home directory
    /// may well ignore everything.
    pub fn new(root: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let is_below = |name: &str| root.ancestors().any(|above| above.join(name).exists());
        let uses_jj = is_below(".jj");
        let in_repository = uses_jj || is_below(".git");
        let mut ignores = Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            root: root.to_owned(),
            real_root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            in_repository,
            uses_jj,
            global: Gitignore::empty(),
            above: None,
            below: RwLock::default(),
            left_out: Mutex::default(),
            length: AtomicU64::new(0),
        };
        if let Some(global) = excludes::global() {
            ignores.global = ignores.read(root, &global);
        }
        if in_repository {
            let mut above: Vec<PathBuf> =
                ignores.real_root.ancestors().map(Path::to_owned).collect();
            above.reverse();
            above.pop();
            for directory in above {
                ignores.above = ignores.rules(&directory, ignores.above.clone(), true);
            }
        }
        ignores
    }

    /// What the files say about an entry below the root. Assumes that its directory is not ignored: a walk does not
    /// enter ignored ones.
    pub fn status(&self, path: &Path, is_dir: bool) -> IgnoreStatus {
        // This runs for every entry of a walk. Splitting a path as bytes is much faster, and borrowed rules avoid a
        // reference count that all threads would update.
        let bytes = path.as_os_str().as_bytes();
        let directory = &bytes[..memchr::memrchr(b'/', bytes).unwrap_or(0)];
        LAST.with_borrow_mut(|last| {
            let known = match last {
                Some(known) if known.is_about(self.number, directory) => known,
                _ => {
                    let directory = Path::new(OsStr::from_bytes(directory)).to_owned();
                    last.insert(Known {
                        number: self.number,
                        rules: self.rules_for(&directory),
                        directory,
                    })
                }
            };
            self.evaluate(known.rules.as_deref(), path, is_dir)
        })
    }

    fn evaluate(&self, rules: Option<&Rules>, path: &Path, is_dir: bool) -> IgnoreStatus {
        let mut found = [const { Match::None }; 4];
        let mut counts_for_git = true;
        let mut next = rules;
        let mut real: Option<PathBuf> = None;
        while let Some(rules) = next {
            let path: &Path = if rules.is_above && self.real_root != self.root {
                real.get_or_insert_with(|| {
                    let below = path.strip_prefix(&self.root).unwrap_or(path);
                    self.real_root.join(below)
                })
            } else {
                path
            };
            let kinds = [
                (&rules.rgignore, true),
                (&rules.ignore, true),
                (&rules.gitignore, counts_for_git),
                (&rules.exclude, counts_for_git),
            ];
            for (found, (matcher, counts)) in found.iter_mut().zip(kinds) {
                if counts && found.is_none() && !matcher.is_empty() {
                    *found = matcher.matched(path, is_dir).map(drop);
                }
            }
            counts_for_git &= !rules.is_repository;
            next = rules.parent.as_deref();
        }
        let [rgignore, ignore, gitignore, exclude] = found;
        let status = rgignore.or(ignore).or(gitignore).or(exclude);
        let status = match status {
            Match::None if !self.global.is_empty() => self.global.matched(path, is_dir).map(drop),
            status => status,
        };
        match status {
            Match::None => IgnoreStatus::Nothing,
            Match::Ignore(()) => IgnoreStatus::Ignored,
            Match::Whitelist(()) => IgnoreStatus::Wanted,
        }
    }

    /// One line about the skipped files, to explain unexpected results.
    pub fn left_out(&self) -> Option<String> {
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, problem) = left_out.first_key_value()?;
        let first = format!("`{}`: {problem}", names::show(path));
        Some(match left_out.len() {
            1 => format!("an ignore file is not used: {first}"),
            count => format!("{count} ignore files are not used, for example {first}"),
        })
    }

    /// The rules for the entries of a directory.
    fn rules_for(&self, directory: &Path) -> Option<Arc<Rules>> {
        let known = self.below.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(directory) {
            return rules.clone();
        }
        drop(known);
        let parent = match directory.parent() {
            Some(parent) if directory != self.root && parent.starts_with(&self.root) => {
                self.rules_for(parent)
            }
            _ => self.above.clone(),
        };
        let rules = self.rules(directory, parent, false);
        let mut known = self.below.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(directory.to_owned(), rules.clone());
        rules
    }

    /// The rules of a directory, or those of its parent if it adds none.
    fn rules(
        &self,
        directory: &Path,
        parent: Option<Arc<Rules>>,
        is_above: bool,
    ) -> Option<Arc<Rules>> {
        let git = directory.join(".git");
        let git_data = git.metadata().ok();
        let is_repository = self.in_repository && (git_data.is_some() || self.is_jj(directory));
        let exclude = git_data.and_then(|data| excludes::of_repository(&git, &data));
        let rules = Rules {
            is_above,
            is_repository,
            rgignore: self.read(directory, &directory.join(".rgignore")),
            ignore: self.read(directory, &directory.join(".ignore")),
            gitignore: self.read(directory, &directory.join(".gitignore")),
            exclude: exclude.map_or_else(Gitignore::empty, |file| self.read(directory, &file)),
            parent: parent.clone(),
        };
        let matchers = [
            &rules.rgignore,
            &rules.ignore,
            &rules.gitignore,
            &rules.exclude,
        ];
        if !is_repository && matchers.iter().all(|matcher| matcher.is_empty()) {
            return parent;
        }
        Some(Arc::new(rules))
    }

    fn is_jj(&self, directory: &Path) -> bool {
        self.uses_jj && directory.join(".jj").exists()
    }

    /// The patterns of a file, relative to `directory`.
    fn read(&self, directory: &Path, file: &Path) -> Gitignore {
        let bytes = match read_regular(file, LONGEST_FILE) {
            Ok(bytes) => bytes,
            Err(error) => {
                if !is_missing(&error) {
                    self.leave_out(file, &error.to_string());
                }
                return Gitignore::empty();
            }
        };
        let before = self.length.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if before.saturating_add(bytes.len() as u64) > MOST_IN_ALL {
            let problem = format!("all ignore files together exceed {MOST_IN_ALL} bytes");
            self.leave_out(file, &problem);
            return Gitignore::empty();
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // As in git, an invalid pattern only loses itself.
            let _ = builder.add_line(None, line);
        }
        builder.build().unwrap_or_else(|error| {
            self.leave_out(file, &error.to_string());
            Gitignore::empty()
        })
    }

    fn leave_out(&self, file: &Path, problem: &str) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if left_out.len() < MOST_NAMED {
            left_out.insert(file.to_owned(), names::escape(problem));
        }
    }
}

#[cfg(test)]
mod tests;

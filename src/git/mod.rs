//! Runs git such that nothing of a repository is executed.
//!
//! The author of a repository can make git start programs: filters, drivers, hooks, a submodule with its own
//! configuration. We do not guess from git's files what git would do; git itself says what it would read
//! ([`inspection`]), and every key of the repository that is not on an allow list ([`keys`]) is a reason to ask the
//! person first. No other git command runs in a directory before this inspection.

pub mod environment;
mod inspection;
mod keys;
mod place;
pub mod status;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::permissions::Remembered;
use crate::process::Programs;

/// How many repositories one decision may inspect.
const MOST_LOOKS: usize = 8;

/// The repositories around the inspected directories.
#[derive(Debug)]
pub struct Git {
    programs: Arc<Programs>,
    /// The newest inspection of each directory.
    known: Mutex<HashMap<PathBuf, Inspection>>,
}

/// What git would read in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    /// `None` outside of a repository, or if git could not say.
    pub repository: Option<Repository>,
    /// Why a read-only git command may start a program there, or leave the work tree.
    pub objection: Option<String>,
}

/// A repository with a work tree, as git sees it. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub toplevel: PathBuf,
    pub git_dir: PathBuf,
    /// The directory of objects, refs and the configuration: another one for a linked work tree.
    pub common_dir: PathBuf,
    /// What git reads elsewhere: the person's and the system's configuration, and the files that it names.
    pub reads: Vec<PathBuf>,
}

impl Git {
    pub fn new(programs: Arc<Programs>) -> Self {
        Self {
            programs,
            known: Mutex::default(),
        }
    }

    /// Inspects the repository around `directory`, including submodules.
    pub async fn inspect(&self, directory: &Path) -> Inspection {
        let inspection =
            inspection::inspect(&self.programs, directory, inspection::Extent::Everything).await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(directory.to_owned(), inspection.clone());
        inspection
    }

    /// The newest inspection of exactly this directory. Does not run git.
    pub fn known(&self, directory: &Path) -> Option<Inspection> {
        let directory = directory.canonicalize().ok()?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&directory).cloned()
    }

    /// Decides, and if that depends on a repository, inspects it and decides again. Results of earlier decisions are
    /// not reused.
    pub async fn deciding<T>(&self, links: &Remembered, mut decide: impl FnMut() -> T) -> T {
        links.forget_repositories();
        let mut decided = decide();
        for _ in 0..MOST_LOOKS {
            let Some(directory) = links.unknown_repository() else {
                break;
            };
            let inspection = self.inspect(&directory).await;
            let toplevel = inspection.repository.map(|repository| repository.toplevel);
            links.answer_repository(directory, inspection.objection, toplevel);
            decided = decide();
        }
        decided
    }
}

//! What a decision may know of the machine: directories, and where symbolic links point.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::repository;

pub struct World<'a> {
    /// The primary working directory: the workspace.
    pub cwd: PathBuf,
    pub home: PathBuf,
    /// Where the shell stands now, if an earlier `cd` has moved it: relative paths of a command start here.
    pub shell_dir: Option<PathBuf>,
    pub additional_directories: Vec<PathBuf>,
    /// The application's own configuration directory, which is protected.
    pub config_dir: Option<PathBuf>,
    pub links: &'a dyn Links,
}

/// What a decision asks of the disk: where a symbolic link points, and what a repository would start.
pub trait Links {
    /// The target of the link at `path`, as written in it; `None` when `path` is no link.
    fn target(&self, path: &Path) -> Option<PathBuf>;

    /// Why git, run in `directory`, would start a program of the repository there; `None` if it would not.
    fn repository_starts(&self, _directory: &Path) -> Option<String> {
        None
    }
}

/// A world without links.
pub struct NoLinks;

/// The links of this machine.
pub struct RealLinks;

/// The links of this machine as they were when they were first asked about: whoever asks again gets the same answer.
#[derive(Debug, Default)]
pub struct Remembered(Mutex<HashMap<PathBuf, Option<PathBuf>>>);

impl Links for Remembered {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = known().get(path) {
            return target.clone();
        }
        let target = RealLinks.target(path);
        known().entry(path.to_owned()).or_insert(target).clone()
    }

    fn repository_starts(&self, directory: &Path) -> Option<String> {
        repository::starts(directory)
    }
}

impl Links for NoLinks {
    fn target(&self, _path: &Path) -> Option<PathBuf> {
        None
    }
}

impl Links for RealLinks {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        std::fs::read_link(path).ok()
    }

    fn repository_starts(&self, directory: &Path) -> Option<String> {
        repository::starts(directory)
    }
}

impl Links for BTreeMap<PathBuf, PathBuf> {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        self.get(path).cloned()
    }
}

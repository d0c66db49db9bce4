//! What a decision may know of the machine: directories, and where symbolic links point.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirEntry, Metadata, ReadDir};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reading more directory entries than this would take too long.
const MOST_ENTRIES: usize = 20_000;

pub struct World<'a> {
    /// The primary working directory: the workspace.
    pub cwd: PathBuf,
    pub home: PathBuf,
    /// The shell's current directory, if an earlier `cd` changed it: relative paths of a command start here.
    pub shell_dir: Option<PathBuf>,
    pub additional_directories: Vec<PathBuf>,
    /// The application's own configuration directory, which is protected.
    pub config_dir: Option<PathBuf>,
    /// Its data directory, which records what is trusted and allowed and is therefore protected.
    pub data_dir: Option<PathBuf>,
    /// More protected paths: settings files, and what hooks run.
    pub protected_files: Vec<PathBuf>,
    pub links: &'a dyn Links,
}

/// What a decision asks of the machine: where a symbolic link points, and what a repository would start.
pub trait Links {
    /// The target of the link at `path`, as written in it; `None` when `path` is not a link.
    fn target(&self, path: &Path) -> Option<PathBuf>;

    /// The links below `directory`, as paths relative to it, at most `levels` deep. Links are not followed, and only
    /// names that are `wanted` at their level, from 0 on, are looked at. `None` if there is too much to check.
    fn links_below(
        &self,
        directory: &Path,
        levels: usize,
        wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Option<Vec<String>>;

    /// Whether there is a directory at `path`, links followed.
    fn is_directory(&self, _path: &Path) -> bool {
        false
    }

    /// Whether a name below `directory`, at most `levels` deep, is `odd`. Links are not followed. `None` if there is
    /// too much to check.
    fn any_name_below(
        &self,
        _directory: &Path,
        _levels: usize,
        _odd: &dyn Fn(&str) -> bool,
    ) -> Option<bool> {
        Some(false)
    }

    /// Whether the file at `path`, links followed, has another name (a hard link), which a write would change as well.
    fn is_shared(&self, _path: &Path) -> bool {
        false
    }

    /// Whether there is such a file below `directory`. `None` if there is too much to check.
    fn any_shared_below(&self, _directory: &Path) -> Option<bool> {
        Some(false)
    }

    /// Why git, run in `directory`, may start a program of the repository there; `None` if it does not. This cannot be
    /// found out here: either it is known already, or the call asks.
    fn repository_starts(&self, directory: &Path) -> Option<String>;

    /// The root of the work tree around `directory`, if it has been inspected.
    fn toplevel(&self, _directory: &Path) -> Option<PathBuf> {
        None
    }
}

/// Why git asks where the repository has not been checked.
const NOT_LOOKED_AT: &str = "the repository has not been checked";

/// A world without links.
pub struct NoLinks;

/// The links of this machine.
pub struct RealLinks;

/// The links of this machine as they were when they were first asked about: later lookups get the same answer. It also
/// remembers what it is told about repositories, and which repository it could not answer for.
#[derive(Debug, Default)]
pub struct Remembered {
    links: Mutex<HashMap<PathBuf, Option<PathBuf>>>,
    repositories: Mutex<HashMap<PathBuf, Known>>,
}

/// What is known about the repository around a directory.
#[derive(Debug, Clone)]
enum Known {
    /// A decision has asked about it.
    Wanted,
    /// Why git may start a program there, if it may, and where the work tree begins.
    Looked(Option<String>, Option<PathBuf>),
}

impl Remembered {
    /// A directory whose repository a decision needs, but that has not been inspected.
    pub fn unknown_repository(&self) -> Option<PathBuf> {
        let repositories = self.repositories();
        let mut unknown = repositories
            .iter()
            .filter_map(|(directory, known)| matches!(known, Known::Wanted).then_some(directory));
        unknown.next().cloned()
    }

    /// The result of an inspection: why git may start a program there, if it may, and the root of the work tree.
    pub fn answer_repository(
        &self,
        directory: PathBuf,
        starts: Option<String>,
        toplevel: Option<PathBuf>,
    ) {
        self.repositories()
            .insert(directory, Known::Looked(starts, toplevel));
    }

    pub fn forget_repositories(&self) {
        self.repositories().clear();
    }

    fn repositories(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        let repositories = self.repositories.lock();
        repositories.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Links for Remembered {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        let known = || self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = known().get(path) {
            return target.clone();
        }
        let target = RealLinks.target(path);
        known().entry(path.to_owned()).or_insert(target).clone()
    }

    fn links_below(
        &self,
        directory: &Path,
        levels: usize,
        wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Option<Vec<String>> {
        RealLinks.links_below(directory, levels, wanted)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn any_name_below(
        &self,
        directory: &Path,
        levels: usize,
        odd: &dyn Fn(&str) -> bool,
    ) -> Option<bool> {
        RealLinks.any_name_below(directory, levels, odd)
    }

    fn is_shared(&self, path: &Path) -> bool {
        RealLinks.is_shared(path)
    }

    fn any_shared_below(&self, directory: &Path) -> Option<bool> {
        RealLinks.any_shared_below(directory)
    }

    fn repository_starts(&self, directory: &Path) -> Option<String> {
        let mut repositories = self.repositories();
        let known = repositories.entry(directory.to_owned());
        match known.or_insert(Known::Wanted) {
            Known::Wanted => Some(NOT_LOOKED_AT.to_owned()),
            Known::Looked(starts, _) => starts.clone(),
        }
    }

    fn toplevel(&self, directory: &Path) -> Option<PathBuf> {
        match self.repositories().get(directory)? {
            Known::Wanted => None,
            Known::Looked(_, toplevel) => toplevel.clone(),
        }
    }
}

impl Links for NoLinks {
    fn target(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    fn links_below(
        &self,
        _directory: &Path,
        _levels: usize,
        _wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn repository_starts(&self, _directory: &Path) -> Option<String> {
        None
    }
}

impl Links for RealLinks {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        std::fs::read_link(path).ok()
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn links_below(
        &self,
        directory: &Path,
        levels: usize,
        wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Option<Vec<String>> {
        let mut found = Vec::new();
        let mut left = MOST_ENTRIES;
        let mut waiting = vec![(0, String::new())];
        while let Some((level, below)) = waiting.pop() {
            let Some(entries) = entries(&directory.join(&below))? else {
                continue;
            };
            for entry in entries {
                left = usize::checked_sub(left, 1)?;
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                let enters = kind.is_dir() && level + 1 < levels;
                let name = entry.file_name();
                if !(kind.is_symlink() || enters) || !wanted(level, &name.to_string_lossy()) {
                    continue;
                }
                // A name that is not valid UTF-8 could not be looked up again.
                let name = name.to_str()?;
                let path = if below.is_empty() {
                    name.to_owned()
                } else {
                    format!("{below}/{name}")
                };
                if enters {
                    waiting.push((level + 1, path));
                } else {
                    found.push(path);
                }
            }
        }
        Some(found)
    }

    fn any_name_below(
        &self,
        directory: &Path,
        levels: usize,
        odd: &dyn Fn(&str) -> bool,
    ) -> Option<bool> {
        any_below(directory, levels, &|entry| {
            odd(&entry.file_name().to_string_lossy())
        })
    }

    fn is_shared(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|file| has_more_names(&file))
    }

    fn any_shared_below(&self, directory: &Path) -> Option<bool> {
        any_below(directory, usize::MAX, &|entry| {
            entry.metadata().is_ok_and(|file| has_more_names(&file))
        })
    }

    fn repository_starts(&self, _directory: &Path) -> Option<String> {
        Some(NOT_LOOKED_AT.to_owned())
    }
}

fn has_more_names(file: &Metadata) -> bool {
    file.is_file() && file.nlink() > 1
}

/// Whether an entry below `directory`, at most `levels` deep, is `odd`. Links are not followed. `None` if there is too
/// much to check.
fn any_below(directory: &Path, levels: usize, odd: &dyn Fn(&DirEntry) -> bool) -> Option<bool> {
    let mut left = MOST_ENTRIES;
    let mut waiting = vec![(0, directory.to_owned())];
    while let Some((level, below)) = waiting.pop() {
        let Some(entries) = entries(&below)? else {
            continue;
        };
        for entry in entries {
            left = usize::checked_sub(left, 1)?;
            let entry = entry.ok()?;
            if odd(&entry) {
                return Some(true);
            }
            if level + 1 < levels && entry.file_type().ok()?.is_dir() {
                waiting.push((level + 1, entry.path()));
            }
        }
    }
    Some(false)
}

/// The entries of a directory; none if it is not a directory or may not be read. `None` if that cannot be told.
#[expect(
    clippy::option_option,
    reason = "nothing there and nothing known are different things"
)]
fn entries(directory: &Path) -> Option<Option<ReadDir>> {
    match std::fs::read_dir(directory) {
        Ok(entries) => Some(Some(entries)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
            ) =>
        {
            Some(None)
        }
        Err(_) => None,
    }
}

impl Links for BTreeMap<PathBuf, PathBuf> {
    fn target(&self, path: &Path) -> Option<PathBuf> {
        self.get(path).cloned()
    }

    fn links_below(
        &self,
        directory: &Path,
        levels: usize,
        wanted: &dyn Fn(usize, &str) -> bool,
    ) -> Option<Vec<String>> {
        let below = |link: &PathBuf| {
            let path = link.strip_prefix(directory).ok()?.to_str()?;
            let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
            let fits = (1..=levels).contains(&names.len())
                && names
                    .iter()
                    .enumerate()
                    .all(|(level, name)| wanted(level, name));
            fits.then(|| names.join("/"))
        };
        Some(self.keys().filter_map(below).collect())
    }

    /// In a case written as data, the repository starts no programs.
    fn repository_starts(&self, _directory: &Path) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{Links, RealLinks};

    #[test]
    fn links_on_the_disk_are_found_by_name_and_level() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("a/b")).expect("directories");
        for link in ["top", "a/middle", "a/b/low"] {
            symlink("/etc", root.path().join(link)).expect("a link");
        }
        let found = |levels: usize, wanted: &dyn Fn(usize, &str) -> bool| {
            let mut found = RealLinks
                .links_below(root.path(), levels, wanted)
                .expect("few");
            found.sort();
            found
        };
        assert_eq!(
            found(usize::MAX, &|_, _| true),
            ["a/b/low", "a/middle", "top"]
        );
        assert_eq!(found(1, &|_, _| true), ["top"]);
        assert_eq!(
            found(2, &|level, name| level == 0 || name == "middle"),
            ["a/middle", "top"]
        );
        assert_eq!(found(3, &|_, name| name == "a"), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_directory_holds_no_links() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("file");
        std::fs::write(&file, "x").expect("a file");
        let none = RealLinks.links_below(&file, usize::MAX, &|_, _| true);
        assert_eq!(none, Some(Vec::new()));
    }
}

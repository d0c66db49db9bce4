//! Whether a repository belongs to this work tree: sandboxed commands may read everything that `.git` points to, so a
//! forged one must not point to another repository.
//!
//! A repository in another place is trusted only if it points back: someone who writes the files of a work tree
//! cannot write there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Repository;

const LONGEST_POINTER: u64 = 10_000;

/// The directories that make up a repository.
const PARTS: [&str; 8] = [
    "",
    "objects",
    "objects/pack",
    "objects/info",
    "info",
    "refs",
    "refs/heads",
    "logs",
];

/// Where a repository's files are, without links.
pub struct Place<'r> {
    repository: &'r Repository,
    toplevel: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl<'r> Place<'r> {
    pub fn of(repository: &'r Repository) -> Option<Self> {
        Some(Self {
            toplevel: repository.toplevel.canonicalize().ok()?,
            git_dir: repository.git_dir.canonicalize().ok()?,
            common_dir: repository.common_dir.canonicalize().ok()?,
            repository,
        })
    }

    /// Whether `core.worktree` only repeats the actual work tree, as in a submodule: the directory of the `.git` that
    /// led here.
    pub fn is_work_tree(&self, value: &[u8]) -> bool {
        let named = self.git_dir.join(OsStr::from_bytes(value)).canonicalize();
        named.is_ok_and(|named| named == self.toplevel) && self.is_found_from_work_tree()
    }

    /// Why the repository may belong to another project; `own` says what is in the workspace, and `work_trees` are
    /// the values of `core.worktree`.
    pub fn objection(&self, own: impl Fn(&Path) -> bool, work_trees: &[&[u8]]) -> Option<String> {
        let inside = |path: &Path| path.starts_with(&self.toplevel) || own(path);
        let all_inside = inside(&self.git_dir) && inside(&self.common_dir);
        let of_submodule = || {
            self.git_dir == self.common_dir
                && !work_trees.is_empty()
                && work_trees.iter().all(|value| self.is_work_tree(value))
                && self.has_pointer()
        };
        if !all_inside && !self.is_linked() && !of_submodule() {
            return Some("its `.git` leads to another repository".to_owned());
        }
        let known = |path: &Path| inside(path) || path.starts_with(&self.common_dir);
        let linked = [&self.git_dir, &self.common_dir]
            .iter()
            .any(|directory| links_out(directory, &known));
        linked.then(|| "links in its `.git` lead to other files".to_owned())
    }

    /// Whether it uses the objects of another repository.
    pub fn shares_objects(&self) -> bool {
        let alternates = self.common_dir.join("objects/info/alternates");
        match crate::config::read_regular(&alternates, LONGEST_POINTER) {
            Ok(text) => text
                .split(|byte| *byte == b'\n')
                .any(|line| !line.is_empty() && !line.starts_with(b"#")),
            // A file that exists and cannot be read may not be empty.
            Err(_) => alternates.symlink_metadata().is_ok(),
        }
    }

    /// A linked work tree: the repository lists the path of its `.git`.
    fn is_linked(&self) -> bool {
        let named = pointer(&self.git_dir.join("gitdir"), b"");
        let named = named.and_then(|named| self.git_dir.join(named).canonicalize().ok());
        self.git_dir.parent() == Some(&self.common_dir.join("worktrees"))
            && self.has_pointer()
            && named.is_some_and(|named| named == self.toplevel.join(".git"))
    }

    /// Whether the work tree's `.git` is a file, and not a link to one.
    fn has_pointer(&self) -> bool {
        let file = self.toplevel.join(".git").symlink_metadata();
        file.is_ok_and(|file| file.is_file())
    }

    /// Whether git found this repository through the `.git` of the work tree, and not through one further down.
    fn is_found_from_work_tree(&self) -> bool {
        let dot_git = self.repository.toplevel.join(".git");
        let found = if self.has_pointer() {
            pointer(&dot_git, b"gitdir: ").map(|named| self.toplevel.join(named))
        } else {
            Some(dot_git)
        };
        let found = found.and_then(|found| found.canonicalize().ok());
        found.is_some_and(|found| found == self.git_dir)
    }
}

/// The path in a pointer file of git.
fn pointer(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let text = crate::config::read_regular(file, LONGEST_POINTER).ok()?;
    let path = text.strip_prefix(before)?;
    let end = path
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    Some(PathBuf::from(OsStr::from_bytes(&path[..=end])))
}

/// Whether the repository in `directory` contains links to files elsewhere. The target of a link must be `known`; a
/// dangling link gives git nothing.
fn links_out(directory: &Path, known: &impl Fn(&Path) -> bool) -> bool {
    PARTS.iter().any(|part| {
        let entries = directory.join(part).read_dir();
        entries.into_iter().flatten().flatten().any(|entry| {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            is_link
                && entry
                    .path()
                    .canonicalize()
                    .is_ok_and(|leads_to| !known(&leads_to))
        })
    })
}

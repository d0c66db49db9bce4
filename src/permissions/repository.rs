//! What a repository would make git start: programs that its own configuration names, a hook, a submodule with a
//! configuration of its own.
//!
//! Nobody is asked before a git command that only looks, so nothing of the repository may run with it. What the person's
//! own configuration names is hers. Whatever cannot be read counts as naming a program.

mod config;
mod index;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use self::config::{Danger, dangers};
use crate::config::read_regular;

const LONGEST_CONFIG: u64 = 1_000_000;
const LONGEST_INDEX: u64 = 200_000_000;
const LONGEST_POINTER: u64 = 10_000;

/// The only hook that a command which only looks may run.
const HOOK: &str = "post-index-change";

/// Why git would start a program of the repository around `directory`, or leave its work tree; `None` if it would not.
pub fn starts(directory: &Path) -> Option<String> {
    for place in directory.ancestors() {
        let found = place.join(".git");
        if found.symlink_metadata().is_ok() {
            let Some(repository) = Repository::at(&found, place) else {
                return Some(format!("`{}` cannot be read", found.display()));
            };
            if let Some(why) = repository.starts() {
                return Some(why);
            }
            // One that git does not take for a repository is passed by.
            if repository.is_valid() {
                return None;
            }
        }
        if is_git_directory(place) {
            return Some("the directory is itself a repository without a work tree".to_owned());
        }
    }
    None
}

struct Repository<'p> {
    work_tree: &'p Path,
    git_dir: PathBuf,
    /// Where the configuration and the hooks are: another directory for a linked work tree.
    common_dir: PathBuf,
}

impl<'p> Repository<'p> {
    /// The repository of a `.git`, which may be a file that points elsewhere.
    fn at(found: &Path, work_tree: &'p Path) -> Option<Self> {
        let git_dir = if found.is_dir() {
            found.to_owned()
        } else {
            let text = read_text(found, LONGEST_POINTER)?;
            work_tree.join(text.strip_prefix("gitdir:")?.trim())
        };
        let pointer = git_dir.join("commondir");
        let common_dir = if pointer.symlink_metadata().is_ok() {
            git_dir.join(read_text(&pointer, LONGEST_POINTER)?.trim_end())
        } else {
            git_dir.clone()
        };
        Some(Self {
            work_tree,
            git_dir,
            common_dir,
        })
    }

    fn is_valid(&self) -> bool {
        self.git_dir.join("HEAD").symlink_metadata().is_ok()
            && self.common_dir.join("objects").is_dir()
            && self.common_dir.join("refs").is_dir()
    }

    fn starts(&self) -> Option<String> {
        let mut hooks = vec![self.common_dir.join("hooks")];
        for file in [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ] {
            if file.symlink_metadata().is_err() {
                continue;
            }
            let Some(text) = read_text(&file, LONGEST_CONFIG) else {
                return Some(format!("`{}` cannot be read", file.display()));
            };
            for danger in dangers(&text) {
                match danger {
                    Danger::Key(key) => {
                        return Some(format!("the repository's configuration sets `{key}`"));
                    }
                    Danger::Hooks(path) => hooks.push(self.work_tree.join(path)),
                }
            }
        }
        if hooks
            .iter()
            .any(|directory| directory.join(HOOK).symlink_metadata().is_ok())
        {
            return Some(format!("the repository has a hook `{HOOK}`"));
        }
        self.submodule()
    }

    /// git looks into a submodule with the configuration that it finds there.
    fn submodule(&self) -> Option<String> {
        let file = self.git_dir.join("index");
        if file.symlink_metadata().is_err() {
            return None;
        }
        let links = read_regular(&file, LONGEST_INDEX)
            .ok()
            .and_then(|index| index::links(&index));
        let Some(links) = links else {
            return Some(format!("`{}` cannot be read", file.display()));
        };
        links
            .iter()
            .find(|path| {
                self.work_tree
                    .join(path)
                    .join(".git")
                    .symlink_metadata()
                    .is_ok()
            })
            .map(|path| {
                format!(
                    "the submodule `{}` has its own configuration",
                    path.display()
                )
            })
    }
}

fn is_git_directory(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

fn read_text(file: &Path, limit: u64) -> Option<String> {
    String::from_utf8(read_regular(file, limit).ok()?).ok()
}

//! Where git keeps ignore patterns outside of the tree: for a repository, and for the user.
//!
//! These files are read like ignore files: only regular files of limited size.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::config::read_regular;

/// A pointer to a git directory is one line.
const LONGEST_POINTER: u64 = 16 << 10;
const LONGEST_CONFIG: u64 = 1 << 20;

/// `info/exclude` of the repository with this `.git`; in a worktree `.git` is a file that points to the repository.
pub fn of_repository(git: &Path, data: &Metadata) -> Option<PathBuf> {
    if data.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let line = first_line(git)?;
    let git = PathBuf::from(line.strip_prefix("gitdir: ")?);
    let common = first_line(&git.join("commondir"))?;
    // Joining an absolute path replaces the first part.
    Some(git.join(common).join("info/exclude"))
}

fn first_line(file: &Path) -> Option<String> {
    let bytes = read_regular(file, LONGEST_POINTER).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.lines().next().map(str::to_owned)
}

/// The user's own file for all repositories, as named in git's configuration.
pub fn global() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = variable("HOME").map(PathBuf::from);
    let folder = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")))
        .map(|folder| folder.join("git"));
    let system = variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
    let configurations = [
        variable("GIT_CONFIG_GLOBAL").map(PathBuf::from),
        home.as_ref().map(|home| home.join(".gitconfig")),
        folder.as_ref().map(|folder| folder.join("config")),
        Some(PathBuf::from(system)),
    ];
    let configured = configurations.into_iter().flatten().find_map(|file| {
        let bytes = read_regular(&file, LONGEST_CONFIG).ok()?;
        excludes_file(&String::from_utf8_lossy(&bytes))
    });
    let Some(file) = configured else {
        return folder.map(|folder| folder.join("ignore"));
    };
    Some(match (file.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(file),
    })
}

/// The value of `core.excludesFile`, found as the `ignore` crate does it: by the key alone, in any section.
fn excludes_file(configuration: &str) -> Option<String> {
    configuration.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        if !key.trim().eq_ignore_ascii_case("excludesfile") {
            return None;
        }
        let value = value.trim().trim_matches('"').trim();
        let is_one_word = !value.is_empty() && !value.contains(char::is_whitespace);
        is_one_word.then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::excludes_file;

    #[test]
    fn the_global_file_is_named_in_the_configuration() {
        let found = |text: &str| excludes_file(text);
        assert_eq!(found("[core]\n\teditor = vi\n"), None);
        assert_eq!(
            found("[core]\n\tExcludesFile = \"~/.ignored\"\n").as_deref(),
            Some("~/.ignored")
        );
        assert_eq!(found("excludesfile="), None);
    }
}

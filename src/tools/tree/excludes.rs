//! Where git keeps the patterns that are not in the tree: of a repository, and of the person.
//!
//! What is read on the way is read like an ignore file: as a regular file of a sensible size.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::config::read_regular;

/// A pointer to a git directory is one line.
const LONGEST_POINTER: u64 = 16 << 10;
const LONGEST_CONFIG: u64 = 1 << 20;

/// `info/exclude` of the repository whose `.git` this is; a worktree has a file there that leads to it.
pub fn of_repository(git: &Path, data: &Metadata) -> Option<PathBuf> {
    if data.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let line = first_line(git)?;
    let git = PathBuf::from(line.strip_prefix("gitdir: ")?);
    let common = first_line(&git.join("commondir"))?;
    // One that is absolute replaces what it is joined to.
    Some(git.join(common).join("info/exclude"))
}

fn first_line(file: &Path) -> Option<String> {
    let bytes = read_regular(file, LONGEST_POINTER).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.lines().next().map(str::to_owned)
}

/// The person's own file for all repositories, wherever the configuration says that it is.
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

/// The value of `core.excludesFile`, found as the `ignore` crate finds it: by the name of the key alone.
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

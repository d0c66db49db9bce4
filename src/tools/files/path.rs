//! From the path in a call's input to a place on the disk.
//!
//! [`resolve`] is pure: it says which path was meant. [`locate`] asks the disk which file that is, following links.
//! The real path is the key of the ledger and of the locks, so that two names of one file count as one file.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::FileError;
/// A path for the model and for people: control characters in a name are made visible.
pub use crate::tools::tree::names::show as shown;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// Something is there; its path without links, `.` and `..`.
    Existing(PathBuf),
    /// Nothing is there. `directory` is the nearest existing directory, `missing` the names that do not exist.
    Missing {
        directory: PathBuf,
        missing: Vec<OsString>,
    },
}

/// The longest path that the system accepts, without the terminating NUL.
const MAX_BYTES: usize = 4095;

/// The absolute path of the file that `input` means.
pub fn resolve_file(input: &str, cwd: &Path) -> Result<PathBuf, FileError> {
    if input.ends_with('/') {
        return Err(FileError::BadPath(format!(
            "`{}` names a directory. Give the path of a file",
            shown(Path::new(input))
        )));
    }
    resolve(input, cwd)
}

/// The absolute path that `input` means: `~/` is the home directory, and a relative path starts at `cwd`.
pub fn resolve(input: &str, cwd: &Path) -> Result<PathBuf, FileError> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    resolve_with_home(input, cwd, home.as_deref())
}

fn resolve_with_home(input: &str, cwd: &Path, home: Option<&Path>) -> Result<PathBuf, FileError> {
    if input.is_empty() {
        return Err(FileError::BadPath("The path is empty".into()));
    }
    if input.contains('\0') {
        return Err(FileError::BadPath(
            "The path has a NUL character, which no path can have".into(),
        ));
    }
    let path = match (input.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => cwd.join(input),
    };
    // Directories could be created one by one to any depth, but then nothing could open the file by its path.
    if path.as_os_str().len() > MAX_BYTES {
        return Err(FileError::BadPath(format!(
            "The path is longer than {MAX_BYTES} bytes, the most that the system takes"
        )));
    }
    // Collecting the components drops `.` and doubled slashes. `..` stays, because its meaning depends on links.
    Ok(path.components().collect())
}

/// Follows `path` on the disk.
pub fn locate(path: &Path) -> Result<Located, FileError> {
    match path.canonicalize() {
        Ok(real) => return Ok(Located::Existing(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(blocked_by_a_file(path));
        }
        Err(error) => return Err(FileError::io("reach", path, &error)),
    }
    let mut missing = Vec::new();
    let mut rest = path;
    loop {
        // A dangling link: creating its target would write to a place that the call did not name.
        if rest.is_symlink() {
            return Err(FileError::BadPath(format!(
                "{} is a symbolic link to {}, which does not exist. Create the target, or remove the link",
                shown(rest),
                rest.read_link()
                    .map_or_else(|_| "?".into(), |to| shown(&to)),
            )));
        }
        let (Some(Component::Normal(name)), Some(parent)) =
            (rest.components().next_back(), rest.parent())
        else {
            return Err(FileError::BadPath(format!(
                "{} uses `..` after a directory that does not exist",
                shown(path)
            )));
        };
        missing.push(name.to_owned());
        match parent.canonicalize() {
            Ok(directory) if directory.is_dir() => {
                missing.reverse();
                return Ok(Located::Missing { directory, missing });
            }
            Ok(_) => return Err(blocked_by_a_file(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => rest = parent,
            Err(error) => return Err(FileError::io("reach", parent, &error)),
        }
    }
}

fn blocked_by_a_file(path: &Path) -> FileError {
    let file = path.ancestors().skip(1).find(|parent| parent.is_file());
    FileError::BadPath(format!(
        "{} cannot exist: {} is a file, not a directory",
        shown(path),
        file.map_or_else(|| "a part of it".into(), shown)
    ))
}

/// Whether `path` is `directory` or below it, as the disk sees both.
pub fn is_inside(path: &Path, directory: &Path) -> bool {
    directory
        .canonicalize()
        .is_ok_and(|directory| path.starts_with(directory))
}

/// A path for the screen: relative to the workspace if it is inside.
pub fn shown_from(path: &Path, workspace: &Path) -> String {
    shown(path.strip_prefix(workspace).unwrap_or(path))
}

/// Names in the directory of `path` that are close to its own: for "did you mean".
pub fn similar_names(path: &Path) -> Vec<PathBuf> {
    /// The most entries that are looked at, so that a typing error is answered quickly.
    const MOST_ENTRIES: usize = 10_000;
    const MOST_NAMES: usize = 3;
    let (Some(parent), Some(wanted)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let wanted = wanted.to_string_lossy().to_lowercase();
    let Ok(entries) = parent.read_dir() else {
        return Vec::new();
    };
    let mut near: Vec<(usize, OsString)> = entries
        .take(MOST_ENTRIES)
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let lower = name.to_string_lossy().to_lowercase();
            let same_stem = Path::new(&lower).file_stem() == Path::new(&wanted).file_stem();
            let distance = if same_stem {
                1
            } else {
                strsim::levenshtein(&lower, &wanted)
            };
            (distance * 3 <= wanted.chars().count()).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.truncate(MOST_NAMES);
    near.into_iter()
        .map(|(_, name)| parent.join(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::{Located, locate, resolve_with_home, shown, similar_names};

    fn resolved(input: &str) -> Result<PathBuf, String> {
        resolve_with_home(input, Path::new("/project"), Some(Path::new("/home/me")))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn paths_start_at_the_working_directory_or_at_home() {
        for (input, expected) in [
            ("a.rs", "/project/a.rs"),
            ("./a//b/./c", "/project/a/b/c"),
            ("../a", "/project/../a"),
            ("/etc/hosts", "/etc/hosts"),
            ("~/x", "/home/me/x"),
            ("~", "/home/me"),
            ("~user/x", "/project/~user/x"),
            (" -rf", "/project/ -rf"),
        ] {
            assert_eq!(resolved(input), Ok(expected.into()), "{input}");
        }
    }

    #[test]
    fn empty_paths_and_nul_are_refused() {
        assert_eq!(resolved(""), Err("The path is empty".into()));
        assert!(resolved("a\0b").is_err_and(|error| error.contains("NUL")));
    }

    #[test]
    fn a_missing_file_is_located_by_the_nearest_directory_that_exists() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        assert_eq!(
            locate(&root.join("a/b/c.txt")).ok(),
            Some(Located::Missing {
                directory: root.clone(),
                missing: vec!["a".into(), "b".into(), "c.txt".into()],
            })
        );
    }

    #[test]
    fn links_are_followed_and_dangling_ones_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        std::fs::write(root.join("file"), "").expect("write");
        symlink(root.join("file"), root.join("link")).expect("link");
        symlink(root.join("nowhere"), root.join("dangling")).expect("link");
        assert_eq!(
            locate(&root.join("link")).ok(),
            Some(Located::Existing(root.join("file")))
        );
        let error = |path: &str| locate(&root.join(path)).map_err(|error| error.to_string());
        assert!(error("dangling").is_err_and(|text| text.contains("symbolic link")));
        assert!(error("dangling/x").is_err_and(|text| text.contains("symbolic link")));
        assert!(error("file/x").is_err_and(|text| text.contains("is a file, not a directory")));
        assert!(error("none/../x").is_err_and(|text| text.contains("`..`")));
    }

    #[test]
    fn close_names_are_suggested_nearest_first() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["main.rs", "man.rs", "main.py", "other.toml"] {
            std::fs::write(dir.path().join(name), "").expect("write");
        }
        let names = similar_names(&dir.path().join("mian.rs"));
        assert_eq!(
            names,
            ["man.rs", "main.rs"].map(|name| dir.path().join(name))
        );
        assert_eq!(
            similar_names(&dir.path().join("zzz")),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn control_characters_in_names_are_made_visible() {
        assert_eq!(
            shown(Path::new("/a\n\u{1b}[31m/\u{202e}txt.exe")),
            "/a\\n\\u{1b}[31m/\\u{202e}txt.exe"
        );
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9\xe2\x80\xa8\xd8\x9c");
        assert_eq!(shown(Path::new(name)), "caf\\xe9\\u{2028}\\u{61c}");
    }
}

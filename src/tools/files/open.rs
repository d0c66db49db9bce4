//! Opening a file for reading, whatever it turns out to be.
//!
//! Opening a FIFO waits for a writer, opening a device can have effects, and reading `/dev/zero` never ends. So the
//! type is checked before opening, the open itself never waits, and the type is checked again on the open file.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::error::FileError;
use super::path::{is_inside, shown, similar_names};
use super::place::open_real;
use super::stamp::Stamp;
use crate::permissions::Places;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Source {
    pub file: File,
    /// Its path without links.
    pub real: PathBuf,
    /// Its stamp when it was opened, to detect a change while it is being read.
    pub stamp: Stamp,
}

/// Opens the regular file at `path`, following links. For a missing file, similar names are suggested only inside the
/// workspace: nobody has allowed listing directories elsewhere.
pub fn open(path: &Path, workspace: &Path, places: &Places) -> Result<Source, FileError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => missing(path, workspace),
        _ => FileError::io("read", path, &error),
    };
    let metadata = path.metadata().map_err(failed)?;
    check_type(path, metadata.file_type())?;
    let real = path.canonicalize().map_err(failed)?;
    if !places.admit(&real) {
        return Err(FileError::Moved { path: shown(path) });
    }
    let file = open_real(&real).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    check_type(path, metadata.file_type())?;
    Ok(Source {
        stamp: Stamp::of(&metadata),
        file,
        real,
    })
}

/// Refuses everything that is not a regular file, and says what it is.
pub fn check_type(path: &Path, file_type: FileType) -> Result<(), FileError> {
    const NO_END: &str = "Reading it could wait forever or never end: use Bash with a timeout";
    let (kind, advice) = if file_type.is_file() {
        return Ok(());
    } else if file_type.is_dir() {
        (
            "a directory",
            "Use LS or Glob, or `ls` with Bash, to see what is in it",
        )
    } else if file_type.is_fifo() {
        ("a FIFO (named pipe)", NO_END)
    } else if file_type.is_socket() {
        ("a socket", NO_END)
    } else if file_type.is_char_device() {
        ("a character device", NO_END)
    } else if file_type.is_block_device() {
        ("a block device", NO_END)
    } else {
        ("of an unknown type", NO_END)
    };
    Err(FileError::NotAFile {
        path: shown(path),
        kind,
        advice,
    })
}

/// The error for a missing file, with the names that may have been meant.
pub fn missing(path: &Path, workspace: &Path) -> FileError {
    let parent = path.parent().unwrap_or(path);
    if let Ok(target) = path.read_link() {
        return FileError::Missing {
            path: shown(path),
            hint: format!(" It is a link to {}, which does not exist", shown(&target)),
        };
    }
    let hint = match parent.canonicalize() {
        Ok(real) if is_inside(&real, workspace) => {
            let names: Vec<String> = similar_names(path).iter().map(|name| shown(name)).collect();
            if names.is_empty() {
                format!(" The workspace is {}", shown(workspace))
            } else {
                format!(" Did you mean {}?", names.join(" or "))
            }
        }
        Ok(_) => String::new(),
        Err(_) => {
            let existing = path.ancestors().skip(1).find(|parent| parent.is_dir());
            existing.map_or_else(String::new, |existing| {
                format!(
                    " Its directory does not exist either; the nearest that does is {}",
                    shown(existing)
                )
            })
        }
    };
    FileError::Missing {
        path: shown(path),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::open;
    use crate::permissions::Places;

    /// The message for a path that is not a regular file. If opening waited, the test would hang here.
    fn refused(path: &Path) -> String {
        let error =
            open(path, Path::new("/nowhere"), &Places::default()).expect_err("not a regular file");
        error.to_string()
    }

    #[test]
    fn files_that_never_end_are_refused_at_once_by_their_type() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .expect("mkfifo");
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).expect("bind");
        for (path, kind) in [
            (fifo.as_path(), "a FIFO"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a character device"),
            (dir.path(), "a directory"),
        ] {
            let text = refused(path);
            assert!(text.contains(kind), "{text}");
        }
    }

    #[test]
    fn a_missing_file_names_its_neighbours_inside_the_workspace_only() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("config.toml"), "").expect("write");
        let wrong = dir.path().join("confg.toml");
        let error = |workspace: &Path| {
            open(&wrong, workspace, &Places::default()).map_err(|error| error.to_string())
        };
        let suggestion = format!("Did you mean {}?", dir.path().join("config.toml").display());
        assert!(error(dir.path()).is_err_and(|text| text.ends_with(&suggestion)));
        assert!(error(Path::new("/nowhere")).is_err_and(|text| !text.contains("config.toml")));
    }

    #[test]
    fn a_link_to_nothing_is_named_as_such() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("a link");
        let error = open(&link, dir.path(), &Places::default()).expect_err("missing");
        let output = error.to_string();
        assert!(
            output.ends_with("It is a link to nowhere, which does not exist"),
            "{output}"
        );
    }

    #[test]
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let error =
            open(&dir.path().join("a/b/c"), dir.path(), &Places::default()).expect_err("missing");
        let expected = format!("the nearest that does is {}", dir.path().display());
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

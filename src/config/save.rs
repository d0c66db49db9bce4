//! Changes one place in a settings file on disk: locked, read again, replaced as a whole or not at all.
//!
//! Several programs may do this at the same time; none loses the changes of another. A file that cannot be parsed is
//! never changed. Everything here blocks: not for an async thread.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use super::edit::Change;
use super::json::Wrong;
use super::{LONGEST_FILE, open_regular, read_regular};

/// How long to wait for another program's lock; it needs a few milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("`{path}`, {wrong}")]
    Wrong { path: PathBuf, wrong: Wrong },
    #[error("`{path}` points outside the workspace")]
    Outside { path: PathBuf },
    #[error("`{path}`: {problem}")]
    Io { path: PathBuf, problem: io::Error },
}

impl SaveError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |problem| Self::Io { path, problem }
    }
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileAccess {
    Private,
    /// The permissions that the person's umask gives new files.
    Ordinary,
}

/// Sets a setting in the person's own file, which is created if it is missing.
pub fn set(file: &Path, key: &str, value: &str) -> Result<(), SaveError> {
    change(file, &Change::Set(&[key], value.into()))
}

/// Changes the person's own file, which is created if it is missing.
pub fn change(file: &Path, change: &Change<'_>) -> Result<(), SaveError> {
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder).map_err(SaveError::io(folder))?;
    // The file itself is replaced, so it cannot be the one that is locked.
    let _lock = lock(&folder.join(".settings.lock")).map_err(SaveError::io(file))?;
    // For people who manage their configuration files in one place, this is a link.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    change_locked(&real, change, NewFileAccess::Private)
}

/// Changes a file whose lock the caller holds.
pub fn change_locked(
    file: &Path,
    change: &Change<'_>,
    access: NewFileAccess,
) -> Result<(), SaveError> {
    let text = match read_regular(file, LONGEST_FILE) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
            .map_err(SaveError::io(file))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}\n".to_owned(),
        Err(error) => return Err(SaveError::io(file)(error)),
    };
    let (mark, json) = match text.strip_prefix('\u{feff}') {
        Some(json) => ("\u{feff}", json),
        None => ("", text.as_str()),
    };
    let changed = change.apply(json).map_err(|wrong| SaveError::Wrong {
        path: file.to_owned(),
        wrong,
    })?;
    match changed {
        Some(json) => replace(file, &format!("{mark}{json}"), access).map_err(SaveError::io(file)),
        None => Ok(()),
    }
}

/// One writer at a time, until the returned file is dropped.
pub fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let file = open_regular(path, &mut options)?;
    let until = Instant::now() + MAX_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                // A random pause, so that waiting programs do not retry at the same moment.
                std::thread::sleep(LOCK_PAUSE.mul_f64(0.5 + fastrand::f64()));
            }
            Err(TryLockError::WouldBlock) => {
                let problem = "another agent-tui has it locked";
                return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The mode of a file.
#[derive(Clone, Copy)]
enum Mode {
    /// What the umask leaves of this.
    New(u32),
    /// Exactly this mode, from the old file.
    Kept(u32),
}

/// Writes the whole text or nothing; an existing file keeps its mode.
pub fn replace(path: &Path, text: &str, access: NewFileAccess) -> io::Result<()> {
    let mode = match path.metadata() {
        Ok(data) => Mode::Kept(data.permissions().mode() & 0o777),
        Err(_) => Mode::New(match access {
            NewFileAccess::Private => 0o600,
            NewFileAccess::Ordinary => 0o666,
        }),
    };
    put(path, text.as_bytes(), mode)?;
    // Sync the directory too, so that the new name is on the disk; best effort.
    let folder = path.parent().unwrap_or(path);
    let _ = File::open(folder).and_then(|folder| folder.sync_data());
    Ok(())
}

/// Writes the whole content, readable by its owner only, or nothing.
pub fn put_private(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, Mode::New(0o600))
}

/// The same without waiting for the disk: after a crash of the machine it may be truncated.
pub fn put_private_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = beside(path, content, Mode::New(0o600))?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes to a temporary file in the same directory, syncs it and renames it; an error leaves nothing behind.
fn put(path: &Path, content: &[u8], mode: Mode) -> io::Result<()> {
    let temporary = beside(path, content, mode)?;
    temporary.as_file().sync_data()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn beside(path: &Path, content: &[u8], mode: Mode) -> io::Result<NamedTempFile> {
    let (Mode::New(bits) | Mode::Kept(bits)) = mode;
    let permissions = Permissions::from_mode(bits);
    let mut temporary = tempfile::Builder::new()
        .prefix(".agent-tui-")
        .permissions(permissions.clone())
        .tempfile_in(path.parent().unwrap_or(path))?;
    temporary.write_all(content)?;
    if let Mode::Kept(_) = mode {
        temporary.as_file().set_permissions(permissions)?;
    }
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_changes_and_the_rest_of_the_file_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("config/settings.json");
        set(&file, "theme", "dark").expect("made");
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it may contain secrets later");
        std::fs::write(&file, r#"{"z": 1, "theme":"dark", "a": {"b": []}}"#).expect("written");
        set(&file, "theme", "light").expect("changed");
        let text = std::fs::read_to_string(&file).expect("readable");
        assert_eq!(text, r#"{"z": 1, "theme":"light", "a": {"b": []}}"#);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("settings.json");
        for broken in ["{\"theme\": ", "[]", "\u{0}"] {
            std::fs::write(&file, broken).expect("written");
            assert!(set(&file, "theme", "light").is_err());
            assert_eq!(std::fs::read_to_string(&file).expect("readable"), broken);
        }
    }

    #[test]
    fn a_link_stays_a_link_and_a_byte_order_mark_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "\u{feff}{}").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        set(&link, "theme", "dark").expect("changed");
        assert!(link.is_symlink());
        let text = std::fs::read_to_string(&real).expect("readable");
        assert_eq!(text, "\u{feff}{\n  \"theme\": \"dark\"\n}");
    }
}

//! Where sessions are stored: one folder for each workspace, one file for each session.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::log::{Contents, Log, OpenError};
use super::record::{Record, VERSION};
use crate::config::dirs::{create_private_dir, short_workspace_key};
use crate::config::open_regular;
use crate::protocol::SessionId;

#[cfg(test)]
mod tests;

/// How much of a log is read to see whether it contains a message.
const BEGINNING: u64 = 256 << 10;

pub struct Store {
    root: PathBuf,
}

/// An existing session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub id: SessionId,
    pub path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no session with the ID `{0}`")]
    NoSuchSession(String),
    #[error("several session IDs start with `{0}`")]
    Ambiguous(String),
    #[error("no session to continue in this directory")]
    NothingToContinue,
    #[error("another agent-tui is using this session")]
    InUse,
    #[error("`{path}`: {problem}")]
    Unusable { path: PathBuf, problem: OpenError },
}

impl Store {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A new session of the workspace `cwd`.
    pub fn create(
        &self,
        cwd: &Path,
        forked_from: Option<SessionId>,
    ) -> Result<(SessionId, Log), StoreError> {
        let folder = self.folder(cwd);
        let unusable = |problem: OpenError| StoreError::Unusable {
            path: folder.clone(),
            problem,
        };
        create_private_dir(&folder).map_err(|error| unusable(error.into()))?;
        let id = new_id();
        let mut log = Log::create(&folder.join(format!("{id}.jsonl"))).map_err(unusable)?;
        let first = Record::Session {
            version: VERSION,
            id: id.clone(),
            cwd: cwd.to_owned(),
            forked_from,
        };
        log.write(&first).map_err(|error| unusable(error.into()))?;
        Ok((id, log))
    }

    pub fn open(&self, found: &Found) -> Result<(Log, Contents), StoreError> {
        Log::open(&found.path).map_err(|problem| match problem {
            OpenError::InUse => StoreError::InUse,
            problem @ OpenError::Io(_) => StoreError::Unusable {
                path: found.path.clone(),
                problem,
            },
        })
    }

    /// Whether a program has the session open now.
    pub fn is_open(found: &Found) -> bool {
        super::log::is_locked(&found.path)
    }

    /// Copies a session, so that the original stays as it is.
    pub fn fork(
        &self,
        found: &Found,
        cwd: &Path,
    ) -> Result<(SessionId, Log, Contents), StoreError> {
        let unusable = |error: io::Error| StoreError::Unusable {
            path: found.path.clone(),
            problem: error.into(),
        };
        let contents = super::log::read_file(&found.path).map_err(unusable)?;
        let (id, mut log) = self.create(cwd, Some(found.id.clone()))?;
        for line in &contents.lines {
            if !matches!(line.record, Record::Session { .. }) {
                log.copy(line).map_err(unusable)?;
            }
        }
        Ok((id, log, contents))
    }

    /// The most recently written session of `cwd`.
    pub fn last(&self, cwd: &Path) -> Result<Found, StoreError> {
        let begun = self
            .all(cwd)
            .into_iter()
            .find(|found| has_begun(&found.path));
        begun.ok_or(StoreError::NothingToContinue)
    }

    /// The sessions of `cwd`, most recently written first.
    pub fn all(&self, cwd: &Path) -> Vec<Found> {
        newest_first(sessions_in(&self.folder(cwd)))
    }

    /// The sessions of all directories, most recently written first.
    pub fn everywhere(&self) -> Vec<Found> {
        newest_first(self.folders().flat_map(|it| sessions_in(&it)).collect())
    }

    /// Deletes a session, unless a program has it open.
    pub fn remove(&self, found: &Found) -> Result<(), StoreError> {
        // Holds the lock until the file is removed.
        let _log = self.open(found)?;
        std::fs::remove_file(&found.path).map_err(|error| StoreError::Unusable {
            path: found.path.clone(),
            problem: error.into(),
        })
    }

    /// Gives a session a title, unless a program has it open. Its age stays the same.
    pub fn rename(&self, found: &Found, title: &str) -> Result<(), StoreError> {
        let unusable = |error: io::Error| StoreError::Unusable {
            path: found.path.clone(),
            problem: error.into(),
        };
        let written = std::fs::metadata(&found.path).and_then(|data| data.modified());
        let (mut log, _) = self.open(found)?;
        let title = title.to_owned();
        log.write(&Record::Renamed { title }).map_err(unusable)?;
        if let (Ok(written), Some(file)) = (written, log.file_to_sync()) {
            file.set_modified(written).map_err(unusable)?;
        }
        Ok(())
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = std::fs::read_dir(&self.root).into_iter();
        folders.flatten().flatten().map(|folder| folder.path())
    }

    /// The session with this id, or whose id begins with it.
    pub fn find(&self, id: &str) -> Result<Found, StoreError> {
        let folders = self.folders();
        let all: Vec<Found> = folders.flat_map(|it| sessions_in(&it)).collect();
        if let Some(exact) = all.iter().find(|found| found.id.0 == id) {
            return Ok(exact.clone());
        }
        let mut alike = all
            .into_iter()
            .filter(|found| !id.is_empty() && found.id.0.starts_with(id));
        match (alike.next(), alike.next()) {
            (Some(found), None) => Ok(found),
            (None, _) => Err(StoreError::NoSuchSession(id.to_owned())),
            (Some(_), Some(_)) => Err(StoreError::Ambiguous(id.to_owned())),
        }
    }

    /// A folder name that people recognise and that is unique to the workspace.
    fn folder(&self, cwd: &Path) -> PathBuf {
        let name = cwd
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let plain: String = name
            .chars()
            .filter(|letter| letter.is_alphanumeric() || "-_.".contains(*letter))
            .take(40)
            .collect();
        self.root
            .join(format!("{plain}-{}", short_workspace_key(cwd)))
    }
}

/// Whether a session contains a message: the first one is near the beginning.
fn has_begun(path: &Path) -> bool {
    let Ok(file) = open_regular(path, OpenOptions::new().read(true)) else {
        return false;
    };
    let mut beginning = Vec::new();
    let read = file.take(BEGINNING).read_to_end(&mut beginning);
    read.is_ok() && memchr::memmem::find(&beginning, br#""kind":"user""#).is_some()
}

fn newest_first(mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_cached_key(|found| {
        let data = std::fs::metadata(&found.path);
        let written = data.and_then(|data| data.modified()).ok();
        std::cmp::Reverse((written, found.id.clone()))
    });
    all
}

fn sessions_in(folder: &Path) -> Vec<Found> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let paths = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths
        .filter_map(|path| {
            let id = SessionId(path.file_stem()?.to_str()?.to_owned());
            Some(Found { id, path })
        })
        .collect()
}

/// Sorts by time, is readable as a time, and is unique.
pub fn new_id() -> SessionId {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let letters: String = (0..6).map(|_| fastrand::lowercase()).collect();
    SessionId(format!("{now}-{letters}"))
}

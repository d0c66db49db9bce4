//! The append-only file of one session.
//!
//! A record is in the file (the kernel has it) when [`Log::write`] returns. The disk has it once [`Log::file_to_sync`] was synced.
//! The file is locked while it is open, so that two programs never write into one session.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::record::{Line, Record};

#[cfg(test)]
mod tests;

/// A line longer than this is not read back: it could only be damage.
const LONGEST_LINE: usize = 256 << 20;

const LOCK_TRIES: u32 = 30;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

pub struct Log {
    /// `None` when the session cannot be saved at all: then it lives in memory.
    file: Option<File>,
    path: PathBuf,
    next_seq: u64,
    /// How long the file is: what to cut it back to when a write fails half-way.
    len: u64,
    buffer: Vec<u8>,
    /// What must never be written.
    keys: Vec<String>,
    /// Lines to write: the present one, and before it those that could not be written (disk full, say).
    backlog: Vec<u8>,
}

/// What a log had in it.
#[derive(Debug, Default, PartialEq)]
pub struct Contents {
    pub records: Vec<Record>,
    /// Lines that were passed over: damaged, or of a kind this program does not know.
    pub passed_over: usize,
    next_seq: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the session is in use by another agent-tui")]
    InUse,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Log {
    /// A new log. Fails if the file exists.
    pub fn create(path: &Path) -> Result<Self, OpenError> {
        let file = OpenOptions::new()
            .append(true)
            .read(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        lock(&file)?;
        Ok(Self::over(file, path))
    }

    /// A log that keeps nothing, for a machine that lets us write nowhere.
    pub fn nowhere() -> Self {
        Self {
            file: None,
            path: PathBuf::new(),
            next_seq: 0,
            len: 0,
            buffer: Vec::new(),
            keys: crate::config::keys(),
            backlog: Vec::new(),
        }
    }

    /// An existing log, with what is in it. Half a line at its end is cut off.
    pub fn open(path: &Path) -> Result<(Self, Contents), OpenError> {
        let mut file = OpenOptions::new().append(true).read(true).open(path)?;
        make_private(&file)?;
        lock(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
        }
        let contents = read(&bytes[..whole]);
        let log = Self {
            next_seq: contents.next_seq,
            len: whole as u64,
            ..Self::over(file, path)
        };
        Ok((log, contents))
    }

    fn over(file: File, path: &Path) -> Self {
        Self {
            file: Some(file),
            path: path.to_owned(),
            ..Self::nowhere()
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a record. An error leaves it in the backlog: nothing is lost while the program lives.
    pub fn write(&mut self, record: Record) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let line = Line {
            seq: self.next_seq,
            at_ms: now_ms(),
            record,
        };
        self.next_seq = self.next_seq.saturating_add(1);
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, &line).map_err(io::Error::other)?;
        crate::config::without_keys(&mut self.buffer, &self.keys);
        self.buffer.push(b'\n');
        self.backlog.append(&mut self.buffer);
        self.append_backlog()
    }

    /// Half a line must never stay in the middle of the file: a write that fails is taken back.
    fn append_backlog(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if let Err(error) = file.write_all(&self.backlog) {
            self.take_back();
            return Err(error);
        }
        self.len += self.backlog.len() as u64;
        self.backlog.clear();
        Ok(())
    }

    fn take_back(&mut self) {
        let Some(file) = &self.file else { return };
        if file.set_len(self.len).is_ok() {
            return;
        }
        // What cannot be taken back becomes a line of its own, which a reader passes over.
        if let Ok(data) = file.metadata() {
            self.len = data.len();
        }
        if !self.backlog.starts_with(b"\n") {
            self.backlog.insert(0, b'\n');
        }
    }

    /// Hands out the file, for syncing it where waiting does no harm.
    pub fn file_to_sync(&self) -> Option<File> {
        self.file.as_ref()?.try_clone().ok()
    }
}

/// A log that others can read or write becomes private; one that belongs to somebody else is not ours to go on with.
fn make_private(file: &File) -> io::Result<()> {
    let data = file.metadata()?;
    if data.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to somebody else",
        ));
    }
    if data.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Takes the file for this program alone. A program that was killed can leave a child behind that has not yet let go of
/// the file, so it is waited for, shortly.
fn lock(file: &File) -> Result<(), OpenError> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    Err(OpenError::InUse)
}

/// What is in a log's bytes. Reads on behind damage: one bad line costs only itself.
pub fn read(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let parsed = if line.len() > LONGEST_LINE {
            None
        } else {
            serde_json::from_slice::<Line>(line).ok()
        };
        match parsed {
            Some(line) => {
                contents.next_seq = contents.next_seq.max(line.seq.saturating_add(1));
                contents.records.push(line.record);
            }
            None => contents.passed_over += 1,
        }
    }
    contents
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

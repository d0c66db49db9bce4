//! The append-only file of one session.
//!
//! A record is in the file (in the kernel) when [`Log::write`] returns. It is on the disk once [`Log::file_to_sync`]
//! was synced. The file is locked while it is open, so that two programs never write to one session. If another
//! program removes, moves or truncates it, the next write notices and saves the whole session again in the same
//! place.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::lines::{self, Piece};
use super::memory_copy::MemoryCopy;
use super::record::{Line, Record, VERSION};
use super::version1::Converter;
use crate::config::dirs::create_private_dir;
use crate::config::open_regular;
use crate::protocol::{AgentId, Recorded, Seq};

#[cfg(test)]
mod tests;

/// How much of a log is read at once.
const BLOCK: usize = 256 << 10;

const LOCK_TRIES: u32 = 30;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

pub struct Log {
    /// `None` if the session cannot be saved at all and exists only in memory.
    file: Option<File>,
    path: PathBuf,
    next_seq: u64,
    /// The length of the file, to truncate it to if a write fails half-way.
    len: u64,
    buffer: Vec<u8>,
    /// Secrets that must never be written.
    keys: Vec<String>,
    /// Lines to write: the current one, after those that could not be written (disk full, for example).
    backlog: Vec<u8>,
    /// The content of the file, as far as it is needed.
    memory: MemoryCopy,
}

/// The content of a log.
#[derive(Debug, Default, PartialEq)]
pub struct Contents {
    pub lines: Vec<Line>,
    /// Skipped lines: damaged, or of a kind that this program does not know.
    pub skipped: usize,
    /// The length of an incomplete last line.
    pub cut_off: u64,
    next_seq: u64,
    old: Converter,
}

/// The part that every line has.
#[derive(serde::Deserialize)]
struct Number {
    seq: u64,
}

impl Contents {
    /// Adds a line, if it is a record.
    fn take(&mut self, line: &[u8], memory: &mut MemoryCopy) -> bool {
        let Some((seq, lines)) = self.old.read(line) else {
            // Records that only a newer version knows have numbers too.
            if let Ok(Number { seq }) = serde_json::from_slice(line) {
                self.next_seq = self.next_seq.max(seq.saturating_add(1));
            }
            return false;
        };
        self.next_seq = self.next_seq.max(seq.0.saturating_add(1));
        if let Some(parsed) = lines.last() {
            let mut whole = line.to_vec();
            whole.push(b'\n');
            memory.add(parsed.agent, &parsed.record, &whole);
        }
        self.lines.extend(lines);
        true
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.lines.iter().map(|line| &line.record)
    }

    /// What a person should know who resumes the session.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let first = self.records().next();
        match first {
            None => remarks.push("the session log is unreadable; starting empty".into()),
            Some(Record::Session { version, .. }) if *version > VERSION => remarks.push(format!(
                "this session was written by a newer agent-tui (format {version}, this one knows {VERSION}); skipping what it doesn't know"
            )),
            Some(Record::Session { .. }) => {}
            Some(_) => remarks.push(
                "the beginning of the session log is missing; continuing with the rest".into(),
            ),
        }
        if self.skipped > 0 {
            let lines = self.skipped;
            remarks.push(format!(
                "skipped unreadable lines in the session log: {lines}"
            ));
        }
        if self.cut_off > 0 {
            remarks.push("the last line of the session log was cut off and is missing".into());
        }
        remarks
    }
}

/// How a record was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    AsUsual,
    /// The file had been changed by another program, and was written again as a whole.
    Restored(Loss),
}

/// What had happened to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Removed,
    CutShort,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another agent-tui is using this session")]
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

    /// A log without a file, for a machine on which we can write nowhere.
    pub fn without_file() -> Self {
        Self {
            file: None,
            path: PathBuf::new(),
            next_seq: 0,
            len: 0,
            buffer: Vec::new(),
            keys: crate::config::keys(),
            backlog: Vec::new(),
            memory: MemoryCopy::default(),
        }
    }

    /// An existing log with its content. An incomplete last line is cut off.
    pub fn open(path: &Path) -> Result<(Self, Contents), OpenError> {
        let file = open_regular(path, OpenOptions::new().append(true).read(true))?;
        make_private(&file)?;
        lock(&file)?;
        let mut memory = MemoryCopy::default();
        let (contents, read) = read_from(BufReader::with_capacity(BLOCK, &file), &mut memory)?;
        let len = end_last_line(&file, &contents, &read)?;
        let log = Self {
            next_seq: contents.next_seq,
            len,
            memory,
            ..Self::over(file, path)
        };
        Ok((log, contents))
    }

    fn over(file: File, path: &Path) -> Self {
        Self {
            file: Some(file),
            path: path.to_owned(),
            ..Self::without_file()
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a record of the person's conversation.
    pub fn write(&mut self, record: &Record) -> io::Result<Saved> {
        self.append(AgentId::MAIN, record).1
    }

    /// Writes a record of a conversation, and returns its number. After an error the record stays in the backlog:
    /// nothing is lost while the program runs.
    pub fn append(&mut self, agent: AgentId, record: &Record) -> (Recorded, io::Result<Saved>) {
        let line = self.line(now_ms(), agent, record);
        let recorded = Recorded {
            seq: line.seq,
            at_ms: line.at_ms,
        };
        (recorded, self.write_line(&line))
    }

    /// Writes a line of another log, with a new number.
    pub fn copy(&mut self, line: &Line) -> io::Result<Saved> {
        let line = self.line(line.at_ms, line.agent, &line.record);
        self.write_line(&line)
    }

    fn line<'r>(&mut self, at_ms: u64, agent: AgentId, record: &'r Record) -> Line<&'r Record> {
        let seq = Seq(self.next_seq);
        self.next_seq = self.next_seq.saturating_add(1);
        Line {
            seq,
            at_ms,
            agent,
            record,
        }
    }

    fn write_line(&mut self, line: &Line<&Record>) -> io::Result<Saved> {
        if self.file.is_none() {
            return Ok(Saved::AsUsual);
        }
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, line).map_err(io::Error::other)?;
        crate::config::without_keys(&mut self.buffer, &self.keys);
        self.buffer.push(b'\n');
        self.memory.add(line.agent, line.record, &self.buffer);
        self.backlog.append(&mut self.buffer);
        let saved = self.ensure_saved()?;
        self.append_backlog()?;
        Ok(saved)
    }

    /// Makes sure that the file is in its place and complete.
    pub fn ensure_saved(&mut self) -> io::Result<Saved> {
        let Some(loss) = self.loss()? else {
            return Ok(Saved::AsUsual);
        };
        self.save_again(loss)?;
        Ok(Saved::Restored(loss))
    }

    /// Whether there is a file at all.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    fn loss(&self) -> io::Result<Option<Loss>> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let ours = file.metadata()?;
        if ours.len() < self.len {
            return Ok(Some(Loss::CutShort));
        }
        Ok(match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => None,
            Ok(_) => Some(Loss::Removed),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Some(Loss::Removed),
                // Its state is unknown at the moment, so continue to write to it.
                _ => None,
            },
        })
    }

    /// Writes the whole content to a new file in the same place: from the old file, which is still open, or from
    /// memory if that was truncated. Another program's file in this place is renamed.
    fn save_again(&mut self, loss: Loss) -> io::Result<()> {
        let Some(old) = &mut self.file else {
            return Ok(());
        };
        let folder = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
        create_private_dir(folder)?;
        let mut new = tempfile::Builder::new()
            .prefix(".session-")
            .append(true)
            .tempfile_in(folder)?;
        let len = match loss {
            Loss::Removed => {
                old.seek(SeekFrom::Start(0))?;
                io::copy(&mut old.take(self.len), new.as_file_mut())?
            }
            Loss::CutShort => {
                let lines = self.memory.whole().ok_or_else(|| {
                    io::Error::other(
                        "the file was cut short, and was too long to be kept in memory",
                    )
                })?;
                // They include the backlog.
                self.backlog.clear();
                let mut len = 0;
                for line in lines {
                    new.write_all(line)?;
                    len += line.len() as u64;
                }
                len
            }
        };
        lock(new.as_file()).map_err(io::Error::other)?;
        if loss == Loss::Removed && self.path.exists() {
            let aside = self
                .path
                .with_extension(format!("jsonl.{:08x}", fastrand::u32(..)));
            std::fs::rename(&self.path, aside)?;
        }
        let file = new.persist(&self.path).map_err(|error| error.error)?;
        self.file = Some(file);
        self.len = len;
        Ok(())
    }

    /// An incomplete line must never stay in the middle of the file: a failed write is undone.
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
        // If it cannot be undone, it becomes a separate line, which readers skip.
        if let Ok(data) = file.metadata() {
            self.len = data.len();
        }
        if !self.backlog.starts_with(b"\n") {
            self.backlog.insert(0, b'\n');
        }
    }

    /// The file, to be synced on a thread for blocking work.
    pub fn file_to_sync(&self) -> Option<File> {
        self.file.as_ref()?.try_clone().ok()
    }
}

/// Completes a last line that only lacks its end, and cuts off an incomplete one. Returns the new length of the file.
fn end_last_line(mut file: &File, contents: &Contents, read: &lines::Read) -> io::Result<u64> {
    if read.rest == 0 {
        return Ok(read.whole);
    }
    if contents.cut_off == 0 && !read.last.is_empty() {
        file.write_all(b"\n")?;
        return Ok(read.whole + read.rest + 1);
    }
    file.set_len(read.whole)?;
    Ok(read.whole)
}

/// Makes a log private that others can read or write. Refuses one that another user owns.
fn make_private(file: &File) -> io::Result<()> {
    let data = file.metadata()?;
    if data.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is owned by another user",
        ));
    }
    if data.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Locks the file for this program. A child of a killed program may still hold the lock, so wait for a moment.
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

/// Whether a program has the log open.
pub fn is_locked(path: &Path) -> bool {
    let Ok(file) = open_regular(path, OpenOptions::new().read(true)) else {
        return false;
    };
    // The lock is released at the end of this function; a program that opens the log in between tries again.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The content of a log. Continues after damage: one bad line costs only itself.
pub fn read(bytes: &[u8]) -> Contents {
    let read = read_from(bytes, &mut MemoryCopy::default());
    read.map(|(contents, _)| contents).unwrap_or_default()
}

/// The content of the log at `path`, without changing it.
pub fn read_file(path: &Path) -> io::Result<Contents> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let source = BufReader::with_capacity(BLOCK, file);
    Ok(read_from(source, &mut MemoryCopy::default())?.0)
}

fn read_from(source: impl BufRead, memory: &mut MemoryCopy) -> io::Result<(Contents, lines::Read)> {
    let mut contents = Contents::default();
    let read = lines::read(source, |piece| {
        let is_record = match piece {
            Piece::Line(line) => contents.take(line, memory),
            Piece::Damaged => false,
        };
        contents.skipped += usize::from(!is_record);
    })?;
    let is_blank = read.last.is_empty() && read.rest == 0;
    if !is_blank && !contents.take(&read.last, memory) {
        contents.cut_off = read.rest;
    }
    Ok((contents, read))
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

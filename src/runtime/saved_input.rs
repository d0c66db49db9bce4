//! What the input saves on disk: the history of all sessions, and this session's draft.
//!
//! The history is one file of JSON lines that all running programs append to. Each program holds a lock on its draft
//! file; a draft without a lock was left by a crash, and the next program in that workspace takes it over.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::config::dirs::{create_private_dir, short_workspace_key};
use crate::config::open_regular;
use crate::config::save::put_private;

/// With more entries the history is cut to half of this.
const MOST_ENTRIES: usize = 2_000;
/// How much of the end of the file is read, and so the most that is kept.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct SavedInput {
    history: PathBuf,
    drafts: PathBuf,
    /// The prefix of this workspace's drafts.
    workspace: String,
    draft: Option<DraftFile>,
}

/// This program's draft, locked while it runs.
#[derive(Debug)]
struct DraftFile {
    path: PathBuf,
    file: File,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    text: String,
}

impl SavedInput {
    pub fn new(data: &Path, workspace: &Path) -> Self {
        Self {
            history: data.join("history.jsonl"),
            drafts: data.join("drafts"),
            workspace: short_workspace_key(workspace),
            draft: None,
        }
    }

    /// What was sent, from the oldest to the newest. Cuts the file if it has become too long.
    pub fn history(&self) -> io::Result<Vec<String>> {
        let opened = open_regular(&self.history, OpenOptions::new().read(true));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let texts = read_entries(&mut file)?;
        if texts.len() > MOST_ENTRIES || file.metadata()?.len() > MOST_BYTES {
            self.cut_history()?;
        }
        Ok(texts)
    }

    pub fn add_to_history(&self, text: &str) -> io::Result<()> {
        let mut file = self.lock_history()?;
        let mut line = entry(text);
        if !ends_with_newline(&file)? {
            // Another program was interrupted while writing; that must not damage this entry.
            line.insert(0, b'\n');
        }
        file.write_all(&line)
    }

    /// Saves the draft, or deletes it if it is empty.
    pub fn keep_draft(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return match self.draft.take() {
                Some(draft) => std::fs::remove_file(draft.path),
                None => Ok(()),
            };
        }
        let line = entry(text);
        let draft = match self.draft.take() {
            Some(draft) => draft,
            None => self.create_draft()?,
        };
        draft.file.write_all_at(&line, 0)?;
        draft.file.set_len(line.len() as u64)?;
        self.draft = Some(draft);
        Ok(())
    }

    /// Takes over the newest draft of this workspace whose program ended without sending it.
    pub fn left_draft(&mut self) -> io::Result<Option<String>> {
        let mut left: Vec<(SystemTime, PathBuf)> = match std::fs::read_dir(&self.drafts) {
            Ok(entries) => entries
                .filter_map(Result::ok)
                .filter(|entry| {
                    entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(&self.workspace)
                })
                .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        left.sort_unstable();
        for (_, path) in left.into_iter().rev() {
            if let Some(text) = self.take_over(path)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn take_over(&mut self, path: PathBuf) -> io::Result<Option<String>> {
        let opened = open_regular(&path, OpenOptions::new().read(true).write(true));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Another program may have taken it over and sent it.
        if !is_at(&file, &path)? {
            return Ok(None);
        }
        let text = read_entries(&mut file)?.pop();
        self.draft = Some(DraftFile { path, file });
        Ok(text)
    }

    fn create_draft(&self) -> io::Result<DraftFile> {
        create_private_dir(&self.drafts)?;
        let name = format!("{}-{:016x}", self.workspace, fastrand::u64(..));
        let path = self.drafts.join(name);
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)?;
        file.lock()?;
        Ok(DraftFile { path, file })
    }

    /// Opens the history for appending, with an exclusive lock. The file may be replaced while waiting for the lock.
    fn lock_history(&self) -> io::Result<File> {
        if let Some(folder) = self.history.parent() {
            create_private_dir(folder)?;
        }
        loop {
            let mut options = OpenOptions::new();
            options.create(true).append(true).read(true).mode(0o600);
            let file = open_regular(&self.history, &mut options)?;
            file.lock()?;
            if is_at(&file, &self.history)? {
                return Ok(file);
            }
        }
    }

    /// Replaces the file by one with its newer half.
    fn cut_history(&self) -> io::Result<()> {
        let mut locked = self.lock_history()?;
        let texts = read_entries(&mut locked)?;
        let newer = texts.len().saturating_sub(MOST_ENTRIES / 2);
        let entries: Vec<u8> = texts[newer..].iter().flat_map(|text| entry(text)).collect();
        put_private(&self.history, &entries)
    }
}

/// Whether a path still leads to a file that was opened there.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn entry(text: &str) -> Vec<u8> {
    let text = crate::config::hidden(text.to_owned());
    let mut line = serde_json::to_vec(&Entry { text }).expect("a text can be written as JSON");
    line.push(b'\n');
    line
}

/// The texts of the last lines of a file. Invalid lines are skipped.
fn read_entries(file: &mut File) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    Ok(entries.map(|entry| entry.text).collect())
}

fn ends_with_newline(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let Some(last) = length.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use tempfile::TempDir;

    use super::{MOST_ENTRIES, SavedInput};

    fn keep(data: &TempDir, workspace: &str) -> SavedInput {
        SavedInput::new(&data.path().join("data"), Path::new(workspace))
    }

    #[test]
    fn sent_messages_are_in_the_next_sessions_history_and_private() {
        let data = TempDir::new().expect("a directory");
        assert_eq!(keep(&data, "/w").history().expect("read"), [""; 0]);
        for text in ["one", "two\nlines \u{1b}", "three"] {
            keep(&data, "/w").add_to_history(text).expect("written");
        }
        let history = keep(&data, "/other").history().expect("read");
        assert_eq!(history, ["one", "two\nlines \u{1b}", "three"]);
        let file = std::fs::metadata(data.path().join("data/history.jsonl")).expect("there");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_torn_line_damages_only_itself() {
        let data = TempDir::new().expect("a directory");
        keep(&data, "/w").add_to_history("one").expect("written");
        let path = data.path().join("data/history.jsonl");
        let mut torn = std::fs::read(&path).expect("there");
        torn.extend(b"{\"text\":\"tor");
        std::fs::write(&path, torn).expect("written");
        keep(&data, "/w").add_to_history("two").expect("written");
        assert_eq!(keep(&data, "/w").history().expect("read"), ["one", "two"]);
    }

    #[test]
    fn many_writers_and_a_cut_lose_nothing_that_is_new() {
        let data = TempDir::new().expect("a directory");
        for number in 0..=MOST_ENTRIES {
            keep(&data, "/w")
                .add_to_history(&format!("old {number}"))
                .expect("written");
        }
        std::thread::scope(|scope| {
            for writer in 0..20 {
                let data = &data;
                scope.spawn(move || {
                    let keep = keep(data, "/w");
                    for number in 0..20 {
                        let text = format!("{writer} {number} {}", "x".repeat(5_000));
                        keep.add_to_history(&text).expect("written");
                    }
                    keep.history().expect("read");
                });
            }
        });
        let history = keep(&data, "/w").history().expect("read");
        let new = history
            .iter()
            .filter(|text| !text.starts_with("old"))
            .count();
        assert_eq!(new, 400);
        assert!(history.len() <= MOST_ENTRIES);
        assert!(history.contains(&format!("old {MOST_ENTRIES}")));
    }

    #[test]
    fn a_draft_is_taken_over_from_a_program_that_crashed() {
        let data = TempDir::new().expect("a directory");
        let mut crashed = keep(&data, "/w");
        crashed.keep_draft("a long draft").expect("written");
        crashed.keep_draft("draft").expect("written");
        let mut next = keep(&data, "/w");
        assert_eq!(next.left_draft().expect("read"), None, "it still runs");
        drop(crashed);
        assert_eq!(keep(&data, "/other").left_draft().expect("read"), None);
        assert_eq!(next.left_draft().expect("read"), Some("draft".into()));
        next.keep_draft("").expect("removed");
        drop(next);
        assert_eq!(keep(&data, "/w").left_draft().expect("read"), None);
    }
}

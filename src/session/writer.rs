//! The one log of a session, shared by the conversations that write to it.
//!
//! Cheap to clone. The lock is held while one record is written and numbered, and never across an await.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::log::{Log, Loss, Saved};
use super::record::Record;
use crate::config::plain;
use crate::protocol::{AgentId, Recorded};

#[derive(Clone)]
pub struct Writer(Arc<Mutex<Shared>>);

struct Shared {
    log: Log,
    /// The log could not be written. Reported once, until it works again.
    unsaved: bool,
}

/// A record that is in the log, or at least in memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    pub record: Recorded,
    /// What has changed about the log itself.
    pub changes: Vec<LogChange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogChange {
    /// The file had been changed by another program, and was written again as a whole.
    Restored { path: PathBuf, loss: Loss },
    /// It can no longer be written.
    Unsaved {
        path: PathBuf,
        /// A short text, and the full error of the system.
        problem: String,
        error: String,
    },
    /// It can be written again.
    SavedAgain,
}

impl Writer {
    pub fn new(log: Log) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            log,
            unsaved: false,
        })))
    }

    pub fn write(&self, agent: AgentId, record: &Record) -> Written {
        let mut shared = self.shared();
        let (record, saved) = shared.log.append(agent, record);
        let changes = shared.changes_after(&saved);
        Written { record, changes }
    }

    /// Checks, before the program ends, that the log file is in its place.
    pub fn ensure_saved(&self) -> Vec<LogChange> {
        let mut shared = self.shared();
        let saved = shared.log.ensure_saved();
        shared.changes_after(&saved)
    }

    /// Whether there is a file at all.
    pub fn has_file(&self) -> bool {
        self.shared().log.has_file()
    }

    pub fn path(&self) -> PathBuf {
        self.shared().log.path().to_owned()
    }

    /// The file, to be synced on a thread for blocking work.
    pub fn file_to_sync(&self) -> Option<File> {
        self.shared().log.file_to_sync()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// What has changed about the log after a write.
    fn changes_after(&mut self, written: &io::Result<Saved>) -> Vec<LogChange> {
        let path = || self.log.path().to_owned();
        let mut changes = Vec::new();
        if let Ok(Saved::Restored(loss)) = *written {
            let path = path();
            changes.push(LogChange::Restored { path, loss });
        }
        if written.is_err() != self.unsaved {
            changes.push(match written {
                Ok(_) => LogChange::SavedAgain,
                Err(error) => LogChange::Unsaved {
                    path: path(),
                    problem: plain(error),
                    error: error.to_string(),
                },
            });
            self.unsaved = written.is_err();
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::{LogChange, Writer};
    use crate::protocol::AgentId;
    use crate::session::log::{Log, Loss, read_file};
    use crate::session::{History, Record};

    fn writer(folder: &Path) -> Writer {
        Writer::new(Log::create(&folder.join("s.jsonl")).expect("a new log"))
    }

    fn prompt(text: impl Into<String>) -> Record {
        let message = crate::protocol::Message::user(text);
        Record::User { message }
    }

    #[test]
    fn conversations_that_write_at_once_get_unique_numbers() {
        let folder = tempfile::tempdir().expect("a directory");
        let writer = writer(folder.path());
        let write = |agent: u32| {
            let writer = writer.clone();
            let numbers = (0..100).map(move |number| {
                let record = prompt(format!("{agent}/{number}"));
                writer.write(AgentId(agent), &record).record.seq
            });
            numbers.collect::<Vec<_>>()
        };
        let numbers: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (1..=5)
                .map(|agent| scope.spawn(move || write(agent)))
                .collect();
            let all = all.into_iter();
            all.flat_map(|one| one.join().expect("no panic")).collect()
        });
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 500);
        let contents = read_file(&writer.path()).expect("readable");
        assert!(contents.lines.is_sorted_by_key(|line| line.seq));
        for agent in 1..=5 {
            let history = History::of(&contents.lines, AgentId(agent));
            let texts: Vec<String> = history
                .messages()
                .iter()
                .map(crate::protocol::Message::text)
                .collect();
            let expected: Vec<String> = (0..100).map(|it| format!("{agent}/{it}")).collect();
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn lines_of_the_main_conversation_do_not_name_it() {
        let folder = tempfile::tempdir().expect("a directory");
        let writer = writer(folder.path());
        writer.write(AgentId::MAIN, &Record::Discarded);
        writer.write(AgentId(7), &Record::Discarded);
        let text = std::fs::read_to_string(writer.path()).expect("readable");
        let named: Vec<bool> = text.lines().map(|it| it.contains("\"agent\":7")).collect();
        assert_eq!(named, [false, true]);
        assert!(!text.lines().next().expect("a line").contains("agent"));
    }

    #[test]
    fn changes_of_the_file_are_reported_once() {
        let folder = tempfile::tempdir().expect("a directory");
        let writer = writer(folder.path());
        let path = writer.path();
        assert_eq!(writer.write(AgentId::MAIN, &prompt("one")).changes, []);
        std::fs::remove_file(&path).expect("removed");
        let loss = Loss::Removed;
        let changes = writer.write(AgentId(7), &prompt("two")).changes;
        assert_eq!(changes, [LogChange::Restored { path, loss }]);
        assert_eq!(writer.write(AgentId::MAIN, &prompt("three")).changes, []);
        std::fs::remove_dir_all(folder.path()).expect("removed");
        std::fs::write(folder.path(), "in the way").expect("written");
        let changes = writer.write(AgentId::MAIN, &prompt("four")).changes;
        assert!(
            matches!(changes[..], [LogChange::Unsaved { .. }]),
            "{changes:?}"
        );
        assert_eq!(writer.write(AgentId(7), &prompt("five")).changes, []);
        std::fs::remove_file(folder.path()).expect("removed");
        let changes = writer.ensure_saved();
        assert!(changes.contains(&LogChange::SavedAgain), "{changes:?}");
    }
}

//! The one log of a session, shared by the conversations that write to it.
//!
//! Cheap to clone. The lock is held while one record is written and numbered, and never while anything is waited for.

use std::fs::File;
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
    /// The log could not be written; said once, until it works again.
    unsaved: bool,
}

/// A record that is in the log, or at least in memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    pub record: Recorded,
    /// What has changed about the log itself.
    pub news: Vec<News>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The file was not what it had been, and was written as a whole.
    Anew { path: PathBuf, loss: Loss },
    /// It cannot be written any more.
    Unsaved {
        path: PathBuf,
        /// In a few words, and with all that the machine says about it.
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
        let news = shared.news(saved);
        Written { record, news }
    }

    /// Sees to it, when the program is about to end, that the log is where a person will look for it.
    pub fn make_sure(&self) -> Vec<News> {
        let mut shared = self.shared();
        let saved = shared.log.make_sure();
        shared.news(saved)
    }

    /// Whether the file is kept at all.
    pub fn is_kept(&self) -> bool {
        self.shared().log.is_kept()
    }

    pub fn path(&self) -> PathBuf {
        self.shared().log.path().to_owned()
    }

    /// Hands out the file, for syncing it where waiting does no harm.
    pub fn file_to_sync(&self) -> Option<File> {
        self.shared().log.file_to_sync()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// What is new about the log, after it was written to.
    fn news(&mut self, written: std::io::Result<Saved>) -> Vec<News> {
        let path = || self.log.path().to_owned();
        let mut news = Vec::new();
        if let Ok(Saved::Anew(loss)) = written {
            let path = path();
            news.push(News::Anew { path, loss });
        }
        if written.is_err() != self.unsaved {
            news.push(match &written {
                Ok(_) => News::SavedAgain,
                Err(error) => News::Unsaved {
                    path: path(),
                    problem: plain(error),
                    error: error.to_string(),
                },
            });
            self.unsaved = written.is_err();
        }
        news
    }
}

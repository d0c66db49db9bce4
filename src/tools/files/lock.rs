//! One writer at a time for each file, within this process and between processes.
//!
//! Two calls that read, change and write one file must not interleave, or one change is lost. [`PathLock`] is global
//! to the process and not part of a session, because subagents have their own conversations but share the disk.
//! [`Locks`] keep other processes of this program away while a file is checked and replaced. Other programs do not
//! know these locks; `atomic` detects their changes after the exchange.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::config::dirs::create_private_dir;
use crate::config::open_regular;

/// How long to wait for another process that is replacing the file. A stopped process would hold the lock forever.
const MAX_WAIT: Duration = Duration::from_secs(10);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

static LOCKED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
static RELEASED: Condvar = Condvar::new();

/// Held from before a file is read until its new content is in place.
#[derive(Debug)]
pub struct PathLock {
    real: PathBuf,
}

impl PathLock {
    /// Waits until nobody holds `real`, a path without links. Blocks the thread: not for async code.
    pub fn acquire(real: &Path) -> Self {
        let locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut locked = RELEASED
            .wait_while(locked, |locked| locked.contains(real))
            .unwrap_or_else(PoisonError::into_inner);
        locked.insert(real.to_owned());
        Self {
            real: real.to_owned(),
        }
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        LOCKED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.real);
        RELEASED.notify_all();
    }
}

/// The locks that all processes with the same data directory share.
#[derive(Debug, Clone)]
pub struct Locks {
    directory: PathBuf,
}

/// Another process holds the lock and did not release it in time.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

impl Locks {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Keeps other processes away from `real`, a path without links, until the returned file is dropped. If no lock
    /// can be created, for example because the data directory is read-only, there is none.
    pub fn hold(&self, real: &Path) -> Result<Option<File>, Busy> {
        let file = match self.open(real) {
            Ok(file) => file,
            Err(problem) => {
                tracing::warn!(%problem, "no lock between processes");
                return Ok(None);
            }
        };
        let since = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(problem)) => {
                    tracing::warn!(%problem, "no lock between processes");
                    return Ok(None);
                }
                Err(TryLockError::WouldBlock) if since.elapsed() > MAX_WAIT => return Err(Busy),
                Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Many paths share a lock file: so there are never more than 256, and none has to be removed while others wait
    /// for it.
    fn open(&self, real: &Path) -> io::Result<File> {
        create_private_dir(&self.directory)?;
        let hash = Sha256::digest(real.as_os_str().as_encoded_bytes());
        let path = self.directory.join(format!("{:02x}", hash[0]));
        let mut options = OpenOptions::new();
        options.write(true).create(true).mode(0o600);
        open_regular(&path, &mut options)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{Locks, PathLock};

    #[test]
    fn the_second_process_waits_for_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let locks = Locks::new(dir.path().join("locks"));
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let lock = locks.hold(Path::new("/a")).expect("in time");
                        assert!(lock.is_some());
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn without_a_writable_lock_directory_files_can_still_be_changed() {
        let lock = Locks::new("/dev/null/locks").hold(Path::new("/a"));
        assert!(lock.is_ok_and(|lock| lock.is_none()));
    }

    #[test]
    fn one_path_is_held_by_one_thread_at_a_time() {
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _lock = PathLock::acquire(Path::new("/lock/test/a"));
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn different_paths_do_not_wait_for_each_other() {
        let _a = PathLock::acquire(Path::new("/lock/test/b"));
        let _b = PathLock::acquire(Path::new("/lock/test/c"));
    }
}

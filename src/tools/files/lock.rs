//! One writer at a time for each file: of this process, and of all that run.
//!
//! Two calls that read, change and write one file must not interleave, or one change is lost. [`PathLock`] is for the
//! whole process, not for a session: subagents have conversations of their own, but the same disk. [`Locks`] keep other
//! processes of this program away while a file is checked and replaced. Programs that know nothing of them are left to
//! `atomic`, which sees afterwards what it has replaced.

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

/// How long another process may take to check and replace a file. One that was stopped there never ends.
const PATIENCE: Duration = Duration::from_secs(10);
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

/// Another process holds the lock, and goes on holding it.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

impl Locks {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Keeps others away from `real`, a path without links, until what is returned is dropped. Where no lock can be had,
    /// as in a data directory that cannot be written to, there is none.
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
                Err(TryLockError::WouldBlock) if since.elapsed() > PATIENCE => return Err(Busy),
                Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A file for many paths: so there are never more than 256, and none has to be removed while others wait for it.
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
    fn what_one_holds_the_next_one_waits_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let locks = Locks::new(dir.path().join("locks"));
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let held = locks.hold(Path::new("/a")).expect("in time");
                        assert!(held.is_some());
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn without_a_place_for_locks_the_work_goes_on() {
        let held = Locks::new("/dev/null/locks").hold(Path::new("/a"));
        assert!(held.is_ok_and(|held| held.is_none()));
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

//! One writer at a time for each file of this process.
//!
//! Two calls that read, change and write one file must not interleave, or one change is lost. The lock is for the
//! whole process, not for a session: subagents have conversations of their own, but the same disk. Against other
//! processes there is no lock; for them the file is checked again immediately before it is replaced.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::PathLock;

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

//! Keeps the first results in sort order, whatever order the threads find them in.
//!
//! A parallel walk finds files in no particular order, so stopping it after N results would give a different N each
//! time. Instead, results beyond the limit are dropped, and the key of the last kept one becomes a *bound*: files
//! that sort after it do not have to be searched any more. So the answer is always the same, the memory is limited,
//! and most of the work after the bound is saved.

use std::cmp::{Ordering, Reverse};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How many results are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub lines: usize,
    pub bytes: usize,
}

/// The position of a result in the answer: newest first, then by path. Searches that sort only by path give all files
/// the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    modified: Reverse<SystemTime>,
    path: PathBuf,
}

/// A result, and how much of the limit it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<T> {
    pub key: Key,
    pub lines: usize,
    pub bytes: usize,
    pub value: T,
}

/// The results of all threads.
pub struct First<T> {
    limit: Limit,
    collected: Mutex<Collected<T>>,
    /// Counts changes of the bound, so that a thread can check without a lock whether its copy is current.
    changes: AtomicUsize,
    more: AtomicBool,
}

struct Collected<T> {
    entries: Vec<Entry<T>>,
    total: Limit,
    bound: Option<Key>,
}

/// One thread's access to a [`First`]: it passes results on in batches, the last one when dropped.
pub struct ThreadResults<'a, T> {
    first: &'a First<T>,
    batch: Vec<Entry<T>>,
    batched: Limit,
    bound: Option<Key>,
    changes: usize,
}

/// Large enough that threads rarely wait for the lock.
const BATCH: Limit = Limit {
    lines: 256,
    bytes: 64 * 1024,
};

impl Key {
    pub fn newest_first(modified: SystemTime, path: PathBuf) -> Self {
        Self {
            modified: Reverse(modified),
            path,
        }
    }

    pub fn by_path(path: PathBuf) -> Self {
        Self::newest_first(SystemTime::UNIX_EPOCH, path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn into_path(self) -> PathBuf {
        self.path
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.modified
            .cmp(&other.modified)
            .then_with(|| compare_paths(&self.path, &other.path))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> First<T> {
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            collected: Mutex::new(Collected {
                entries: Vec::new(),
                total: Limit { lines: 0, bytes: 0 },
                bound: None,
            }),
            changes: AtomicUsize::new(0),
            more: AtomicBool::new(false),
        }
    }

    pub fn thread_results(&self) -> ThreadResults<'_, T> {
        ThreadResults {
            first: self,
            batch: Vec::new(),
            batched: Limit { lines: 0, bytes: 0 },
            bound: None,
            changes: 0,
        }
    }

    /// The results in order, and whether there were, or may have been, more.
    ///
    /// The last one may exceed the limit: only the caller knows how to cut a result.
    pub fn finish(self) -> (Vec<Entry<T>>, bool) {
        self.prune(&mut self.lock());
        let collected = self
            .collected
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        (collected.entries, self.more.into_inner())
    }

    /// Sorts, and drops what is over the limit.
    fn prune(&self, collected: &mut Collected<T>) {
        collected.entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut total = Limit { lines: 0, bytes: 0 };
        let full = collected.entries.iter().position(|entry| {
            total.lines += entry.lines;
            total.bytes += entry.bytes;
            total.lines >= self.limit.lines || total.bytes >= self.limit.bytes
        });
        collected.total = total;
        if let Some(last) = full {
            if last + 1 < collected.entries.len() {
                collected.entries.truncate(last + 1);
                self.more.store(true, Memory::Relaxed);
            }
            collected.bound = Some(collected.entries[last].key.clone());
            self.changes.fetch_add(1, Memory::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Collected<T>> {
        // A thread that panicked fails the whole search, so its partial results are never shown.
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> ThreadResults<'_, T> {
    pub fn add(&mut self, entry: Entry<T>) {
        self.batched.lines += entry.lines;
        self.batched.bytes += entry.bytes;
        self.batch.push(entry);
        let first = self.first.limit;
        if self.batched.lines >= BATCH.lines.min(first.lines)
            || self.batched.bytes >= BATCH.bytes.min(first.bytes)
        {
            self.flush();
        }
    }

    /// Whether a file, or something in a directory, can still become part of the answer. If not, the answer is
    /// incomplete. The time is only queried once there is a bound to compare it with.
    pub fn wants(&mut self, path: &Path, modified: impl FnOnce() -> SystemTime) -> bool {
        self.refresh();
        let Some(bound) = &self.bound else {
            return true;
        };
        let wants = Reverse(modified())
            .cmp(&bound.modified)
            .then_with(|| compare_paths(path, &bound.path))
            .is_le();
        if !wants {
            self.first.more.store(true, Memory::Relaxed);
        }
        wants
    }

    fn refresh(&mut self) {
        let changes = self.first.changes.load(Memory::Acquire);
        if changes != self.changes {
            self.changes = changes;
            self.bound.clone_from(&self.first.lock().bound);
        }
    }

    fn flush(&mut self) {
        let mut collected = self.first.lock();
        collected.total.lines += self.batched.lines;
        collected.total.bytes += self.batched.bytes;
        collected.entries.append(&mut self.batch);
        self.batched = Limit { lines: 0, bytes: 0 };
        // Sorting only at twice the limit keeps the cost per result constant.
        let limit = self.first.limit;
        let first_time = collected.bound.is_none();
        let slack = if first_time { 1 } else { 2 };
        if collected.total.lines >= limit.lines.saturating_mul(slack)
            || collected.total.bytes >= limit.bytes.saturating_mul(slack)
        {
            self.first.prune(&mut collected);
        }
    }
}

impl<T> Drop for ThreadResults<'_, T> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The order of a sorted walk: a directory comes right before its entries. So nothing in a directory after the bound
/// can be before it. `Path`'s own order is the same, but slower.
pub fn compare_paths(a: &Path, b: &Path) -> Ordering {
    let (a, b) = (
        a.as_os_str().as_encoded_bytes(),
        b.as_os_str().as_encoded_bytes(),
    );
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    rank(a.get(same)).cmp(&rank(b.get(same)))
}

fn rank(byte: Option<&u8>) -> u16 {
    match byte {
        None => 0,
        Some(&byte) if char::from(byte) == MAIN_SEPARATOR => 1,
        Some(&byte) => 2 + u16::from(byte),
    }
}

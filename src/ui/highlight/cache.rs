//! The colours that are known, and those that are requested.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::highlighter::MOST_BYTES;
use super::{CodeColours, Highlighted};

/// Identifies a piece of code in a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// Code that waits for its colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub key: Key,
    pub language: String,
    pub code: String,
}

/// Caches colours by code; the least recently used are dropped first. Missing ones are requested once.
#[derive(Debug)]
pub struct Highlights {
    hasher: RandomState,
    entries: HashMap<Key, Entry>,
    wanted: Vec<Request>,
    bytes: usize,
    most_bytes: usize,
    /// Counts the lookups; each entry stores the last one that used it.
    asked: u64,
    revision: u64,
    missed: bool,
}

#[derive(Debug)]
struct Entry {
    colours: Option<Arc<Highlighted>>,
    bytes: usize,
    used: u64,
}

const MOST_MEMORY: usize = 8 << 20;
/// The memory of an entry besides its colours.
const ENTRY: usize = 96;

impl Default for Highlights {
    fn default() -> Self {
        Self::bounded(MOST_MEMORY)
    }
}

impl Highlights {
    pub fn bounded(most_bytes: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            entries: HashMap::new(),
            wanted: Vec::new(),
            bytes: 0,
            most_bytes,
            asked: 0,
            revision: 0,
            missed: false,
        }
    }

    /// What the worker is to do next.
    pub fn take_wanted(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.wanted)
    }

    /// The worker's answer; without one (an unknown language) the code stays plain.
    pub fn ready(&mut self, key: Key, colours: Option<Highlighted>) {
        let colours = colours.unwrap_or_default();
        let bytes = colours.bytes() + ENTRY;
        self.insert(key, Some(Arc::new(colours)), bytes);
        self.revision += 1;
    }

    /// Whether colours were missing since the last call, so that what was laid out meanwhile is valid only for this
    /// revision.
    pub fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    fn insert(&mut self, key: Key, colours: Option<Arc<Highlighted>>, bytes: usize) {
        let used = self.asked;
        self.bytes += bytes;
        if let Some(old) = self.entries.insert(
            key,
            Entry {
                colours,
                bytes,
                used,
            },
        ) {
            self.bytes -= old.bytes;
        }
        if self.bytes > self.most_bytes {
            self.forget();
        }
    }

    /// Frees a quarter at once, so that the search for the oldest entries is rare.
    fn forget(&mut self) {
        let mut by_age: Vec<_> = self
            .entries
            .iter()
            .map(|(key, entry)| (entry.used, *key))
            .collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_age {
            if self.bytes <= self.most_bytes / 4 * 3 {
                break;
            }
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

impl CodeColours for Highlights {
    fn colours(&mut self, language: &str, code: &str) -> Option<Arc<Highlighted>> {
        if language.is_empty() || code.is_empty() || code.len() > MOST_BYTES {
            return Some(Arc::default());
        }
        self.asked += 1;
        let key = Key(self.hasher.hash_one((language, code)));
        let found = if let Some(entry) = self.entries.get_mut(&key) {
            entry.used = self.asked;
            entry.colours.clone()
        } else {
            self.wanted.push(Request {
                key,
                language: language.to_owned(),
                code: code.to_owned(),
            });
            self.insert(key, None, ENTRY);
            None
        };
        self.missed |= found.is_none();
        found
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

//! What the model has read, and may therefore change.
//!
//! For each file (by its path without links) it keeps the file's stamp, and which byte ranges were shown, each with a
//! hash. It hashes ranges and not the whole file, because reading one page must not cost a pass over ten gigabytes. A
//! tool that changes a file reads it whole anyway, and can then compare every range with its hash.
//!
//! A line that was cut for its length counts as read: the text to replace has to be given exactly, and the model can
//! only do that if it knows the line.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::stamp::{ContentHash, Stamp};
use crate::protocol::{SeenFile, SeenPart};

/// What was read, per file.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<State>,
    /// Every file counts as read.
    knows_all: bool,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<PathBuf, Entry>,
    /// The files whose entries have changed since this was last asked.
    changes: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    parts: Vec<Part>,
    /// Which lines were requested and shown. A Read of the same lines does not have to show them again.
    shown: Vec<(View, Part)>,
    /// The model was told to read the file again, so the next Read starts over: old parts that no longer match would
    /// make every further change fail.
    refused: bool,
}

/// A byte range of a file that the model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub bytes: Range<u64>,
    pub hash: ContentHash,
}

/// The lines that a Read asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub offset: u64,
    pub limit: u64,
}

/// Whether a Read shows anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Novelty {
    New,
    /// The same lines were shown before, and the file is still the same.
    Repeated,
}

/// Why a file may not be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    NotRead,
    Changed,
}

/// The bytes of a file that were seen: ranges in order that do not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen(Vec<Range<usize>>);

impl Ledger {
    /// For calls that a person makes: they need not read a file before they change it.
    pub fn of_person() -> Self {
        Self {
            knows_all: true,
            ..Self::default()
        }
    }

    /// Records that `part` of the file `real` was shown in answer to `view`.
    pub fn record_read(&self, real: &Path, stamp: Stamp, part: Part, view: View) -> Novelty {
        let State { entries, changes } = &mut *self.lock();
        let entry = entries
            .entry(real.to_owned())
            .or_insert_with(|| Entry::new(stamp));
        if entry.stamp != stamp || entry.refused {
            *entry = Entry::new(stamp);
        }
        let showing = (view, part.clone());
        if entry.shown.contains(&showing) {
            return Novelty::Repeated;
        }
        entry.parts.retain(|known| !known.is_within(&part));
        entry.parts.push(part);
        entry.shown.retain(|(known, _)| *known != view);
        entry.shown.push(showing);
        changes.insert(real.to_owned());
        Novelty::New
    }

    /// Records that the file `real` now has `content`, of which the model knows the ranges in `seen`.
    pub fn record_write(&self, real: &Path, stamp: Stamp, content: &[u8], seen: &Seen) {
        let mut entry = Entry::new(stamp);
        entry.parts = seen
            .0
            .iter()
            .map(|range| Part::of(content, range))
            .collect();
        let mut state = self.lock();
        state.entries.insert(real.to_owned(), entry);
        state.changes.insert(real.to_owned());
    }

    /// Checks that the file `real`, which now has this stamp and content, is as it was read. Returns what was read of
    /// it.
    pub fn check_unchanged(
        &self,
        real: &Path,
        stamp: Stamp,
        content: &[u8],
    ) -> Result<Seen, Stale> {
        let mut state = self.lock();
        let entry = match state.entries.get_mut(real) {
            Some(entry) => entry,
            None if self.knows_all => return Ok(Seen::all(content.len())),
            None => return Err(Stale::NotRead),
        };
        let same = entry.stamp == stamp && entry.parts.iter().all(|part| part.is_in(content));
        if entry.refused || !same {
            entry.refused = true;
            return Err(Stale::Changed);
        }
        Ok(Seen::new(entry.parts.iter().filter_map(Part::range)))
    }

    pub fn was_read(&self, real: &Path) -> bool {
        self.knows_all || self.lock().entries.contains_key(real)
    }

    /// Makes every later Read show its lines again. Needed when the model no longer has what it was shown: after the
    /// conversation was compacted or rewound.
    pub fn forget_shown(&self) {
        for entry in self.lock().entries.values_mut() {
            entry.shown.clear();
        }
    }

    /// What has changed since the last call of this function, for the log. A path that JSON can't express is left out.
    pub fn take_changes(&self) -> Vec<SeenFile> {
        let State { entries, changes } = &mut *self.lock();
        let changed = std::mem::take(changes).into_iter();
        let changed = changed.filter(|path| path.to_str().is_some());
        let changed = changed.filter_map(|path| Some(entries.get(&path)?.seen(path)));
        changed.collect()
    }

    /// Adds what an earlier run of the program has logged. Files that have changed since are found as any other.
    pub fn remember<'s>(&self, seen: impl IntoIterator<Item = &'s SeenFile>) {
        let mut state = self.lock();
        for file in seen {
            let entry = state.entries.entry(file.path.clone());
            entry.or_insert_with(|| Entry::logged(file));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn new(stamp: Stamp) -> Self {
        Self {
            stamp,
            parts: Vec::new(),
            shown: Vec::new(),
            refused: false,
        }
    }

    fn seen(&self, path: PathBuf) -> SeenFile {
        let parts = self.parts.iter().map(|part| SeenPart {
            from: part.bytes.start,
            to: part.bytes.end,
            hash: part.hash.to_string(),
        });
        SeenFile {
            path,
            modified: (self.stamp.mtime_seconds, self.stamp.mtime_nanoseconds),
            size: self.stamp.size,
            parts: parts.collect(),
        }
    }

    fn logged(file: &SeenFile) -> Self {
        let (mtime_seconds, mtime_nanoseconds) = file.modified;
        let stamp = Stamp {
            mtime_seconds,
            mtime_nanoseconds,
            size: file.size,
        };
        let parts = file.parts.iter().filter_map(|part| {
            let bytes = part.from..part.to;
            let hash = part.hash.parse().ok()?;
            Some(Part { bytes, hash })
        });
        Self {
            parts: parts.collect(),
            ..Self::new(stamp)
        }
    }
}

impl Part {
    pub fn of(content: &[u8], range: &Range<usize>) -> Self {
        Self {
            bytes: range.start as u64..range.end as u64,
            hash: ContentHash::of(content.get(range.clone()).unwrap_or_default()),
        }
    }

    /// A part that covers the whole file.
    pub fn whole(content: &[u8]) -> Self {
        Self::of(content, &(0..content.len()))
    }

    fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.bytes.start).ok()?;
        let end = usize::try_from(self.bytes.end).ok()?;
        Some(start..end)
    }

    fn is_within(&self, other: &Self) -> bool {
        other.bytes.start <= self.bytes.start && self.bytes.end <= other.bytes.end
    }

    fn is_in(&self, content: &[u8]) -> bool {
        self.range()
            .and_then(|range| content.get(range))
            .is_some_and(|bytes| ContentHash::of(bytes) == self.hash)
    }
}

impl Seen {
    pub fn new(ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    /// Everything in a content of this length.
    pub fn all(length: usize) -> Self {
        Self::new(std::iter::once(0..length))
    }

    pub fn covers(&self, range: &Range<usize>) -> bool {
        self.0
            .iter()
            .any(|seen| seen.start <= range.start && range.end <= seen.end)
    }

    /// The seen ranges after every boundary has moved as `moved` says.
    #[must_use]
    pub fn map(&self, moved: impl Fn(usize) -> usize) -> Self {
        Self::new(
            self.0
                .iter()
                .map(|range| moved(range.start)..moved(range.end)),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Ledger, Novelty, Part, Seen, Stale, View};
    use crate::tools::files::Stamp;

    const FILE: &str = "/file";
    const CONTENT: &[u8] = b"one\ntwo\nthree\n";
    const ALL: View = View {
        offset: 1,
        limit: 2000,
    };

    fn stamp(nanoseconds: i64) -> Stamp {
        Stamp {
            mtime_seconds: 1,
            mtime_nanoseconds: nanoseconds,
            size: CONTENT.len() as u64,
        }
    }

    fn check(ledger: &Ledger, stamp: Stamp, content: &[u8]) -> Result<Seen, Stale> {
        ledger.check_unchanged(Path::new(FILE), stamp, content)
    }

    #[test]
    fn what_was_never_read_may_not_be_changed() {
        assert_eq!(
            check(&Ledger::default(), stamp(0), CONTENT),
            Err(Stale::NotRead)
        );
    }

    #[test]
    fn a_person_may_change_what_was_never_read() {
        let ledger = Ledger::of_person();
        assert!(ledger.was_read(Path::new(FILE)));
        assert_eq!(
            check(&ledger, stamp(0), CONTENT),
            Ok(Seen::all(CONTENT.len()))
        );
    }

    #[test]
    fn a_different_stamp_or_byte_is_a_change() {
        let ledger = Ledger::default();
        ledger.record_read(Path::new(FILE), stamp(5), Part::whole(CONTENT), ALL);
        assert_eq!(
            check(&ledger, stamp(5), CONTENT),
            Ok(Seen::all(CONTENT.len()))
        );
        assert_eq!(check(&ledger, stamp(6), CONTENT), Err(Stale::Changed));
        ledger.record_read(Path::new(FILE), stamp(5), Part::whole(CONTENT), ALL);
        assert_eq!(
            check(&ledger, stamp(5), b"one\nTWO\nthree\n"),
            Err(Stale::Changed)
        );
    }

    #[test]
    fn what_was_logged_allows_the_same_changes_in_another_run_and_no_others() {
        let ledger = Ledger::default();
        let file = Path::new(FILE);
        ledger.record_read(file, stamp(5), Part::of(CONTENT, &(0..8)), ALL);
        let logged = ledger.take_changes();
        assert_eq!(ledger.take_changes(), []);
        assert_eq!(
            ledger.record_read(file, stamp(5), Part::of(CONTENT, &(0..8)), ALL),
            Novelty::Repeated
        );
        assert_eq!(ledger.take_changes(), [], "nothing has changed");
        let again = || {
            let again = Ledger::default();
            again.remember(&logged);
            again
        };
        assert_eq!(check(&again(), stamp(5), CONTENT), Ok(Seen::all(8)));
        assert_eq!(check(&again(), stamp(6), CONTENT), Err(Stale::Changed));
        let changed = b"one\nTWO\nthree\n";
        assert_eq!(check(&again(), stamp(5), changed), Err(Stale::Changed));
        assert_eq!(again().take_changes(), [], "it is in the log already");
    }

    #[test]
    fn a_page_within_a_newer_one_is_forgotten() {
        let ledger = Ledger::default();
        let first = View { limit: 1, ..ALL };
        let changed = b"ONE\ntwo\nthree\n";
        ledger.record_read(Path::new(FILE), stamp(0), Part::of(CONTENT, &(0..4)), first);
        ledger.record_read(Path::new(FILE), stamp(0), Part::whole(changed), ALL);
        assert_eq!(check(&ledger, stamp(0), changed), Ok(Seen::all(14)));
    }

    #[test]
    fn after_a_refusal_the_next_read_starts_over_and_allows_edits_of_what_it_shows() {
        let ledger = Ledger::default();
        let first = View { limit: 1, ..ALL };
        let page = |content: &[u8]| {
            ledger.record_read(Path::new(FILE), stamp(0), Part::of(content, &(0..4)), first)
        };
        page(CONTENT);
        ledger.record_read(Path::new(FILE), stamp(0), Part::whole(CONTENT), ALL);
        let changed = b"ONE\ntwo\nthree\n";
        assert_eq!(check(&ledger, stamp(0), changed), Err(Stale::Changed));
        assert_eq!(page(changed), Novelty::New);
        assert_eq!(check(&ledger, stamp(0), changed), Ok(Seen::all(4)));
    }

    #[test]
    fn pages_add_up_to_the_whole() {
        let ledger = Ledger::default();
        for range in [8..14, 0..4, 4..8] {
            let view = View {
                offset: range.start as u64,
                limit: 1,
            };
            let before = ledger.check_unchanged(Path::new(FILE), stamp(0), CONTENT);
            assert!(before.is_ok_and(|seen| !seen.covers(&(0..14))) || range.start == 8);
            ledger.record_read(Path::new(FILE), stamp(0), Part::of(CONTENT, &range), view);
        }
        assert_eq!(check(&ledger, stamp(0), CONTENT), Ok(Seen::all(14)));
    }

    #[test]
    fn a_page_of_a_changed_file_replaces_earlier_pages() {
        let ledger = Ledger::default();
        ledger.record_read(Path::new(FILE), stamp(0), Part::whole(CONTENT), ALL);
        ledger.record_read(
            Path::new(FILE),
            stamp(1),
            Part::of(CONTENT, &(0..4)),
            View {
                offset: 1,
                limit: 1,
            },
        );
        assert_eq!(check(&ledger, stamp(1), CONTENT), Ok(Seen::all(4)));
    }

    #[test]
    fn the_same_lines_of_the_same_file_are_a_repetition_until_forgotten() {
        let ledger = Ledger::default();
        let read =
            |stamp, view| ledger.record_read(Path::new(FILE), stamp, Part::whole(CONTENT), view);
        let other = View { offset: 2, ..ALL };
        assert_eq!(read(stamp(0), ALL), Novelty::New);
        assert_eq!(read(stamp(0), ALL), Novelty::Repeated);
        assert_eq!(read(stamp(0), other), Novelty::New);
        assert_eq!(read(stamp(1), ALL), Novelty::New);
        ledger.forget_shown();
        assert_eq!(read(stamp(1), ALL), Novelty::New);
        assert!(check(&ledger, stamp(1), CONTENT).is_ok());
    }
}

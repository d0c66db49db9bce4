//! What a change does to a file, line by line.
//!
//! Pure: from two texts, [`Diff`] finds the lines that differ, [`Choices`] records which differences a person wants,
//! and [`words`] finds what differs inside a line. `ui::diff` draws it. Nothing here copies the texts, and nothing
//! takes long for any text: above a size the results become coarser.
//!
//! Lines are counted from 0.

mod choice;
#[cfg(test)]
mod tests;
pub mod words;

pub use crate::text::compare::{Counts, Edit};
pub use crate::text::lines::{Ending, Lines};
pub use choice::{Choice, Choices, Chosen};

use std::ops::Range;
use std::sync::Arc;

use crate::protocol::FileDiff;
use crate::text::compare;

use words::Pair;

/// How many lines around a difference are shown.
pub const CONTEXT: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    path: String,
    is_new: bool,
    before: Lines,
    after: Lines,
    edits: Vec<Edit>,
    counts: Counts,
    endings: Endings,
}

/// Differences close to each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub old: Range<usize>,
    pub new: Range<usize>,
    /// The differences in it.
    edits: Range<usize>,
}

impl Hunk {
    /// Its place in both files, as in a unified diff.
    pub fn header(&self) -> String {
        let side = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            length => format!("{},{length}", range.start + 1),
        };
        format!("@@ -{} +{} @@", side(&self.old), side(&self.new))
    }
}

/// A piece of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Lines that both files have: the two ranges have the same length.
    Same(Edit),
    Changed(Edit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub kind: Kind,
    /// Without its line ending.
    pub text: &'a str,
    pub ending: Ending,
}

/// What happens to a line, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Context { old: usize, new: usize },
    Removed { old: usize },
    Added { new: usize },
}

/// The line endings of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endings {
    Lf,
    CrLf,
    /// Both kinds occur, possibly one before and one after, so they have to be shown.
    Mixed,
}

impl Endings {
    fn of(before: &Lines, after: &Lines) -> Self {
        let sum = |count: &dyn Fn(&[u8]) -> usize| {
            count(before.text().as_bytes()) + count(after.text().as_bytes())
        };
        let newlines = sum(&|text| memchr::memchr_iter(b'\n', text).count());
        match sum(&|text| memchr::memmem::find_iter(text, b"\r\n").count()) {
            0 => Endings::Lf,
            pairs if pairs == newlines => Endings::CrLf,
            _ => Endings::Mixed,
        }
    }
}

impl Diff {
    pub fn new(change: &FileDiff) -> Self {
        let before = Lines::new(change.before.clone().unwrap_or_else(|| Arc::from("")));
        let after = Lines::new(Arc::clone(&change.after));
        let edits = compare::edits(&before, &after);
        let counts = Counts::of(&edits);
        Self {
            path: change.path.clone(),
            is_new: change.before.is_none(),
            endings: Endings::of(&before, &after),
            before,
            after,
            edits,
            counts,
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the file did not exist before.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    pub fn before(&self) -> &Lines {
        &self.before
    }

    pub fn after(&self) -> &Lines {
        &self.after
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn endings(&self) -> Endings {
        self.endings
    }

    /// The differences in groups, each with up to `context` lines around it.
    pub fn hunks(&self, context: usize) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut last_end = 0;
        for (index, edit) in self.edits.iter().enumerate() {
            let after = (self.before.len() - edit.old.end)
                .min(self.after.len() - edit.new.end)
                .min(context);
            let gap = edit.old.start - last_end;
            match hunks.last_mut() {
                Some(hunk) if gap <= context.saturating_mul(2) => {
                    hunk.old.end = edit.old.end + after;
                    hunk.new.end = edit.new.end + after;
                    hunk.edits.end = index + 1;
                }
                Some(_) | None => {
                    let before = gap.min(context);
                    hunks.push(Hunk {
                        old: edit.old.start - before..edit.old.end + after,
                        new: edit.new.start - before..edit.new.end + after,
                        edits: index..index + 1,
                    });
                }
            }
            last_end = edit.old.end;
        }
        hunks
    }

    /// One hunk for each difference in this one. The lines between two differences are divided, so that the hunks
    /// together still show every line once.
    pub fn split(&self, hunk: &Hunk) -> Vec<Hunk> {
        let mut halves = Vec::with_capacity(hunk.edits.len());
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        for index in hunk.edits.clone() {
            let edit = &self.edits[index];
            let (old_end, new_end) = if index + 1 < hunk.edits.end {
                let gap = (self.edits[index + 1].old.start - edit.old.end).div_ceil(2);
                (edit.old.end + gap, edit.new.end + gap)
            } else {
                (hunk.old.end, hunk.new.end)
            };
            halves.push(Hunk {
                old: old..old_end,
                new: new..new_end,
                edits: index..index + 1,
            });
            (old, new) = (old_end, new_end);
        }
        halves
    }

    pub fn edits(&self, hunk: &Hunk) -> &[Edit] {
        &self.edits[hunk.edits.clone()]
    }

    /// The parts of a hunk; two neighbours are never of the same kind.
    pub fn parts(&self, hunk: &Hunk) -> Vec<Part> {
        let mut parts = Vec::with_capacity(hunk.edits.len() * 2 + 1);
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        let same = |old: Range<usize>, new: Range<usize>, parts: &mut Vec<Part>| {
            if !old.is_empty() {
                parts.push(Part::Same(Edit { old, new }));
            }
        };
        for edit in self.edits(hunk) {
            same(old..edit.old.start, new..edit.new.start, &mut parts);
            parts.push(Part::Changed(edit.clone()));
            (old, new) = (edit.old.end, edit.new.end);
        }
        same(old..hunk.old.end, new..hunk.new.end, &mut parts);
        parts
    }

    /// The lines of a hunk in the order of a unified diff.
    pub fn lines(&self, hunk: &Hunk) -> impl Iterator<Item = Line<'_>> {
        self.parts(hunk)
            .into_iter()
            .flat_map(|part| -> Box<dyn Iterator<Item = Kind>> {
                match part {
                    Part::Same(Edit { old, new }) => {
                        Box::new(old.zip(new).map(|(old, new)| Kind::Context { old, new }))
                    }
                    Part::Changed(Edit { old, new }) => Box::new(
                        old.map(|old| Kind::Removed { old })
                            .chain(new.map(|new| Kind::Added { new })),
                    ),
                }
            })
            .map(|kind| self.line(kind))
    }

    /// Which removed line of an edit became which added one, and what changed in it.
    pub fn pairs(&self, edit: &Edit) -> Vec<Pair> {
        if edit.old.len() + edit.new.len() > words::MOST_LINES {
            return Vec::new();
        }
        let old: Vec<&str> = edit.old.clone().map(|at| self.before.line(at).0).collect();
        let new: Vec<&str> = edit.new.clone().map(|at| self.after.line(at).0).collect();
        words::pairs(&old, &new)
    }

    pub fn line(&self, kind: Kind) -> Line<'_> {
        let (text, ending) = match kind {
            Kind::Context { old, .. } | Kind::Removed { old } => self.before.line(old),
            Kind::Added { new } => self.after.line(new),
        };
        Line { kind, text, ending }
    }
}

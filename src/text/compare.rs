//! Finds which lines differ, in bounded time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::Lines;

/// Lines of the old text and the lines that replace them; either can be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// How many lines are compared with Myers' algorithm; in the worst case that takes some tens of milliseconds. Larger
/// texts are first cut at lines that occur once in both, and a part between two such lines that is still larger counts
/// as replaced.
const MOST_COMPARED: usize = 10_000;

/// How many lines a change adds and removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
}

impl Counts {
    pub fn of(edits: &[Edit]) -> Self {
        Self {
            added: edits.iter().map(|edit| edit.new.len()).sum(),
            removed: edits.iter().map(|edit| edit.old.len()).sum(),
        }
    }
}

/// How many lines differ; `before` is none for a text that is new.
pub fn counts(before: Option<&Arc<str>>, after: &Arc<str>) -> Counts {
    let before = before.cloned().unwrap_or_else(|| Arc::from(""));
    Counts::of(&edits(&Lines::new(before), &Lines::new(after.clone())))
}

/// The differences in order. Between two of them is at least one line that both files have.
pub fn edits(before: &Lines, after: &Lines) -> Vec<Edit> {
    let shorter = before.len().min(after.len());
    let head = (0..shorter)
        .take_while(|&index| before.raw(index) == after.raw(index))
        .count();
    let tail = (1..=shorter - head)
        .take_while(|&back| before.raw(before.len() - back) == after.raw(after.len() - back))
        .count();
    let middle = Edit {
        old: head..before.len() - tail,
        new: head..after.len() - tail,
    };
    let mut names = Names::default();
    let old: Vec<u32> = names.of(before, middle.old.clone());
    let new: Vec<u32> = names.of(after, middle.new.clone());
    let mut comparison = Comparison {
        old: &old,
        new: &new,
        head,
        budget: MOST_COMPARED,
        edits: Vec::new(),
    };
    comparison.run();
    comparison.edits
}

/// Numbers instead of lines: equal lines have the same one, which makes comparing cheap.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, u32>);

impl<'a> Names<'a> {
    fn of(&mut self, lines: &'a Lines, range: Range<usize>) -> Vec<u32> {
        range
            .map(|index| {
                let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
                *self.0.entry(lines.raw(index)).or_insert(next)
            })
            .collect()
    }
}

struct Comparison<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// How many lines are before these in both files.
    head: usize,
    /// How many lines may still be compared.
    budget: usize,
    edits: Vec<Edit>,
}

impl Comparison<'_> {
    fn run(&mut self) {
        let (mut old, mut new) = (0, 0);
        if self.old.len() + self.new.len() > self.budget {
            for (old_anchor, new_anchor) in anchors(self.old, self.new) {
                self.compare(old..old_anchor, new..new_anchor);
                (old, new) = (old_anchor + 1, new_anchor + 1);
            }
        }
        self.compare(old..self.old.len(), new..self.new.len());
    }

    fn compare(&mut self, old: Range<usize>, new: Range<usize>) {
        let size = old.len() + new.len();
        if old.is_empty() || new.is_empty() || size > self.budget {
            return self.push(old, new);
        }
        self.budget -= size;
        let (from, to) = (&self.old[old.clone()], &self.new[new.clone()]);
        for operation in capture_diff_slices(Algorithm::Myers, from, to) {
            if !matches!(operation, DiffOp::Equal { .. }) {
                self.push(
                    shift(&operation.old_range(), old.start),
                    shift(&operation.new_range(), new.start),
                );
            }
        }
    }

    fn push(&mut self, old: Range<usize>, new: Range<usize>) {
        if old.is_empty() && new.is_empty() {
            return;
        }
        let (old, new) = (shift(&old, self.head), shift(&new, self.head));
        match self.edits.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            Some(_) | None => self.edits.push(Edit { old, new }),
        }
    }
}

fn shift(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Lines that occur once in both texts: the longest sequence that has the same order in both.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let (in_old, in_new) = (only_places(old), only_places(new));
    let mut common: Vec<(usize, usize)> = in_old
        .iter()
        .filter_map(|(name, at)| Some(((*at)?, (*in_new.get(name)?)?)))
        .collect();
    common.sort_unstable();

    // The longest increasing subsequence by patience: `ends[n]` ends the lowest run of n + 1, `before` links each to
    // its predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(common.len());
    for (index, (_, place)) in common.iter().enumerate() {
        let length = ends.partition_point(|&end| common[end].1 < *place);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&index| before[index])
            .map(|index| common[index])
            .collect();
    run.reverse();
    run
}

/// Where each line is; `None` if it occurs several times.
fn only_places(lines: &[u32]) -> HashMap<u32, Option<usize>> {
    let mut places = HashMap::with_capacity(lines.len());
    for (at, name) in lines.iter().enumerate() {
        places
            .entry(*name)
            .and_modify(|place| *place = None)
            .or_insert(Some(at));
    }
    places
}

//! What differs inside lines: which removed line became which added one, and which words of it changed.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

/// A longer line is data rather than text, and is shown as changed as a whole.
const LONGEST_LINE: usize = 2_000;
/// If more lines are replaced at once, they count as rewritten, and words are not compared.
pub const MOST_LINES: usize = 200;
/// How many added lines a removed one is compared with.
const REACH: usize = 8;

/// A removed line and the added one that it became, by their indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub removed: usize,
    pub added: usize,
    pub words: Words,
}

/// The parts of two lines that differ, as byte ranges that never cut a grapheme cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    pub removed: Vec<Range<usize>>,
    pub added: Vec<Range<usize>>,
}

/// Pairs similar lines in order: each removed line with the first similar added one near it.
pub fn pairs(removed: &[&str], added: &[&str]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut next = 0;
    for (index, line) in removed.iter().enumerate() {
        let found = added[next..]
            .iter()
            .take(REACH)
            .enumerate()
            .find_map(|(offset, other)| Some((next + offset, words(line, other)?)));
        if let Some((other, words)) = found {
            pairs.push(Pair {
                removed: index,
                added: other,
                words,
            });
            next = other + 1;
        }
    }
    pairs
}

/// What differs between two lines; `None` if less than half of them is the same.
pub fn words(removed: &str, added: &str) -> Option<Words> {
    if removed.len() > LONGEST_LINE || added.len() > LONGEST_LINE {
        return None;
    }
    let (old, new) = (tokens(removed), tokens(added));
    let mut words = Words::default();
    let (mut common, mut old_at, mut new_at) = (0, 0, 0);
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (old, new) = (&old[operation.old_range()], &new[operation.new_range()]);
        let (old_end, new_end) = (old_at + length(old), new_at + length(new));
        if matches!(operation, DiffOp::Equal { .. }) {
            common += weight(old);
        } else {
            push(&mut words.removed, removed, old_at..old_end);
            push(&mut words.added, added, new_at..new_end);
        }
        (old_at, new_at) = (old_end, new_end);
    }
    (common * 4 >= weight(&old) + weight(&new)).then_some(words)
}

/// Runs of letters and digits, runs of white space, and single other characters.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, grapheme) in line.grapheme_indices(true) {
        let class = Class::of(grapheme);
        if last.is_some_and(|last| last != class || class == Class::Other) {
            tokens.push(&line[start..at]);
            start = at;
        }
        last = Some(class);
    }
    if last.is_some() {
        tokens.push(&line[start..]);
    }
    tokens
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

impl Class {
    fn of(grapheme: &str) -> Self {
        match grapheme.chars().next() {
            Some(first) if first.is_alphanumeric() || first == '_' => Class::Word,
            Some(first) if first.is_whitespace() => Class::Space,
            Some(_) | None => Class::Other,
        }
    }
}

/// How much tokens count when lines are compared: white space counts nothing.
fn weight(tokens: &[&str]) -> usize {
    tokens
        .iter()
        .filter(|token| Class::of(token) != Class::Space)
        .map(|token| token.chars().count())
        .sum()
}

fn length(tokens: &[&str]) -> usize {
    tokens.iter().map(|token| token.len()).sum()
}

/// Adds a range. Ranges with only white space between them are joined, because stripes are hard to read.
fn push(ranges: &mut Vec<Range<usize>>, line: &str, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    match ranges.last_mut() {
        Some(last) if line[last.end..range.start].trim().is_empty() => last.end = range.end,
        Some(_) | None => ranges.push(range),
    }
}

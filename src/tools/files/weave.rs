//! Builds the text that replaces a match from the file's text and the model's text.
//!
//! The model's text can differ from the file's in ways that are ignored (line endings, quotes). Where new and old
//! text are equal in this sense, the file's own characters stay; only real differences come from the model.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::matching::{Quotes, Unit, units};
use super::text::Ending;

/// How to treat characters whose differences are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weave {
    pub quotes: Quotes,
    /// The byte that ends lines in this file.
    pub terminator: u8,
    /// The ending of new lines. `None` keeps what the model wrote, for a file without line endings.
    pub ending: Option<Ending>,
}

impl Weave {
    /// The result of [`replace`](Self::replace) for every region of a file without CR, if quotes have to match
    /// exactly: then only line endings can differ, and the file has one kind of them.
    pub fn plain(self, new: &str) -> Cow<'_, str> {
        match self.ending {
            Some(_) if new.contains("\r\n") => Cow::Owned(new.replace("\r\n", "\n")),
            Some(_) | None => Cow::Borrowed(new),
        }
    }

    /// The replacement for `region`, a part of the file, if `new` is to be there.
    pub fn replace(self, region: &str, new: &str) -> String {
        let region: Vec<Unit<'_>> = units(region, self.quotes, self.terminator).collect();
        let new: Vec<Unit<'_>> = units(new, self.quotes, self.terminator).collect();
        let (old_lines, new_lines) = (lines(&region), lines(&new));
        let mut result = String::new();
        for operation in capture_diff_slices(Algorithm::Myers, &keys(&old_lines), &keys(&new_lines))
        {
            match operation {
                DiffOp::Equal { old_index, len, .. } => {
                    for line in &old_lines[old_index..old_index + len] {
                        keep(&mut result, line);
                    }
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert {
                    new_index, new_len, ..
                } => {
                    for line in &new_lines[new_index..new_index + new_len] {
                        self.add(&mut result, line);
                    }
                }
                DiffOp::Replace {
                    old_index,
                    old_len,
                    new_index,
                    new_len,
                } => self.replace_lines(
                    &mut result,
                    &old_lines[old_index..old_index + old_len].concat(),
                    &new_lines[new_index..new_index + new_len].concat(),
                ),
            }
        }
        result
    }

    fn replace_lines(self, result: &mut String, old: &[Unit<'_>], new: &[Unit<'_>]) {
        /// Above this size, comparing character by character takes too long.
        const MOST_COMPARED: usize = 8_000;
        if old.len() > MOST_COMPARED || new.len() > MOST_COMPARED {
            return self.add(result, new);
        }
        for operation in capture_diff_slices(Algorithm::Myers, &folded(old), &folded(new)) {
            match operation {
                DiffOp::Equal { old_index, len, .. } => {
                    keep(result, &old[old_index..old_index + len]);
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert {
                    new_index, new_len, ..
                }
                | DiffOp::Replace {
                    new_index, new_len, ..
                } => self.add(result, &new[new_index..new_index + new_len]),
            }
        }
    }

    /// Adds text from the model, with the file's line ending.
    fn add(self, result: &mut String, new: &[Unit<'_>]) {
        for unit in new {
            match self.ending {
                Some(ending) if unit.folded == '\n' => result.push_str(ending.as_str()),
                _ => result.push_str(unit.original),
            }
        }
    }
}

/// Adds text from the file.
fn keep(result: &mut String, old: &[Unit<'_>]) {
    result.extend(old.iter().map(|unit| unit.original));
}

fn lines<'a, 'b>(units: &'b [Unit<'a>]) -> Vec<&'b [Unit<'a>]> {
    units.split_inclusive(|unit| unit.folded == '\n').collect()
}

fn keys(lines: &[&[Unit<'_>]]) -> Vec<Vec<char>> {
    lines.iter().map(|line| folded(line)).collect()
}

fn folded(units: &[Unit<'_>]) -> Vec<char> {
    units.iter().map(|unit| unit.folded).collect()
}

//! Syntax colours: the role of each part of a line.
//!
//! Finding them takes milliseconds, and drawing never waits: it asks [`CodeColours`], paints plain text while there is
//! no answer, and repaints when there is. [`Highlights`] caches the answers and lists the requests; a worker thread of
//! the runtime owns the [`Highlighter`] and answers them. Colours change styles, never the layout.

mod cache;
mod highlighter;
mod scopes;

use std::ops::Range;
use std::sync::Arc;

use crate::theme::Role;

pub use cache::{Highlights, Key, Request};
pub use highlighter::Highlighter;

/// The coloured parts of each line, in order, as byte ranges of that line. Everything else is plain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Highlighted {
    pub lines: Vec<Vec<(Range<usize>, Role)>>,
}

impl Highlighted {
    pub fn line(&self, index: usize) -> &[(Range<usize>, Role)] {
        self.lines.get(index).map_or(&[], Vec::as_slice)
    }

    /// Approximately how much memory this uses.
    fn bytes(&self) -> usize {
        let parts: usize = self.lines.iter().map(Vec::capacity).sum();
        parts * size_of::<(Range<usize>, Role)>() + self.lines.capacity() * size_of::<Vec<()>>()
    }
}

/// Where Markdown and diffs get their colours from.
pub trait CodeColours {
    /// The colours of `code`, or `None` while they are missing. `language` is the word after a fence, a file extension
    /// or a file name. For code that can't be highlighted the answer is an empty list.
    fn colours(&mut self, language: &str, code: &str) -> Option<Arc<Highlighted>>;

    /// Changes whenever new colours arrive.
    fn revision(&self) -> u64 {
        0
    }
}

/// Leaves all code plain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncoloured;

impl CodeColours for Uncoloured {
    fn colours(&mut self, _language: &str, _code: &str) -> Option<Arc<Highlighted>> {
        Some(Arc::default())
    }
}

/// The beginning of unfinished code that is worth highlighting: its first 8, 16, 32… lines. Because requests double,
/// all of them together cost twice the whole.
pub fn settled(code: &str) -> Option<&str> {
    let ends = || memchr::memchr_iter(b'\n', code.as_bytes());
    let lines = ends().count();
    if lines < FIRST_ASKED {
        return None;
    }
    let asked = 1 << lines.ilog2();
    ends().nth(asked - 1).map(|end| &code[..=end])
}

const FIRST_ASKED: usize = 8;

/// Colours for unfinished code: those of its settled beginning, or of half of that while they are missing.
pub fn growing(code: &str, language: &str, colours: &mut dyn CodeColours) -> Arc<Highlighted> {
    let Some(prefix) = settled(code) else {
        return Arc::default();
    };
    if let Some(found) = colours.colours(language, prefix) {
        return found;
    }
    let half = settled(&prefix[..prefix.len() - 1]);
    half.and_then(|half| colours.colours(language, half))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;

//! A text split into lines, without copying it.

use std::ops::Range;
use std::sync::Arc;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Lf,
    CrLf,
    /// The last line of a file that does not end with a newline.
    Missing,
}

/// Every line ends with `\n`; a text that ends with one has no empty line after it, and an empty text has no lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    text: Arc<str>,
    /// Where each line starts, and where the last one ends.
    bounds: Vec<usize>,
}

impl Lines {
    pub fn new(text: Arc<str>) -> Self {
        let mut bounds = vec![0];
        bounds.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if bounds.last() != Some(&text.len()) {
            bounds.push(text.len());
        }
        Self { text, bounds }
    }

    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines of a range, as they are in the file.
    pub fn slice(&self, range: Range<usize>) -> &str {
        &self.text[self.bounds[range.start]..self.bounds[range.end]]
    }

    /// One line as it is in the file.
    pub fn raw(&self, index: usize) -> &str {
        self.slice(index..index + 1)
    }

    /// One line, and its ending.
    pub fn line(&self, index: usize) -> (&str, Ending) {
        let raw = self.raw(index);
        match raw.strip_suffix('\n') {
            Some(line) => match line.strip_suffix('\r') {
                Some(line) => (line, Ending::CrLf),
                None => (line, Ending::Lf),
            },
            None => (raw, Ending::Missing),
        }
    }
}

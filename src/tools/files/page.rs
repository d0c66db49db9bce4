//! Reads some lines of a file of any size.
//!
//! The file is read once, from its beginning, in small buffers, and no further than needed: memory does not grow with
//! the file or with a line, and the first page of a file costs the same whatever follows it. Budgets in bytes limit
//! the time; a page that ended because of one says so.

use std::io::{self, BufRead};
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::ledger::{Part, View};
use super::numbered::{MAX_LINE_CHARS, push_line};
use super::stamp::ContentHash;

/// How many bytes are read before a page ends early.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Before the first requested line.
    pub skipped: u64,
    /// In the lines of the page, including parts that are cut.
    pub read: u64,
    /// After the page, to count the lines.
    pub counted: u64,
    /// In the text of the page.
    pub shown: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            skipped: 2 << 30,
            read: 64 << 20,
            counted: 64 << 20,
            shown: 160_000,
        }
    }
}

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Numbered, without a final line break.
    pub text: String,
    /// How many lines the page has.
    pub lines: u64,
    /// The bytes of those lines in the file.
    pub bytes: Range<u64>,
    pub hash: ContentHash,
    /// Bytes that are not UTF-8 were replaced by marks.
    pub invalid: bool,
    pub rest: Rest,
}

/// What follows a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: the file ends here and has this many lines.
    End { total: u64 },
    /// More lines; how many in all, if the budget was enough to count them.
    More { total: Option<u64> },
    /// The rest of the page's last line, and maybe more lines: the budget ended inside that line.
    OfLine,
    /// The budget ended before the first requested line.
    TooFar { reached: u64 },
}

impl Page {
    pub fn part(&self) -> Part {
        Part {
            bytes: self.bytes.clone(),
            hash: self.hash,
        }
    }
}

/// Reads the lines of `view`, which counts from 1. `terminator` is the byte that ends a line. Once `cancelled`
/// returns true, reading soon stops with an [`io::ErrorKind::TimedOut`] error.
pub fn read_page(
    reader: impl BufRead,
    view: View,
    terminator: u8,
    budget: Budget,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<Page> {
    let mut pager = Pager {
        reader,
        terminator,
        cancelled,
        position: 0,
        line: 1,
    };
    let first = view.offset.max(1);
    if !pager.skip_to(first, budget.skipped)? {
        let rest = if pager.fill()?.is_empty() {
            Rest::End {
                total: pager.line - 1,
            }
        } else {
            Rest::TooFar {
                reached: pager.line,
            }
        };
        return Ok(Page {
            text: String::new(),
            lines: 0,
            bytes: pager.position..pager.position,
            hash: ContentHash::of(b""),
            invalid: false,
            rest,
        });
    }
    pager.show(view.limit, budget)
}

struct Pager<'a, R> {
    reader: R,
    terminator: u8,
    cancelled: &'a dyn Fn() -> bool,
    /// Bytes read so far.
    position: u64,
    /// The number of the line that begins or continues at `position`.
    line: u64,
}

/// How the reading of one line ended.
#[derive(PartialEq, Eq)]
enum LineEnd {
    Terminated,
    EndOfFile,
    OutOfBudget,
}

impl<R: BufRead> Pager<'_, R> {
    /// What is ready to be read; empty at the end of the file.
    fn fill(&mut self) -> io::Result<&[u8]> {
        loop {
            if (self.cancelled)() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.reader.fill_buf() {
                // Asked again, because a borrow cannot leave a loop; the second call only returns the buffer.
                Ok(_) => return self.reader.fill_buf(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.position += count as u64;
    }

    /// Skips to the beginning of the line `first`. False if the file or the budget ends before that.
    fn skip_to(&mut self, first: u64, budget: u64) -> io::Result<bool> {
        let terminator = self.terminator;
        let mut open_line = false;
        while self.line < first {
            if self.position >= budget {
                return Ok(false);
            }
            let missing = first - self.line;
            let buffer = self.fill()?;
            if buffer.is_empty() {
                // A last line without an ending is also a line.
                self.line += u64::from(open_line);
                return Ok(false);
            }
            let mut ends = memchr::memchr_iter(terminator, buffer);
            let (count, found) = match ends.nth(usize::try_from(missing - 1).unwrap_or(usize::MAX))
            {
                Some(end) => (end + 1, missing),
                None => (
                    buffer.len(),
                    memchr::memchr_iter(terminator, buffer).count() as u64,
                ),
            };
            open_line = buffer[count - 1] != terminator;
            self.consume(count);
            self.line += found;
        }
        Ok(!self.fill()?.is_empty() || first == 1)
    }

    fn show(mut self, limit: u64, budget: Budget) -> io::Result<Page> {
        let start = self.position;
        let mut hasher = Sha256::new();
        let mut page = Page {
            text: String::new(),
            lines: 0,
            bytes: start..start,
            hash: ContentHash::of(b""),
            invalid: false,
            rest: Rest::More { total: None },
        };
        let mut line = Vec::new();
        loop {
            if self.fill()?.is_empty() {
                page.rest = Rest::End {
                    total: self.line - 1,
                };
                break;
            }
            if page.lines == limit || page.text.len() >= budget.shown {
                page.bytes.end = self.position;
                page.rest = self.count_rest(budget.counted)?;
                break;
            }
            let left = budget.read.saturating_sub(self.position - start);
            let number = self.line;
            let end = self.read_line(&mut line, &mut hasher, left)?;
            page.invalid |= push_bytes(&mut page.text, number, &line, start == 0);
            page.lines += 1;
            if end == LineEnd::OutOfBudget {
                page.rest = Rest::OfLine;
                break;
            }
        }
        if page.bytes.end == start {
            page.bytes.end = self.position;
        }
        page.hash = hasher.into();
        Ok(page)
    }

    /// Reads to the end of the line. `line` gets as much of it as can be shown, without its ending.
    fn read_line(
        &mut self,
        line: &mut Vec<u8>,
        hasher: &mut Sha256,
        budget: u64,
    ) -> io::Result<LineEnd> {
        /// UTF-8 needs at most four bytes for a character; one more character shows that the line continues.
        const MOST_BYTES: usize = 4 * (MAX_LINE_CHARS + 1);
        line.clear();
        let (start, terminator) = (self.position, self.terminator);
        let end = loop {
            if self.position - start >= budget {
                break LineEnd::OutOfBudget;
            }
            let buffer = self.fill()?;
            if buffer.is_empty() {
                break LineEnd::EndOfFile;
            }
            let found = memchr::memchr(terminator, buffer);
            let count = found.map_or(buffer.len(), |end| end + 1);
            let wanted = MOST_BYTES.saturating_sub(line.len()).min(count);
            line.extend_from_slice(&buffer[..wanted]);
            hasher.update(&buffer[..count]);
            self.consume(count);
            if found.is_some() {
                break LineEnd::Terminated;
            }
        };
        self.line += u64::from(end != LineEnd::OutOfBudget);
        if line.last() == Some(&terminator) {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        Ok(end)
    }

    /// Looks for the end of the file, counting lines.
    fn count_rest(&mut self, budget: u64) -> io::Result<Rest> {
        let (start, terminator) = (self.position, self.terminator);
        let mut total = self.line - 1;
        let mut open_line = false;
        while self.position - start < budget {
            let buffer = self.fill()?;
            let Some(last) = buffer.last() else {
                let total = total + u64::from(open_line);
                return Ok(Rest::More { total: Some(total) });
            };
            open_line = *last != terminator;
            let length = buffer.len();
            total += memchr::memchr_iter(terminator, buffer).count() as u64;
            self.consume(length);
        }
        Ok(Rest::More { total: None })
    }
}

/// Adds a line. Returns whether some of it was not UTF-8.
fn push_bytes(text: &mut String, number: u64, line: &[u8], from_start: bool) -> bool {
    let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
        Some(line) if number == 1 && from_start => line,
        _ => line,
    };
    let decoded = String::from_utf8_lossy(line);
    // A character cut by the limit at the very end is not an error, and is not shown.
    let invalid = match std::str::from_utf8(line) {
        Ok(_) => false,
        Err(error) => decoded.chars().count() <= MAX_LINE_CHARS || error.error_len().is_some(),
    };
    push_line(text, number, &decoded);
    invalid
}

#[cfg(test)]
mod tests;

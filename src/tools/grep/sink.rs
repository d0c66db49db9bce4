//! Takes the matches of one file from the searcher.
//!
//! In content mode they become lines as `rg` prints them: `path:number:text` for a match, `path-number-text` for
//! context, `--` between groups. A line that is too long is cut around its match.

use std::fmt::Write;
use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::{OutputMode, Query};
use crate::tools::tree::Stop;
use crate::tools::tree::names;

/// The most bytes of a line that are shown. Minified files have lines of megabytes.
const MAX_LINE: usize = 2_000;
/// How much of that goes before the match.
const LEAD: usize = 500;

/// How far after the end of a match the regex may look (`\b`, `$`); the same value as in ripgrep.
const LOOK_AHEAD: usize = 128;

pub(super) struct FileSink<'a> {
    query: &'a Query,
    stop: &'a Stop,
    path: &'a Path,
    /// The path at the start of each line. Set at the first match, because most files have none.
    shown: String,
    /// The lines in content mode, each with its line end.
    pub(super) text: String,
    pub(super) lines: usize,
    /// The number of matching lines, or of matches if they may span lines.
    pub(super) count: u64,
    binary_at: Option<u64>,
}

impl<'a> FileSink<'a> {
    pub(super) fn new(query: &'a Query, stop: &'a Stop, path: &'a Path) -> Self {
        Self {
            query,
            stop,
            path,
            shown: String::new(),
            text: String::new(),
            lines: 0,
            count: 0,
            binary_at: None,
        }
    }

    /// Context lines come before the match and may already fill the limit, so this does not look at `text`.
    pub(super) fn has_found(&self) -> bool {
        self.count > 0 || self.lines > 0
    }

    /// Whether more lines fit. One file never keeps more lines than the whole result may have.
    fn has_room(&self) -> bool {
        self.lines < self.query.limit.lines && self.text.len() < self.query.limit.bytes
    }

    fn push_line(&mut self, line: &[u8], number: Option<u64>, mark: char) {
        if self.shown.is_empty() {
            self.shown = names::show(self.path.strip_prefix(&self.query.cwd).unwrap_or(self.path));
        }
        self.text.push_str(&self.shown);
        self.text.push(mark);
        if let Some(number) = number {
            // Writing to a string cannot fail.
            let _ = write!(self.text, "{number}{mark}");
        }
        let line = without_line_end(line);
        if line.len() <= MAX_LINE {
            self.text.push_str(&String::from_utf8_lossy(line));
        } else {
            let at = self.query.matcher.find(line).ok().flatten();
            push_cut(&mut self.text, line, at.map_or(0, |found| found.start()));
        }
        self.text.push('\n');
        self.lines += 1;
    }

    fn push_note(&mut self, note: std::fmt::Arguments<'_>) {
        let path = names::show(self.path.strip_prefix(&self.query.cwd).unwrap_or(self.path));
        let _ = writeln!(self.text, "{path}: {note}");
        self.lines += 1;
    }

    /// How many matches begin inside a block of adjoining matches from the searcher.
    fn count_matches(&self, found: &SinkMatch<'_>) -> u64 {
        let range = found.bytes_range_in_buffer();
        let buffer = found.buffer();
        let seen = &buffer[..buffer.len().min(range.end + LOOK_AHEAD)];
        let mut count = 0;
        // The regex matcher never fails.
        let _ = self.query.matcher.find_iter_at(seen, range.start, |one| {
            let inside = one.start() < range.end;
            count += u64::from(inside);
            inside
        });
        count
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.query.mode {
            OutputMode::FilesWithMatches => {
                self.count = 1;
                return Ok(false);
            }
            OutputMode::Count => {
                self.count += if searcher.multi_line_with_matcher(&self.query.matcher) {
                    self.count_matches(found)
                } else {
                    1
                };
            }
            OutputMode::Content => {
                self.count += 1;
                if let Some(offset) = self.binary_at {
                    self.push_note(format_args!(
                        "binary file matches (found a NUL byte around offset {offset})"
                    ));
                    return Ok(false);
                }
                for (number, line) in (0..).zip(found.lines()) {
                    if !self.has_room() {
                        return Ok(false);
                    }
                    let number = found.line_number().map(|first| first + number);
                    self.push_line(line, number, ':');
                }
            }
        }
        Ok(!self.stop.is_set())
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.binary_at.is_none() {
            self.push_line(around.bytes(), around.line_number(), '-');
        }
        Ok(self.has_room())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.text.push_str("--\n");
        self.lines += 1;
        Ok(self.has_room())
    }

    /// Called with `convert` for files that the input names, where the search continues, and with `quit` for all
    /// others.
    fn binary_data(&mut self, searcher: &Searcher, offset: u64) -> Result<bool, io::Error> {
        if self.binary_at.is_none() && searcher.binary_detection().quit_byte().is_some() {
            // What was found before the first NUL looked like text, and stays.
            if self.count > 0 && self.query.mode == OutputMode::Content {
                self.push_note(format_args!(
                    "binary file, not searched after the NUL byte around offset {offset}"
                ));
            }
        }
        self.binary_at = Some(offset);
        Ok(true)
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The part of a long line around `at`. The bytes left out on either side are counted.
fn push_cut(text: &mut String, line: &[u8], at: usize) {
    let start = char_start(line, at.saturating_sub(LEAD).min(line.len() - MAX_LINE));
    let end = char_start(line, start + MAX_LINE);
    if start > 0 {
        let _ = write!(text, "[{start} bytes left out] ");
    }
    text.push_str(&String::from_utf8_lossy(&line[start..end]));
    if end < line.len() {
        let _ = write!(text, " [{} bytes left out]", line.len() - end);
    }
}

/// The nearest character boundary at or before `at`.
fn char_start(line: &[u8], at: usize) -> usize {
    let is_inside = |place: usize| line.get(place).is_some_and(|byte| byte & 0xc0 == 0x80);
    (0..4)
        .map(|back| at.saturating_sub(back))
        .find(|place| !is_inside(*place))
        .unwrap_or(at)
}

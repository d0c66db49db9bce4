//! Reads a log line by line, with at most one line of limited length in memory, whatever the file contains.

use std::io::{self, BufRead};

/// A longer line can only be damage.
pub const LONGEST_LINE: usize = 64 << 20;

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A line that may be a record, without its end.
    Line(&'a [u8]),
    /// A line that cannot be a record: too long, or with a wrong beginning.
    Damaged,
}

/// How the file ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The total length of the complete lines.
    pub whole: u64,
    /// The length of what follows them.
    pub rest: u64,
    /// Its content, if it may be a record.
    pub last: Vec<u8>,
}

/// Passes on the complete lines of `source`.
pub fn read(mut source: impl BufRead, mut take: impl FnMut(Piece<'_>)) -> io::Result<Read> {
    let mut read = Read::default();
    let mut line = Line::default();
    loop {
        let buffer = match source.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            read.last = line.bytes;
            return Ok(read);
        }
        let (count, ends) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        line.add(&buffer[..count - usize::from(ends)]);
        source.consume(count);
        read.rest += count as u64;
        if ends {
            read.whole += read.rest;
            read.rest = 0;
            line.emit_lines(&mut take);
        }
    }
}

#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    damaged: bool,
}

impl Line {
    fn add(&mut self, more: &[u8]) {
        let blank_until_now = self.bytes.is_empty();
        let more = if blank_until_now {
            more.trim_ascii_start()
        } else {
            more
        };
        let begins_badly = blank_until_now && more.first().is_some_and(|first| *first != b'{');
        if begins_badly || self.bytes.len() + more.len() > LONGEST_LINE {
            self.damaged = true;
            self.bytes = Vec::new();
        }
        if !self.damaged {
            self.bytes.extend_from_slice(more);
        }
    }

    fn emit_lines(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        if self.damaged {
            take(Piece::Damaged);
        } else if !self.bytes.is_empty() {
            take(Piece::Line(&self.bytes));
        }
        self.bytes.clear();
        self.damaged = false;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufReader, Read as _};

    use super::{LONGEST_LINE, Piece, Read, read};

    fn pieces(bytes: &[u8], step: usize) -> (Vec<String>, Read) {
        let mut all = Vec::new();
        let source = BufReader::with_capacity(step, bytes);
        let read = read(source, |piece| match piece {
            Piece::Line(line) => all.push(String::from_utf8_lossy(line).into_owned()),
            Piece::Damaged => all.push("damaged".to_owned()),
        });
        (all, read.expect("readable"))
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_are_split() {
        for step in [1, 2, 3, 7, 1_000] {
            let (all, read) = pieces(b"{1}\n\n \n{22}\nno\n\0\0\n{333", step);
            assert_eq!(all, ["{1}", "{22}", "damaged", "damaged"], "{step}");
            let last = b"{333".to_vec();
            let (whole, rest) = (18, 4);
            assert_eq!(read, Read { whole, rest, last });
        }
    }

    #[test]
    fn garbage_without_a_line_end_takes_no_memory() {
        for first in [&b"\0"[..], b"{"] {
            let length = 3 * LONGEST_LINE as u64;
            let garbage = io::repeat(first[0]).take(length);
            let source = BufReader::with_capacity(1 << 20, garbage.chain(&b"\n{}"[..]));
            let mut seen = Vec::new();
            let read = read(source, |piece| seen.push(piece == Piece::Damaged));
            assert_eq!(seen, [true]);
            let read = read.expect("readable");
            assert_eq!((read.whole, read.last), (length + 1, b"{}".to_vec()));
        }
    }
}

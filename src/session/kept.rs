//! The lines of a log that a session needs, in memory: for the case that its file is cut short while the program runs.

use super::record::Record;

/// A session of more than this is not kept twice.
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub struct Kept {
    lines: Vec<Line>,
    /// Of all lines together; `None` once there was too much.
    length: Option<usize>,
}

#[derive(Debug)]
struct Line {
    bytes: Box<[u8]>,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A piece of an answer as it came in. The whole answer takes its place.
    Piece,
    Request,
    Other,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            length: Some(0),
        }
    }
}

impl Kept {
    /// Keeps a line, with its end, that says what `record` says.
    pub fn add(&mut self, record: &Record, bytes: &[u8]) {
        if matches!(record, Record::Assistant { .. } | Record::Discarded) {
            self.drop_pieces();
        }
        let part = match record {
            Record::Text { .. } | Record::Thinking { .. } => Part::Piece,
            Record::Request { .. } => Part::Request,
            _ => Part::Other,
        };
        let longer = self.length.map(|length| length.saturating_add(bytes.len()));
        self.length = longer.filter(|length| *length <= MOST_BYTES);
        if self.length.is_none() {
            self.lines = Vec::new();
            return;
        }
        self.lines.push(Line {
            bytes: bytes.into(),
            part,
        });
    }

    /// All of it; `None` if it was too much to keep.
    pub fn whole(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.length?;
        Some(self.lines.iter().map(|line| &*line.bytes))
    }

    fn drop_pieces(&mut self) {
        let is_request = |line: &Line| line.part == Part::Request;
        let since = self.lines.iter().rposition(is_request).unwrap_or(0);
        let answer = self.lines.split_off(since);
        let (pieces, others): (Vec<Line>, Vec<Line>) = answer
            .into_iter()
            .partition(|line| line.part == Part::Piece);
        let dropped: usize = pieces.iter().map(|line| line.bytes.len()).sum();
        self.length = self.length.map(|length| length.saturating_sub(dropped));
        self.lines.extend(others);
    }
}

//! The lines of a log in memory, in case its file is truncated while the program is running.

use super::record::{Line as LogLine, Record};
use crate::protocol::AgentId;

/// A larger session is not kept in memory.
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub struct MemoryCopy {
    lines: Vec<Line>,
    /// The size of all lines; `None` once the limit was exceeded.
    length: Option<usize>,
}

#[derive(Debug)]
struct Line {
    bytes: Box<[u8]>,
    agent: AgentId,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Text or thinking of an answer, as it arrived.
    Piece,
    Request,
    Discarded,
    Other,
}

impl Default for MemoryCopy {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            length: Some(0),
        }
    }
}

impl MemoryCopy {
    /// Keeps a line, including its end, for this record.
    pub fn add(&mut self, agent: AgentId, record: &Record, bytes: &[u8]) {
        match record {
            // Discarded pieces are no longer needed once the answer is requested again.
            Record::Request { .. } if self.is_discarded(agent) => {
                self.change_pieces(agent, |_| Vec::new());
            }
            Record::Assistant { .. } | Record::Discarded => self.change_pieces(agent, joined),
            _ => {}
        }
        let part = match record {
            Record::Text { .. } | Record::Thinking { .. } => Part::Piece,
            Record::Request { .. } => Part::Request,
            Record::Discarded => Part::Discarded,
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
            agent,
            part,
        });
    }

    /// All of it; `None` if it was too large.
    pub fn whole(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.length?;
        Some(self.lines.iter().map(|line| &*line.bytes))
    }

    /// Whether the answer to the agent's last request was discarded.
    fn is_discarded(&self, agent: AgentId) -> bool {
        let parts = self.lines.iter().rev().filter(|line| line.agent == agent);
        let mut since = parts.take_while(|line| line.part != Part::Request);
        since.any(|line| line.part == Part::Discarded)
    }

    /// Replaces the pieces of an agent since its last request, each sequence of adjacent pieces on its own.
    fn change_pieces(&mut self, agent: AgentId, change: impl Fn(Vec<Line>) -> Vec<Line>) {
        let is_request = |line: &Line| line.part == Part::Request && line.agent == agent;
        let since = self.lines.iter().rposition(is_request).unwrap_or(0);
        let answer = self.lines.split_off(since);
        let length = |lines: &[Line]| -> usize { lines.iter().map(|line| line.bytes.len()).sum() };
        let before = length(&answer);
        let mut run = Vec::new();
        for line in answer {
            if line.part == Part::Piece && line.agent == agent {
                run.push(line);
                continue;
            }
            self.lines.extend(change(std::mem::take(&mut run)));
            self.lines.push(line);
        }
        self.lines.extend(change(run));
        let after = length(&self.lines[since..]);
        let kept = self.length.map(|length| length.saturating_sub(before));
        self.length = kept.map(|length| length.saturating_add(after));
    }
}

/// Joins adjacent pieces of one kind, because the answer is complete and the pieces no longer matter.
fn joined(pieces: Vec<Line>) -> Vec<Line> {
    let mut joined: Vec<LogLine> = Vec::new();
    for piece in &pieces {
        let Ok(line) = serde_json::from_slice::<LogLine>(&piece.bytes) else {
            return pieces;
        };
        match (joined.last_mut().map(|last| &mut last.record), &line.record) {
            // The screen does not show white space before the first word of a text.
            (Some(Record::Text { text }), Record::Text { text: more })
                if !text.trim().is_empty() =>
            {
                text.push_str(more);
            }
            (Some(Record::Thinking { text }), Record::Thinking { text: more }) => {
                text.push_str(more);
            }
            _ => joined.push(line),
        }
    }
    let lines = joined.iter().map(|line| {
        let mut bytes = serde_json::to_vec(line).ok()?;
        bytes.push(b'\n');
        Some(Line {
            bytes: bytes.into(),
            agent: line.agent,
            part: Part::Piece,
        })
    });
    lines.collect::<Option<Vec<Line>>>().unwrap_or(pieces)
}

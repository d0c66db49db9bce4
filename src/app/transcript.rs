//! The conversation as cells: data and a revision each, no styled text.

use std::time::{Duration, Instant};

use super::call::CallKey;
use crate::protocol::{AgentId, ChangeSize, Seq};

/// A cell's id, which stays the same when others are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: CellId,
    /// The record in the session log that created it; `None` for what is not in the log.
    pub seq: Option<Seq>,
    /// Increases with every change of the cell.
    pub revision: u64,
    pub cell: Cell,
    /// Whether it is open, if it can be folded.
    pub open: bool,
    /// Whether it has a line of its own, although it could share one with its neighbours.
    pub unfolded: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// What the program is and how to begin; the first cell.
    Welcome,
    User {
        text: String,
        images: usize,
    },
    Answer(Answer),
    Thinking {
        text: String,
        since: Instant,
        took: Option<Duration>,
    },
    Call(CallKey),
    Notice {
        kind: NoticeKind,
        text: String,
    },
    /// The summary of a turn.
    Summary(Summary),
}

impl Cell {
    /// The call that it shows.
    pub fn call(&self) -> Option<CallKey> {
        match self {
            Cell::Call(key) => Some(*key),
            Cell::Welcome
            | Cell::User { .. }
            | Cell::Answer(_)
            | Cell::Thinking { .. }
            | Cell::Notice { .. }
            | Cell::Summary(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Writing,
    Whole,
    /// The stream broke or was stopped before the end.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    Info,
    Warning,
    Error,
    /// What to do about the error above it.
    Hint,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub took: Duration,
    /// Time saved because tools worked while the model was still writing.
    pub saved: Duration,
    pub calls: usize,
    pub changed: Changed,
    pub ending: SummaryEnding,
}

/// The files that a turn changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// As they are shown, each once.
    pub files: Vec<String>,
    /// Lines.
    pub added: usize,
    pub removed: usize,
}

impl Changed {
    pub fn add(&mut self, change: &ChangeSize) {
        self.added += change.added;
        self.removed += change.removed;
        if !self.files.contains(&change.path) {
            self.files.push(change.path.clone());
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryEnding {
    Done,
    Interrupted,
}

#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    /// Which of them are the person's messages, in the same order.
    messages: Vec<CellId>,
    next: u64,
    /// The record being applied: cells pushed meanwhile belong to it.
    record: Option<Seq>,
}

/// Cell ids of two conversations never clash: each conversation has its own range, given by the bits above these.
const CELLS_OF_AGENT: u32 = 32;

impl Transcript {
    /// The conversation of a subagent.
    pub fn of_agent(agent: AgentId) -> Self {
        Self {
            next: u64::from(agent.0) << CELLS_OF_AGENT,
            ..Self::default()
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn push(&mut self, cell: Cell) -> CellId {
        let id = CellId(self.next);
        self.next += 1;
        if matches!(cell, Cell::User { .. }) {
            self.messages.push(id);
        }
        self.entries.push(Entry {
            id,
            seq: self.record,
            revision: 0,
            cell,
            open: false,
            unfolded: false,
        });
        id
    }

    /// Cells pushed from now on belong to this record, or to none.
    pub fn begin_record(&mut self, record: Option<Seq>) {
        self.record = record;
    }

    /// The record that is being applied.
    pub fn current_record(&self) -> Option<Seq> {
        self.record
    }

    /// The record being applied is about a cell that already exists. The cell moves behind what was recorded before it.
    pub fn recorded(&mut self, id: CellId) {
        let Some(index) = self.index_of(id) else {
            return;
        };
        if index + 1 == self.entries.len() {
            self.entries[index].seq = self.record;
            return;
        }
        let entry = self.entries.remove(index);
        let id = self.push(entry.cell);
        self.change(id, |it| it.open = entry.open);
    }

    pub fn last(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Ids only increase, so a cell is found by binary search.
    pub fn index_of(&self, id: CellId) -> Option<usize> {
        self.entries
            .binary_search_by_key(&id, |entry| entry.id)
            .ok()
    }

    /// The person's last message above a cell.
    pub fn message_before(&self, id: CellId) -> Option<CellId> {
        let above = self.messages.partition_point(|message| *message < id);
        above.checked_sub(1).map(|index| self.messages[index])
    }

    /// The person's first message below a cell.
    pub fn message_after(&self, id: CellId) -> Option<CellId> {
        let below = self.messages.partition_point(|message| *message <= id);
        self.messages.get(below).copied()
    }

    pub fn get(&self, id: CellId) -> Option<&Entry> {
        self.index_of(id).map(|index| &self.entries[index])
    }

    /// Changes a cell and increases its revision.
    pub fn change(&mut self, id: CellId, change: impl FnOnce(&mut Entry)) {
        if let Some(index) = self.index_of(id) {
            let entry = &mut self.entries[index];
            entry.revision += 1;
            change(entry);
        }
    }

    pub fn remove(&mut self, id: CellId) {
        if let Some(index) = self.index_of(id) {
            self.entries.remove(index);
            if let Ok(index) = self.messages.binary_search(&id) {
                self.messages.remove(index);
            }
        }
    }

    /// Removes all cells except the welcome.
    pub fn take_after_welcome(&mut self) -> Vec<Entry> {
        let is_welcome = |entry: &Entry| entry.cell == Cell::Welcome;
        let from = self.entries.iter().take_while(|it| is_welcome(it)).count();
        let taken = self.entries.split_off(from);
        if let Some(first) = taken.first() {
            self.messages.retain(|message| *message < first.id);
        }
        taken
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.messages.clear();
    }
}

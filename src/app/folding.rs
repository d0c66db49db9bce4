//! Consecutive reads and searches are one line until the person unfolds them.

use super::AppState;
use super::call::{Author, Call};
use super::transcript::{CellId, Entry};
use crate::protocol::{CallOutcome, Shown};

/// How a cell is folded with its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// It is shown by itself.
    Alone,
    /// It represents this many calls: itself and those that follow.
    Head(usize),
    /// One above it represents it.
    Hidden,
}

impl AppState {
    /// How the cell at this index is folded. Costs no more than the group is long.
    pub fn fold_of(&self, index: usize) -> Fold {
        let entries = self.conversation().entries();
        if !self.folds(&entries[index]) {
            return Fold::Alone;
        }
        let before = index.checked_sub(1).map(|before| &entries[before]);
        if before.is_some_and(|before| self.folds(before)) {
            return Fold::Hidden;
        }
        let group = entries[index..].iter().take_while(|it| self.folds(it));
        match group.count() {
            0 | 1 => Fold::Alone,
            count => Fold::Head(count),
        }
    }

    /// The calls that a head represents.
    pub fn folded_calls(&self, index: usize, count: usize) -> impl Iterator<Item = &Call> {
        let entries = self.conversation().entries()[index..].iter().take(count);
        entries.filter_map(|entry| Some(self.calls.get(entry.cell.call()?)))
    }

    /// Whether a cell can share a line with its neighbours: a successful call without anything that must be seen.
    fn folds(&self, entry: &Entry) -> bool {
        let key = entry.cell.call();
        let Some(key) = key.filter(|_| !entry.open && !entry.unfolded) else {
            return false;
        };
        let call = self.calls.get(key);
        let went_well = call.completed().is_some_and(|completed| {
            completed.outcome == CallOutcome::Succeeded && completed.shown == Shown::Nothing
        });
        went_well && call.tool.folds && call.by != Author::Person
    }

    /// Gives each call of the cell's group a line of its own. Returns whether there was a group.
    pub(super) fn unfold(&mut self, cell: CellId) -> bool {
        let Some(index) = self.conversation().index_of(cell) else {
            return false;
        };
        let entries = self.conversation().entries();
        if !self.folds(&entries[index]) {
            return false;
        }
        let before = entries[..index].iter().rev();
        let from = index - before.take_while(|it| self.folds(it)).count();
        let group = entries[from..].iter().take_while(|it| self.folds(it));
        let group: Vec<CellId> = group.map(|entry| entry.id).collect();
        if group.len() < 2 {
            return false;
        }
        for id in group {
            self.conversation_mut()
                .change(id, |entry| entry.unfolded = true);
        }
        true
    }
}

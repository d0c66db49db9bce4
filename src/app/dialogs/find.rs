//! Searching a page. The layout reports which rows match; here is what was typed, and which match is current.

use std::sync::Arc;

use crossterm::event::KeyEvent;

use super::filter::Filter;

#[derive(Debug, Clone, PartialEq)]
pub struct Find {
    query: Filter,
    stage: Stage,
    /// The rows that match.
    rows: Arc<[usize]>,
    current: usize,
    /// The row at which the search began, to return to when it is abandoned.
    began: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Typing,
    /// The query has changed, and the layout has not reported its matches yet.
    Typed,
    /// The query is complete; the keys go from match to match.
    Walking,
}

impl Find {
    pub fn from(row: usize) -> Self {
        Self {
            query: Filter::default(),
            stage: Stage::Typing,
            rows: Arc::default(),
            current: 0,
            began: row,
        }
    }

    pub fn query(&self) -> &str {
        self.query.text()
    }

    pub fn began(&self) -> usize {
        self.began
    }

    pub fn is_typing(&self) -> bool {
        self.stage != Stage::Walking
    }

    /// The number of the current match, counted from 1, and how many there are.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.row().map(|_| (self.current + 1, self.rows.len()))
    }

    /// The row of the current match.
    pub fn row(&self) -> Option<usize> {
        self.rows.get(self.current).copied()
    }

    pub fn key(&mut self, key: KeyEvent) {
        if self.is_typing() && self.query.key(key) {
            self.stage = Stage::Typed;
        }
    }

    pub fn paste(&mut self, text: &str) {
        if self.is_typing() && self.query.paste(text) {
            self.stage = Stage::Typed;
        }
    }

    pub fn accept(&mut self) {
        self.stage = Stage::Walking;
    }

    /// Moves to the next match, or to the previous one; from the last to the first.
    pub fn step(&mut self, by: isize) -> Option<usize> {
        let count = self.rows.len().cast_signed();
        if count > 0 {
            let next = (self.current.cast_signed() + by).rem_euclid(count);
            self.current = next.cast_unsigned();
        }
        self.row()
    }

    /// The layout has found these rows. Returns the row to show if the query is new: the first match below the start.
    pub fn record_layout(&mut self, rows: &Arc<[usize]>) -> Option<usize> {
        self.rows = rows.clone();
        if self.stage != Stage::Typed {
            self.current = self.current.min(rows.len().saturating_sub(1));
            return None;
        }
        self.stage = Stage::Typing;
        let below = rows.partition_point(|row| *row < self.began);
        self.current = if below == rows.len() { 0 } else { below };
        self.row()
    }
}

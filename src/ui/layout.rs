//! Which rows of which cells are visible. Pure: it asks for the height of a cell only when it comes near it, so a frame
//! costs only what is visible, however long the conversation is.

#[cfg(test)]
mod tests;

use crate::app::scroll::{Anchor, Motion, Scroll};
use crate::app::transcript::{CellId, Entry};

/// A row of a cell, by the cell's index in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub index: usize,
    pub row: usize,
}

/// What the layout needs to know about cells.
pub trait Heights {
    fn height(&mut self, index: usize) -> usize;
    /// The row of the nth match of the search in a cell.
    fn row_of_match(&mut self, index: usize, nth: usize) -> usize;
    /// Converts a row of an earlier layout of the cell to a current one.
    fn translate(&mut self, index: usize, row: usize) -> usize {
        let height = self.height(index);
        row.min(height.saturating_sub(1))
    }
}

/// The first visible row, and whether the end stays visible from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub top: Place,
    pub follows: bool,
}

/// Finds the first visible row after all scrolling. If a call asks for permission, the view stays with its cell at the
/// bottom, whatever came after it.
pub fn place(
    entries: &[Entry],
    heights: &mut dyn Heights,
    scroll: &Scroll,
    height: usize,
    asks: Option<usize>,
) -> Placed {
    let mut walk = Walk {
        entries,
        heights,
        height,
    };
    let end = walk.end_top();
    let resting = match asks {
        Some(index) => walk.top_with_last(index + 1),
        None => end,
    };
    let mut top = match scroll.anchor {
        Anchor::Follow => resting,
        Anchor::At { cell, line } => walk.find(cell, line),
    };
    for motion in &scroll.motions {
        top = walk.go(top, *motion, end);
    }
    let (top, end) = (walk.down(top, 0), walk.down(end, 0));
    let resting = walk.down(resting, 0);
    // If the end is visible, the view follows new text; if the person scrolled away from the call that asks, it stays
    // there.
    let follows = if resting < end {
        scroll.is_following()
    } else {
        top >= end
    };
    Placed {
        top: top.min(end),
        follows,
    }
}

/// Moves by rows, up if negative: at most to the first or the last row.
pub fn step(entries: &[Entry], heights: &mut dyn Heights, from: Place, rows: i64) -> Place {
    let mut walk = Walk {
        entries,
        heights,
        height: 1,
    };
    let to = walk.by(from, rows);
    if to.index < entries.len() {
        return to;
    }
    walk.end_top()
}

/// Scrolls just far enough to make a row visible.
pub fn reveal(
    entries: &[Entry],
    heights: &mut dyn Heights,
    placed: Placed,
    at: Place,
    height: usize,
) -> Placed {
    let mut walk = Walk {
        entries,
        heights,
        height,
    };
    let lowest = walk.up(at, height.saturating_sub(1));
    let top = placed.top.max(lowest).min(at);
    let follows = placed.follows && top == placed.top;
    Placed { top, follows }
}

struct Walk<'a> {
    entries: &'a [Entry],
    heights: &'a mut dyn Heights,
    height: usize,
}

impl Walk<'_> {
    /// The first visible row when the last row is at the bottom.
    fn end_top(&mut self) -> Place {
        self.top_with_last(self.entries.len())
    }

    /// The first visible row when the cell before this one is at the bottom.
    fn top_with_last(&mut self, next: usize) -> Place {
        let bottom = Place {
            index: next,
            row: 0,
        };
        self.up(bottom, self.height)
    }

    fn find(&mut self, cell: CellId, line: usize) -> Place {
        let index = self.entries.partition_point(|entry| entry.id < cell);
        match self.entries.get(index) {
            Some(entry) if entry.id == cell => Place {
                index,
                row: self.heights.translate(index, line),
            },
            // The cell is gone, so the next one is used.
            Some(_) | None => Place { index, row: 0 },
        }
    }

    fn go(&mut self, from: Place, motion: Motion, end: Place) -> Place {
        let half = i64::try_from((self.height / 2).max(1)).unwrap_or(1);
        let to = match motion {
            Motion::Rows(rows) => self.by(from, rows),
            Motion::HalfPages(halves) => {
                // A whole page keeps one row visible.
                let rows = match halves.abs() {
                    2 => {
                        i64::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
                            * halves.signum()
                    }
                    _ => half.saturating_mul(halves),
                };
                self.by(from, rows)
            }
            Motion::Start => Place { index: 0, row: 0 },
            Motion::End => end,
            Motion::Cell(cell) => self.find(cell, 0),
            Motion::Match { cell, nth } => {
                let index = self.entries.partition_point(|entry| entry.id < cell);
                if index >= self.entries.len() {
                    return end;
                }
                let row = self.heights.row_of_match(index, nth);
                // Some rows above it stay visible.
                self.up(Place { index, row }, self.height / 3)
            }
        };
        to.min(end)
    }

    fn by(&mut self, from: Place, rows: i64) -> Place {
        let count = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        if rows < 0 {
            self.up(from, count)
        } else {
            self.down(from, count)
        }
    }

    fn up(&mut self, from: Place, mut rows: usize) -> Place {
        let Place { mut index, mut row } = from;
        while rows > row {
            if index == 0 {
                return Place { index: 0, row: 0 };
            }
            rows -= row;
            index -= 1;
            row = self.heights.height(index);
        }
        Place {
            index,
            row: row - rows,
        }
    }

    /// Moving by no rows skips cells without rows: of equal places, the last one is used.
    fn down(&mut self, from: Place, mut rows: usize) -> Place {
        let Place { mut index, mut row } = from;
        while index < self.entries.len() {
            let left = self.heights.height(index).saturating_sub(row);
            if rows < left {
                row += rows;
                return Place { index, row };
            }
            rows -= left;
            index += 1;
            row = 0;
        }
        Place { index, row: 0 }
    }
}

//! What is selected in the conversation, by mouse or by keys.
//!
//! Told in rows as they are laid out. Where a row ends and which one follows only the layout knows, so moves by keys are
//! noted here and carried out there.

use super::transcript::CellId;

/// A place in a laid-out cell. The order is that of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub cell: CellId,
    pub row: usize,
    pub column: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Where it began.
    pub anchor: Spot,
    /// Where it has come to; this place is part of it.
    pub head: Spot,
    pub reach: Reach,
    /// What the layout has not carried out yet.
    pub moves: Vec<Move>,
}

/// What a selection takes in around its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Letters,
    Words,
    Rows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Left,
    Right,
    Up,
    Down,
    WordForward,
    WordBack,
    RowStart,
    RowEnd,
}

impl Selection {
    pub fn at(spot: Spot, reach: Reach) -> Self {
        Self {
            anchor: spot,
            head: spot,
            reach,
            moves: Vec::new(),
        }
    }

    /// Its two ends in the order of reading, both part of it.
    pub fn ends(&self) -> (Spot, Spot) {
        (self.anchor.min(self.head), self.anchor.max(self.head))
    }

    /// A click selects nothing by itself.
    pub fn is_click(&self) -> bool {
        self.anchor == self.head && self.reach == Reach::Letters && self.moves.is_empty()
    }
}

//! The selection in the conversation, by mouse or by keys.
//!
//! Expressed in laid-out rows. Only the layout knows where a row ends and which one follows, so moves by keys are
//! collected here and performed there.

use super::transcript::CellId;

/// A place in a laid-out cell, ordered from top to bottom.
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
    /// Its moving end, inclusive.
    pub head: Spot,
    pub reach: Reach,
    pub hold: Hold,
    /// Moves that the layout has not performed yet.
    pub moves: Vec<Move>,
}

/// How a selection extends around its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Letters,
    Words,
    Rows,
}

/// Whether its beginning is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Only a caret: both ends move together.
    Loose,
    Fixed,
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
    PageUp,
    PageDown,
    /// To the nth match of the search in its cell.
    Match(usize),
    /// Begin the selection here, or turn it back into a caret.
    ToggleHold,
}

impl Selection {
    pub fn at(spot: Spot, reach: Reach) -> Self {
        Self {
            anchor: spot,
            head: spot,
            reach,
            hold: Hold::Fixed,
            moves: Vec::new(),
        }
    }

    /// A caret for the keys, where a selection can begin.
    pub fn caret(spot: Spot, first: Move) -> Self {
        Self {
            hold: Hold::Loose,
            moves: vec![first],
            ..Self::at(spot, Reach::Letters)
        }
    }

    /// Moves its end; while it is only a caret, both ends.
    pub fn go(&mut self, head: Spot) {
        self.head = head;
        if self.hold == Hold::Loose {
            self.anchor = head;
        }
    }

    pub fn toggle_hold(&mut self) {
        self.hold = match self.hold {
            Hold::Loose => Hold::Fixed,
            Hold::Fixed => Hold::Loose,
        };
    }

    /// Its two ends from top to bottom, both inclusive.
    pub fn ends(&self) -> (Spot, Spot) {
        (self.anchor.min(self.head), self.anchor.max(self.head))
    }

    /// A click alone selects nothing.
    pub fn is_click(&self) -> bool {
        self.anchor == self.head && self.reach == Reach::Letters && self.moves.is_empty()
    }
}

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
    pub hold: Hold,
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

/// Whether its beginning stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// A caret that looks for the beginning: both ends go together.
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
    /// It begins here, or is let go again.
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

    /// A caret for the keys, from where a selection can begin.
    pub fn caret(spot: Spot, first: Move) -> Self {
        Self {
            hold: Hold::Loose,
            moves: vec![first],
            ..Self::at(spot, Reach::Letters)
        }
    }

    /// Its moving end goes elsewhere; as long as it has not begun, all of it does.
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

    /// Its two ends in the order of reading, both part of it.
    pub fn ends(&self) -> (Spot, Spot) {
        (self.anchor.min(self.head), self.anchor.max(self.head))
    }

    /// A click selects nothing by itself.
    pub fn is_click(&self) -> bool {
        self.anchor == self.head && self.reach == Reach::Letters && self.moves.is_empty()
    }
}

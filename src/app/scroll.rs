//! Where the conversation pane stands: an anchor in a cell, never a row counted from the top.
//!
//! How high a cell is, only the layout knows. So a motion is noted here, the layout carries it out and says where it came
//! to rest ([`Rest`]), and that is the anchor from then on.

use super::dialogs::DialogRest;
use super::select::{Selection, Spot};
use super::transcript::CellId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    /// The end stays in view while text arrives.
    #[default]
    Follow,
    /// This line of this cell is the first in view.
    At { cell: CellId, line: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Down, or up if negative.
    Rows(i64),
    /// Parts of the pane's height, in halves.
    HalfPages(i64),
    Start,
    End,
    /// To the beginning of a cell.
    Cell(CellId),
    /// So that the nth match of the search in a cell is in view.
    Match {
        cell: CellId,
        nth: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scroll {
    pub anchor: Anchor,
    /// What the layout has not carried out yet, in order.
    pub motions: Vec<Motion>,
    /// What the last layout showed.
    pub rest: Option<Rest>,
    /// How many cells there were when the end was last in view.
    seen: usize,
    /// Scrolling was left here, and the next Esc goes to the end.
    parked: bool,
}

/// Where the layout came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub anchor: Anchor,
    /// The first and the last row in view.
    pub top: Spot,
    pub bottom: Spot,
}

/// All that a layout found out and the state has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Nothing of the conversation is in view where there is no room for it.
    pub rest: Option<Rest>,
    /// What is selected, after its moves.
    pub selection: Option<Selection>,
    pub dialog: Option<DialogRest>,
    /// How far the detail view of a call can be scrolled.
    pub detail: Option<usize>,
    /// How wide a diff in front is.
    pub diff_width: u16,
}

impl Scroll {
    pub fn go(&mut self, motion: Motion) {
        self.parked = false;
        match (motion, self.motions.last_mut()) {
            // A wheel that spins faster than frames are drawn is one motion.
            (Motion::Rows(more), Some(Motion::Rows(rows))) => *rows = rows.saturating_add(more),
            _ => self.motions.push(motion),
        }
    }

    pub fn follow(&mut self) {
        self.motions.clear();
        self.anchor = Anchor::Follow;
        self.parked = false;
    }

    /// The keys go elsewhere; the place stays, to be quoted or answered.
    pub fn park(&mut self) {
        self.parked = !self.is_following();
    }

    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// Stays where it is, although what is in view is about to grow or shrink.
    pub fn hold(&mut self) {
        if let (true, Some(rest)) = (self.is_following(), self.rest) {
            self.anchor = Anchor::At {
                cell: rest.top.cell,
                line: rest.top.row,
            };
        }
    }

    pub fn is_following(&self) -> bool {
        self.anchor == Anchor::Follow && self.motions.is_empty()
    }

    /// Takes over where the layout came to rest, with as many cells as there are.
    pub fn settle(&mut self, rest: &Rest, cells: usize) {
        self.motions.clear();
        self.anchor = rest.anchor;
        self.rest = Some(*rest);
        if self.anchor == Anchor::Follow {
            self.parked = false;
            self.seen = cells;
        }
    }

    /// How many cells came since the end was in view.
    pub fn unseen(&self, cells: usize) -> usize {
        cells.saturating_sub(self.seen)
    }
}

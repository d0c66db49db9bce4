//! The scroll position of the conversation: an anchor in a cell, never a row counted from the top.
//!
//! Only the layout knows how high a cell is. So motions are collected here; the layout performs them and reports the
//! result ([`ScrollLayout`]), which is the next anchor.

use std::sync::Arc;

use super::dialogs::DialogLayout;
use super::select::{Selection, Spot};
use super::transcript::CellId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    /// The end stays visible while text arrives.
    #[default]
    Follow,
    /// This line of this cell is the first visible one.
    At { cell: CellId, line: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Down, or up if negative.
    Rows(i64),
    /// By the pane's height, in halves.
    HalfPages(i64),
    Start,
    End,
    /// To the beginning of a cell.
    Cell(CellId),
    /// Show the nth match of the search in a cell.
    Match {
        cell: CellId,
        nth: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scroll {
    pub anchor: Anchor,
    /// Motions that the layout has not performed yet, in order.
    pub motions: Vec<Motion>,
    /// What the last layout showed.
    pub layout: Option<ScrollLayout>,
    /// How many cells there were when the end was last visible.
    seen: usize,
    /// Scrolling was left here, and the next Esc goes to the end.
    parked: bool,
}

/// Where the layout came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrollLayout {
    pub anchor: Anchor,
    /// The first and the last visible row.
    pub top: Spot,
    pub bottom: Spot,
}

/// Everything that a layout reports to the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `None` if there is no room for the conversation.
    pub layout: Option<ScrollLayout>,
    /// The selection after its moves.
    pub selection: Option<Selection>,
    pub dialog: Option<DialogLayout>,
    /// How far the detail view of a call can be scrolled.
    pub detail: Option<usize>,
    /// How wide the diff in front is.
    pub diff_width: u16,
    /// The rows of the page in front that match its search.
    pub matches: Option<Arc<[usize]>>,
}

impl Scroll {
    pub fn go(&mut self, motion: Motion) {
        self.parked = false;
        match (motion, self.motions.last_mut()) {
            // Wheel events between two frames become one motion.
            (Motion::Rows(more), Some(Motion::Rows(rows))) => *rows = rows.saturating_add(more),
            _ => self.motions.push(motion),
        }
    }

    pub fn follow(&mut self) {
        self.motions.clear();
        self.anchor = Anchor::Follow;
        self.parked = false;
    }

    /// The keys go elsewhere; the position stays, so that the person can quote or answer what they see.
    pub fn keep_position(&mut self) {
        self.parked = !self.is_following();
    }

    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// Keeps the position, although the visible content is about to grow or shrink.
    pub fn hold(&mut self) {
        if let (true, Some(layout)) = (self.is_following(), self.layout) {
            self.anchor = Anchor::At {
                cell: layout.top.cell,
                line: layout.top.row,
            };
        }
    }

    pub fn is_following(&self) -> bool {
        self.anchor == Anchor::Follow && self.motions.is_empty()
    }

    /// Records where the layout came to rest, and the number of cells.
    pub fn record_layout(&mut self, layout: &ScrollLayout, cells: usize) {
        self.motions.clear();
        self.anchor = layout.anchor;
        self.layout = Some(*layout);
        if self.anchor == Anchor::Follow {
            self.parked = false;
            self.seen = cells;
        }
    }

    /// How many cells arrived since the end was visible.
    pub fn unseen(&self, cells: usize) -> usize {
        cells.saturating_sub(self.seen)
    }
}

//! The link that a piece of text belongs to, as a number in its style.
//!
//! A cell of the screen has no place for a link. It has one for the colour of an underline, which no theme uses and which is
//! never sent to a terminal as a colour: that carries the number. So a link goes wherever its text goes, through
//! wrapping, tables and rows that move, and a cell that changes its link is a cell that has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use ratatui::buffer::Cell;
use ratatui::style::{Color, Style};

/// The same for the same target, whenever and wherever it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkId(u32);

impl LinkId {
    pub fn of(target: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        target.hash(&mut hasher);
        let [_, _, _, _, _, number @ ..] = hasher.finish().to_be_bytes();
        Self::from(number)
    }

    /// `style` as part of this link.
    pub fn put_on(self, style: Style) -> Style {
        let [_, high, middle, low] = self.0.to_be_bytes();
        style.underline_color(Color::Rgb(high, middle, low))
    }

    pub fn in_style(style: &Style) -> Option<Self> {
        style.underline_color.and_then(Self::carried)
    }

    pub fn in_cell(cell: &Cell) -> Option<Self> {
        Self::carried(cell.underline_color)
    }

    fn carried(colour: Color) -> Option<Self> {
        match colour {
            Color::Rgb(high, middle, low) => Some(Self::from([high, middle, low])),
            _ => None,
        }
    }
}

impl From<[u8; 3]> for LinkId {
    fn from([high, middle, low]: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, high, middle, low]))
    }
}

impl std::fmt::Display for LinkId {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:06x}", self.0)
    }
}

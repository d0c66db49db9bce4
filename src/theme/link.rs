//! The link that a piece of text belongs to, as a number in its style.
//!
//! A screen cell has no field for a link. It has one for the underline colour, which no theme uses and which is never
//! sent to a terminal as a colour, so that field holds the number. This way a link stays with its text through
//! wrapping, tables and scrolling, and a cell whose link changes counts as changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use ratatui::buffer::Cell;
use ratatui::style::{Color, Style};

/// Always the same for the same target.
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

//! One laid-out line of the screen that remembers what text it stands for.

use ratatui::text::Line;

use super::link::Link;

/// Painted with `Buffer::set_line`, which measures as [`super::width()`] does (the `Line` widget does not). Where
/// `line.style` has a ground (a block of code), it is meant to reach to the right edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub line: Line<'static>,
    /// How many cells at its left are decoration (bars, marks, line numbers), which is not copied.
    /// [`Row::DECORATION`] says that the whole row is: it leaves not even a newline in a copy.
    pub gutter: u16,
    /// The row continues the one before: no newline is between them when both are copied.
    pub continues: bool,
    /// How many spaces were dropped at the break before this row; a copy puts them back. Only where it continues.
    pub glue: u16,
    /// Where the links in it lead.
    pub links: Vec<Link>,
}

impl Row {
    /// The gutter of a row that stands for no text at all.
    pub const DECORATION: u16 = u16::MAX;

    pub fn new(line: impl Into<Line<'static>>) -> Self {
        Self {
            line: line.into(),
            ..Self::default()
        }
    }

    /// A row for the eye only, such as the language over a block of code.
    pub fn decoration(line: impl Into<Line<'static>>) -> Self {
        Self {
            gutter: Self::DECORATION,
            ..Self::new(line)
        }
    }
}

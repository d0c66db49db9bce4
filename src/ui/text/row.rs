//! One laid-out row of the screen that knows which text it represents.

use ratatui::text::Line;

use super::link::Link;

/// Painted with `Buffer::set_line`, which measures like [`super::width()`] (the `Line` widget does not). If
/// `line.style` has a background (a code block), it extends to the right edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub line: Line<'static>,
    /// How many cells at its left are decoration (bars, marks, line numbers), which is not copied. [`Row::DECORATION`]
    /// means the whole row: copying it gives nothing, not even a newline.
    pub gutter: u16,
    /// The row continues the previous one: copying puts no newline between them.
    pub continues: bool,
    /// How many spaces were dropped at the break before this row; copying restores them. Only if it continues.
    pub glue: u16,
    /// The links in it.
    pub links: Vec<Link>,
}

impl Row {
    /// The gutter of a row that represents no text.
    pub const DECORATION: u16 = u16::MAX;

    pub fn new(line: impl Into<Line<'static>>) -> Self {
        Self {
            line: line.into(),
            ..Self::default()
        }
    }

    /// A row that is only decoration, such as the language above a code block.
    pub fn decoration(line: impl Into<Line<'static>>) -> Self {
        Self {
            gutter: Self::DECORATION,
            ..Self::new(line)
        }
    }
}

//! One laid-out line of the screen that remembers what text it stands for.

use ratatui::text::Line;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub line: Line<'static>,
    /// How many cells at its left are decoration (bars, marks, line numbers), which is not copied.
    pub gutter: u16,
    /// The row continues the one before: no newline is between them when both are copied.
    pub continues: bool,
}

impl Row {
    pub fn new(line: impl Into<Line<'static>>) -> Self {
        Self {
            line: line.into(),
            gutter: 0,
            continues: false,
        }
    }
}

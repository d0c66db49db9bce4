//! The scroll position of a long text.

use super::DialogLayout;
use crate::keymap::Action;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paging {
    offset: usize,
    furthest: usize,
    visible: usize,
}

impl Paging {
    /// The first visible row.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many rows are below the visible ones.
    pub fn below(&self) -> usize {
        self.furthest - self.offset
    }

    pub fn scroll(&mut self, rows: i64) {
        let rows = isize::try_from(rows).unwrap_or(0);
        self.offset = self.offset.saturating_add_signed(rows).min(self.furthest);
    }

    pub fn go_to_start(&mut self) {
        self.offset = 0;
    }

    pub fn go_to(&mut self, row: usize) {
        self.offset = row.min(self.furthest);
    }

    /// Makes a row visible, with some rows above it.
    pub fn show(&mut self, row: usize) {
        let visible = self.offset..self.offset + self.visible;
        if !visible.contains(&row) {
            self.go_to(row.saturating_sub(self.visible / 3));
        }
    }

    pub fn record_layout(&mut self, layout: DialogLayout) {
        (self.furthest, self.visible) = (layout.furthest, layout.visible);
        self.offset = self.offset.min(layout.furthest);
    }

    /// Scrolls, if the action is about scrolling.
    pub fn perform(&mut self, action: Action) {
        match action {
            Action::LineDown | Action::Next => self.scroll(1),
            Action::LineUp | Action::Previous => self.scroll(-1),
            // One line of the previous page stays visible.
            Action::PageDown => self.scroll(self.page()),
            Action::PageUp => self.scroll(-self.page()),
            Action::HalfPageDown => self.scroll(self.page() / 2 + 1),
            Action::HalfPageUp => self.scroll(-(self.page() / 2 + 1)),
            Action::Top => self.go_to_start(),
            Action::Bottom => self.offset = self.furthest,
            _ => {}
        }
    }

    fn page(&self) -> i64 {
        i64::try_from(self.visible.saturating_sub(1).max(1)).unwrap_or(1)
    }
}

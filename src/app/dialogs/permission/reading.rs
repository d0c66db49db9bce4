//! How much of a text was visible, which decides whether it can be allowed.

use super::super::DialogLayout;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The first visible row.
    pub offset: usize,
    furthest: usize,
    visible: usize,
    reached_end: bool,
}

impl Reading {
    pub fn scroll(&mut self, rows: i64) {
        let rows = isize::try_from(rows).unwrap_or(0);
        self.offset = self.offset.saturating_add_signed(rows).min(self.furthest);
    }

    /// Scrolls by half pages, up if negative. One row of a page stays visible.
    pub fn turn(&mut self, halves: i64) {
        let page = i64::try_from(self.visible.saturating_sub(1)).unwrap_or(0);
        let rows = page * halves / 2;
        self.scroll(if rows == 0 { halves.signum() } else { rows });
    }

    pub fn go_to_start(&mut self) {
        self.offset = 0;
    }

    pub fn go_to_end(&mut self) {
        self.offset = self.furthest;
    }

    /// Records what the layout reports: only what it has shown counts as read.
    pub fn record_layout(&mut self, layout: DialogLayout) {
        self.furthest = layout.furthest;
        self.visible = layout.visible;
        self.offset = self.offset.min(layout.furthest);
        self.reached_end |= self.visible > 0 && self.offset >= self.furthest;
    }

    /// Whether any of it is visible now.
    pub fn is_visible(&self) -> bool {
        self.visible > 0
    }

    pub fn has_reached_end(&self) -> bool {
        self.reached_end
    }

    /// How many rows are below.
    pub fn below(&self) -> usize {
        self.furthest - self.offset
    }
}

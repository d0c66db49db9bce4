//! How much of a text has been in view, which decides whether it can be allowed.

use super::super::DialogRest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The first row in view.
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

    /// Half pages down, or up if negative. One row of a page stays in view.
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

    /// Takes over what the layout found out: only what it has shown counts as read.
    pub fn settle(&mut self, rest: DialogRest) {
        self.furthest = rest.furthest;
        self.visible = rest.visible;
        self.offset = self.offset.min(rest.furthest);
        self.reached_end |= self.visible > 0 && self.offset >= self.furthest;
    }

    /// Whether anything can be read now.
    pub fn is_visible(&self) -> bool {
        self.visible > 0
    }

    pub fn has_reached_end(&self) -> bool {
        self.reached_end
    }

    /// Rows further down.
    pub fn below(&self) -> usize {
        self.furthest - self.offset
    }
}

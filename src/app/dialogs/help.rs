//! The help: keys and commands, as they are bound.

use super::DialogRest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HelpDialog {
    pub offset: usize,
    furthest: usize,
    visible: usize,
}

impl HelpDialog {
    pub fn scroll(&mut self, rows: i64) {
        let rows = isize::try_from(rows).unwrap_or(0);
        self.offset = self.offset.saturating_add_signed(rows).min(self.furthest);
    }

    /// As far as there is in view, but for a line; down, or up if negative.
    pub fn page(&mut self, direction: i64) {
        let rows = i64::try_from(self.visible.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll(rows * direction);
    }

    pub fn settle(&mut self, rest: DialogRest) {
        (self.furthest, self.visible) = (rest.furthest, rest.visible);
        self.offset = self.offset.min(rest.furthest);
    }
}

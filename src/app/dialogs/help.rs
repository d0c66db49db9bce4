//! The help: keys and commands, as they are bound.

use super::DialogRest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HelpDialog {
    pub offset: usize,
    furthest: usize,
}

impl HelpDialog {
    pub fn scroll(&mut self, rows: i64) {
        let rows = isize::try_from(rows).unwrap_or(0);
        self.offset = self.offset.saturating_add_signed(rows).min(self.furthest);
    }

    pub fn settle(&mut self, rest: DialogRest) {
        self.furthest = rest.furthest;
        self.offset = self.offset.min(rest.furthest);
    }
}

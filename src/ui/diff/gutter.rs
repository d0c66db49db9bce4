//! The gutter of a line of code: its numbers and its mark.

use ratatui::text::Span;

use crate::app::diff::{Hunk, Kind};
use crate::theme::{Role, Theme};
use crate::ui::text::{CONTINUED, Indent, width};

use super::code::LineBackground;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    None,
    Old,
    /// The number in the new file; for a removed line, in the old one.
    New,
    Both,
}

#[derive(Debug, Clone, Copy)]
pub struct Gutter {
    numbers: Numbers,
    digits: usize,
}

impl Gutter {
    pub fn new(numbers: Numbers, hunks: &[Hunk]) -> Self {
        let last = hunks
            .last()
            .map_or(0, |hunk| hunk.old.end.max(hunk.new.end));
        Self {
            numbers,
            digits: last.to_string().len(),
        }
    }

    /// For a file with this many lines.
    pub fn counting(lines: usize) -> Self {
        Self {
            numbers: Numbers::New,
            digits: lines.to_string().len(),
        }
    }

    /// Only marks, for lines whose position is not known.
    pub const MARKS: Self = Self {
        numbers: Numbers::None,
        digits: 0,
    };

    pub fn width(self) -> usize {
        2 + match self.numbers {
            Numbers::None => 0,
            Numbers::Old | Numbers::New => self.digits + 1,
            Numbers::Both => 2 * (self.digits + 1),
        }
    }

    /// For the rows of one line: numbers and mark on the first, a continuation mark on the others.
    pub fn indent(self, kind: Kind, theme: &Theme) -> Indent {
        let background = LineBackground::of(kind);
        let style = background.style(theme);
        let (old, new) = match kind {
            Kind::Context { old, new } => (Some(old), Some(new)),
            Kind::Removed { old } => (Some(old), None),
            Kind::Added { new } => (None, Some(new)),
        };
        let numbers = match self.numbers {
            Numbers::None => String::new(),
            Numbers::Old => self.number(old),
            Numbers::New => self.number(new.or(old)),
            Numbers::Both => self.number(old) + &self.number(new),
        };
        let (columns, mark) = (self.width(), width(CONTINUED));
        let faint = style.patch(theme.style(Role::LineNumber));
        Indent {
            first: vec![
                Span::styled(numbers, faint),
                Span::styled(format!("{} ", background.mark()), style),
            ],
            gutter: u16::try_from(columns).unwrap_or(u16::MAX),
            rest: vec![
                Span::styled(" ".repeat(columns - mark), style),
                Span::styled(CONTINUED, faint),
            ],
        }
    }

    fn number(self, index: Option<usize>) -> String {
        let number = index.map_or_else(String::new, |index| (index + 1).to_string());
        format!("{number:>digits$} ", digits = self.digits)
    }
}

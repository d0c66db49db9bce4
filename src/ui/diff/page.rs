//! Collects rows until the rest is folded.

use ratatui::text::{Line, Span};

use crate::theme::{Role, Theme};
use crate::ui::text::{Row, truncate};

pub struct Page {
    rows: Vec<Row>,
    /// How many rows and lines there were after each complete line.
    ends: Vec<(usize, usize)>,
    fold: Option<usize>,
}

/// No more rows are wanted.
pub struct Full;

impl Page {
    pub fn new(fold: Option<usize>) -> Self {
        Self {
            rows: Vec::new(),
            ends: Vec::new(),
            fold,
        }
    }

    /// The rows of one line of the diff, or of several side by side.
    pub fn lines(&mut self, lines: usize, rows: Vec<Row>) -> Result<(), Full> {
        let before = self.ends.last().map_or(0, |(_, lines)| *lines);
        self.rows.extend(rows);
        self.ends.push((self.rows.len(), before + lines));
        self.check_room()
    }

    /// A row that is not a line of the diff.
    pub fn decoration(&mut self, line: Line<'static>) -> Result<(), Full> {
        self.rows.push(Row::decoration(line));
        self.check_room()
    }

    /// A single row more is shown instead of folded, because the fold takes a row itself.
    fn check_room(&self) -> Result<(), Full> {
        match self.fold {
            Some(fold) if self.rows.len() > fold.saturating_add(1) => Err(Full),
            Some(_) | None => Ok(()),
        }
    }

    /// All rows, or those before the fold and how many of all `lines` it hides.
    pub fn finish(mut self, lines: usize, width: u16, theme: &Theme) -> Vec<Row> {
        let Some(fold) = self.fold.filter(|_| self.check_room().is_err()) else {
            return self.rows;
        };
        let complete = self.ends.partition_point(|(rows, _)| *rows <= fold);
        let shown = complete.checked_sub(1).map_or(0, |last| self.ends[last].1);
        self.rows.truncate(fold);
        self.rows.push(hidden(lines - shown, "more", width, theme));
        self.rows
    }
}

/// How many lines are hidden.
pub fn hidden(lines: usize, which: &str, width: u16, theme: &Theme) -> Row {
    let plural = if lines == 1 { "" } else { "s" };
    let text = truncate(&format!("… {lines} {which} line{plural}"), width.into());
    Row::decoration(Span::styled(text, theme.style(Role::Muted)))
}

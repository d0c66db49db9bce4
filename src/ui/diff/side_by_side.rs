//! The old file on the left and the new one on the right, with matching lines in one row.
//!
//! Copying gives the new file: everything to the left of its code is gutter.

use std::ops::Range;

use ratatui::text::{Line, Span};

use crate::app::diff::words::Pair;
use crate::app::diff::{Edit, Kind, Part};
use crate::theme::Role;
use crate::ui::text::{Row, width};

use super::DiffContext;
use super::gutter::{Gutter, Numbers};
use super::page::{Full, Page};

/// Narrower screens have no room for two columns.
pub const NARROWEST: u16 = 40;

pub fn fill(context: &DiffContext<'_>, page: &mut Page) -> Result<(), Full> {
    let columns = Columns::new(context);
    for hunk in context.hunks {
        if !context.diff.is_new() {
            page.decoration(context.hunk_header(hunk))?;
        }
        for part in context.diff.parts(hunk) {
            match part {
                Part::Same(Edit { old, new }) => {
                    for (old, new) in old.zip(new) {
                        let both = Some((Kind::Context { old, new }, &[][..]));
                        page.lines(1, columns.rows(both, both))?;
                    }
                }
                Part::Changed(edit) => changed(&columns, page, &edit)?,
            }
        }
    }
    Ok(())
}

fn changed(columns: &Columns<'_>, page: &mut Page, edit: &Edit) -> Result<(), Full> {
    let pairs = columns.context.diff.pairs(edit);
    for beside in align(edit.old.len(), edit.new.len(), &pairs) {
        let words = beside.pair.map(|pair| &pair.words);
        let left = beside.removed.map(|index| {
            let old = edit.old.start + index;
            (
                Kind::Removed { old },
                words.map_or(&[][..], |words| &words.removed),
            )
        });
        let right = beside.added.map(|index| {
            let new = edit.new.start + index;
            (
                Kind::Added { new },
                words.map_or(&[][..], |words| &words.added),
            )
        });
        let lines = usize::from(left.is_some()) + usize::from(right.is_some());
        page.lines(lines, columns.rows(left, right))?;
    }
    Ok(())
}

/// Lines side by side, counted from the start of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SideBySide<'a> {
    removed: Option<usize>,
    added: Option<usize>,
    pair: Option<&'a Pair>,
}

/// Puts pairs in one row; the lines before and between them are put side by side in order.
fn align(removed: usize, added: usize, pairs: &[Pair]) -> Vec<SideBySide<'_>> {
    let mut rows = Vec::with_capacity(removed.max(added));
    let (mut left, mut right) = (0, 0);
    let ends = pairs
        .iter()
        .map(|pair| (pair.removed, pair.added, Some(pair)))
        .chain([(removed, added, None)]);
    for (left_end, right_end, pair) in ends {
        while left < left_end || right < right_end {
            rows.push(SideBySide {
                removed: (left < left_end).then_some(left),
                added: (right < right_end).then_some(right),
                pair: None,
            });
            left = left_end.min(left + 1);
            right = right_end.min(right + 1);
        }
        if pair.is_some() {
            rows.push(SideBySide {
                removed: Some(left),
                added: Some(right),
                pair,
            });
            left += 1;
            right += 1;
        }
    }
    rows
}

/// A line and its changed words.
type Cell<'a> = (Kind, &'a [Range<usize>]);

struct Columns<'a> {
    context: &'a DiffContext<'a>,
    /// The width of each column; the cell between them is the dividing line.
    left: u16,
    right: u16,
    old: Gutter,
    new: Gutter,
}

impl<'a> Columns<'a> {
    fn new(context: &'a DiffContext<'a>) -> Self {
        let room = context.width.saturating_sub(1);
        Self {
            context,
            left: room / 2,
            right: room - room / 2,
            old: Gutter::new(Numbers::Old, context.hunks),
            new: Gutter::new(Numbers::New, context.hunks),
        }
    }

    fn rows(&self, left: Option<Cell<'_>>, right: Option<Cell<'_>>) -> Vec<Row> {
        let side = |cell: Option<Cell<'_>>, gutter, columns| {
            cell.map_or_else(Vec::new, |(kind, words)| {
                self.context.rows(kind, words, gutter, columns)
            })
        };
        let mut left = side(left, self.old, self.left).into_iter();
        let mut right = side(right, self.new, self.right).into_iter();
        let mut rows = Vec::new();
        loop {
            match (left.next(), right.next()) {
                (None, None) => return rows,
                (left, right) => rows.push(self.join(left, right)),
            }
        }
    }

    fn join(&self, left: Option<Row>, right: Option<Row>) -> Row {
        let theme = self.context.painter.theme;
        let mut spans = fill_up(left.unwrap_or_default(), self.left);
        spans.push(Span::styled("│", theme.style(Role::Border)));
        let Some(right) = right else {
            return Row::decoration(Line::from(spans));
        };
        let (gutter, continues, glue) = (right.gutter, right.continues, right.glue);
        spans.extend(fill_up(right, self.right));
        Row {
            gutter: gutter.saturating_add(self.left + 1),
            continues,
            glue,
            ..Row::new(Line::from(spans))
        }
    }
}

/// The spans of a row in the row's style, padded to a width.
fn fill_up(row: Row, columns: u16) -> Vec<Span<'static>> {
    let background = row.line.style;
    let mut spans = row.line.spans;
    let taken: usize = spans.iter().map(|span| width(&span.content)).sum();
    for span in &mut spans {
        span.style = background.patch(span.style);
    }
    let blanks = usize::from(columns).saturating_sub(taken);
    spans.push(Span::styled(" ".repeat(blanks), background));
    spans
}

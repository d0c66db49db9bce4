//! Tables: columns as wide as needed, narrower if the screen is narrow, and a list of fields if it is far too narrow.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, width, wrap};

/// A narrower column makes words unreadable.
const NARROWEST: usize = 6;
const BETWEEN: &str = " │ ";
const CROSSING: &str = "─┼─";

/// The lines of one cell: several if the text has `<br>`.
pub type Cell = Vec<Line<'static>>;

#[derive(Default)]
pub struct Table {
    pub alignments: Vec<Alignment>,
    /// The first one is the header.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn lay_out(mut self, room: u16, theme: &Theme) -> Vec<Row> {
        let header = theme.style(Role::Strong);
        for line in self.rows.iter_mut().take(1).flatten().flatten() {
            for span in &mut line.spans {
                span.style = span.style.patch(header);
            }
        }
        match fit(&self.natural_widths(), room.into()) {
            Some(widths) => self.grid(&widths, theme),
            None => self.fields(room),
        }
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.alignments.len()];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                let cells = cell.iter().map(line_width).max().unwrap_or(0);
                *widest = cells.max(*widest);
            }
        }
        widths
    }

    fn grid(self, widths: &[usize], theme: &Theme) -> Vec<Row> {
        let border = theme.style(Role::TableBorder);
        let rule = || {
            let dashes: Vec<_> = widths.iter().map(|cells| "─".repeat(*cells)).collect();
            Row::new(Line::styled(dashes.join(CROSSING), border))
        };
        let rows: Vec<_> = self
            .rows
            .into_iter()
            .map(|row| wrapped(row, widths))
            .collect();
        let tall = rows
            .iter()
            .skip(1)
            .any(|row| row.iter().any(|cell| cell.len() > 1));
        let mut out = Vec::new();
        for (index, row) in rows.into_iter().enumerate() {
            if index == 1 || tall && index > 1 {
                out.push(rule());
            }
            let height = row.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let mut cells: Vec<_> = row.into_iter().map(Vec::into_iter).collect();
            for _ in 0..height {
                let lines = cells.iter_mut().map(|cell| cell.next().unwrap_or_default());
                out.push(Row::new(join(lines, widths, &self.alignments, border)));
            }
        }
        out
    }

    /// Every cell on its own line, after the name of its column.
    fn fields(self, room: u16) -> Vec<Row> {
        let mut rows = self.rows.into_iter();
        let header = rows.next().unwrap_or_default();
        let hanging = Indent {
            rest: vec![Span::raw("  ")],
            ..Indent::default()
        };
        let mut out = Vec::new();
        for row in rows {
            if !out.is_empty() {
                out.push(Row::default());
            }
            for (index, cell) in row.into_iter().enumerate() {
                let mut spans = header.get(index).map(one_line).unwrap_or_default();
                spans.push(Span::raw(": "));
                spans.append(&mut one_line(&cell));
                out.append(&mut wrap(Line::from(spans), room, &hanging));
            }
        }
        if out.is_empty() {
            out = header
                .iter()
                .flat_map(|cell| wrap(Line::from(one_line(cell)), room, &hanging))
                .collect();
        }
        out
    }
}

/// The width of each column so that all fit: narrow ones keep their width, the others share the rest.
fn fit(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let borders = width(BETWEEN) * natural.len().saturating_sub(1);
    let mut left = room.checked_sub(borders)?;
    let mut by_width: Vec<usize> = (0..natural.len()).collect();
    by_width.sort_by_key(|column| natural[*column]);
    let mut widths = vec![0; natural.len()];
    for (done, column) in by_width.into_iter().enumerate() {
        let share = left / (natural.len() - done);
        widths[column] = natural[column].min(share);
        left -= widths[column];
    }
    let readable = |(given, wanted): (&usize, &usize)| given >= wanted || *given >= NARROWEST;
    widths.iter().zip(natural).all(readable).then_some(widths)
}

fn wrapped(row: Vec<Cell>, widths: &[usize]) -> Vec<Cell> {
    let wrap_to = |line, cells: usize| {
        let rows = wrap(
            line,
            u16::try_from(cells).unwrap_or(u16::MAX),
            &Indent::default(),
        );
        rows.into_iter().map(|row| row.line)
    };
    let cells = row.into_iter().zip(widths);
    cells
        .map(|(cell, cells)| {
            cell.into_iter()
                .flat_map(|line| wrap_to(line, *cells))
                .collect()
        })
        .collect()
}

fn join(
    cells: impl Iterator<Item = Line<'static>>,
    widths: &[usize],
    alignments: &[Alignment],
    border: Style,
) -> Line<'static> {
    let mut spans = Vec::new();
    let mut pending = 0;
    for (index, cell) in cells.enumerate() {
        let spare = widths[index].saturating_sub(line_width(&cell));
        let before = match alignments.get(index) {
            Some(Alignment::Right) => spare,
            Some(Alignment::Center) => spare / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        if index > 0 {
            spans.push(Span::raw(" ".repeat(pending)));
            spans.push(Span::styled(BETWEEN, border));
        }
        spans.push(Span::raw(" ".repeat(before)));
        spans.extend(cell.spans);
        pending = spare - before;
    }
    spans.retain(|span| !span.content.is_empty());
    Line::from(spans)
}

fn one_line(cell: &Cell) -> Vec<Span<'static>> {
    let lines: Vec<_> = cell.iter().map(|line| line.spans.clone()).collect();
    lines.join(&Span::raw(" "))
}

fn line_width(line: &Line<'static>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}

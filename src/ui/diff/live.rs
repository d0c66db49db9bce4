//! A call while it is being written: its last lines, however many there are before them.

use ratatui::text::Span;

use crate::app::diff::{self, Ending, Endings, Kind};
use crate::app::preview::{Preview, Text};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, chop};

use super::Options;
use super::code::{Ground, Painter, Ranges};
use super::gutter::Gutter;
use super::page::hidden;

/// What is known of a call so far. Costs what is shown, not what has been written.
///
/// There are no colours but those of the diff: those of the code would have to be found again with each letter.
pub fn live(preview: &Preview<'_>, options: &Options, theme: &Theme) -> Vec<Row> {
    match *preview {
        Preview::Edit { old, new, .. } => {
            let removed = (old, CellContext::Line(Kind::Removed { old: 0 }));
            let added = (new, CellContext::Line(Kind::Added { new: 0 }));
            tail(&[removed, added], options, theme)
        }
        Preview::Write { content, .. } => {
            let added = (content, CellContext::Line(Kind::Added { new: 0 }));
            tail(&[added], options, theme)
        }
        Preview::Command { command } => tail(&[(command, CellContext::Command)], options, theme),
        Preview::None => Vec::new(),
    }
}

#[derive(Debug, Clone, Copy)]
enum CellContext {
    Line(Kind),
    Command,
}

fn tail(texts: &[(Text<'_>, CellContext)], options: &Options, theme: &Theme) -> Vec<Row> {
    let most = options.fold.unwrap_or(usize::MAX);
    let all: usize = texts.iter().map(|(text, _)| text.lines()).sum();
    // From the last line upwards, so that nothing above the fold is touched.
    let mut lines: Vec<Vec<Row>> = Vec::new();
    let mut room = most;
    for (text, cx) in texts.iter().rev() {
        for line in text.tail(room).into_iter().rev() {
            if room > 0 {
                let line = end_of(line, room.saturating_mul(options.width.into()));
                let rows = cx.paint(line, lines.len() + 1 == all, options.width, theme);
                room = room.saturating_sub(rows.len());
                lines.push(rows);
            }
        }
    }
    let earlier = all - lines.len();
    let mut rows: Vec<Row> = lines.into_iter().rev().flatten().collect();
    rows.drain(..rows.len().saturating_sub(most));
    if earlier > 0 {
        rows.insert(0, hidden(earlier, "earlier", options.width, theme));
    }
    rows
}

impl CellContext {
    fn paint(self, text: &str, is_first: bool, columns: u16, theme: &Theme) -> Vec<Row> {
        let painter = Painter {
            theme,
            endings: Endings::Lf,
        };
        match self {
            CellContext::Line(kind) => {
                let ending = Ending::Lf;
                let line = diff::Line { kind, text, ending };
                painter.rows(&line, Ranges::default(), Gutter::MARKS, columns)
            }
            CellContext::Command => {
                let mark = |mark: &'static str| vec![Span::styled(mark, theme.style(Role::Muted))];
                let indent = Indent {
                    first: mark(if is_first { "$ " } else { "  " }),
                    gutter: 2,
                    rest: mark("  "),
                };
                let line = painter.line(text, Ground::Same, Ranges::default());
                chop(line, columns, &indent)
            }
        }
    }
}

/// The end of a line that alone would fill the room several times: a file may be one line.
fn end_of(line: &str, cells: usize) -> &str {
    const BYTES_IN_A_CELL: usize = 4;
    let from = line
        .len()
        .saturating_sub(cells.saturating_mul(BYTES_IN_A_CELL));
    let from = (from..=line.len())
        .find(|at| line.is_char_boundary(*at))
        .unwrap_or_default();
    &line[from..]
}

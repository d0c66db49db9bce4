//! A call while it is being written: its last lines.

use std::ops::Range;
use std::sync::Arc;

use ratatui::text::Span;

use crate::app::diff::{self, Ending, Endings, Kind};
use crate::app::preview::{Preview, Text};
use crate::theme::{Role, Theme};
use crate::ui::highlight::{CodeColours, Highlighted};
use crate::ui::text::{Indent, Row, chop};

use super::Options;
use super::code::{LineBackground, Painter, Ranges};
use super::gutter::Gutter;
use super::page::hidden;

/// What is known about a call so far. Costs what is shown, not what has been written.
///
/// An edit has only diff colours: fragments of a file are too little to highlight.
pub fn live(
    preview: &Preview<'_>,
    options: &Options,
    theme: &Theme,
    code: &mut dyn CodeColours,
) -> Vec<Row> {
    match *preview {
        Preview::Edit { old, new, .. } => {
            let removed = (old, CellContext::Line(Kind::Removed { old: 0 }));
            let added = (new, CellContext::Line(Kind::Added { new: 0 }));
            tail(&[removed, added], options, theme)
        }
        Preview::Write { path, content } => {
            let file = NewFile::new(path, content, options, code);
            tail(&[(content, CellContext::File(&file))], options, theme)
        }
        Preview::Command { command } => tail(&[(command, CellContext::Command)], options, theme),
        Preview::None => Vec::new(),
    }
}

#[derive(Debug, Clone, Copy)]
enum CellContext<'a> {
    Line(Kind),
    File(&'a NewFile),
    Command,
}

/// A file that is being written.
#[derive(Debug)]
struct NewFile {
    gutter: Gutter,
    /// The colours of some lines, and the number of the first one.
    colours: Arc<Highlighted>,
    first: usize,
}

/// With less room, line numbers are left out.
const ROOM_FOR_NUMBERS: u16 = 24;
/// Colours are requested whenever this many more lines are complete.
const STEP: usize = 8;
/// Colouring begins at a multiple of this, so that the same text is requested repeatedly. It also bounds how many lines
/// before the visible ones are coloured.
const BLOCK: usize = 64;
/// Longer texts stay plain until they are complete.
const MOST_COLOURED: usize = 16 * 1024;

impl NewFile {
    fn new(path: &str, content: Text<'_>, options: &Options, code: &mut dyn CodeColours) -> Self {
        let all = content.lines();
        let in_view = all.saturating_sub(options.fold.unwrap_or(usize::MAX));
        let first = in_view - in_view % BLOCK;
        let lines = content.tail(all - first);
        let mut colours = |complete: usize| {
            let bytes: usize = lines[..complete].iter().map(|line| line.len() + 1).sum();
            if complete == 0 || bytes > MOST_COLOURED {
                return None;
            }
            code.colours(path, &(lines[..complete].join("\n") + "\n"))
        };
        let complete = lines.len().saturating_sub(1) / STEP * STEP;
        // Until the newest colours arrive, the previous ones cover most of the lines.
        let found = colours(complete).or_else(|| colours(complete.saturating_sub(STEP)));
        Self {
            gutter: if options.width < ROOM_FOR_NUMBERS {
                Gutter::MARKS
            } else {
                Gutter::counting(all)
            },
            colours: found.unwrap_or_default(),
            first,
        }
    }

    fn colours(&self, number: usize) -> &[(Range<usize>, Role)] {
        let index = number.checked_sub(self.first);
        index.map_or(&[], |index| self.colours.line(index))
    }
}

fn tail(texts: &[(Text<'_>, CellContext<'_>)], options: &Options, theme: &Theme) -> Vec<Row> {
    let most = options.fold.unwrap_or(usize::MAX);
    let all: usize = texts.iter().map(|(text, _)| text.lines()).sum();
    // From the last line upwards, so that nothing above the fold is read.
    let mut lines: Vec<Vec<Row>> = Vec::new();
    let mut room = most;
    for (text, cx) in texts.iter().rev() {
        let numbers = (0..text.lines()).rev();
        for (number, whole) in numbers.zip(text.tail(room).into_iter().rev()) {
            if room > 0 {
                let line = end_of(whole, room.saturating_mul(options.width.into()));
                let is_cut = line.len() < whole.len();
                let rows = cx.paint(line, is_cut, number, options.width, theme);
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

impl CellContext<'_> {
    /// A line by its number in the text; a line that was cut has only its end.
    fn paint(
        self,
        text: &str,
        is_cut: bool,
        number: usize,
        columns: u16,
        theme: &Theme,
    ) -> Vec<Row> {
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
            CellContext::File(file) => {
                let line = diff::Line {
                    kind: Kind::Added { new: number },
                    text,
                    ending: Ending::Lf,
                };
                let ranges = Ranges {
                    colours: if is_cut { &[] } else { file.colours(number) },
                    ..Ranges::default()
                };
                painter.rows(&line, ranges, file.gutter, columns)
            }
            CellContext::Command => {
                let mark = |mark: &'static str| vec![Span::styled(mark, theme.style(Role::Muted))];
                let indent = Indent {
                    first: mark(if number == 0 { "$ " } else { "  " }),
                    gutter: 2,
                    rest: mark("  "),
                };
                let line = painter.line(text, LineBackground::Same, Ranges::default());
                chop(line, columns, &indent)
            }
        }
    }
}

/// The end of a line that would fill the area several times: a file can be a single line.
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

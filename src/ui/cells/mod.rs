//! The cells of the conversation as rows: one file per kind.

mod call;
mod file;
mod group;
mod input;
mod notice;
mod subagent;
mod summary;
mod thinking;
mod user;
mod welcome;

pub use call::{
    executing_words, glyph, is_own_command, live_lines, outcome_text, phase_text, running_seconds,
    shown_name, shown_rows, shown_subject, state_role,
};

pub use file::code_rows;
pub use input::input_rows;
pub use subagent::{activity as subagent_doing, counts as subagent_counts};
pub use user::pinned;

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::diff;
use super::highlight::CodeColours;
use super::markdown;
use super::text::{Indent, Row, wrap};
use crate::app::folding::Fold;
use crate::app::transcript::{Cell, Entry, Progress};
use crate::app::{AppState, DiffStyle};
use crate::text::whole_seconds;
use crate::theme::{Role, Theme};

/// What is needed to draw cells: `cx` in their functions.
pub struct CellContext<'a> {
    pub width: u16,
    pub theme: &'a Theme,
    pub code: &'a mut dyn CodeColours,
}

/// The left margin of every cell, which holds the marks.
pub const MARGIN: u16 = 2;

/// The rows of a cell, without the empty one above it.
pub fn rows(entry: &Entry, state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    match &entry.cell {
        Cell::Welcome => welcome::rows(state, cx),
        Cell::User { text, images } => user::rows(text, *images, cx),
        Cell::Answer(answer) => {
            let rows = markdown::render(&answer.text, cx.width, cx.theme, cx.code);
            finish_answer(rows, answer.progress, cx)
        }
        Cell::Thinking { text, took, .. } => thinking::rows(text, *took, entry.open, cx),
        Cell::Call(key) => match fold(entry, state) {
            Fold::Alone => call::rows(*key, entry.open, state, cx),
            Fold::Head(count) => {
                let index = state.conversation().index_of(entry.id).unwrap_or(0);
                vec![group::row(state.folded_calls(index, count), state, cx)]
            }
            Fold::Hidden => Vec::new(),
        },
        Cell::Notice { kind, text } => notice::rows(*kind, text, cx),
        Cell::Summary(summary) => summary::rows(summary, cx),
    }
}

/// How a cell is folded with its neighbours.
pub fn fold(entry: &Entry, state: &AppState) -> Fold {
    match (&entry.cell, state.conversation().index_of(entry.id)) {
        (Cell::Call(_), Some(index)) => state.fold_of(index),
        _ => Fold::Alone,
    }
}

/// The left margin of a cell whose rows contain no marks.
pub fn margin(cell: &Cell) -> u16 {
    match cell {
        Cell::Answer(_) => MARGIN,
        Cell::Welcome
        | Cell::User { .. }
        | Cell::Thinking { .. }
        | Cell::Call(_)
        | Cell::Notice { .. }
        | Cell::Summary(_) => 0,
    }
}

/// Marks an answer that is not complete.
fn finish_answer(mut rows: Vec<Row>, progress: Progress, cx: &CellContext) -> Vec<Row> {
    if progress == Progress::Cut {
        let mark = Span::styled("… cut off here", cx.theme.style(Role::Muted));
        rows.push(Row::decoration(Line::from(mark)));
    }
    rows
}

/// A row moved right by the margin.
pub fn indented(mut row: Row) -> Row {
    let blank = Span::raw(" ".repeat(usize::from(MARGIN)));
    row.line.spans.insert(0, blank);
    if row.gutter != Row::DECORATION {
        row.gutter += MARGIN;
    }
    row
}

/// Whether a cell follows the previous one without an empty row: calls in a row, a hint below its error.
pub fn joins_previous(entry: &Entry, state: &AppState) -> bool {
    let entries = state.conversation().entries();
    let Some(index) = state.conversation().index_of(entry.id) else {
        return false;
    };
    let Some(before) = index.checked_sub(1).map(|before| &entries[before].cell) else {
        return true;
    };
    match &entry.cell {
        Cell::Call(_) => matches!(before, Cell::Call(_)),
        Cell::Notice { .. } => matches!(before, Cell::Notice { .. }),
        Cell::Welcome
        | Cell::User { .. }
        | Cell::Answer(_)
        | Cell::Thinking { .. }
        | Cell::Summary(_) => false,
    }
}

/// Text after a mark at the left edge, wrapped beside it.
fn marked(mark: &'static str, mark_role: Role, text: Line<'static>, cx: &CellContext) -> Vec<Row> {
    let indent = Indent {
        first: vec![Span::styled(mark, cx.theme.style(mark_role))],
        gutter: MARGIN,
        rest: vec![Span::raw(" ".repeat(usize::from(MARGIN)))],
    };
    wrap(text, cx.width, &indent)
}

/// The style of diffs at a width.
pub fn diff_style(chosen: DiffStyle, width: u16) -> diff::Style {
    match chosen {
        DiffStyle::Auto => diff::Style::fitting(width),
        DiffStyle::Unified => diff::Style::Unified,
        DiffStyle::SideBySide => diff::Style::SideBySide,
    }
}

/// A duration for people.
pub fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.01 {
        "<0.01s".to_owned()
    } else if seconds < 1.0 {
        format!("{seconds:.2}s")
    } else if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else {
        whole_seconds(duration.as_secs())
    }
}

//! The conversation as rows for the normal screen and the shell's scrollback.

use ratatui::text::Span;

use super::cells::{self, CellContext};
use super::highlight::CodeColours;
use super::text::Row;
use crate::app::AppState;
use crate::app::transcript::Entry;

/// All of it, wrapped to a width.
pub fn conversation(state: &AppState, width: u16, code: &mut dyn CodeColours) -> Vec<Row> {
    let entries = state.conversation().entries().iter();
    trimmed(
        entries
            .flat_map(|entry| rows(entry, state, width, code))
            .collect(),
    )
}

/// Its last rows; what comes before them is not laid out.
pub fn last_rows(
    state: &AppState,
    width: u16,
    most: usize,
    code: &mut dyn CodeColours,
) -> Vec<Row> {
    let mut parts = Vec::new();
    let mut count = 0;
    for entry in state.conversation().entries().iter().rev() {
        let part = rows(entry, state, width, code);
        count += part.len();
        parts.push(part);
        if count > most {
            break;
        }
    }
    let mut rows = trimmed(parts.into_iter().rev().flatten().collect());
    rows.drain(..rows.len().saturating_sub(most));
    rows
}

fn rows(entry: &Entry, state: &AppState, width: u16, code: &mut dyn CodeColours) -> Vec<Row> {
    let margin = cells::margin(&entry.cell);
    let mut cx = CellContext {
        width: width.saturating_sub(margin),
        theme: &state.settings.theme,
        code,
    };
    let mut rows = cells::rows(entry, state, &mut cx);
    for Row { line, .. } in &mut rows {
        // The margin does not get the background of the line.
        for span in &mut line.spans {
            span.style = line.style.patch(span.style);
        }
        let blank = Span::raw(" ".repeat(usize::from(margin)));
        line.spans.insert(0, blank);
    }
    if !cells::joins_previous(entry, state) {
        rows.insert(0, Row::default());
    }
    rows
}

/// Removes empty rows at the start and the end.
fn trimmed(mut rows: Vec<Row>) -> Vec<Row> {
    let has_text = |row: &Row| !row.line.to_string().trim().is_empty();
    let end = rows.iter().rposition(has_text).map_or(0, |last| last + 1);
    rows.truncate(end);
    let start = rows.iter().position(has_text).unwrap_or(0);
    rows.drain(..start);
    rows
}

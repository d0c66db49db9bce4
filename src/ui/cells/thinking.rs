//! The model's thinking: folded to one line, unless opened.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::{CellContext, marked, seconds};
use crate::theme::Role;
use crate::ui::text::{Indent, Row, clean, truncate, wrap};

pub fn rows(text: &str, took: Option<Duration>, open: bool, cx: &CellContext) -> Vec<Row> {
    let style = cx.theme.style(Role::Thinking);
    let title = match took {
        None => "Thinking…".to_owned(),
        Some(took) if took.is_zero() => "Thought".to_owned(),
        Some(took) => format!("Thought for {}", seconds(took)),
    };
    let title = Line::from(Span::styled(title, style));
    let mut rows = marked("∴ ", Role::Thinking, title, cx);
    if let (None, false) = (took, open) {
        rows.extend(last_line(text, cx));
    }
    if open {
        let bar = Span::styled("  │ ", cx.theme.style(Role::Faint));
        let indent = Indent::all(vec![bar]);
        for line in clean(text.trim()).lines() {
            let line = Line::from(Span::styled(line.to_owned(), style));
            rows.extend(wrap(line, cx.width, &indent));
        }
    }
    rows
}

/// The end of the last line that is not empty: the current thought.
fn last_line(text: &str, cx: &CellContext) -> Option<Row> {
    let mut lines = text.lines().rev();
    let last = lines.find(|line| !line.trim().is_empty())?;
    let room = usize::from(cx.width).saturating_sub(4);
    let line = truncate(&clean(last.trim()), room);
    Some(Row::decoration(Line::from(vec![
        Span::styled("  │ ", cx.theme.style(Role::Faint)),
        Span::styled(line, cx.theme.style(Role::Faint)),
    ])))
}

//! Dialogs in the middle of the screen: the background is dimmed, and the frame contains words.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{field, has_frame};
use crate::app::Settings;
use crate::app::search::find_all;
use crate::keymap::{Action, Context};
use crate::theme::{Role, Theme};
use crate::ui::text::{Row, clean, truncate, width};

/// Dims what is on the screen: the letters stay, the colours go.
pub fn dim(area: Rect, theme: &Theme, buf: &mut Buffer) {
    let faint = theme.style(Role::Faint);
    for position in area.intersection(buf.area).positions() {
        let cell = &mut buf[position];
        let symbol = cell.symbol().to_owned();
        cell.reset();
        cell.set_symbol(&symbol).set_style(faint);
    }
}

/// Writes words at the right of the upper edge.
pub fn draw_in_frame(area: Rect, words: &str, theme: &Theme, buf: &mut Buffer) {
    if !has_frame(area) || words.is_empty() {
        return;
    }
    let words = truncate(words, usize::from(area.width / 2));
    let span = Span::styled(format!(" {words} "), theme.style(Role::Muted));
    let cells = u16::try_from(width(&span.content)).unwrap_or(0);
    let x = area.right().saturating_sub(cells + 2);
    buf.set_line(x, area.y, &Line::from(span), cells);
}

/// The filter field; returns the caret.
pub fn draw_filter(
    text: &str,
    placeholder: &str,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    buf.set_string(area.x, area.y, "/ ", theme.style(Role::Accent));
    let input = Rect {
        x: area.x + 2.min(area.width),
        width: area.width.saturating_sub(2),
        ..area
    };
    if text.is_empty() {
        let hint = truncate(placeholder, usize::from(input.width));
        buf.set_string(input.x, input.y, hint, theme.style(Role::Placeholder));
        return Some(input.as_position());
    }
    Some(field(&clean(text), Role::Text, theme, input, buf))
}

/// Highlights a query in a row that was painted at a line.
pub fn mark_matches(row: &Row, query: &str, line: Rect, style: Style, buf: &mut Buffer) {
    let text = row.line.to_string();
    for hit in find_all(&text, query) {
        let start = u16::try_from(width(&text[..hit.start])).unwrap_or(u16::MAX);
        let cells = u16::try_from(width(&text[hit])).unwrap_or(u16::MAX);
        let area = Rect {
            x: line.x.saturating_add(start),
            width: cells,
            ..line
        };
        buf.set_style(area.intersection(line), style);
    }
}

/// The keys that are bound here, and what they do.
pub fn keys(
    wanted: &[(Action, &str)],
    contexts: &[Context],
    settings: &Settings,
) -> Vec<Line<'static>> {
    let Settings { keymap, theme, .. } = settings;
    let hint = |(action, word): &(Action, &str)| {
        let chord = keymap.chord_for(*action, contexts)?;
        Some(Line::from(vec![
            Span::styled(chord.to_string(), theme.style(Role::Key)),
            Span::styled(format!(" {word}"), theme.style(Role::KeyHint)),
        ]))
    };
    wanted.iter().filter_map(hint).collect()
}

/// Puts as many hints into the lower edge as fit.
pub fn keys_in_frame(area: Rect, hints: &[Line], buf: &mut Buffer) {
    const GAP: usize = 3;
    if !has_frame(area) {
        return;
    }
    let room = usize::from(area.width.saturating_sub(6));
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for hint in hints {
        let cells = hint
            .spans
            .iter()
            .map(|span| width(&span.content))
            .sum::<usize>();
        let gap = if used == 0 { 0 } else { GAP };
        if used + gap + cells > room {
            break;
        }
        spans.push(Span::raw(" ".repeat(gap)));
        spans.extend(hint.spans.iter().cloned());
        used += gap + cells;
    }
    if used > 0 {
        spans.push(Span::raw(" "));
        buf.set_line(
            area.x + 2,
            area.bottom() - 1,
            &Line::from(spans),
            area.width - 4,
        );
    }
}

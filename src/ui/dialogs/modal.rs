//! What stands in the middle of the screen: the ground behind it is dimmed, its frame has words in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::has_frame;
use crate::theme::{Role, Theme};
use crate::ui::text::{truncate, width};

/// Lets what is on the screen step back: its letters stay, its colours go.
pub fn dim(area: Rect, theme: &Theme, buf: &mut Buffer) {
    let faint = theme.style(Role::Faint);
    for position in area.intersection(buf.area).positions() {
        let cell = &mut buf[position];
        let symbol = cell.symbol().to_owned();
        cell.reset();
        cell.set_symbol(&symbol).set_style(faint);
    }
}

/// Says something at the right of the upper edge.
pub fn say_in_frame(area: Rect, words: &str, theme: &Theme, buf: &mut Buffer) {
    if !has_frame(area) || words.is_empty() {
        return;
    }
    let words = truncate(words, usize::from(area.width / 2));
    let span = Span::styled(format!(" {words} "), theme.style(Role::Muted));
    let cells = u16::try_from(width(&span.content)).unwrap_or(0);
    let x = area.right().saturating_sub(cells + 2);
    buf.set_line(x, area.y, &Line::from(span), cells);
}

/// Puts as many hints into the lower edge as there is room for.
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

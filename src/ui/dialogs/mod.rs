//! The dialogs, one file each, and the frame that they share.

pub mod by_hand;
pub mod help;
pub mod pause;
pub mod permission;
pub mod picker;
pub mod trust;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::text::{truncate, width};
use crate::theme::{Role, Theme};

/// A box in the middle of an area, as large as wanted and there is room for.
pub fn centred(area: Rect, wanted_width: u16, wanted_height: u16) -> Rect {
    let width = wanted_width.min(area.width);
    let height = wanted_height.min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// A box at the lower edge of an area.
pub fn at_bottom(area: Rect, wanted_height: u16) -> Rect {
    let height = wanted_height.min(area.height);
    Rect {
        y: area.bottom() - height,
        height,
        ..area
    }
}

/// Clears a box, draws its frame and title, and returns what is inside. A box too small for a frame has none.
pub fn frame(area: Rect, title: &str, role: Role, theme: &Theme, buf: &mut Buffer) -> Rect {
    clear(area, buf);
    if area.height < 4 || area.width < 10 {
        return area;
    }
    let style = theme.style(role);
    let line = "─".repeat(usize::from(area.width - 2));
    buf.set_string(area.x, area.y, format!("╭{line}╮"), style);
    buf.set_string(area.x, area.bottom() - 1, format!("╰{line}╯"), style);
    for y in area.y + 1..area.bottom() - 1 {
        buf.set_string(area.x, y, "│", style);
        buf.set_string(area.right() - 1, y, "│", style);
    }
    let room = usize::from(area.width - 6);
    let title = Span::styled(format!(" {} ", truncate(title, room)), style);
    buf.set_line(area.x + 2, area.y, &Line::from(title), area.width - 4);
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width - 4,
        height: area.height - 2,
    }
}

pub fn clear(area: Rect, buf: &mut Buffer) {
    for position in area.intersection(buf.area).positions() {
        buf[position].reset();
    }
}

/// A text field of one line: its end is in view, and the caret is returned.
pub fn field(text: &str, role: Role, theme: &Theme, area: Rect, buf: &mut Buffer) -> Position {
    let room = usize::from(area.width.saturating_sub(1));
    let mut shown = text;
    while width(shown) > room {
        let first = shown.chars().next().map_or(1, char::len_utf8);
        shown = &shown[first..];
    }
    let line = Line::from(Span::styled(shown.to_owned(), theme.style(role)));
    buf.set_line(area.x, area.y, &line, area.width);
    let caret = u16::try_from(width(shown)).unwrap_or(0);
    Position::new(area.x + caret, area.y)
}

//! The dialogs, one file each, and the frame that they share.

pub mod by_hand;
pub mod help;
pub mod modal;
pub mod pause;
pub mod permission;
pub mod picker;
pub mod places;
pub mod question;
pub mod text_field;
pub mod trust;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::places::Places;
use super::text::{Indent, Row, clean_line, truncate, width, wrap};
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
    if !has_frame(area) {
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
    inside(area)
}

/// Whether a box is large enough for a frame.
fn has_frame(area: Rect) -> bool {
    area.height >= 4 && area.width >= 10
}

/// What is inside of a box.
pub fn inside(area: Rect) -> Rect {
    if !has_frame(area) {
        return area;
    }
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width - 4,
        height: area.height - 2,
    }
}

/// A notice is cut after this many rows.
const MOST_NOTICE_ROWS: usize = 2;

/// Draws the frame of a question, with what it is about on the left and where one is on the right.
pub fn title(places: &Places, heading: &str, place: &str, theme: &Theme, buf: &mut Buffer) {
    let Places { area, title, .. } = *places;
    let room = usize::from(title.width).saturating_sub(width(place) + 3);
    let heading = truncate(heading, room.max(1));
    if places.is_framed {
        frame(area, &heading, Role::BorderAlert, theme, buf);
    } else {
        clear(area, buf);
        let heading = Line::styled(heading, theme.style(Role::BorderAlert));
        buf.set_line(title.x, title.y, &heading, title.width);
    }
    let cells = u16::try_from(width(place)).unwrap_or(u16::MAX);
    if cells < title.width {
        let place = Line::styled(place.to_owned(), theme.style(Role::Muted));
        buf.set_line(title.right() - cells, title.y, &place, cells);
    }
}

/// Which of the questions that wait is asked; nothing if it is the only one.
pub fn place_in_queue((place, count): (usize, usize)) -> String {
    match count {
        0 | 1 => String::new(),
        _ => format!(" {place} of {count} "),
    }
}

/// Why a key did not do what it says.
pub fn notice_rows(notice: &str, width: u16, theme: &Theme) -> Vec<Row> {
    let notice = clean_line(notice, 1).into_owned();
    let line = Line::styled(notice, theme.style(Role::Warning));
    let mut rows = wrap(line, width, &Indent::default());
    rows.truncate(MOST_NOTICE_ROWS);
    rows
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

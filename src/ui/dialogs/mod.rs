//! The dialogs, one file each, and what they share: the frame of those that cover the screen, and the lines around
//! those that replace the input.

pub mod buttons;
pub mod by_hand;
pub mod help;
pub mod modal;
pub mod pager;
pub mod pause;
pub mod permission;
pub mod picker;
pub mod places;
pub mod question;
pub mod text_field;
pub mod trust;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::places::Places;
use super::conversation::draw_row;
use super::text::{Indent, Row, clean_line, truncate, width, wrap};
use crate::app::Settings;
use crate::keymap::{Action, Context};
use crate::theme::{Role, Theme};

/// A box in the middle of an area, as large as wanted if it fits.
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

/// Clears a box, draws its frame and title, and returns the inside. A box that is too small gets no frame.
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

/// The inside of a box.
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

/// Draws the line above a question: its subject on the left, its number in the queue on the right.
pub fn title(
    places: &Places,
    heading: &str,
    place: Line<'static>,
    theme: &Theme,
    buf: &mut Buffer,
) {
    let Places { area, title, .. } = *places;
    clear(area, buf);
    let style = theme.style(Role::BorderAlert);
    let aside = place.width();
    let room = if places.is_ruled {
        room_of_heading(title.width, aside)
    } else {
        usize::from(title.width).saturating_sub(aside + 2 * usize::from(aside > 0))
    };
    let heading = truncate(heading, room.max(1));
    if places.is_ruled {
        rule(area, title.y, buf, style);
        let heading = Line::styled(format!(" {heading} "), style);
        buf.set_line(title.x + 1, title.y, &heading, title.width);
    } else {
        let heading = Line::styled(heading, style);
        buf.set_line(title.x, title.y, &heading, title.width);
    }
    let cells = u16::try_from(aside + 2).unwrap_or(u16::MAX);
    if aside > 0 && cells + 1 < title.width {
        let mut place = place;
        place.spans.insert(0, Span::raw(" "));
        place.push_span(Span::raw(" "));
        let x = title.right() - cells - u16::from(places.is_ruled);
        buf.set_line(x, title.y, &place, cells);
    }
}

/// How much room a heading has beside the words on the right.
pub fn room_of_heading(columns: u16, aside: usize) -> usize {
    usize::from(columns).saturating_sub(aside + if aside > 0 { 8 } else { 4 })
}

/// Draws the line between a question and its answers.
pub fn foot(places: &Places, words: Line<'static>, theme: &Theme, buf: &mut Buffer) {
    let foot = places.foot;
    if foot.is_empty() {
        return;
    }
    let mut words = words;
    let mut at = foot.x;
    if places.is_ruled {
        rule(places.area, foot.y, buf, theme.style(Role::BorderAlert));
        if words.width() == 0 {
            return;
        }
        words.spans.insert(0, Span::raw(" "));
        words.push_span(Span::raw(" "));
        at += 1;
    }
    buf.set_line(at, foot.y, &words, foot.right() - at);
}

fn rule(area: Rect, y: u16, buf: &mut Buffer, style: Style) {
    let line = "─".repeat(usize::from(area.width));
    buf.set_string(area.x, y, line, style);
}

/// How many lines are hidden below, and the key that shows them.
pub fn more_lines(below: usize, key: Option<&str>, room: usize) -> String {
    let lines = if below == 1 { "line" } else { "lines" };
    let key = key.map_or(String::new(), |key| format!(" · {key}"));
    let forms = [
        format!("{below} more {lines}{key}"),
        format!("{below} more{key}"),
        format!("{below} more"),
    ];
    let fitting = forms.iter().find(|form| width(form) <= room);
    fitting.or(forms.last()).cloned().unwrap_or_default()
}

/// The same for the last line of a dialog; empty if nothing is hidden.
pub fn more_below(below: usize, context: Context, room: u16, settings: &Settings) -> Line<'static> {
    if below == 0 {
        return Line::default();
    }
    let key = settings.keymap.chord_for(Action::PageDown, &[context]);
    let key = key.map(|key| key.to_string());
    let words = more_lines(below, key.as_deref(), room.into());
    Line::styled(words, settings.theme.style(Role::Muted))
}

/// The number of the question among those waiting; empty if it is the only one.
pub fn place_in_queue((place, count): (usize, usize)) -> String {
    match count {
        0 | 1 => String::new(),
        _ => format!("{place} of {count}"),
    }
}

/// Why a key had no effect.
pub fn notice_rows(notice: &str, width: u16, theme: &Theme) -> Vec<Row> {
    let notice = clean_line(notice, 1).into_owned();
    let line = Line::styled(notice, theme.style(Role::Warning));
    let mut rows = wrap(line, width, &Indent::default());
    rows.truncate(MOST_NOTICE_ROWS);
    rows
}

/// As many rows as fit.
pub fn draw_rows<'r>(area: Rect, rows: impl IntoIterator<Item = &'r Row>, buf: &mut Buffer) {
    for (place, row) in area.rows().zip(rows) {
        draw_row(row, place, place.y, buf);
    }
}

pub fn clear(area: Rect, buf: &mut Buffer) {
    for position in area.intersection(buf.area).positions() {
        buf[position].reset();
    }
}

/// A text field of one line, scrolled to its end; returns the caret.
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

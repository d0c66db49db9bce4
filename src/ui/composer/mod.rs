//! Paints the input: its mark, the draft in wrapped rows, or the line of a history search.
//!
//! Only visible rows are laid out. The list above the input is in `popup`.

mod popup;

#[cfg(test)]
mod tests;

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

pub use self::popup::draw_popup;
use crate::app::composer::editor::Place;
use crate::app::composer::history::HistorySearch;
use crate::app::composer::layout::{Layout, MARK, Piece, PieceKind, Spot};
use crate::app::composer::{Composer, Prompt};
use crate::theme::{Role, Theme};
use crate::ui::text::{clean_line, width};

const SIGN: &str = "❯";
const PLACEHOLDER: &str = "Ask anything · / commands · @ files · ! shell · # note";
/// The keys go elsewhere.
const PLACEHOLDER_AWAY: &str = "Esc to write here";
const SEARCHING: &str = "history: ";

/// How many rows it needs at a width, at most `max`.
pub fn height(composer: &Composer, width: u16, max: u16) -> u16 {
    if composer.search().is_some() {
        return max.min(1);
    }
    composer.layout(width).height(max)
}

/// Paints it and returns the caret. If it has no focus, it says how to get there.
pub fn draw(
    composer: &Composer,
    focused: bool,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Position {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return area.as_position();
    }
    let sign = match composer.prompt() {
        Prompt::Message => Role::Accent,
        Prompt::Shell => Role::Warning,
        Prompt::Note => Role::Success,
    };
    buf.set_stringn(area.x, area.y, SIGN, area.width.into(), theme.style(sign));
    if let Some(search) = composer.search() {
        return draw_search(search, theme, area, buf);
    }
    if composer.is_empty() {
        let text = if focused {
            PLACEHOLDER
        } else {
            PLACEHOLDER_AWAY
        };
        let style = theme.style(Role::Placeholder);
        put(buf, area, 0, (MARK, text), style);
    }
    let painter = Painter {
        layout: composer.layout(area.width),
        marked: composer.marked(),
        prompt: composer.prompt(),
        theme,
        area,
    };
    let top = composer.first_row(area.width, area.height);
    painter.draw_rows(top, buf);
    let caret = painter.caret(top, composer.caret());
    if let Some(arguments) = composer.missing_arguments().filter(|_| focused) {
        let at = (caret.x - area.x, arguments);
        put(
            buf,
            area,
            caret.y - area.y,
            at,
            theme.style(Role::Placeholder),
        );
    }
    caret
}

struct Painter<'a> {
    layout: Layout<'a>,
    marked: Option<Range<Place>>,
    prompt: Prompt,
    theme: &'a Theme,
    area: Rect,
}

impl Painter<'_> {
    fn draw_rows(&self, top: Spot, buf: &mut Buffer) {
        let mut y = 0;
        let mut spot = Some(top);
        while let Some(first) = spot
            && y < self.area.height
        {
            let rows = self.layout.rows(first.line);
            let shown = rows[first.row.min(rows.len() - 1)..]
                .iter()
                .take(usize::from(self.area.height - y));
            let mut pieces = self.layout.pieces(first.line).peekable();
            for row in shown {
                while pieces
                    .next_if(|piece| piece.columns.start < row.start)
                    .is_some()
                {}
                let mut x = MARK;
                while let Some(piece) = pieces.next_if(|piece| piece.columns.start < row.end) {
                    let style = self.style(first.line, &piece);
                    put(buf, self.area, y, (x, &piece.shown), style);
                    x = x.saturating_add(u16::try_from(piece.width).unwrap_or(u16::MAX));
                }
                y += 1;
            }
            let last = Spot {
                line: first.line,
                row: rows.len() - 1,
            };
            spot = self.layout.below(last);
        }
    }

    fn style(&self, line: usize, piece: &Piece<'_>) -> Style {
        let place = Place::new(line, piece.columns.start);
        let is_sign = place == Place::START;
        let role = match (piece.kind, self.prompt) {
            (PieceKind::Escaped, _) => Role::Escaped,
            (PieceKind::Token, _) => Role::Accent,
            (PieceKind::Plain, Prompt::Shell) if is_sign => Role::Warning,
            (PieceKind::Plain, Prompt::Note) if is_sign => Role::Success,
            (PieceKind::Plain, Prompt::Message | Prompt::Shell | Prompt::Note) => Role::Text,
        };
        let style = self.theme.style(role);
        if self
            .marked
            .as_ref()
            .is_some_and(|marked| marked.contains(&place))
        {
            return style.patch(self.theme.style(Role::Selection));
        }
        style
    }

    fn caret(&self, top: Spot, caret: Place) -> Position {
        let (spot, column) = self.layout.locate(caret);
        let mut y = 0;
        let mut at = top;
        while at < spot && y + 1 < self.area.height {
            at = self.layout.below(at).unwrap_or(spot);
            y += 1;
        }
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        inside(self.area, MARK.saturating_add(column), y)
    }
}

fn draw_search(search: &HistorySearch, theme: &Theme, area: Rect, buf: &mut Buffer) -> Position {
    put(buf, area, 0, (MARK, SEARCHING), theme.style(Role::Muted));
    let begin = MARK + u16::try_from(width(SEARCHING)).unwrap_or(0);
    let query = clean_line(&search.query, 4);
    // Shows the end of a long query, because that is where the person types.
    let room = usize::from(area.width.saturating_sub(begin + 1));
    let mut tail: &str = &query;
    while width(tail) > room && !tail.is_empty() {
        tail = &tail[tail.chars().next().map_or(0, char::len_utf8)..];
    }
    put(buf, area, 0, (begin, tail), theme.style(Role::Text));
    let end = begin.saturating_add(u16::try_from(width(tail)).unwrap_or(u16::MAX));
    inside(area, end, 0)
}

/// Writes a text at a column and row of an area, cut at its right edge.
fn put(buf: &mut Buffer, area: Rect, y: u16, (x, text): (u16, &str), style: Style) {
    let Some(room) = area.width.checked_sub(x).filter(|_| y < area.height) else {
        return;
    };
    buf.set_stringn(area.x + x, area.y + y, text, room.into(), style);
}

fn inside(area: Rect, x: u16, y: u16) -> Position {
    let x = x.min(area.width.saturating_sub(1));
    let y = y.min(area.height.saturating_sub(1));
    Position::new(area.x + x, area.y + y)
}

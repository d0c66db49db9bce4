//! A text field of a dialog: its text wrapped, scrolled to the caret.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tui_textarea::{DataCursor, TextArea};

use crate::theme::{Role, Theme};
use crate::ui::text::{graphemes, reveal_hidden, width};

pub type Field = TextArea<'static>;

const PROMPT: &str = "› ";

/// How many rows the whole text needs.
pub fn height(field: &Field, columns: u16) -> usize {
    Wrapped::new(field, room(columns)).rows.len()
}

/// Paints the rows around the caret; returns the caret.
pub fn draw(field: &Field, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let wrapped = if area.height > 1 {
        Wrapped::new(field, room(area.width))
    } else {
        Wrapped::around_caret(field, room(area.width))
    };
    let (row, column) = wrapped.caret;
    let first = (row + 1).saturating_sub(area.height.into());
    buf.set_stringn(
        area.x,
        area.y,
        PROMPT,
        area.width.into(),
        theme.style(Role::Accent),
    );
    let indent = u16::try_from(width(PROMPT))
        .unwrap_or(0)
        .min(area.width - 1);
    let (x, columns) = (area.x + indent, area.width - indent);
    for (place, text) in area.rows().zip(wrapped.rows.iter().skip(first)) {
        buf.set_line(x, place.y, &reveal_hidden(text, theme), columns);
    }
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(columns - 1);
    let below = u16::try_from(row - first).unwrap_or(0);
    Some(Position::new(x + column, area.y + below))
}

/// Paints one row around the caret, without a mark; returns the caret.
pub fn draw_line(field: &Field, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    // The last cell is reserved for the caret.
    let room = usize::from(area.width - 1).max(1);
    let wrapped = Wrapped::around_caret(field, room);
    for text in &wrapped.rows {
        buf.set_line(area.x, area.y, &reveal_hidden(text, theme), area.width);
    }
    let column = u16::try_from(wrapped.caret.1).unwrap_or(u16::MAX);
    Some(Position::new(area.x + column.min(area.width - 1), area.y))
}

/// The last cell is reserved for the caret.
fn room(columns: u16) -> usize {
    usize::from(columns)
        .saturating_sub(width(PROMPT) + 1)
        .max(1)
}

/// The text cut into rows wherever one is full, which makes the caret easy to find.
struct Wrapped {
    rows: Vec<String>,
    /// Its row and column.
    caret: (usize, usize),
}

impl Wrapped {
    fn new(field: &Field, room: usize) -> Self {
        let DataCursor(line_at, letter_at) = field.cursor();
        let mut wrapped = Self {
            rows: Vec::new(),
            caret: (0, 0),
        };
        for (index, line) in field.lines().iter().enumerate() {
            let caret = (index == line_at).then_some(letter_at);
            wrapped.add(line, caret, room);
        }
        wrapped
    }

    /// A single row: the text before the caret, and as much after it as fits.
    fn around_caret(field: &Field, room: usize) -> Self {
        let DataCursor(line_at, letter_at) = field.cursor();
        let line = field.lines().get(line_at).map_or("", String::as_str);
        let caret = line
            .char_indices()
            .nth(letter_at)
            .map_or(line.len(), |(at, _)| at);
        let (mut start, mut column) = (caret, 0);
        for (cluster, _) in graphemes(&line[..caret])
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            let cells = shown_width(cluster);
            if column + cells > room {
                break;
            }
            (start, column) = (start - cluster.len(), column + cells);
        }
        Self {
            rows: vec![line[start..].to_owned()],
            caret: (0, column),
        }
    }

    fn add(&mut self, line: &str, caret: Option<usize>, room: usize) {
        let (mut row, mut column, mut letters) = (String::new(), 0, 0);
        for (cluster, _) in graphemes(line) {
            let cells = shown_width(cluster);
            if column + cells > room && !row.is_empty() {
                self.rows.push(std::mem::take(&mut row));
                column = 0;
            }
            let next = letters + cluster.chars().count();
            if caret.is_some_and(|caret| (letters..next).contains(&caret)) {
                self.caret = (self.rows.len(), column);
            }
            row.push_str(cluster);
            (column, letters) = (column + cells, next);
        }
        if caret.is_some_and(|caret| caret >= letters) {
            self.caret = (self.rows.len(), column);
        }
        self.rows.push(row);
    }
}

/// The width of a cluster once it is made visible.
fn shown_width(cluster: &str) -> usize {
    let line: Line<'_> = reveal_hidden(cluster, &Theme::plain());
    line.spans.iter().map(|span| width(&span.content)).sum()
}

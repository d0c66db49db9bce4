//! A call's result, typed by the person.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use tui_textarea::DataCursor;

use super::{at_bottom, field, frame};
use crate::app::dialogs::by_hand::ByHandDialog;
use crate::theme::{Role, Theme};
use crate::ui::text::{clean, truncate, width};

/// Stands where nothing is written yet.
const PROMPT: &str = "what the model gets as the result";

pub fn draw(
    dialog: &ByHandDialog,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    let lines = dialog.field.lines();
    let height = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_add(3);
    let area = at_bottom(area, height.clamp(5, 14));
    let inner = frame(
        area,
        "Answer for this call",
        Role::BorderFocused,
        theme,
        buf,
    );
    if inner.height == 0 {
        return None;
    }
    let about = truncate(&clean(&dialog.about), usize::from(inner.width));
    let about = Line::from(Span::styled(about, theme.style(Role::Muted)));
    let room = usize::from(inner.height.saturating_sub(1)).max(1);
    let mut y = inner.y;
    if inner.height > 1 {
        buf.set_line(inner.x, y, &about, inner.width);
        y += 1;
    }
    let DataCursor(row, column) = dialog.field.cursor();
    let from = row.saturating_sub(room - 1);
    let mut caret = None;
    for (number, text) in lines.iter().enumerate().skip(from).take(room) {
        let line = Rect {
            y,
            height: 1,
            ..inner
        };
        let end = field(&clean(text), Role::Text, theme, line, buf);
        if dialog.field.is_empty() {
            let prompt = truncate(PROMPT, usize::from(inner.width.saturating_sub(1)));
            buf.set_string(line.x + 1, line.y, prompt, theme.style(Role::Faint));
        }
        if number == row {
            let before: String = text.chars().take(column).collect();
            caret = Some(if column == text.chars().count() {
                end
            } else {
                let cells = u16::try_from(width(&clean(&before))).unwrap_or(0);
                Position::new(inner.x + cells.min(inner.width.saturating_sub(1)), y)
            });
        }
        y += 1;
    }
    caret
}

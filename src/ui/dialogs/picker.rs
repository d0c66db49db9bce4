//! A list to choose from.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::{centred, field, frame};
use crate::app::dialogs::picker::Picker;
use crate::theme::{Role, Theme};
use crate::ui::text::{clean, truncate, width};

pub fn draw(picker: &Picker, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let count = picker.shown().len();
    let height = u16::try_from(count).unwrap_or(u16::MAX).saturating_add(3);
    let area = centred(area, 76, height.clamp(6, 22));
    let inner = frame(area, picker.title, Role::BorderFocused, theme, buf);
    if inner.height == 0 {
        return None;
    }
    buf.set_string(inner.x, inner.y, "› ", theme.style(Role::Accent));
    let input = Rect {
        x: inner.x + 2.min(inner.width),
        width: inner.width.saturating_sub(2),
        height: 1,
        ..inner
    };
    let caret = field(&clean(&picker.filter), Role::Text, theme, input, buf);
    let list = Rect {
        y: inner.y + 1,
        height: inner.height - 1,
        ..inner
    };
    let height = usize::from(list.height);
    let from = picker.chosen.saturating_sub(height.saturating_sub(1));
    let column = column(picker, usize::from(list.width));
    let shown = picker.shown().enumerate().skip(from);
    for (y, (index, item)) in (list.y..list.bottom()).zip(shown) {
        let room = usize::from(list.width);
        let label = truncate(&clean(&item.label), room);
        let gap = 2 + column.saturating_sub(width(&label));
        let left = room.saturating_sub(width(&label) + gap);
        let line = Line::from(vec![
            Span::styled(label, theme.style(Role::Text)),
            Span::raw(" ".repeat(gap)),
            Span::styled(
                truncate(&clean(&item.about), left),
                theme.style(Role::Muted),
            ),
        ]);
        buf.set_line(list.x, y, &line, list.width);
        if index == picker.chosen {
            let row = Rect {
                y,
                height: 1,
                ..list
            };
            buf.set_style(row, theme.style(Role::Chosen));
        }
    }
    if count == 0 && list.height > 0 {
        let none = Span::styled("nothing matches", theme.style(Role::Muted));
        buf.set_line(list.x, list.y, &Line::from(none), list.width);
    }
    Some(caret)
}

/// Where the words behind the labels begin: below each other, but for labels that are too long for that.
fn column(picker: &Picker, room: usize) -> usize {
    let labels = picker.shown().map(|item| width(&clean(&item.label)));
    labels.filter(|label| *label <= room / 4).max().unwrap_or(0)
}

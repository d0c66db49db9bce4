//! A limit was reached: whether to go on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{at_bottom, frame};
use crate::app::dialogs::pause::PauseDialog;
use crate::keymap::{Action, Context, Keymap};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, clean, wrap};

pub fn draw(dialog: &PauseDialog, keymap: &Keymap, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let text = Line::from(Span::styled(
        clean(&dialog.why).into_owned(),
        theme.style(Role::Text),
    ));
    let rows = wrap(text, area.width.saturating_sub(4), &Indent::default());
    let height = u16::try_from(rows.len())
        .unwrap_or(u16::MAX)
        .saturating_add(4);
    let inner = frame(
        at_bottom(area, height),
        "Continue?",
        Role::BorderAlert,
        theme,
        buf,
    );
    let mut lines: Vec<Line> = rows.into_iter().map(|row| row.line).collect();
    lines.push(Line::default());
    let mut keys = Vec::new();
    for (action, words) in [
        (Action::Choose, "continue"),
        (Action::Back, "stop the turn"),
    ] {
        if let Some(chord) = keymap.chord_for(action, &[Context::Question]) {
            keys.push(Span::styled(chord.to_string(), theme.style(Role::Key)));
            keys.push(Span::styled(
                format!(" {words}   "),
                theme.style(Role::KeyHint),
            ));
        }
    }
    lines.push(Line::from(keys));
    for (y, line) in (inner.y..inner.bottom()).zip(&lines) {
        buf.set_line(inner.x, y, line, inner.width);
    }
}

//! The row above a subagent's conversation: its name, its progress, and the key that leads back.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::cells::{seconds, subagent_counts, subagent_doing};
use super::text::{clean, truncate, width};
use crate::app::AppState;
use crate::app::subagents::Nested;
use crate::keymap::{Action, Context};
use crate::text::whole_seconds;
use crate::theme::Role;

/// A lower conversation keeps all its rows.
const HIGH_ENOUGH: u16 = 4;
/// The least space between the words and the key.
const GAP: usize = 2;

/// Its row, and the rest for the conversation.
pub fn split(state: &AppState, area: Rect) -> (Rect, Rect) {
    let height = u16::from(state.viewed().is_some() && area.height >= HIGH_ENOUGH);
    let heading = Rect { height, ..area };
    let conversation = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (heading, conversation)
}

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    let Some(nested) = state.viewed().filter(|_| area.height > 0) else {
        return;
    };
    let theme = &state.settings.theme;
    let contexts = [Context::Scroll, Context::Global];
    let chord = state.settings.keymap.chord_for(Action::Back, &contexts);
    let back = chord.map_or_else(String::new, |chord| format!("{chord} back"));
    let room = usize::from(area.width);
    let about = clean(&nested.about.description).into_owned();
    let about = truncate(&about, room.saturating_sub(width(&back) + GAP + 2));
    let left = room.saturating_sub(width(&about) + width(&back) + 2 * GAP + 2);
    let words = truncate(&words(nested, state), left);
    let line = Line::from(vec![
        Span::styled("◂ ", theme.style(Role::Accent)),
        Span::styled(about, theme.style(Role::Strong)),
        Span::raw(" ".repeat(GAP)),
        Span::styled(words, theme.style(Role::Muted)),
    ]);
    buf.set_line(area.x, area.y, &line, area.width);
    let cells = u16::try_from(width(&back)).unwrap_or(area.width);
    if cells < area.width {
        let x = area.right() - cells;
        buf.set_string(x, area.y, back, theme.style(Role::KeyHint));
    }
}

/// `explore agent · 31s · 3 calls · 3.1k tokens · Read report.py`.
fn words(nested: &Nested, state: &AppState) -> String {
    let elapsed = nested.elapsed(state.now);
    let kind = clean(&nested.about.kind);
    let used = subagent_counts(nested);
    if nested.is_over() {
        return format!("{kind} agent · {} · {used}", seconds(elapsed));
    }
    let time = whole_seconds(elapsed.as_secs());
    let doing = subagent_doing(nested, state);
    format!("{kind} agent · {time} · {used} · {doing}")
}

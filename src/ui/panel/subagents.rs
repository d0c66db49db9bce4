//! The subagents in the list: below the call that started one, what it is doing and what it has used.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{ListLine, MARKS};
use crate::app::AppState;
use crate::app::call::CallKey;
use crate::app::panel::ListRow;
use crate::theme::Role;
use crate::ui::cells::{subagent_counts, subagent_doing};
use crate::ui::text::truncate;

/// The lines of some rows: below each subagent and its listed calls is a line about what it has done.
pub fn lines(state: &AppState, rows: &[ListRow], range: Range<usize>) -> Vec<ListLine> {
    let mut lines = Vec::with_capacity(range.len());
    let mut open = None;
    for index in range {
        if rows[index].place.depth() == 0 {
            lines.extend(open.take());
            let nested = state.subagents.of_call(rows[index].call);
            open = nested.map(|_| ListLine::Subagent(index));
        }
        lines.push(ListLine::Row(index));
    }
    lines.extend(open);
    lines
}

/// `Read report.py · 3 calls · 3.1k tokens`; without the first part if its calls are listed.
pub fn draw_words(call: CallKey, state: &AppState, area: Rect, buf: &mut Buffer) {
    let Some(nested) = state.subagents.of_call(call) else {
        return;
    };
    let lists = !nested.listed(&state.calls).is_empty();
    let doing = (!lists && !nested.is_over()).then(|| subagent_doing(nested, state));
    let words: Vec<String> = doing.into_iter().chain([subagent_counts(nested)]).collect();
    let room = usize::from(area.width).saturating_sub(MARKS);
    let text = truncate(&words.join(" · "), room);
    let indent = u16::try_from(MARKS).unwrap_or(0).min(area.width);
    let style = state.settings.theme.style(Role::Muted);
    buf.set_string(area.x + indent, area.y, text, style);
}

//! Shown if the panel has no room or is closed: a line above the input for each running call, with the last line that
//! it printed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{
    ListLine, Listed, background_words, first_line, last_line, mark, shown_name, time_words,
};
use crate::app::panel::{ListRow, Place};
use crate::app::{AppState, Focus};
use crate::theme::Role;
use crate::ui::cells::{state_role, subagent_counts, subagent_doing};
use crate::ui::text::{truncate, width};

/// The last line is left out if it has less room than this.
const SHORTEST_LINE: usize = 12;
/// The space between the parts of a line.
const GAP: usize = 2;

/// How high the strip would be: a line for each running call, or if focused for each that can be selected.
pub fn height(state: &AppState, most: u16) -> u16 {
    let count = listed(state).len();
    u16::try_from(count).unwrap_or(u16::MAX).min(most)
}

pub(super) fn lay_out(state: &AppState, area: Rect) -> Listed {
    let most = usize::from(area.height);
    let mut rows = listed(state);
    if rows.len() > most {
        let from = match state.focus {
            Focus::Panel => {
                let chosen = state.panel.chosen;
                let at = rows.iter().position(|row| *row == chosen).unwrap_or(0);
                at.saturating_sub(most / 2).min(rows.len() - most)
            }
            Focus::Composer | Focus::Conversation => 0,
        };
        rows = rows[from..from + most].to_vec();
    }
    Listed {
        area,
        lines: rows.into_iter().map(ListLine::Row).collect(),
    }
}

/// The indexes of the listed rows.
fn listed(state: &AppState) -> Vec<usize> {
    let focused = state.focus == Focus::Panel;
    let rows = state.rows();
    let shown = |row: &ListRow| {
        let runs = !state.calls.get(row.call).is_over();
        focused || row.place.depth() == 0 && (runs || row.place.is_background())
    };
    let rows = rows.iter().enumerate();
    rows.filter(|(_, row)| shown(row))
        .map(|(index, _)| index)
        .collect()
}

pub fn draw(state: &AppState, listed: &Listed, buf: &mut Buffer) {
    let area = listed.area;
    let rows = state.rows();
    for (y, line) in (area.y..area.bottom()).zip(0..) {
        let Some((index, row)) = listed.row(line).and_then(|it| Some((it, rows.get(it)?))) else {
            continue;
        };
        let at = Rect {
            y,
            height: 1,
            ..area
        };
        draw_line(*row, state, at, buf);
        if state.focus == Focus::Panel && state.panel.chosen == index {
            buf.set_style(at, state.settings.theme.style(Role::Chosen));
        }
    }
}

/// `● Bash pytest -q  12s  tests/test_total.py ....F`.
fn draw_line(row: ListRow, state: &AppState, area: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let call = state.calls.get(row.call);
    let nested = state.subagents.of_call(row.call);
    let area = indented(area, 2 * row.place.depth());
    let (name, words, role) = match row.place {
        Place::Background { depth: 0 } => {
            (String::new(), background_words(call, state), Role::Muted)
        }
        Place::Turn { .. } | Place::Background { .. } => {
            let (words, role) = time_words(call, state);
            let name = match nested {
                Some(_) => String::new(),
                None => format!("{} ", shown_name(call)),
            };
            (name, words, role)
        }
    };
    let whole = usize::from(area.width);
    let used = 2 + width(&name) + GAP + width(&words);
    let printed = match nested {
        Some(nested) if nested.is_over() => subagent_counts(nested),
        Some(nested) => {
            let (doing, used) = (subagent_doing(nested, state), subagent_counts(nested));
            format!("{doing} · {used}")
        }
        None => last_line(call),
    };
    // Half of the line is for the output, if there is any.
    let most = if printed.is_empty() || whole < 4 * SHORTEST_LINE {
        whole.saturating_sub(used)
    } else {
        (whole / 2)
            .max(used + SHORTEST_LINE)
            .min(whole)
            .saturating_sub(used)
    };
    let mark_role = match row.place {
        Place::Background { depth: 0 } => Role::Executing,
        Place::Turn { .. } | Place::Background { .. } => state_role(call),
    };
    let line = Line::from(vec![
        Span::styled(format!("{} ", mark(call)), theme.style(mark_role)),
        Span::styled(name, theme.style(Role::Strong)),
        Span::styled(first_line(call, state, most), theme.style(Role::Text)),
        Span::raw(" ".repeat(GAP)),
        Span::styled(words, theme.style(role)),
    ]);
    let (end, _) = buf.set_line(area.x, area.y, &line, area.width);
    let room = usize::from(area.right().saturating_sub(end)).saturating_sub(GAP + 1);
    if room >= SHORTEST_LINE {
        let x = end + u16::try_from(GAP).unwrap_or(0);
        let style = theme.style(Role::Faint);
        buf.set_string(x, area.y, truncate(&printed, room), style);
    }
}

fn indented(area: Rect, by: u16) -> Rect {
    let by = by.min(area.width);
    Rect {
        x: area.x + by,
        width: area.width - by,
        ..area
    }
}

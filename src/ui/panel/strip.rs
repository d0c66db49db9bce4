//! Shown if the panel has no room or is closed: a line above the input for each running call, with its bar. If the call
//! is not visible in the conversation, the line also has the last line that it printed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::bars::{self, Clock};
use super::{
    Columns, ListLine, Listed, background_text, clock, draw_bar, first_line, last_line, mark,
    shown_name, time_text,
};
use crate::app::call::CallKey;
use crate::app::panel::{ListRow, Place};
use crate::app::{AppState, Focus};
use crate::theme::Role;
use crate::ui::cells::{state_role, subagent_counts, subagent_doing};
use crate::ui::list::OutOfView;
use crate::ui::text::{truncate, width};

/// The last line is left out if it has less room than this.
const SHORTEST_LINE: usize = 12;
/// Narrower strips have no bars.
const WIDE_ENOUGH_FOR_BARS: u16 = 60;
const WIDEST_LABEL: u16 = 48;
const WIDEST_BAR: u16 = 24;
/// The space between the parts of a line.
const GAP: usize = 2;

/// How high the strip would be: a line for each running call, or if focused for each that can be selected.
pub fn height(state: &AppState, most: u16) -> u16 {
    let count = listed(state).len();
    u16::try_from(count).unwrap_or(u16::MAX).min(most)
}

pub(super) fn lay_out(state: &AppState, area: Rect, in_view: Vec<CallKey>) -> Listed {
    let mut most = usize::from(area.height);
    let mut rows = listed(state);
    let mut rest = None;
    if rows.len() > most {
        // The last line says how many are left out, if there is a line to spare.
        if most > 1 {
            most -= 1;
        }
        let from = match state.focus {
            Focus::Panel => {
                let chosen = state.panel.chosen;
                let at = rows.iter().position(|row| *row == chosen).unwrap_or(0);
                at.saturating_sub(most / 2).min(rows.len() - most)
            }
            Focus::Composer | Focus::Conversation => 0,
        };
        rest = (area.height > 1).then_some(OutOfView {
            above: from,
            below: rows.len() - from - most,
        });
        rows = rows[from..from + most].to_vec();
    }
    Listed {
        area,
        lines: rows.into_iter().map(ListLine::Row).collect(),
        rest,
        in_view,
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
    let columns = columns(area.width);
    let clock = columns.and_then(|columns| clock(state, columns.bar));
    for (y, line) in (area.y..area.bottom()).zip(0..) {
        let at = Rect {
            y,
            height: 1,
            ..area
        };
        let Some((index, row)) = listed.row(line).and_then(|it| Some((it, rows.get(it)?))) else {
            if let Some(rest) = listed.rest {
                rest.draw(&state.settings.theme, at, buf);
            }
            continue;
        };
        let strip = Strip {
            state,
            bar: columns.zip(clock.as_ref()),
            // Its output is visible above.
            prints: !listed.in_view.contains(&row.call) || row.place.is_background(),
        };
        strip.draw_line(*row, at, buf);
        if state.focus == Focus::Panel && state.panel.chosen == index {
            buf.set_style(at, state.settings.theme.style(Role::Chosen));
        }
    }
}

/// How a line is divided, if it is wide enough for a bar.
fn columns(width: u16) -> Option<Columns> {
    (width >= WIDE_ENOUGH_FOR_BARS).then(|| Columns {
        label: (width * 2 / 5).min(WIDEST_LABEL),
        bar: (width / 6).min(WIDEST_BAR),
    })
}

/// What the lines of a frame have in common.
struct Strip<'a> {
    state: &'a AppState,
    bar: Option<(Columns, &'a Clock)>,
    /// Whether the last line that the call printed is shown.
    prints: bool,
}

impl Strip<'_> {
    /// `● Bash pytest -q  ·━━━━━━━╸  12s  tests/test_total.py ....F`.
    fn draw_line(&self, row: ListRow, area: Rect, buf: &mut Buffer) {
        let state = self.state;
        let theme = &state.settings.theme;
        let call = state.calls.get(row.call);
        let left = area.x;
        let area = indented(area, 2 * row.place.depth());
        let (words, role) = match row.place {
            Place::Background { depth: 0 } => (background_text(call, state), Role::Muted),
            Place::Turn { .. } | Place::Background { .. } => time_text(call, state),
        };
        let printed = self.printed(row);
        let whole = usize::from(area.width);
        let most = match self.bar {
            Some((columns, _)) => usize::from(columns.label.saturating_sub(area.x - left)),
            // Half of the line is for the output, if there is any.
            None if printed.is_empty() || whole < 4 * SHORTEST_LINE => {
                whole.saturating_sub(GAP + width(&words))
            }
            None => whole / 2,
        };
        let label = self.label(row, most);
        let (mut x, _) = buf.set_line(area.x, area.y, &label, area.width);
        if let Some((columns, clock)) = self.bar {
            x = left + columns.label + 1;
            if !row.place.is_background() {
                let bar = bars::of_call(&call.times, state.now, clock);
                let whole = Rect { x: left, ..area };
                draw_bar(
                    &bar,
                    theme.style(state_role(call)),
                    theme,
                    columns,
                    whole,
                    buf,
                );
                x += columns.bar;
            }
        }
        let mut put = |text: &str, style: Style, least: usize| {
            let room = usize::from(area.right().saturating_sub(x)).saturating_sub(GAP);
            if room >= least.min(width(text)) && !text.is_empty() {
                let gap = u16::try_from(GAP).unwrap_or(0);
                (x, _) = buf.set_stringn(x + gap, area.y, truncate(text, room), room, style);
            }
        };
        put(&words, theme.style(role), 0);
        put(&printed, theme.style(Role::Faint), SHORTEST_LINE);
    }

    /// The mark, the name and the subject.
    fn label(&self, row: ListRow, most: usize) -> Line<'static> {
        let state = self.state;
        let theme = &state.settings.theme;
        let call = state.calls.get(row.call);
        let behind = row.place == Place::Background { depth: 0 };
        let name = match state.subagents.of_call(row.call) {
            None if !behind => format!("{} ", shown_name(call)),
            None | Some(_) => String::new(),
        };
        let mark_role = if behind {
            Role::Executing
        } else {
            state_role(call)
        };
        let room = most.saturating_sub(2 + width(&name));
        Line::from(vec![
            Span::styled(format!("{} ", mark(call)), theme.style(mark_role)),
            Span::styled(name, theme.style(Role::Strong)),
            Span::styled(first_line(call, state, room), theme.style(Role::Text)),
        ])
    }

    /// The last line that it printed, or what its subagent is doing.
    fn printed(&self, row: ListRow) -> String {
        let state = self.state;
        match state.subagents.of_call(row.call) {
            _ if !self.prints => String::new(),
            Some(nested) if nested.is_over() => subagent_counts(nested),
            Some(nested) => {
                let (doing, used) = (subagent_doing(nested, state), subagent_counts(nested));
                format!("{doing} · {used}")
            }
            None => last_line(state.calls.get(row.call)),
        }
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

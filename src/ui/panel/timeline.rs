//! The timeline of the turn: when the model wrote, when each call ran, and so how they overlap.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::saved_words;
use crate::app::AppState;
use crate::app::call::{Author, Call};
use crate::theme::Role;
use crate::ui::cells::{seconds, state_role};
use crate::ui::text::{clean, truncate};

/// Calls beyond these have no bar of their own.
const MOST_BARS: usize = 8;
const LABEL: u16 = 9;

/// How many rows the timeline takes; none before the first call, and none where the list needs the room.
pub fn height(state: &AppState, area: Rect) -> u16 {
    let bars = bars(state).count();
    if bars == 0 || state.panel.stream.spans.is_empty() {
        return 0;
    }
    let wanted = u16::try_from(bars).unwrap_or(u16::MAX).saturating_add(3);
    if wanted + 6 > area.height || area.width < LABEL + 10 {
        return 0;
    }
    wanted
}

fn bars(state: &AppState) -> impl Iterator<Item = &Call> {
    let calls = state.panel.calls.iter().map(|key| state.calls.get(*key));
    let of_turn = calls.filter(|call| call.by == Author::Model);
    let ran = of_turn.filter(|call| call.times.begun.is_some());
    let count = ran.clone().count();
    ran.skip(count.saturating_sub(MOST_BARS))
}

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    let Some((start, _)) = state.panel.stream.spans.first().copied() else {
        return;
    };
    if area.height < 3 {
        return;
    }
    let theme = &state.settings.theme;
    let end = last_moment(state);
    let scale = Scale {
        start,
        whole: end
            .saturating_duration_since(start)
            .max(Duration::from_millis(1)),
        cells: area.width - LABEL,
    };
    let mut title = format!("Timeline  {}", seconds(scale.whole));
    if let Some(saved) = saved_words(state) {
        let _ = write!(title, " · {saved}");
    }
    let line = Line::from(Span::styled(title, theme.style(Role::Muted)));
    buf.set_line(area.x, area.y + 1, &line, area.width);
    let mut y = area.y + 2;
    buf.set_string(area.x, y, "model", theme.style(Role::Muted));
    for (from, to) in &state.panel.stream.spans {
        let (x, cells) = scale.bar(*from, to.unwrap_or(end));
        let bar = "━".repeat(usize::from(cells));
        buf.set_string(area.x + LABEL + x, y, bar, theme.style(Role::Accent));
    }
    for call in bars(state) {
        y += 1;
        if y >= area.bottom() {
            break;
        }
        let name = truncate(&clean(&call.tool.name), usize::from(LABEL - 1));
        buf.set_string(area.x, y, name, theme.style(Role::Muted));
        let from = call.times.running.or(call.times.begun).unwrap_or(start);
        let (x, cells) = scale.bar(from, call.times.ended.unwrap_or(end));
        let bar = "━".repeat(usize::from(cells));
        buf.set_string(area.x + LABEL + x, y, bar, theme.style(state_role(call)));
    }
}

/// The end of the turn so far; of a turn that is over, its last moment.
fn last_moment(state: &AppState) -> Instant {
    if state.is_working() {
        return state.now;
    }
    let streams = state.panel.stream.spans.iter();
    let ends = streams.filter_map(|(_, end)| *end);
    let calls = bars(state).filter_map(|call| call.times.ended);
    ends.chain(calls).max().unwrap_or(state.now)
}

struct Scale {
    start: Instant,
    whole: Duration,
    cells: u16,
}

impl Scale {
    /// Where a bar begins and how long it is; at least one cell, inside the line.
    fn bar(&self, from: Instant, to: Instant) -> (u16, u16) {
        let x = self.cell(from).min(self.cells.saturating_sub(1));
        let end = self.cell(to).clamp(x + 1, self.cells.max(x + 1));
        (x, end - x)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the width, which is a u16"
    )]
    fn cell(&self, at: Instant) -> u16 {
        let since = at.saturating_duration_since(self.start).as_secs_f64();
        let part = (since / self.whole.as_secs_f64()).clamp(0.0, 1.0);
        (part * f64::from(self.cells)).round() as u16
    }
}

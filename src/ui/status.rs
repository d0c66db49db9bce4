//! The line below the input: the status on the left (model, mode, context, cost, branch), the keys or a message on the
//! right. On a narrow screen they have a row each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::footer::{self, Hint};
use super::rule::mode_role;
use super::text::{TAB, clean, clean_line, truncate, width};
use crate::app::AppState;
use crate::app::flash::Tone;
use crate::protocol::Mode;
use crate::text::thousands;
use crate::theme::{Role, Theme};

/// Narrower screens have a row for the status and one for the keys.
const WIDE_ENOUGH_FOR_BOTH: u16 = 60;
/// The status is aligned with the text of the input.
const INDENT: u16 = 2;
/// The least space between the status and the keys.
const GAP: usize = 3;

/// How many rows it takes.
pub fn height(whole: Rect) -> u16 {
    match whole.height {
        0..6 => 0,
        12.. if whole.width < WIDE_ENOUGH_FOR_BOTH => 2,
        6.. => 1,
    }
}

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let indent = match area.width {
        0..WIDE_ENOUGH_FOR_BOTH => 0,
        WIDE_ENOUGH_FOR_BOTH.. => INDENT,
    };
    let area = Rect {
        x: area.x + indent,
        width: area.width - indent,
        ..area
    };
    let room = usize::from(area.width);
    match area.height {
        0 => {}
        1 => {
            let least = reserved(state, room);
            let left = fitted(parts(state), room.saturating_sub(least + GAP), theme);
            let taken = left.width();
            buf.set_line(area.x, area.y, &left, area.width);
            let left = if taken == 0 { 0 } else { taken + GAP };
            draw_right(state, area, room.saturating_sub(left), buf);
        }
        _ => {
            let left = fitted(parts(state), room, theme);
            buf.set_line(area.x, area.y, &left, area.width);
            let below = Rect {
                y: area.bottom() - 1,
                ..area
            };
            draw_right(state, below, room, buf);
        }
    }
}

/// The room that is kept for the right side: for a message, or for the first keys.
fn reserved(state: &AppState, room: usize) -> usize {
    if let Some(flash) = &state.flash {
        return width(&flash.text).min(room);
    }
    let hints = footer::hints(state);
    let fits = |count: usize| {
        let cells = Hint::width_of(&hints[..count.min(hints.len())]);
        (cells <= room / 2).then_some(cells)
    };
    let essential: Vec<Part> = parts(state)
        .into_iter()
        .filter(|part| part.rank <= ESSENTIAL)
        .collect();
    let essential = cells_of(&essential) + GAP;
    fits(2)
        .filter(|cells| essential + cells <= room)
        .or_else(|| fits(1))
        .unwrap_or_else(|| Hint::width_of(&hints[..hints.len().min(1)]).min(room * 2 / 3))
}

/// The keys, or a message in their place, at the right edge.
fn draw_right(state: &AppState, area: Rect, room: usize, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let line = match &state.flash {
        Some(flash) => {
            let role = match flash.tone {
                Tone::Done => Role::Success,
                Tone::Information => Role::Muted,
                Tone::Error => Role::Error,
            };
            let text = truncate(&clean_line(&flash.text, TAB), room);
            Line::from(Span::styled(text, theme.style(role)))
        }
        None => footer::line(&footer::hints(state), room, theme),
    };
    let cells = u16::try_from(line.width())
        .unwrap_or(area.width)
        .min(area.width);
    buf.set_line(area.right() - cells, area.y, &line, cells);
}

/// A part of the status. If there isn't enough room, those with a higher `rank` are dropped first.
struct Part {
    text: String,
    role: Role,
    rank: u8,
}

/// Parts of this rank and below come before a second key.
const ESSENTIAL: u8 = 3;
const BETWEEN: &str = " · ";

fn cells_of(parts: &[Part]) -> usize {
    let words: usize = parts.iter().map(|part| width(&part.text)).sum();
    words + width(BETWEEN) * parts.len().saturating_sub(1)
}

/// As many parts as fit, in their order.
fn fitted(mut parts: Vec<Part>, room: usize, theme: &Theme) -> Line<'static> {
    while cells_of(&parts) > room {
        let last = parts.iter().enumerate().max_by_key(|(_, part)| part.rank);
        match last.map(|(at, _)| at) {
            // The last part is the most important: some of it is better than nothing.
            Some(at) if parts.len() == 1 => {
                parts[at].text = truncate(&parts[at].text, room);
                break;
            }
            Some(at) => drop(parts.remove(at)),
            None => break,
        }
    }
    let mut spans: Vec<Span> = Vec::new();
    let between: Style = theme.style(Role::StatusLine);
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::styled(BETWEEN, between));
        }
        spans.push(Span::styled(part.text, theme.style(part.role)));
    }
    Line::from(spans)
}

fn parts(state: &AppState) -> Vec<Part> {
    let session = &state.session;
    let mut parts = Vec::new();
    let mut add = |rank: u8, role: Role, text: String| parts.push(Part { text, role, rank });
    if let Some(problem) = &session.unsaved {
        // First, so that it stays visible on the narrowest screen.
        let text = format!("! not saved: {}", clean(problem));
        add(0, Role::Warning, text);
    }
    if session.id.is_none() {
        add(2, Role::StatusLine, "starting".to_owned());
    } else {
        let model = truncate(&clean(&session.model), 40);
        add(2, Role::StatusLine, model);
    }
    let mode_style = match session.mode {
        Mode::Default => Role::StatusLine,
        Mode::AcceptEdits | Mode::Plan | Mode::DontAsk | Mode::BypassPermissions => {
            mode_role(session.mode)
        }
    };
    add(1, mode_style, mode_text(session.mode).to_owned());
    if let Some(percent) = session.context_percent() {
        add(4, Role::StatusLine, format!("{percent}% of context"));
    }
    let used = session.spending.used.worked_on();
    if used > 0 {
        let used = format!("{} tokens used", thousands(used));
        add(8, Role::StatusLine, used);
    }
    if let Some(cost) = session.spending.cost {
        add(6, Role::StatusLine, format!("${cost:.2}"));
    }
    if let Some(branch) = &session.branch {
        let branch = truncate(&clean(branch), 30);
        add(7, Role::StatusLine, branch);
    }
    match state.calls.in_background().len() {
        0 => {}
        count => add(3, Role::Executing, format!("{count} in background")),
    }
    if !state.queue.is_empty() {
        let queued = format!("{} queued", state.queue.len());
        add(5, Role::StatusLine, queued);
    }
    parts
}

/// What the mode does, in words.
pub fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "asks",
        Mode::AcceptEdits => "accepts edits",
        Mode::Plan => "plan mode · read-only",
        Mode::DontAsk => "denies instead of asking",
        Mode::BypassPermissions => "bypasses permissions",
    }
}

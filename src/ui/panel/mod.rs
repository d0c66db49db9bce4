//! The tool panel: the calls of the turn and how they overlap with the stream. At the right where there is room, else a
//! strip above the input.

mod detail;
mod timeline;

pub use detail::{detail_rows, draw_detail};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::cells::{
    glyph, is_own_command, outcome_words, phase_words, seconds, shown_subject, state_role,
};
use super::text::{clean, overwritten, strip_ansi, truncate, truncate_middle, width};
use crate::app::call::{Call, State};
use crate::app::{AppState, Focus};
use crate::protocol::Phase;
use crate::theme::{Role, Theme};

/// Less of what a call printed last is not worth showing.
const SHORTEST_LINE: usize = 12;

/// Where the calls are listed, and which row shows which.
#[derive(Debug, Default)]
pub struct Listed {
    pub area: Rect,
    pub lines: Vec<ListLine>,
    timeline: Rect,
}

#[derive(Debug, Clone, Copy)]
pub struct ListLine {
    /// The call's number in the panel.
    pub index: usize,
    is_output: bool,
}

/// Finds out what is listed: in the panel if there is one, else in the strip.
pub fn lay_out(state: &AppState, panel: Rect, strip: Rect) -> Listed {
    if panel.width == 0 {
        let shown = strip_calls(state, usize::from(strip.height)).into_iter();
        let lines = shown.map(|index| ListLine {
            index,
            is_output: false,
        });
        return Listed {
            area: strip,
            lines: lines.collect(),
            timeline: Rect::default(),
        };
    }
    let inner = Rect {
        x: panel.x + 2,
        width: panel.width.saturating_sub(2),
        ..panel
    };
    let times = timeline::height(state, inner);
    // The first row is the title's.
    let area = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(times + 1),
        ..inner
    };
    let height = usize::from(area.height);
    let mut lines = list_lines(state);
    lines.drain(..first_line(state, &lines, height));
    lines.truncate(height);
    Listed {
        area,
        lines,
        timeline: Rect {
            y: area.bottom(),
            height: times,
            ..inner
        },
    }
}

/// The list of calls, with the running ones' last line of output, and the timeline below.
pub fn draw(state: &AppState, listed: &Listed, panel: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let focused = state.focus == Focus::Panel;
    draw_edge(panel, focused, theme, buf);
    let area = listed.area;
    if panel.height == 0 {
        return;
    }
    let room = usize::from(area.width).saturating_sub("Tools  ".len());
    let title = Line::from(vec![
        Span::styled("Tools", theme.style(Role::Strong)),
        Span::styled(
            format!("  {}", counts(state, room)),
            theme.style(Role::Muted),
        ),
    ]);
    buf.set_line(area.x, panel.y, &title, area.width);
    for (y, line) in (area.y..area.bottom()).zip(&listed.lines) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        let call = state.calls.get(state.panel.calls[line.index]);
        if line.is_output {
            let text = truncate(&last_line(call), usize::from(area.width.saturating_sub(4)));
            buf.set_string(area.x + 4, y, text, theme.style(Role::Faint));
        } else {
            let chosen = focused && state.panel.chosen == line.index;
            draw_call(call, state, chosen, row, buf);
        }
    }
    timeline::draw(state, listed.timeline, buf);
}

/// One line for each call that matters most, above the input of a narrow terminal.
pub fn draw_strip(state: &AppState, listed: &Listed, buf: &mut Buffer) {
    let area = listed.area;
    for (y, line) in (area.y..area.bottom()).zip(&listed.lines) {
        let call = state.calls.get(state.panel.calls[line.index]);
        let chosen = state.focus == Focus::Panel && state.panel.chosen == line.index;
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        let subject = draw_call(call, state, chosen, row, buf);
        draw_last_line(call, state, subject, buf);
    }
}

/// How high a strip would be: nothing when nothing runs, unless it is focused.
pub fn strip_height(state: &AppState, most: u16) -> u16 {
    let focused = state.focus == Focus::Panel;
    let count = if focused {
        state.panel.calls.len()
    } else {
        unfinished(state).count()
    };
    u16::try_from(count).unwrap_or(u16::MAX).min(most)
}

fn strip_calls(state: &AppState, most: usize) -> Vec<usize> {
    let mut found: Vec<usize> = if state.focus == Focus::Panel {
        (0..state.panel.calls.len()).collect()
    } else {
        unfinished(state).collect()
    };
    if found.len() > most {
        let from = match state.focus {
            Focus::Panel => state
                .panel
                .chosen
                .saturating_sub(most / 2)
                .min(found.len() - most),
            Focus::Composer | Focus::Conversation => 0,
        };
        found = found[from..from + most].to_vec();
    }
    found
}

fn unfinished(state: &AppState) -> impl Iterator<Item = usize> {
    let calls = state.panel.calls.iter().enumerate();
    calls
        .filter(|(_, key)| !state.calls.get(**key).is_over())
        .map(|(index, _)| index)
}

fn draw_edge(area: Rect, focused: bool, theme: &Theme, buf: &mut Buffer) {
    let role = if focused {
        Role::BorderFocused
    } else {
        Role::Border
    };
    for y in area.y..area.bottom() {
        buf.set_string(area.x, y, "│", theme.style(role));
    }
}

/// A line for each call, and one for the last output of those that run.
fn list_lines(state: &AppState) -> Vec<ListLine> {
    let mut lines = Vec::new();
    for (index, key) in state.panel.calls.iter().enumerate() {
        lines.push(ListLine {
            index,
            is_output: false,
        });
        let call = state.calls.get(*key);
        if !call.is_over() && !last_line(call).is_empty() {
            lines.push(ListLine {
                index,
                is_output: true,
            });
        }
    }
    lines
}

/// The chosen call stays in view; unless the panel is focused, the end does.
fn first_line(state: &AppState, lines: &[ListLine], height: usize) -> usize {
    let end = lines.len().saturating_sub(height);
    if state.focus != Focus::Panel {
        return end;
    }
    let at = lines
        .iter()
        .position(|line| line.index == state.panel.chosen)
        .unwrap_or(0);
    at.saturating_sub(height / 2).min(end)
}

fn last_line(call: &Call) -> String {
    let line = call.last_line().unwrap_or_default();
    clean(overwritten(&strip_ansi(line))).trim().to_owned()
}

/// Where the strip has room left, it says what a call printed last.
fn draw_last_line(call: &Call, state: &AppState, free: Rect, buf: &mut Buffer) {
    let text = last_line(call);
    let room = usize::from(free.width).saturating_sub(4);
    if call.is_over() || text.is_empty() || room < SHORTEST_LINE {
        return;
    }
    let style = state.settings.theme.style(Role::Faint);
    buf.set_string(free.x + 2, free.y, truncate(&text, room), style);
}

/// `✓ Read  src/lib.rs      120 lines · 0.1s`. Returns what it left free.
fn draw_call(call: &Call, state: &AppState, chosen: bool, area: Rect, buf: &mut Buffer) -> Rect {
    let theme = &state.settings.theme;
    let time = time_words(call, state);
    let name = if is_own_command(call) {
        "!".to_owned()
    } else {
        truncate(&clean(&call.tool.name), 18)
    };
    let used = 2 + width(&name) + 1 + width(&time) + 1;
    let room = usize::from(area.width).saturating_sub(used);
    let subject = shown_subject(call, state);
    let first = clean(subject.lines().next().unwrap_or_default()).into_owned();
    let shown = if first.contains('/') && !first.contains(' ') {
        truncate_middle(&first, room)
    } else {
        truncate(&first, room)
    };
    let line = Line::from(vec![
        Span::styled(format!("{} ", glyph(call)), theme.style(state_role(call))),
        Span::styled(name, theme.style(Role::Strong)),
        Span::raw(" "),
        Span::styled(shown, theme.style(Role::Text)),
    ]);
    let (end, _) = buf.set_line(area.x, area.y, &line, area.width);
    let right = u16::try_from(width(&time)).unwrap_or(area.width);
    if right < area.width {
        let role = match call.state {
            State::Executing(Phase::WaitingForApproval) => Role::Warning,
            _ => Role::Muted,
        };
        buf.set_string(area.right() - right, area.y, &time, theme.style(role));
    }
    if chosen {
        buf.set_style(area, theme.style(Role::Chosen));
    }
    Rect {
        x: end,
        width: area.right().saturating_sub(end + right),
        ..area
    }
}

/// The state of a call, or how long it has been running.
fn time_words(call: &Call, state: &AppState) -> String {
    match &call.state {
        State::Arriving(_) => "arriving".to_owned(),
        State::Queued => "queued".to_owned(),
        State::Executing(Phase::Running | Phase::Finishing) => {
            let elapsed = call.elapsed(state.now).unwrap_or_default();
            let running = format!("{:.1}s", elapsed.as_secs_f64());
            match call.state {
                State::Executing(Phase::Finishing) => format!("finishing {running}"),
                _ => running,
            }
        }
        State::Executing(phase) => phase_words(*phase).to_owned(),
        State::Completed(completed) | State::Yielded(completed) => {
            match outcome_words(call, completed).split_once(" · ") {
                Some((words, time)) if words.ends_with("lines") || words == "1 line" => {
                    time.to_owned()
                }
                _ => outcome_words(call, completed),
            }
        }
    }
}

/// How many calls are in which state: in words, or where these do not fit, in the marks of the list.
fn counts(state: &AppState, room: usize) -> String {
    let count = |what: fn(&State) -> bool| {
        let calls = state.panel.calls.iter();
        calls
            .filter(|key| what(&state.calls.get(**key).state))
            .count()
    };
    let queued = count(|it| matches!(it, State::Arriving(_) | State::Queued));
    let executing = count(|it| matches!(it, State::Executing(_)));
    let completed = count(|it| matches!(it, State::Completed(_)));
    let yielded = count(|it| matches!(it, State::Yielded(_)));
    let list = |parts: &[(usize, &str)]| {
        let there = parts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = there
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        words.join(" · ")
    };
    let words = list(&[
        (queued, "queued"),
        (executing, "executing"),
        (completed, "completed"),
        (yielded, "yielded"),
    ]);
    if width(&words) <= room {
        return words;
    }
    list(&[(queued, "○"), (executing, "●"), (completed + yielded, "✓")])
}

/// The time that running tools while the model wrote has saved, for people.
pub fn saved_words(state: &AppState) -> Option<String> {
    let saved = state.panel.saved;
    (saved.as_millis() >= 50).then(|| format!("{} saved", seconds(saved)))
}

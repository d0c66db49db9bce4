//! The tool panel: one list, in which every call of the turn has a bar in its row. At the right if there is room, else
//! a strip above the input.

mod bars;
mod detail;
mod strip;
mod subagents;

pub use detail::{detail_rows, draw_detail};
pub use strip::{draw as draw_strip, height as strip_height};

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::bars::{Clock, Part};
use super::cells::{executing_words, is_own_command, seconds, shown_subject, state_role};
use super::list::OutOfView;
use super::text::{clean, overwritten, strip_ansi, truncate, truncate_middle, width};
use crate::app::call::{Call, CallKey, State};
use crate::app::panel::{ListRow, Place, Turn, background_time};
use crate::app::{AppState, Focus};
use crate::protocol::{CallOutcome, Phase};
use crate::text::whole_seconds;
use crate::theme::{Role, Theme};

/// The column of times, and of the words of calls that don't run yet, which may extend into the bar.
const TIME: usize = 7;
/// The marks: the outcome, and whether the model has the result.
pub const MARKS: usize = 3;
/// A shorter saving is not mentioned.
const WORTH_SHOWING: Duration = Duration::from_millis(50);

/// The area of the list, and what each of its rows shows.
#[derive(Debug, Default)]
pub struct Listed {
    pub area: Rect,
    pub lines: Vec<ListLine>,
    /// How many rows have no line, in the strip's last line.
    pub rest: Option<OutOfView>,
    /// The calls whose rows are visible in the conversation.
    pub in_view: Vec<CallKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListLine {
    Blank,
    /// When the model wrote.
    Model,
    /// A call, by its index among the rows that can be selected.
    Row(usize),
    /// What the subagent of the call with this index has done.
    Subagent(usize),
}

impl Listed {
    /// Whether this row started a subagent, whose calls can be folded.
    pub fn folds(&self, row: usize) -> bool {
        self.lines.contains(&ListLine::Subagent(row))
    }

    /// The call in a row of the screen.
    pub fn row(&self, line: usize) -> Option<usize> {
        match self.lines.get(line)? {
            ListLine::Row(index) | ListLine::Subagent(index) => Some(*index),
            ListLine::Blank | ListLine::Model => None,
        }
    }
}

/// Decides what is listed: in the panel if there is one, else in the strip.
pub fn lay_out(state: &AppState, panel: Rect, strip: Rect, in_view: Vec<CallKey>) -> Listed {
    if panel.width == 0 {
        return strip::lay_out(state, strip, in_view);
    }
    let inner = Rect {
        x: panel.x + 2,
        width: panel.width.saturating_sub(2),
        ..panel
    };
    let head = u16::try_from(header(state, inner).len()).unwrap_or(u16::MAX);
    let head = head.min(inner.height);
    let area = Rect {
        y: inner.y + head,
        height: inner.height - head,
        ..inner
    };
    let rows = state.rows();
    let lines = visible(state, &rows, usize::from(area.height));
    Listed {
        area,
        lines,
        rest: None,
        in_view,
    }
}

/// The selected call stays visible; if the panel is not focused, the end does. Background commands are always listed.
fn visible(state: &AppState, rows: &[ListRow], height: usize) -> Vec<ListLine> {
    let in_turn = |row: &&ListRow| !row.place.is_background();
    let calls = rows.iter().take_while(in_turn).count();
    let below = subagents::lines(state, rows, calls..rows.len());
    let below = &below[..below.len().min(height / 2)];
    let room = height - below.len();
    let mut lines = Vec::with_capacity(height);
    if state
        .listed_turn()
        .is_some_and(|turn| !turn.writing.is_empty())
    {
        lines.push(ListLine::Model);
    }
    lines.extend(subagents::lines(state, rows, 0..calls));
    let end = lines.len().saturating_sub(room);
    let from = if state.focus == Focus::Panel {
        let chosen = ListLine::Row(state.panel.chosen);
        let at = lines.iter().position(|line| *line == chosen);
        at.map_or(end, |at| at.saturating_sub(room / 2)).min(end)
    } else {
        end
    };
    lines.drain(..from);
    lines.truncate(room);
    if !below.is_empty() && lines.len() < room {
        lines.push(ListLine::Blank);
    }
    lines.extend(below);
    lines
}

/// The list with its bars.
pub fn draw(state: &AppState, listed: &Listed, panel: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let focused = state.focus == Focus::Panel;
    draw_edge(panel, focused, theme, buf);
    let area = listed.area;
    let head = Rect {
        y: panel.y,
        height: area.y - panel.y,
        ..area
    };
    for (y, line) in (head.y..head.bottom()).zip(header(state, head)) {
        buf.set_line(head.x, y, &line, head.width);
    }
    let columns = Columns::of(area.width);
    let clock = clock(state, columns.bar);
    let rows = state.rows();
    for (y, line) in (area.y..area.bottom()).zip(&listed.lines) {
        let at = Rect {
            y,
            height: 1,
            ..area
        };
        match line {
            ListLine::Blank => {}
            ListLine::Model => draw_model(state, clock.as_ref(), columns, at, buf),
            ListLine::Row(index) => {
                let Some(row) = rows.get(*index) else {
                    continue;
                };
                match row.place {
                    Place::Turn { depth } => {
                        draw_call(row.call, depth, state, clock.as_ref(), columns, at, buf);
                    }
                    Place::Background { depth: 0 } => draw_background(row.call, state, at, buf),
                    // They are not on the displayed clock.
                    Place::Background { depth } => {
                        draw_call(row.call, depth, state, None, columns, at, buf);
                    }
                }
                if focused && state.panel.chosen == *index {
                    buf.set_style(at, theme.style(Role::Chosen));
                }
            }
            ListLine::Subagent(index) => {
                if let Some(row) = rows.get(*index) {
                    subagents::draw_words(row.call, state, at, buf);
                }
            }
        }
    }
}

/// How the width of a row is divided.
#[derive(Debug, Clone, Copy)]
struct Columns {
    label: u16,
    bar: u16,
}

impl Columns {
    fn of(width: u16) -> Self {
        let time = u16::try_from(TIME).unwrap_or(0);
        let label = (width * 9 / 20).clamp(14, 34).min(width);
        Self {
            label,
            bar: width.saturating_sub(label + time + 2),
        }
    }
}

fn clock(state: &AppState, cells: u16) -> Option<Clock> {
    let turn = state.listed_turn()?;
    let start = turn.start(&state.calls)?;
    Some(Clock::new(start, turn.end(&state.calls, state.now), cells))
}

/// The turn's number, how long it takes, what overlapping saved, how many calls are in which state, and the clock.
fn header(state: &AppState, area: Rect) -> Vec<Line<'static>> {
    let theme = &state.settings.theme;
    let Some(turn) = state.listed_turn() else {
        return Vec::new();
    };
    let columns = Columns::of(area.width);
    let clock = clock(state, columns.bar);
    let title = match turn.number {
        _ if state.viewed().is_some() => "Subagent".to_owned(),
        Some(number) => format!("Turn {number}"),
        None => "Your commands".to_owned(),
    };
    let mut times = clock.map_or_else(String::new, |clock| shown_time(clock.whole()));
    if let Some(saved) = saved_text(turn) {
        times = format!("{times} · {saved}");
    }
    let room = usize::from(area.width);
    let gap = room.saturating_sub(width(&title) + width(&times)).max(1);
    let muted = theme.style(Role::Muted);
    let mut lines = vec![Line::from(vec![
        Span::styled(title, theme.style(Role::Strong)),
        Span::raw(" ".repeat(gap)),
        Span::styled(times, muted),
    ])];
    for counts in counts(turn, state, room) {
        lines.push(Line::from(Span::styled(counts, muted)));
    }
    if let Some(clock) = clock {
        let axis = axis(clock.whole(), usize::from(columns.bar));
        let indent = " ".repeat(usize::from(columns.label) + 1);
        let faint = theme.style(Role::Faint);
        lines.push(Line::from(Span::styled(format!("{indent}{axis}"), faint)));
    }
    lines
}

/// The times at the beginning, in the middle and at the end of the bars.
fn axis(whole: Duration, cells: usize) -> String {
    let (half, end) = (shown_time(whole / 2), shown_time(whole));
    let mut axis = "0s".to_owned();
    let mut put = |text: &str, at: usize| {
        let used = width(&axis);
        if at > used && at + width(text) <= cells {
            axis.push_str(&" ".repeat(at - used));
            axis.push_str(text);
        }
    };
    if cells >= 22 {
        put(&half, (cells / 2).saturating_sub(width(&half) / 2));
    }
    put(&end, cells.saturating_sub(width(&end)));
    axis
}

/// How many calls are in which state, in as many lines as needed.
fn counts(turn: &Turn, state: &AppState, room: usize) -> Vec<String> {
    let count = |what: fn(&State) -> bool| {
        let calls = turn.calls.iter();
        calls
            .filter(|key| what(&state.calls.get(**key).state))
            .count()
    };
    let parts = [
        (
            count(|it| matches!(it, State::Arriving(_) | State::Queued)),
            "queued",
        ),
        (count(|it| matches!(it, State::Executing(_))), "executing"),
        (count(|it| matches!(it, State::Completed(_))), "completed"),
        (count(|it| matches!(it, State::Yielded(_))), "yielded"),
    ];
    let mut lines: Vec<String> = Vec::new();
    for (count, word) in parts.into_iter().filter(|(count, _)| *count > 0) {
        let part = format!("{count} {word}");
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(&part) <= room => {
                line.push_str(" · ");
                line.push_str(&part);
            }
            Some(_) | None => lines.push(part),
        }
    }
    lines
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

fn draw_model(
    state: &AppState,
    clock: Option<&Clock>,
    columns: Columns,
    area: Rect,
    buf: &mut Buffer,
) {
    let theme = &state.settings.theme;
    let label = format!("{}model", " ".repeat(MARKS));
    buf.set_string(area.x, area.y, label, theme.style(Role::Muted));
    if let (Some(turn), Some(clock)) = (state.listed_turn(), clock) {
        let bar = bars::of_model(&turn.writing, clock);
        draw_bar(&bar, theme.style(Role::Accent), theme, columns, area, buf);
    }
}

fn draw_bar(
    bar: &[Part],
    ran: Style,
    theme: &Theme,
    columns: Columns,
    area: Rect,
    buf: &mut Buffer,
) {
    let from = area.x + columns.label + 1;
    for (x, part) in (from..area.right()).zip(bar) {
        let style = match part {
            Part::Blank => continue,
            Part::Queued => theme.style(Role::Queued),
            Part::Waited => theme.style(Role::Warning),
            Part::Ran | Part::Grows => ran,
        };
        buf.set_string(x, area.y, part.symbol(), style);
    }
}

/// `✓→ Read src/lib.rs   ·━━━━     0.1s`.
fn draw_call(
    key: CallKey,
    depth: u16,
    state: &AppState,
    clock: Option<&Clock>,
    columns: Columns,
    area: Rect,
    buf: &mut Buffer,
) {
    let theme = &state.settings.theme;
    let call = state.calls.get(key);
    let style = theme.style(state_role(call));
    let indent = 2 * depth;
    let label = usize::from(columns.label.saturating_sub(indent));
    let line = label_of(key, state, label);
    buf.set_line(
        area.x + indent,
        area.y,
        &line,
        columns.label.saturating_sub(indent),
    );
    if let Some(clock) = clock {
        let bar = bars::of_call(&call.times, state.now, clock);
        draw_bar(&bar, style, theme, columns, area, buf);
    }
    let (words, role) = time_text(call, state);
    // The words are wider than the column and extend into the bar, which is empty.
    let words = format!(" {}", truncate(&words, usize::from(columns.bar) + TIME));
    let right = u16::try_from(width(&words)).unwrap_or(area.width);
    if right < area.width {
        buf.set_string(area.right() - right, area.y, &words, theme.style(role));
    }
}

/// The marks, the name and the subject.
fn label_of(key: CallKey, state: &AppState, room: usize) -> Line<'static> {
    let theme = &state.settings.theme;
    let call = state.calls.get(key);
    let mark = Span::styled(mark(call), theme.style(state_role(call)));
    if let Some(nested) = state.subagents.of_call(key) {
        let about = truncate(
            &clean(&nested.about.description),
            room.saturating_sub(MARKS),
        );
        let about = Span::styled(about, theme.style(Role::Strong));
        return Line::from(vec![mark, given(call, theme), about]);
    }
    let name = shown_name(call);
    let subject = shown_subject(call, state);
    let first = clean(subject.lines().next().unwrap_or_default()).into_owned();
    let left = room.saturating_sub(MARKS + width(&name) + 1);
    let shown = if first.contains('/') && !first.contains(' ') {
        truncate_middle(&first, left)
    } else {
        truncate(&first, left)
    };
    Line::from(vec![
        mark,
        given(call, theme),
        Span::styled(name, theme.style(Role::Strong)),
        Span::raw(" "),
        Span::styled(shown, theme.style(Role::Text)),
    ])
}

/// Whether the model has the result.
fn given(call: &Call, theme: &Theme) -> Span<'static> {
    let given = match call.state {
        State::Yielded(_) => "→ ",
        State::Arriving(_) | State::Queued | State::Executing(_) | State::Completed(_) => "  ",
    };
    Span::styled(given, theme.style(Role::Yielded))
}

fn shown_name(call: &Call) -> String {
    if is_own_command(call) {
        return "!".to_owned();
    }
    truncate(&super::cells::shown_name(&call.tool), 18)
}

/// How far an executing call is, or how a finished one went.
fn mark(call: &Call) -> &'static str {
    match call.state {
        State::Executing(Phase::Validating) => "◔",
        State::Executing(Phase::InHooks) => "◑",
        State::Arriving(_)
        | State::Queued
        | State::Executing(Phase::WaitingForApproval | Phase::Running | Phase::Finishing)
        | State::Completed(_)
        | State::Yielded(_) => super::cells::glyph(call),
    }
}

/// `& npm run dev   in background   4m 12s`.
fn draw_background(key: CallKey, state: &AppState, area: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let call = state.calls.get(key);
    let words = background_text(call, state);
    let room = usize::from(area.width).saturating_sub(width(&words) + 4);
    let line = Line::from(vec![
        Span::styled("& ", theme.style(Role::Executing)),
        Span::styled(first_line(call, state, room), theme.style(Role::Text)),
    ]);
    buf.set_line(area.x, area.y, &line, area.width);
    let right = u16::try_from(width(&words)).unwrap_or(area.width);
    if right < area.width {
        let style = theme.style(Role::Muted);
        buf.set_string(area.right() - right, area.y, &words, style);
    }
}

fn background_text(call: &Call, state: &AppState) -> String {
    if call.is_stopping {
        return "stopping".to_owned();
    }
    let since = call.background_since().unwrap_or(state.now);
    let time = background_time(state.now.saturating_duration_since(since));
    format!("in background  {time}")
}

/// The subject of a call, cut to fit.
fn first_line(call: &Call, state: &AppState, room: usize) -> String {
    let subject = shown_subject(call, state);
    truncate(&clean(subject.lines().next().unwrap_or_default()), room)
}

/// The last line that a call printed.
fn last_line(call: &Call) -> String {
    let line = call.last_line().unwrap_or_default();
    clean(overwritten(&strip_ansi(line))).trim().to_owned()
}

/// How far a call is, or how long it took.
fn time_text(call: &Call, state: &AppState) -> (String, Role) {
    match &call.state {
        State::Arriving(_) => ("arriving".to_owned(), Role::Muted),
        State::Queued => ("queued".to_owned(), Role::Muted),
        State::Executing(Phase::WaitingForApproval) => ("waits for you".to_owned(), Role::Warning),
        State::Executing(phase) => {
            let role = if call.is_stopping {
                Role::Warning
            } else {
                Role::Muted
            };
            (executing_words(call, *phase, state), role)
        }
        State::Completed(completed) | State::Yielded(completed) => match completed.outcome {
            CallOutcome::Cancelled if completed.ran.is_zero() => {
                ("stopped".to_owned(), Role::Muted)
            }
            CallOutcome::Succeeded
            | CallOutcome::Failed
            | CallOutcome::Cancelled
            | CallOutcome::Backgrounded => (seconds(completed.ran), Role::Muted),
            CallOutcome::Denied => ("denied".to_owned(), Role::Warning),
            CallOutcome::Skipped { .. } => ("skipped".to_owned(), Role::Muted),
            CallOutcome::ByHand => ("by you".to_owned(), Role::Muted),
        },
    }
}

/// A time that may still increase: with tenths while it is short.
fn shown_time(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        whole => whole_seconds(whole),
    }
}

/// The time saved by running tools while the model wrote.
pub fn saved_text(turn: &Turn) -> Option<String> {
    (turn.saved >= WORTH_SHOWING).then(|| format!("{} saved", seconds(turn.saved)))
}

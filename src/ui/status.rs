//! The line over the input (what goes on, and the mode) and the status line under it (model, context, cost, branch).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::cells::seconds;
use super::panel::saved_words;
use super::text::{clean, truncate, width};
use crate::app::call::State;
use crate::app::dialogs::Dialog;
use crate::app::transcript::Cell;
use crate::app::{AppState, Stage, Work};
use crate::protocol::{Mode, Phase};
use crate::theme::Role;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];
const SPIN_MS: u128 = 200;

/// The rule over the input: its colour is the mode's, so that nobody works in a mode unawares.
pub fn draw_rule(state: &AppState, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = &state.settings.theme;
    let style = theme.style(mode_role(state.session.mode));
    buf.set_string(area.x, area.y, "─".repeat(usize::from(area.width)), style);
    let mode = mode_words(state.session.mode);
    let right = u16::try_from(width(mode)).unwrap_or(0);
    if !mode.is_empty() && area.width > right + 12 {
        let line = Line::from(Span::styled(format!(" {mode} "), style));
        buf.set_line(area.right() - right - 4, area.y, &line, right + 2);
    }
    if let Some(activity) = activity(state) {
        let room = usize::from(area.width).saturating_sub(usize::from(right) + 8);
        let text = format!(" {} ", truncate(&activity.text, room));
        let line = Line::from(Span::styled(text, theme.style(activity.role)));
        buf.set_line(
            area.x + 2.min(area.width),
            area.y,
            &line,
            area.width.saturating_sub(2),
        );
    }
}

struct Doing {
    text: String,
    role: Role,
}

/// What goes on, in one line.
fn activity(state: &AppState) -> Option<Doing> {
    let work = state.work()?;
    let elapsed = state.now.saturating_duration_since(work.since);
    let spinner =
        SPINNER[usize::try_from(elapsed.as_millis() / SPIN_MS).unwrap_or(0) % SPINNER.len()];
    let time = match elapsed.as_secs() {
        0..60 => format!("{}s", elapsed.as_secs()),
        _ => seconds(elapsed),
    };
    let (text, role) = match &work.stage {
        Stage::Running => {
            let (doing, role) = doing(state, work);
            (format!("{spinner} {doing} · {time}"), role)
        }
        Stage::Retrying {
            problem,
            attempt,
            until,
        } => {
            let left = until.saturating_duration_since(state.now).as_secs() + 1;
            let problem = clean(problem);
            (
                format!("! try {} in {left}s · {problem}", attempt + 1),
                Role::Warning,
            )
        }
        Stage::Stopping => match finishing(state) {
            Some(tool) => (
                format!("{spinner} stopping · {} runs to its end", clean(tool)),
                Role::Warning,
            ),
            None => (format!("{spinner} stopping"), Role::Warning),
        },
        Stage::MakingWay => (
            format!("{spinner} stopping for your message"),
            Role::Warning,
        ),
        Stage::Killing => (format!("{spinner} stopping with force"), Role::Warning),
    };
    Some(Doing { text, role })
}

fn doing(state: &AppState, work: &Work) -> (String, Role) {
    let asks = |dialog: &Dialog| {
        matches!(
            dialog,
            Dialog::Question(_) | Dialog::Pause(_) | Dialog::Trust(_)
        )
    };
    if state.dialogs.iter().any(asks) {
        return ("waiting for you".to_owned(), Role::Warning);
    }
    let calls = state.panel.calls.iter().map(|key| state.calls.get(*key));
    let mut running: Vec<&str> = Vec::new();
    for call in calls {
        match call.state {
            State::Executing(_) => running.push(&call.tool.doing),
            State::Arriving(_) | State::Queued | State::Completed(_) | State::Yielded(_) => {}
        }
    }
    let text = match running.as_slice() {
        [] => match state.transcript.last().map(|entry| &entry.cell) {
            Some(Cell::Thinking { took: None, .. }) => "thinking".to_owned(),
            _ if work.heard.is_some() => "writing".to_owned(),
            _ => "waiting for the model".to_owned(),
        },
        [doing] => clean(doing).into_owned(),
        tools => format!("running {} tools", tools.len()),
    };
    (text, Role::Executing)
}

/// A tool that an interrupt lets finish.
fn finishing(state: &AppState) -> Option<&str> {
    let mut calls = state.panel.calls.iter().map(|key| state.calls.get(*key));
    calls
        .find(|call| matches!(call.state, State::Executing(Phase::Finishing)))
        .map(|call| &*call.tool.name)
}

pub fn mode_role(mode: Mode) -> Role {
    match mode {
        Mode::Default => Role::ModeDefault,
        Mode::AcceptEdits => Role::ModeAcceptEdits,
        Mode::Plan => Role::ModePlan,
        Mode::DontAsk => Role::ModeDontAsk,
        Mode::BypassPermissions => Role::ModeBypass,
    }
}

fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "",
        Mode::AcceptEdits => "accept edits",
        Mode::Plan => "plan: nothing is changed",
        Mode::DontAsk => "don't ask",
        Mode::BypassPermissions => "bypass permissions",
    }
}

/// Model, mode, context, tokens, cost, branch, queue.
pub fn draw_status(state: &AppState, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = &state.settings.theme;
    let mut area = area;
    if let Some(problem) = &state.session.unsaved {
        // First, so that it stays in sight on the narrowest screen.
        let room = usize::from(area.width);
        let text = truncate(&format!("! not saved: {} ", clean(problem)), room);
        let taken = u16::try_from(width(&text))
            .unwrap_or(area.width)
            .min(area.width);
        let line = Line::from(Span::styled(text, theme.style(Role::Warning)));
        buf.set_line(area.x, area.y, &line, area.width);
        area.x += taken;
        area.width -= taken;
    }
    let room = usize::from(area.width);
    let mut left = String::new();
    for part in status_parts(state) {
        let longer = if left.is_empty() {
            part
        } else {
            format!("{left} · {part}")
        };
        if width(&longer) > room {
            break;
        }
        left = longer;
    }
    let line = Line::from(Span::styled(left, theme.style(Role::StatusLine)));
    buf.set_line(area.x, area.y, &line, area.width);
}

fn status_parts(state: &AppState) -> Vec<String> {
    let session = &state.session;
    let mut parts = Vec::new();
    if session.id.is_none() {
        parts.push("starting".to_owned());
    } else {
        parts.push(truncate(&clean(&session.model), 40));
    }
    parts.push(session.mode.name().to_owned());
    if let Some(percent) = session.context_percent() {
        parts.push(format!("{percent}% of context"));
    }
    let used = session.spending.used.worked_on();
    if used > 0 {
        parts.push(format!("{} tokens", thousands(used)));
    }
    if let Some(cost) = session.spending.cost {
        parts.push(format!("${cost:.2}"));
    }
    if let Some(branch) = &session.branch {
        parts.push(truncate(&clean(branch), 30));
    }
    if !state.queue.is_empty() {
        parts.push(format!("{} queued", state.queue.len()));
    }
    parts.extend(saved_words(state));
    parts
}

fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

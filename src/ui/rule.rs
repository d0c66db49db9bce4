//! The line above the input: where the keys go, what is happening, and how much of the input is hidden.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::cells::{seconds, shown_name, shown_subject, subagent_doing};
use super::text::{clean, truncate, width};
use crate::app::call::{Call, CallKey, State};
use crate::app::composer::vim;
use crate::app::dialogs::Dialog;
use crate::app::search::Search;
use crate::app::subagents::{self, Nested};
use crate::app::transcript::Cell;
use crate::app::{AppState, Focus, Stage, Work, short_problem};
use crate::protocol::{Mode, Phase};
use crate::theme::Role;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];
const SPIN_MS: u128 = 200;
/// The part of the line before the first words.
const LEAD: u16 = 2;

/// Its colour is the mode's, so that the mode is always noticed.
pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = &state.settings.theme;
    let style = theme.style(mode_role(state.session.mode));
    buf.set_string(area.x, area.y, "─".repeat(usize::from(area.width)), style);
    let mut x = area.x + LEAD.min(area.width);
    let mut end = area.right().saturating_sub(LEAD);
    if let Some(words) = out_of_view(state, area.width) {
        let cells = u16::try_from(width(&words)).unwrap_or(0);
        if cells + 2 * LEAD <= area.width / 2 {
            end = area.right() - LEAD - cells;
            buf.set_string(end, area.y, words, theme.style(Role::Muted));
        }
    }
    if let Some(badge) = badge(state) {
        let line = Line::from(Span::styled(
            format!(" {badge} "),
            theme.style(Role::Chosen),
        ));
        (x, _) = buf.set_line(x, area.y, &line, end.saturating_sub(x));
        x = (x + 1).min(end);
    }
    if let Some(activity) = activity(state) {
        let room = usize::from(end.saturating_sub(x + 2));
        let text = format!(" {} ", truncate(&activity.text, room));
        let line = Line::from(Span::styled(text, theme.style(activity.role)));
        buf.set_line(x, area.y, &line, end.saturating_sub(x));
    }
}

/// Where the keys go, if not to the input.
pub fn badge(state: &AppState) -> Option<&'static str> {
    if !state.dialogs.is_empty() {
        return None;
    }
    match state.focus {
        Focus::Conversation if state.search.as_ref().is_some_and(Search::is_typing) => {
            Some("SEARCH")
        }
        Focus::Conversation if state.selection.is_some() => Some("SELECT"),
        Focus::Conversation => Some("SCROLL"),
        Focus::Panel => Some("TOOLS"),
        Focus::Composer => state.composer.vim().map(|mode| match mode {
            vim::Mode::Normal => "NORMAL",
            vim::Mode::Visual { .. } => "VISUAL",
            vim::Mode::Insert => "INSERT",
        }),
    }
}

/// How much of a long input is hidden above and below.
fn out_of_view(state: &AppState, columns: u16) -> Option<String> {
    let (above, below) = state.composer.out_of_view(columns, state.composer_rows());
    let lines = |count: usize| if count == 1 { "line" } else { "lines" };
    match (above, below) {
        (0, 0) => None,
        (above, 0) => Some(format!(" {above} {} above ", lines(above))),
        (0, below) => Some(format!(" {below} {} below ", lines(below))),
        (above, below) => Some(format!(" {above} {} above, {below} below ", lines(above))),
    }
}

struct ActivityLine {
    text: String,
    role: Role,
}

/// What is happening, in one line.
fn activity(state: &AppState) -> Option<ActivityLine> {
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
            let (doing, role) = work_text(state, work);
            (format!("{spinner} {doing} · {time}"), role)
        }
        Stage::Retrying {
            problem,
            attempt,
            until,
        } => {
            let left = until.saturating_duration_since(state.now).as_secs() + 1;
            (retry_text(problem, *attempt, left), Role::Warning)
        }
        Stage::Stopping => match finishing(state) {
            Some(tool) => (
                format!("{spinner} stopping · letting {} finish", clean(tool)),
                Role::Warning,
            ),
            None => (format!("{spinner} stopping"), Role::Warning),
        },
        Stage::Interrupting => (
            format!("{spinner} stopping to send your message"),
            Role::Warning,
        ),
        Stage::Killing => (format!("{spinner} killing it"), Role::Warning),
    };
    Some(ActivityLine { text, role })
}

/// What went wrong, when it is retried, and then the provider's message.
fn retry_text(problem: &str, attempt: u32, seconds: u64) -> String {
    let problem = clean(problem);
    let short = short_problem(&problem);
    let message = problem[short.len()..].trim_start_matches(": ");
    // An answer that the provider paused has not failed.
    let what = match attempt {
        0 => "continuing",
        _ => "retrying",
    };
    let words = format!("! {short}, {what} in {seconds}s");
    if message.is_empty() {
        return words;
    }
    format!("{words} · {message}")
}

fn work_text(state: &AppState, work: &Work) -> (String, Role) {
    let asks = |dialog: &Dialog| {
        matches!(
            dialog,
            Dialog::Question(_) | Dialog::Pause(_) | Dialog::Trust(_)
        )
    };
    if state.dialogs.iter().any(asks) {
        return ("waiting for you".to_owned(), Role::Warning);
    }
    if let Some(agents) = agents(state) {
        return (agents, Role::Executing);
    }
    let calls = state.panel.calls().iter().map(|key| state.calls.get(*key));
    let mut running: Vec<&str> = Vec::new();
    let mut written: Option<&Call> = None;
    for call in calls {
        match call.state {
            State::Executing(_) if call.is_stopping => {
                let name = shown_name(&call.tool);
                return (format!("stopping {name}"), Role::Warning);
            }
            State::Executing(_) => running.push(&call.tool.doing),
            State::Arriving(_) => written = Some(call),
            State::Queued | State::Completed(_) | State::Yielded(_) => {}
        }
    }
    let text = match (running.as_slice(), written) {
        ([], Some(call)) => written_words(call, state),
        ([], None) => match state.transcript.last().map(|entry| &entry.cell) {
            Some(Cell::Thinking { took: None, .. }) => "thinking".to_owned(),
            _ if work.last_text_at.is_some() => "writing".to_owned(),
            _ => "waiting for the model".to_owned(),
        },
        ([doing], _) => clean(doing).into_owned(),
        (tools, _) => format!("running {} tools", tools.len()),
    };
    (text, Role::Executing)
}

/// The call that the model is writing: the file whose content it writes, or the tool and what it is called with.
fn written_words(call: &Call, state: &AppState) -> String {
    let subject = shown_subject(call, state);
    let first = clean(subject.lines().next().unwrap_or_default()).into_owned();
    if call.tool.changes_files() && !first.is_empty() {
        return format!("writing {first}");
    }
    let name = shown_name(&call.tool);
    format!("preparing {name} {first}").trim_end().to_owned()
}

/// How many subagents work, if nothing else does, and what one of them is doing.
fn agents(state: &AppState) -> Option<String> {
    let executes = |key: &&CallKey| matches!(state.calls.get(**key).state, State::Executing(_));
    let running = state.panel.calls().iter().filter(executes);
    let nested = running.map(|key| state.subagents.of_call(*key));
    let nested: Vec<&Nested> = nested.collect::<Option<_>>()?;
    let calls = |nested: &&&Nested| {
        matches!(
            nested.activity(&state.calls),
            subagents::SubagentActivity::Calling(_)
        )
    };
    let one = nested.iter().find(calls).or(nested.first())?;
    let agents = match nested.len() {
        1 => "1 agent".to_owned(),
        count => format!("{count} agents"),
    };
    Some(format!("{agents} · {}", subagent_doing(one, state)))
}

/// A tool that is allowed to finish during an interrupt.
fn finishing(state: &AppState) -> Option<&str> {
    let mut calls = state.panel.calls().iter().map(|key| state.calls.get(*key));
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

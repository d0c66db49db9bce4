//! A call that started a subagent: what the subagent is doing, and its last message.

use ratatui::text::{Line, Span};

use super::call::{add_hint, bar, executing_words, glyph, outcome_text, output, shown_name};
use super::call::{shown_subject, state_role};
use super::{CellContext, MARGIN, indented, seconds};
use crate::app::AppState;
use crate::app::call::{Call, Completed, State};
use crate::app::subagents::{Nested, SubagentActivity};
use crate::protocol::CallOutcome;
use crate::text::thousands;
use crate::theme::Role;
use crate::ui::markdown;
use crate::ui::text::{Row, clean, overwritten, strip_ansi, truncate, width};

/// How many lines of its last message are shown without opening it.
const LAST_LINES: usize = 2;
/// How many lines of its running command's output are shown.
const PRINTED: usize = 2;

/// `3 calls · 3.1k tokens`.
pub fn counts(nested: &Nested) -> String {
    let calls = match nested.turn.calls.len() {
        1 => "1 call".to_owned(),
        count => format!("{count} calls"),
    };
    match nested.tokens() {
        0 => calls,
        tokens => format!("{calls} · {} tokens", thousands(tokens)),
    }
}

/// The words after the subject of the call that started it; `words` is what any other call would show.
pub fn tail(call: &Call, nested: &Nested, words: String) -> String {
    let words = match call.completed() {
        Some(completed) if completed.outcome == CallOutcome::Succeeded => seconds(completed.ran),
        Some(_) | None => words,
    };
    format!("{words} · {}", counts(nested))
}

/// What it is doing now: its call, or the state of its model.
pub fn activity(nested: &Nested, state: &AppState) -> String {
    match nested.activity(&state.calls) {
        SubagentActivity::Calling(key) => named(state.calls.get(key), state),
        SubagentActivity::Writing => "writing".to_owned(),
        SubagentActivity::Thinking => "thinking".to_owned(),
        SubagentActivity::Waiting => "waiting for the model".to_owned(),
        SubagentActivity::Nothing => "finished".to_owned(),
    }
}

/// `Read src/report.py`.
fn named(call: &Call, state: &AppState) -> String {
    let subject = shown_subject(call, state);
    let first = clean(subject.lines().next().unwrap_or_default()).into_owned();
    format!("{} {first}", shown_name(&call.tool))
}

/// The rows below a call whose subagent works.
pub fn running_rows(nested: &Nested, open: bool, state: &AppState, cx: &CellContext) -> Vec<Row> {
    let keys = if open {
        nested.turn.calls.clone()
    } else {
        nested.latest(&state.calls)
    };
    let mut rows = Vec::new();
    let more = nested.turn.calls.len() - keys.len();
    if more > 0 {
        rows.push(line(&format!("… {more} more"), cx));
    }
    for key in keys {
        let call = state.calls.get(key);
        rows.push(call_row(call, state, cx));
        if !call.is_over() {
            rows.extend(printed(call, cx));
        }
    }
    if !matches!(nested.activity(&state.calls), SubagentActivity::Calling(_)) {
        rows.push(line(&activity(nested, state), cx));
    }
    rows
}

/// `│ ✓ Grep total\(  7 files`.
fn call_row(call: &Call, state: &AppState, cx: &CellContext) -> Row {
    let theme = cx.theme;
    let words = match &call.state {
        State::Arriving(_) | State::Queued => String::new(),
        State::Executing(phase) => executing_words(call, *phase, state),
        State::Completed(completed) | State::Yielded(completed) => outcome_text(call, completed),
    };
    let room = usize::from(cx.width).saturating_sub(2 * usize::from(MARGIN) + 2);
    let named = named(call, state);
    let words = truncate(&words, room.saturating_sub(width(&named).min(room / 2) + 2));
    let named = truncate(&named, room.saturating_sub(width(&words) + 2));
    let mut spans = bar(theme);
    spans.extend([
        Span::styled(format!("{} ", glyph(call)), theme.style(state_role(call))),
        Span::styled(named, theme.style(Role::Text)),
        Span::styled(format!("  {words}"), theme.style(Role::Muted)),
    ]);
    Row {
        gutter: 2 * MARGIN,
        ..Row::new(Line::from(spans))
    }
}

/// The last lines that its command printed.
fn printed(call: &Call, cx: &CellContext) -> Vec<Row> {
    let lines: Vec<&str> = call.output.lines().rev().take(PRINTED).collect();
    let shown = |text: &&str| {
        let text = strip_ansi(text);
        line(&format!("  {}", clean(overwritten(&text))), cx)
    };
    lines.iter().rev().map(shown).collect()
}

fn line(text: &str, cx: &CellContext) -> Row {
    let mut spans = bar(cx.theme);
    let room = usize::from(cx.width).saturating_sub(2 * usize::from(MARGIN));
    spans.push(Span::styled(
        truncate(text, room),
        cx.theme.style(Role::Muted),
    ));
    Row {
        gutter: 2 * MARGIN,
        ..Row::new(Line::from(spans))
    }
}

/// The rows below a call whose subagent is over: its last message.
pub fn finished_rows(
    nested: &Nested,
    completed: &Completed,
    open: bool,
    hint: Option<String>,
    cx: &mut CellContext,
) -> Vec<Row> {
    let failed = matches!(completed.outcome, CallOutcome::Failed);
    let message = nested.last_message().filter(|_| !failed);
    let Some(message) = message else {
        return output(
            completed.output(),
            if open { usize::MAX } else { LAST_LINES },
            cx,
        );
    };
    let width = cx.width.saturating_sub(MARGIN);
    let mut rows = markdown::render(message.trim(), width, cx.theme, cx.code);
    let all = rows.len();
    if !open {
        rows.retain(|row| !row.line.to_string().trim().is_empty());
        rows.truncate(LAST_LINES);
    }
    let mut rows: Vec<Row> = rows.into_iter().map(indented).collect();
    if let (Some(row), Some(hint)) = (rows.last_mut(), hint.filter(|_| all > LAST_LINES && !open)) {
        add_hint(row, hint, cx);
    }
    rows
}

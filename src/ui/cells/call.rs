//! A tool call: one line of what it is and what came of it, the change it makes, and opened the whole of its output.

use ratatui::text::{Line, Span};

use super::{CellContext, MARGIN, diff_style, indented, seconds};
use crate::app::AppState;
use crate::app::call::{Author, Call, Completed, OPENED_LINES, State};
use crate::app::diff::{CONTEXT, Diff};
use crate::app::preview::Preview;
use crate::protocol::{CallOutcome, FileDiff, Phase, Shown};
use crate::theme::{Role, Theme};
use crate::ui::diff::{self, Options};
use crate::ui::text::{Indent, Row, chop, clean, overwritten, strip_ansi, truncate, width, wrap};

/// A subject of which less would be left is not cut for the words behind it.
const SHORTEST_SUBJECT: usize = 10;
/// How many rows of a change are shown before it is folded.
const FOLDED_DIFF: usize = 16;
/// How many rows of a change that is still being written.
const GROWING_DIFF: usize = 10;
/// How many lines of a failed command's output are shown without opening it.
const FAILED_LINES: usize = 5;

pub fn rows(call: &Call, open: bool, state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    let mut rows = vec![head(call, state, cx)];
    match &call.state {
        State::Arriving(partial) => {
            let preview = Preview::of(&call.tool.preview, partial);
            if matches!(preview, Preview::Edit { .. } | Preview::Write { .. }) {
                let inner = cx.width.saturating_sub(MARGIN);
                let options = Options {
                    style: diff::Style::Unified,
                    width: inner,
                    fold: Some(GROWING_DIFF),
                };
                let growing = diff::live(&preview, &options, cx.theme);
                rows.extend(growing.into_iter().map(indented));
            }
        }
        State::Queued | State::Executing(_) => {
            if open {
                rows.extend(output(&call.output, OPENED_LINES, cx));
            }
        }
        State::Completed(completed) | State::Yielded(completed) => {
            rows.extend(result(completed, open, state, cx));
        }
    }
    rows
}

/// The one line that is always there.
fn head(call: &Call, state: &AppState, cx: &CellContext) -> Row {
    let theme = cx.theme;
    let mark = Span::styled(format!("{} ", glyph(call)), theme.style(state_role(call)));
    let name = if is_own_command(call) {
        Span::styled("!", theme.style(Role::Accent))
    } else {
        Span::styled(shown_name(&call.tool.name), theme.style(Role::Strong))
    };
    let subject = shown_subject(call, state);
    let first = subject.lines().next().unwrap_or_default();
    let room = usize::from(cx.width).saturating_sub(usize::from(MARGIN) + width(&name.content) + 1);
    // What it is about comes first; how it went is told by the mark, too.
    let tail = words(call);
    let enough = width(&tail) + width(first).min(SHORTEST_SUBJECT);
    let tail = if enough <= room { tail } else { String::new() };
    let room = room.saturating_sub(width(&tail));
    let mut shown = truncate(&clean(first), room);
    if first.len() < subject.trim_end().len() && !shown.ends_with('…') && width(&shown) < room {
        shown.push('…');
    }
    let line = Line::from(vec![
        mark,
        name,
        Span::raw(" "),
        Span::styled(shown, theme.style(Role::Text)),
        Span::styled(tail, theme.style(tail_role(call))),
    ]);
    Row {
        gutter: MARGIN,
        ..Row::new(line)
    }
}

/// A command that the person ran with `!`; other calls that they make once more keep their names.
pub fn is_own_command(call: &Call) -> bool {
    call.by == Author::Person && call.tool.is_shell()
}

/// What a call is about; files of the workspace by their place in it.
pub fn shown_subject(call: &Call, state: &AppState) -> String {
    let subject = call.subject();
    let inside = subject
        .strip_prefix(&state.session.workspace)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty());
    match inside {
        Some(inside) => inside.to_owned(),
        None => subject,
    }
}

/// Names of MCP servers' tools are long; the server's name says where they are from.
fn shown_name(tool: &str) -> String {
    let name = match tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
    {
        Some((server, tool)) => format!("{server}:{tool}"),
        None => tool.to_owned(),
    };
    truncate(&clean(&name), 40)
}

pub fn glyph(call: &Call) -> &'static str {
    match &call.state {
        State::Arriving(_) => "…",
        State::Queued => "○",
        State::Executing(Phase::WaitingForApproval) => "?",
        State::Executing(Phase::Finishing) => "◒",
        State::Executing(Phase::Validating | Phase::InHooks | Phase::Running) => "●",
        State::Completed(completed) | State::Yielded(completed) => match completed.outcome {
            CallOutcome::Succeeded | CallOutcome::ByHand => "✓",
            CallOutcome::Failed => "✗",
            CallOutcome::Denied => "⊘",
            CallOutcome::Skipped { .. } => "–",
            CallOutcome::Cancelled => "■",
            CallOutcome::Backgrounded => "&",
        },
    }
}

pub fn state_role(call: &Call) -> Role {
    match &call.state {
        State::Arriving(_) | State::Queued => Role::Queued,
        State::Executing(Phase::WaitingForApproval) => Role::Warning,
        State::Executing(_) => Role::Executing,
        State::Completed(completed) | State::Yielded(completed) => match completed.outcome {
            CallOutcome::Failed => Role::Failed,
            CallOutcome::Denied | CallOutcome::Cancelled => Role::Warning,
            CallOutcome::Skipped { .. } => Role::Skipped,
            CallOutcome::Succeeded | CallOutcome::ByHand | CallOutcome::Backgrounded => {
                match call.state {
                    State::Yielded(_) => Role::Yielded,
                    _ => Role::Completed,
                }
            }
        },
    }
}

/// What is said behind the subject.
fn words(call: &Call) -> String {
    match &call.state {
        State::Arriving(_) => String::new(),
        State::Queued => "  queued".to_owned(),
        State::Executing(phase) => format!("  {}", phase_words(*phase)),
        State::Completed(completed) | State::Yielded(completed) => {
            format!("  {}", outcome_words(call, completed))
        }
    }
}

fn tail_role(call: &Call) -> Role {
    match &call.state {
        State::Executing(Phase::WaitingForApproval) => Role::Warning,
        State::Completed(completed) | State::Yielded(completed)
            if completed.outcome == CallOutcome::Failed =>
        {
            Role::Failed
        }
        State::Arriving(_)
        | State::Queued
        | State::Executing(_)
        | State::Completed(_)
        | State::Yielded(_) => Role::Muted,
    }
}

pub fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Validating => "validating",
        Phase::InHooks => "in hooks",
        Phase::WaitingForApproval => "waiting for you",
        Phase::Running => "running",
        Phase::Finishing => "finishing",
    }
}

/// What came of a call, in a few words.
pub fn outcome_words(call: &Call, completed: &Completed) -> String {
    let ran = seconds(completed.ran);
    match &completed.outcome {
        CallOutcome::Succeeded => match completed.lines {
            _ if completed.images > 0 => format!("image · {ran}"),
            // Its change says more than the lines of its answer.
            _ if call.tool.changes_files() => ran,
            0 => ran,
            1 => format!("1 line · {ran}"),
            lines => format!("{lines} lines · {ran}"),
        },
        CallOutcome::Failed => format!("failed · {ran}"),
        CallOutcome::Denied => "denied".to_owned(),
        CallOutcome::Skipped { why } => format!("skipped ({})", clean(why)),
        CallOutcome::Cancelled => format!("cancelled · {ran}"),
        CallOutcome::ByHand => "answered by you".to_owned(),
        CallOutcome::Backgrounded => match &call.ended_in_background {
            None => "in the background".to_owned(),
            Some(how) => format!("in the background, {how}"),
        },
    }
}

fn result(completed: &Completed, open: bool, state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    if !completed.told.is_empty() {
        return output(&completed.told.join("\n"), completed.told.len(), cx);
    }
    let shown = shown_rows(&completed.shown, (!open).then_some(FOLDED_DIFF), state, cx);
    if !shown.is_empty() {
        return shown;
    }
    if open {
        return output(&completed.text, OPENED_LINES, cx);
    }
    match completed.outcome {
        CallOutcome::Failed => tail(&completed.text, FAILED_LINES, cx),
        CallOutcome::Denied => tail(&completed.text, 2, cx),
        CallOutcome::Succeeded
        | CallOutcome::Skipped { .. }
        | CallOutcome::Cancelled
        | CallOutcome::ByHand
        | CallOutcome::Backgrounded => Vec::new(),
    }
}

/// What a call shows beside its text. Each file of a change is folded by itself, so that none hides another.
pub fn shown_rows(
    shown: &Shown,
    fold: Option<usize>,
    state: &AppState,
    cx: &mut CellContext,
) -> Vec<Row> {
    match shown {
        Shown::Nothing => Vec::new(),
        Shown::Changes(changes) | Shown::Excerpts(changes) => changes
            .iter()
            .flat_map(|change| change_rows(change, fold, state, cx))
            .collect(),
    }
}

fn change_rows(
    change: &FileDiff,
    fold: Option<usize>,
    state: &AppState,
    cx: &mut CellContext,
) -> Vec<Row> {
    let inner = cx.width.saturating_sub(MARGIN);
    let options = Options {
        style: diff_style(state.settings.diff_style, inner),
        width: inner,
        fold,
    };
    let change = Diff::new(change);
    let hunks = change.hunks(CONTEXT);
    let header = diff::header(&change, inner, cx.theme);
    let rows = diff::render(&change, &hunks, &options, cx.theme, cx.code);
    std::iter::once(header).chain(rows).map(indented).collect()
}

/// The beginning of an output, set off by a bar.
pub fn output(text: &str, most: usize, cx: &CellContext) -> Vec<Row> {
    let indent = Indent::all(bar(cx.theme));
    let style = cx.theme.style(Role::Muted);
    let text = strip_ansi(text);
    let mut rows = Vec::new();
    for line in text.lines().take(most) {
        let line = clean(overwritten(line)).into_owned();
        let line = Line::from(Span::styled(line, style));
        rows.extend(chop(line, cx.width, &indent));
    }
    let more = text.lines().count().saturating_sub(most);
    if more > 0 {
        let line = Line::from(Span::styled(format!("… {more} more lines"), style));
        rows.extend(wrap(line, cx.width, &indent));
    }
    rows
}

/// The end of an output, which says best why something failed.
fn tail(text: &str, most: usize, cx: &CellContext) -> Vec<Row> {
    let text = strip_ansi(text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(most);
    output(&lines[from..].join("\n"), most, cx)
}

fn bar(theme: &Theme) -> Vec<Span<'static>> {
    vec![Span::styled("  │ ", theme.style(Role::Faint))]
}

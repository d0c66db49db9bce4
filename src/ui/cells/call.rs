//! A tool call: one line with its subject and outcome, its change, and its whole output when opened.

use ratatui::text::{Line, Span};

use super::input::content_rows;
use super::{CellContext, MARGIN, diff_style, file, indented, seconds, subagent};
use crate::app::AppState;
use crate::app::call::{Author, Call, CallKey, Completed, OPENED_LINES, State};
use crate::app::diff::{CONTEXT, Diff};
use crate::app::preview::Preview;
use crate::app::subagents::Nested;
use crate::keymap::{Action, Context};
use crate::protocol::{
    AnswerNote, CallOutcome, FileDiff, LeftOut, OutputFormat, Phase, Shown, ToolInfo,
};
use crate::text::whole_seconds;
use crate::theme::{Role, Theme};
use crate::ui::diff::{self, Options};
use crate::ui::text::{
    Indent, Row, chop, clean, clean_line, overwritten, strip_ansi, truncate, width, wrap,
};

/// The subject is not shortened below this to make room for the words after it.
const SHORTEST_SUBJECT: usize = 10;
/// The words after it are cut to fit, but not to less than this.
const SHORTEST_TAIL: usize = 12;
/// How many rows of a change are shown before it is folded.
const FOLDED_DIFF: usize = 16;
/// How many rows of a change are shown while it is still being written.
const GROWING_DIFF: usize = 10;
/// How many of the last lines are shown under a running call, and under the only running call.
const LIVE_LINES: usize = 5;
const LIVE_LINES_ALONE: usize = 8;
/// The columns between the subject and the outcome.
const GAP: usize = 2;
/// Key hints are never further to the right than this, so that they stay near what they belong to.
const WIDEST_HINT: u16 = 100;

pub fn rows(key: CallKey, open: bool, state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    let call = state.calls.get(key);
    let nested = state.subagents.of_call(key);
    let mut rows = vec![head(call, nested, state, cx)];
    rows.extend(call.notes.iter().flat_map(|note| note_rows(note, cx)));
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
                let growing = diff::live(&preview, &options, cx.theme, cx.code);
                rows.extend(growing.into_iter().map(indented));
            }
        }
        State::Queued => {}
        State::Executing(_) => {
            let most = if open {
                OPENED_LINES
            } else {
                live_lines(state)
            };
            rows.extend(match nested {
                Some(nested) => subagent::running_rows(nested, open, state, cx),
                None => live(call, most, state, cx),
            });
        }
        State::Completed(completed) | State::Yielded(completed) => match nested {
            Some(nested) if !nested.is_over() => {
                rows.extend(subagent::running_rows(nested, open, state, cx));
            }
            Some(nested) => {
                let hint = key_for(Action::ToggleDetails, state);
                rows.extend(subagent::finished_rows(nested, completed, open, hint, cx));
            }
            None => rows.extend(result(call, completed, open, state, cx)),
        },
    }
    rows
}

/// The line that is always shown.
fn head(call: &Call, nested: Option<&Nested>, state: &AppState, cx: &CellContext) -> Row {
    let theme = cx.theme;
    let mark = Span::styled(format!("{} ", glyph(call)), theme.style(state_role(call)));
    let name = if is_own_command(call) {
        Span::styled("!", theme.style(Role::Accent))
    } else {
        Span::styled(shown_name(&call.tool), theme.style(Role::Strong))
    };
    let subject = shown_subject(call, state);
    let first = subject.lines().next().unwrap_or_default();
    let room = usize::from(cx.width).saturating_sub(usize::from(MARGIN) + width(&name.content) + 1);
    // The subject comes first, because the mark also shows the outcome.
    let tail = match nested {
        Some(nested) => subagent::tail(call, nested, words(call, state)),
        None => words(call, state),
    };
    let most = room.saturating_sub(GAP + width(first).min(SHORTEST_SUBJECT));
    let tail = if width(&tail) <= most {
        tail
    } else if most >= SHORTEST_TAIL {
        truncate(&tail, most)
    } else {
        String::new()
    };
    let taken = if tail.is_empty() {
        0
    } else {
        width(&tail) + GAP
    };
    let room = room.saturating_sub(taken);
    let mut shown = truncate(&clean(first), room);
    if first.len() < subject.trim_end().len() && !shown.ends_with('…') && width(&shown) < room {
        shown.push('…');
    }
    let gap = if tail.is_empty() { 0 } else { GAP };
    let line = Line::from(vec![
        mark,
        name,
        Span::raw(if shown.is_empty() { "" } else { " " }),
        Span::styled(shown, theme.style(Role::Text)),
        Span::raw(" ".repeat(gap)),
        Span::styled(tail, theme.style(tail_role(call))),
    ]);
    Row {
        gutter: MARGIN,
        ..Row::new(line)
    }
}

/// What the person's answer did besides allowing the call.
fn note_rows(note: &AnswerNote, cx: &CellContext) -> Vec<Row> {
    let text = match note {
        AnswerNote::ForSession { rule } => format!("allowed for this session: {rule}"),
        AnswerNote::Saved { rule, file } => format!("always allowed: {rule}, saved to {file}"),
        AnswerNote::LeftOut(LeftOut { count, of }) => {
            let changes = if *of == 1 { "change" } else { "changes" };
            format!("you skipped {count} of {of} {changes}")
        }
    };
    let text = clean_line(&text, 1).into_owned();
    let line = Line::styled(text, cx.theme.style(Role::Muted));
    let inner = cx.width.saturating_sub(MARGIN);
    let rows = wrap(line, inner, &Indent::default());
    rows.into_iter().map(indented).collect()
}

/// A command that the person ran with `!`; other calls that they run again keep their names.
pub fn is_own_command(call: &Call) -> bool {
    call.by == Author::Person && call.tool.is_shell()
}

/// The subject of a call; files in the workspace by their relative path.
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

/// Names of MCP tools are long; they are shortened to server and tool.
pub fn shown_name(tool: &ToolInfo) -> String {
    let tool = tool.shown_name();
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
        State::Executing(_) if call.is_stopping => Role::Warning,
        State::Executing(_) => Role::Executing,
        State::Completed(completed) | State::Yielded(completed) => match completed.outcome {
            CallOutcome::Failed => Role::Failed,
            CallOutcome::Denied | CallOutcome::Cancelled => Role::Warning,
            CallOutcome::Skipped { .. } => Role::Skipped,
            CallOutcome::Succeeded | CallOutcome::ByHand | CallOutcome::Backgrounded => {
                Role::Completed
            }
        },
    }
}

/// The words after the subject.
fn words(call: &Call, state: &AppState) -> String {
    match &call.state {
        State::Arriving(_) => String::new(),
        State::Queued => "queued".to_owned(),
        State::Executing(phase) => executing_words(call, *phase, state),
        State::Completed(completed) | State::Yielded(completed) => outcome_text(call, completed),
    }
}

/// How far an executing call is. The row, the list and the strip all use these words, so that their times agree.
pub fn executing_words(call: &Call, phase: Phase, state: &AppState) -> String {
    if call.is_stopping {
        return "stopping".to_owned();
    }
    match (phase, running_seconds(call, state)) {
        (Phase::Running, 1..) => whole_seconds(running_seconds(call, state)),
        (phase, _) => phase_text(phase).to_owned(),
    }
}

/// How long it has been running, in whole seconds as shown.
pub fn running_seconds(call: &Call, state: &AppState) -> u64 {
    call.elapsed(state.now).unwrap_or_default().as_secs()
}

fn tail_role(call: &Call) -> Role {
    match &call.state {
        State::Executing(Phase::WaitingForApproval) => Role::Warning,
        State::Executing(_) if call.is_stopping => Role::Warning,
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

pub fn phase_text(phase: Phase) -> &'static str {
    match phase {
        Phase::Validating => "validating",
        Phase::InHooks => "in hooks",
        Phase::WaitingForApproval => "waiting for you",
        Phase::Running => "running",
        Phase::Finishing => "finishing",
    }
}

/// The outcome of a call in a few words: `exit 1 · 58 lines · 14.2s`.
pub fn outcome_text(call: &Call, completed: &Completed) -> String {
    // A provider doesn't always report how long its own call took.
    let ran = || (!completed.ran.is_zero()).then(|| seconds(completed.ran));
    let for_person = &completed.for_person;
    let parts: [Option<String>; 3] = match &completed.outcome {
        CallOutcome::Succeeded => [
            for_person
                .exit
                .filter(|code| *code != 0)
                .map(|code| format!("exit {code}")),
            sentence(completed).or_else(|| output_size(call, completed)),
            ran(),
        ],
        CallOutcome::Failed => match for_person.exit {
            Some(code) => [
                Some(format!("exit {code}")),
                output_size(call, completed),
                ran(),
            ],
            None if completed.prints() => {
                [sentence(completed), output_size(call, completed), ran()]
            }
            None => [sentence(completed), None, None],
        },
        CallOutcome::Cancelled => [sentence(completed), output_size(call, completed), ran()],
        CallOutcome::Denied | CallOutcome::Skipped { .. } | CallOutcome::ByHand => {
            [sentence(completed), None, None]
        }
        CallOutcome::Backgrounded => {
            let how = match &call.ended_in_background {
                None => "in background".to_owned(),
                Some(how) => format!("in background: {}", clean(&how.to_string())),
            };
            [Some(how), ran_in_background(call), None]
        }
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// How long the command ran, once it has ended.
fn ran_in_background(call: &Call) -> Option<String> {
    let ended = call.times.background_ended?;
    call.ran(ended).map(seconds)
}

/// How a call ended, if it did not simply succeed.
fn sentence(completed: &Completed) -> Option<String> {
    if let Some(sentence) = &completed.for_person.sentence {
        return Some(clean(sentence.lines().next().unwrap_or_default()).into_owned());
    }
    Some(match &completed.outcome {
        CallOutcome::Succeeded | CallOutcome::Backgrounded => return None,
        CallOutcome::Failed => "failed".to_owned(),
        CallOutcome::Denied => "not allowed".to_owned(),
        CallOutcome::Skipped { why } => format!("skipped: {}", clean(why)),
        CallOutcome::Cancelled => "stopped".to_owned(),
        CallOutcome::ByHand => "answered by you".to_owned(),
    })
}

/// How much it printed or found. For a change, the lines of its answer don't matter.
fn output_size(call: &Call, completed: &Completed) -> Option<String> {
    match completed.lines {
        _ if completed.images > 0 => Some("image".to_owned()),
        _ if call.tool.changes_files() => None,
        0 if completed.for_person.exit.is_some() => Some("no output".to_owned()),
        0 => None,
        1 => Some("1 line".to_owned()),
        lines => Some(format!("{lines} lines")),
    }
}

fn result(
    call: &Call,
    completed: &Completed,
    open: bool,
    state: &AppState,
    cx: &mut CellContext,
) -> Vec<Row> {
    if completed.is_forgotten() {
        let texts = completed.changed.iter().map(|change| {
            format!(
                "{} +{} −{} (too old to show)",
                change.path, change.added, change.removed
            )
        });
        let texts: Vec<String> = texts.collect();
        return output(&texts.join("\n"), texts.len(), cx);
    }
    let shown = shown_rows(&completed.shown, (!open).then_some(FOLDED_DIFF), state, cx);
    if !shown.is_empty() {
        return shown;
    }
    if open {
        return match call.tool.output {
            OutputFormat::NumberedFile => {
                file::rows(completed.output(), &call.subject(), OPENED_LINES, cx)
            }
            OutputFormat::ForModel if completed.outcome == CallOutcome::Succeeded => {
                let mut inner = CellContext {
                    width: cx.width.saturating_sub(MARGIN),
                    theme: cx.theme,
                    code: &mut *cx.code,
                };
                let rows = content_rows(call, &mut inner).into_iter();
                rows.map(indented).collect()
            }
            OutputFormat::Text | OutputFormat::Markdown | OutputFormat::ForModel => {
                output(completed.output(), OPENED_LINES, cx)
            }
        };
    }
    match completed.lines_in_place() {
        0 => Vec::new(),
        most => tail(completed.output(), completed.lines, most, state, cx),
    }
}

/// How many lines of a running call's output are shown under it: more if it is the only one.
pub fn live_lines(state: &AppState) -> usize {
    let calls = state.panel.calls().iter().map(|key| state.calls.get(*key));
    let running = calls.filter(|call| matches!(call.state, State::Executing(_)));
    if running.take(2).count() > 1 {
        LIVE_LINES
    } else {
        LIVE_LINES_ALONE
    }
}

/// The last lines that a running call has printed.
fn live(call: &Call, most: usize, state: &AppState, cx: &CellContext) -> Vec<Row> {
    let all = call.printed_lines();
    let mut rows = last_lines(&call.output, all, most, |more| count_of(more, ""), cx);
    let can = call.tool.can_background && call.by != Author::Person;
    let chord = key_for(Action::Background, state).filter(|_| can);
    if let (Some(row), Some(chord)) = (rows.last_mut(), chord) {
        let hint = format!("{chord} {}", Action::Background.describe());
        add_hint(row, hint, cx);
    }
    rows
}

/// The end of an output, which best explains a failure, and how much is above it.
fn tail(text: &str, all: usize, most: usize, state: &AppState, cx: &CellContext) -> Vec<Row> {
    let mut rows = last_lines(text, all, most, |more| count_of(more, " more"), cx);
    let chord = key_for(Action::ToggleDetails, state).filter(|_| all > most);
    if let (Some(row), Some(chord)) = (rows.first_mut(), chord) {
        add_hint(row, chord, cx);
    }
    rows
}

fn count_of(lines: usize, more: &str) -> String {
    match lines {
        1 => format!("… 1{more} line"),
        lines => format!("… {lines}{more} lines"),
    }
}

/// The last of `all` lines, below a line that counts the omitted ones.
fn last_lines(
    text: &str,
    all: usize,
    most: usize,
    count: impl Fn(usize) -> String,
    cx: &CellContext,
) -> Vec<Row> {
    let mut lines: Vec<&str> = text.lines().rev().take(most).collect();
    lines.reverse();
    let more = all.saturating_sub(lines.len());
    let mut rows = Vec::new();
    if more > 0 {
        let count = Span::styled(count(more), cx.theme.style(Role::Muted));
        rows.extend(wrap(
            Line::from(count),
            cx.width,
            &Indent::all(bar(cx.theme)),
        ));
    }
    rows.extend(output(&lines.join("\n"), most, cx));
    rows
}

/// Puts a key hint at the right end of a row, if there is room.
pub fn add_hint(row: &mut Row, hint: String, cx: &CellContext) {
    let used = row.line.width();
    let right = usize::from(cx.width.min(WIDEST_HINT));
    let Some(gap) = right
        .checked_sub(used + width(&hint))
        .filter(|gap| *gap >= GAP)
    else {
        return;
    };
    row.line.spans.push(Span::raw(" ".repeat(gap)));
    let style = cx.theme.style(Role::Faint);
    row.line.spans.push(Span::styled(hint, style));
}

/// The key of an action when no dialog is open.
fn key_for(action: Action, state: &AppState) -> Option<String> {
    let contexts = [Context::Composer, Context::Working, Context::Global];
    let chord = state.settings.keymap.chord_for(action, &contexts);
    chord.map(|chord| chord.to_string())
}

/// What a call shows besides its text. Each file of a change is folded separately, so that none hides another.
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

/// The beginning of an output, behind a vertical bar.
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

pub fn bar(theme: &Theme) -> Vec<Span<'static>> {
    vec![Span::styled("  │ ", theme.style(Role::Faint))]
}

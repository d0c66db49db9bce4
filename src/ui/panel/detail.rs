//! The detail view of a call: its whole input and output, its times, and who decided.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::AppState;
use crate::app::call::{Call, Completed, State};
use crate::protocol::{CallOutcome, OutputFormat};
use crate::theme::Role;
use crate::ui::cells::{
    CellContext, code_rows, input_rows, outcome_text, phase_text, seconds, shown_rows,
};
use crate::ui::conversation::draw_row;
use crate::ui::markdown;
use crate::ui::text::{Indent, Row, chop, clean, overwritten, strip_ansi};

/// Further lines are in the file that the result names.
const MOST_LINES: usize = 5_000;
/// A longer text is shown as it is.
const LONGEST_MARKDOWN: usize = 200_000;

pub fn detail_rows(call: &Call, state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    let mut rows = vec![title(call, cx)];
    rows.extend(facts(call, state, cx));
    rows.push(Row::default());
    rows.push(heading("Input", cx));
    rows.extend(input_rows(call, cx));
    match call.completed() {
        Some(completed) if is_for_model(call, completed) => {
            if let Some(sentence) = &completed.for_person.sentence {
                rows.push(Row::default());
                rows.push(heading("Outcome", cx));
                rows.extend(lines(sentence, MOST_LINES, cx));
            }
            rows.extend(sent_to_model(completed, cx));
        }
        Some(completed) => {
            rows.push(Row::default());
            rows.push(heading("Output", cx));
            rows.extend(shown_rows(&completed.shown, None, state, cx));
            // A background command still prints.
            let output = match call.output.as_str() {
                "" => completed.output(),
                live => live,
            };
            rows.extend(whole_output(call, output, cx));
            if output != completed.text {
                rows.extend(sent_to_model(completed, cx));
            }
        }
        None => {
            rows.push(Row::default());
            rows.push(heading("Output", cx));
            rows.extend(lines(&call.output, MOST_LINES, cx));
        }
    }
    rows
}

fn sent_to_model(completed: &Completed, cx: &CellContext) -> Vec<Row> {
    let mut rows = vec![Row::default(), heading("Sent to the model", cx)];
    rows.extend(lines(&completed.text, MOST_LINES, cx));
    rows
}

/// Whether the text of the result says nothing that a person would want to know: not so if it explains a failure.
fn is_for_model(call: &Call, completed: &Completed) -> bool {
    call.tool.output == OutputFormat::ForModel && completed.outcome == CallOutcome::Succeeded
}

/// What a call found or printed; lines of a file with the colours of their language.
fn whole_output(call: &Call, output: &str, cx: &mut CellContext) -> Vec<Row> {
    match call.tool.output {
        OutputFormat::Markdown if output.len() <= LONGEST_MARKDOWN => {
            markdown::render(output, cx.width, cx.theme, cx.code)
        }
        OutputFormat::Text | OutputFormat::Markdown | OutputFormat::ForModel => {
            lines(output, MOST_LINES, cx)
        }
        OutputFormat::NumberedFile => {
            let (mut rows, shown, rest) = code_rows(output, &call.subject(), MOST_LINES, &[], cx);
            rows.extend(lines(rest, MOST_LINES - shown, cx));
            rows
        }
    }
}

pub fn draw_detail(rows: &[Row], from: usize, area: Rect, buf: &mut Buffer) {
    let from = from.min(furthest(rows.len(), area.height));
    for (y, row) in (area.y..area.bottom()).zip(&rows[from..]) {
        draw_row(row, area, y, buf);
    }
}

/// How far the rows can be scrolled.
pub fn furthest(rows: usize, height: u16) -> usize {
    rows.saturating_sub(usize::from(height))
}

fn title(call: &Call, cx: &CellContext) -> Row {
    let words = match &call.state {
        State::Arriving(_) => "arriving".to_owned(),
        State::Queued => "queued".to_owned(),
        State::Executing(_) if call.is_stopping => "executing: stopping".to_owned(),
        State::Executing(phase) => format!("executing: {}", phase_text(*phase)),
        State::Completed(completed) => {
            format!("completed: {}", outcome_text(call, completed))
        }
        State::Yielded(completed) => format!("yielded: {}", outcome_text(call, completed)),
    };
    let line = Line::from(vec![
        Span::styled(
            clean(&call.tool.name).into_owned(),
            cx.theme.style(Role::Strong),
        ),
        Span::styled(format!("  {words}"), cx.theme.style(Role::Muted)),
    ]);
    Row::new(line)
}

fn facts(call: &Call, state: &AppState, cx: &CellContext) -> Vec<Row> {
    let times = &call.times;
    let now = times.ended.unwrap_or(state.now);
    let mut facts = Vec::new();
    if let Some(queued) = times.queued {
        let until = times.begun.unwrap_or(now);
        facts.push(("queued", span(queued, until)));
    }
    if let Some(asked) = times.asked {
        let until = times.running.unwrap_or(now);
        facts.push(("waited", span(asked, until)));
    }
    if let Some(ran) = call.ran(state.now) {
        facts.push(("ran", ran));
    }
    let times: Vec<String> = facts
        .iter()
        .map(|(what, time)| format!("{what} {}", seconds(*time)))
        .collect();
    let mut rows = Vec::new();
    let times = times.join(" · ");
    let texts = std::iter::once(&times).chain(&call.decisions);
    for text in texts.filter(|text| !text.is_empty()) {
        let line = Line::from(Span::styled(
            clean(text).into_owned(),
            cx.theme.style(Role::Muted),
        ));
        rows.extend(chop(line, cx.width, &Indent::default()));
    }
    rows
}

fn span(from: std::time::Instant, to: std::time::Instant) -> Duration {
    to.saturating_duration_since(from)
}

fn heading(text: &'static str, cx: &CellContext) -> Row {
    Row::decoration(Line::from(Span::styled(
        text,
        cx.theme.style(Role::Heading),
    )))
}

fn lines(text: &str, most: usize, cx: &CellContext) -> Vec<Row> {
    let text = strip_ansi(text);
    let style = cx.theme.style(Role::Text);
    let mut rows = Vec::new();
    for line in text.lines().take(most) {
        let line = clean(overwritten(line)).into_owned();
        let line = Line::from(Span::styled(line, style));
        rows.extend(chop(line, cx.width, &Indent::default()));
    }
    let more = text.lines().count().saturating_sub(most);
    if more > 0 {
        let line = Line::from(Span::styled(
            format!("… {more} more lines"),
            cx.theme.style(Role::Muted),
        ));
        rows.push(Row::decoration(line));
    }
    rows
}

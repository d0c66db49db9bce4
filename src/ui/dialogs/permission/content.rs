//! The request as rows: everything that would happen, and what is known about it.
//!
//! All of this text comes from outside. It is revealed, wrapped and never cut. Each piece follows a mark or label of
//! ours and never begins a row by itself, so that no text can imitate another.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use serde_json::{Map, Value};

use super::json;
use crate::app::dialogs::permission::Picking;
use crate::app::diff::{CONTEXT, Diff, Hunk, Kind};
use crate::app::{DiffStyle, Settings};
use crate::protocol::{PermissionRequest, Program};
use crate::theme::{Role, Theme};
use crate::ui::diff::{self, Style};
use crate::ui::highlight::CodeColours;
use crate::ui::text::{
    Indent, Row, alike_in_file, chop, lookalikes, note_letters, reveal, width, wrap,
};

/// A request as rows.
#[derive(Debug, Default)]
pub struct Written {
    pub rows: Vec<Row>,
    /// The files in it: the first row of each, and the line that names it.
    pub files: Vec<(usize, Line<'static>)>,
}

/// What is shown elsewhere and not needed in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownElsewhere {
    /// The only file, in the heading.
    pub file: bool,
    /// The reason for asking, and the rule that would allow it.
    pub facts: bool,
}

pub struct Writer<'a> {
    settings: &'a Settings,
    code: &'a mut dyn CodeColours,
    columns: u16,
    /// Without empty rows, and with what would happen first.
    is_compact: bool,
    elsewhere: ShownElsewhere,
    rows: Vec<Row>,
    files: Vec<(usize, Line<'static>)>,
}

/// [`chop`] or [`wrap`].
type Wrapping = fn(Line<'static>, u16, &Indent) -> Vec<Row>;

/// The width of labels.
const LABEL: usize = 13;
/// The room for a tool's name in the heading. A longer name is shown in full below.
const ROOM_OF_HEADING: usize = 30;

impl<'a> Writer<'a> {
    pub fn new(
        settings: &'a Settings,
        code: &'a mut dyn CodeColours,
        columns: u16,
        is_compact: bool,
        elsewhere: ShownElsewhere,
    ) -> Self {
        Self {
            settings,
            code,
            columns,
            is_compact,
            elsewhere,
            rows: Vec::new(),
            files: Vec::new(),
        }
    }

    fn written(&mut self) -> Written {
        Written {
            rows: std::mem::take(&mut self.rows),
            files: std::mem::take(&mut self.files),
        }
    }

    /// The request, and who asks if it is not the main conversation.
    pub fn request(
        &mut self,
        asker: Option<&str>,
        request: &PermissionRequest,
        diffs: &[Arc<Diff>],
    ) -> Written {
        if let Some(asker) = asker {
            self.fact("asked by", asker);
        }
        if let Some(program) = &request.program {
            self.program(program);
        }
        let command = request.input.get("command").and_then(Value::as_str);
        let command = command.filter(|_| request.is_command);
        match (diffs, command, &*request.input) {
            ([_, ..], _, _) => self.changes(diffs),
            ([], Some(command), Value::Object(input)) => self.command(command, input),
            ([], _, Value::Object(input))
                if request.program.is_none() && is_plain(&request.tool, input) =>
            {
                self.fields(input.iter());
            }
            ([], _, input) => {
                let rows = json::rows(input, self.columns, &self.settings.theme);
                self.rows.extend(rows);
            }
        }
        self.letters(request, diffs);
        if !self.elsewhere.facts {
            if !request.reason.is_empty() {
                self.prose("why", &request.reason);
            }
            self.rule(request);
        }
        if width(&request.tool) + ROOM_OF_HEADING > usize::from(self.columns) {
            self.fact("tool", &request.tool);
        }
        self.written()
    }

    /// One change of a diff.
    pub fn hunk(&mut self, picking: &Picking) -> Written {
        let chosen = picking.current();
        let diff = picking.choices().diff_of(chosen);
        self.change(diff, std::slice::from_ref(&chosen.hunk));
        self.written()
    }

    /// File by file.
    fn changes(&mut self, diffs: &[Arc<Diff>]) {
        for (index, diff) in diffs.iter().enumerate() {
            if index > 0 {
                self.blank();
            }
            self.change(diff, &diff.hunks(CONTEXT));
        }
    }

    fn change(&mut self, diff: &Diff, hunks: &[Hunk]) {
        self.file(diff);
        let style = match self.settings.diff_style {
            DiffStyle::Auto => Style::fitting(self.columns),
            DiffStyle::Unified => Style::Unified,
            DiffStyle::SideBySide => Style::SideBySide,
        };
        let options = diff::Options {
            style,
            width: self.columns,
            fold: None,
        };
        let rows = diff::render(diff, hunks, &options, &self.settings.theme, self.code);
        self.rows.extend(rows);
    }

    /// The whole path, and how much changes.
    fn file(&mut self, diff: &Diff) {
        if self.elsewhere.file {
            return;
        }
        let theme = &self.settings.theme;
        let mut line = reveal(diff.path(), theme);
        line.push_span(Span::raw("  "));
        line.extend(size(diff, theme));
        let first = self.rows.len();
        self.labelled("file", line, chop);
        let name = self.rows[first].line.clone();
        // The sticky row above already names the first file, if one row is enough.
        if !self.is_compact && first == 0 && self.rows.len() == 1 {
            self.rows.clear();
        }
        self.files.push((first, name));
    }

    fn command(&mut self, command: &str, input: &Map<String, Value>) {
        self.shell(command);
        self.fields(input.iter().filter(|(name, _)| *name != "command"));
    }

    /// What a tool from outside starts. Its input follows.
    fn program(&mut self, program: &Program) {
        self.shell(&program.command);
        self.fact("directory", &program.directory);
        self.prose("input", &program.input);
    }

    fn shell(&mut self, command: &str) {
        let theme = &self.settings.theme;
        let mark = |mark: &'static str| vec![Span::styled(mark, theme.style(Role::Faint))];
        for (index, line) in command.split('\n').enumerate() {
            let indent = Indent {
                first: mark(if index == 0 { "$ " } else { "  " }),
                gutter: 2,
                // A continued row is not a new line; to a shell that matters.
                rest: mark("… "),
            };
            let rows = chop(reveal(line, theme), self.columns, &indent);
            self.rows.extend(rows);
        }
    }

    /// Each field of an input after its name.
    fn fields<'v>(&mut self, fields: impl Iterator<Item = (&'v String, &'v Value)>) {
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("description", Value::String(text)) => self.prose(name, text),
                ("timeout", Value::Number(time)) => self.fact(name, &format!("{time} ms")),
                ("run_in_background", Value::Bool(true)) => self.fact("runs", "in the background"),
                ("run_in_background", Value::Bool(false)) => {}
                (_, Value::String(text)) => self.fact(&plain_name(name), text),
                (_, value) => self.fact(&plain_name(name), &value.to_string()),
            }
        }
    }

    /// Names letters that look like others; in changes, those of the added lines.
    fn letters(&mut self, request: &PermissionRequest, diffs: &[Arc<Diff>]) {
        let mut texts = Vec::new();
        match diffs {
            [] => {
                json::texts(&request.input, &mut texts);
                let command = request.program.as_ref().map(|program| &*program.command);
                texts.extend(command);
            }
            diffs => texts.extend(diffs.iter().map(|diff| diff.path())),
        }
        let texts = texts.into_iter().flat_map(str::lines).flat_map(lookalikes);
        let changes = diffs.iter().flat_map(|diff| {
            let hunks = diff.hunks(0);
            let lines = hunks.iter().flat_map(|hunk| diff.lines(hunk));
            let added = lines.filter(|line| matches!(line.kind, Kind::Added { .. }));
            added
                .flat_map(|line| alike_in_file(line.text))
                .collect::<Vec<_>>()
        });
        if let Some(note) = note_letters(texts.chain(changes)) {
            self.prose("letters", &note);
        }
    }

    fn rule(&mut self, request: &PermissionRequest) {
        match &request.rule {
            Some(offer) => {
                self.fact("rule", &offer.rule);
                // Otherwise the rule is shown beside its text field.
                if self.is_compact {
                    self.fact("saved in", &offer.file.display().to_string());
                }
            }
            None => self.prose("rule", ASKS_EVERY_TIME),
        }
    }

    /// A fact about the call, after its label.
    fn fact(&mut self, label: &str, text: &str) {
        self.texts(label, text, chop);
    }

    /// The same, for sentences.
    fn prose(&mut self, label: &str, text: &str) {
        self.texts(label, text, wrap);
    }

    fn texts(&mut self, label: &str, text: &str, wrapping: Wrapping) {
        for (index, line) in text.split('\n').enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = reveal(line, &self.settings.theme);
            self.labelled(label, line, wrapping);
        }
    }

    fn labelled(&mut self, label: &str, line: Line<'static>, wrapping: Wrapping) {
        let (least, rest) = if self.is_compact {
            (1, 2)
        } else {
            (LABEL, LABEL)
        };
        let indent = Indent {
            rest: vec![Span::raw(" ".repeat(rest))],
            ..Indent::all(beside(label, least, &self.settings.theme))
        };
        self.rows.extend(wrapping(line, self.columns, &indent));
    }

    fn blank(&mut self) {
        if !self.is_compact && self.rows.last().is_some_and(|row| row.line.width() > 0) {
            self.rows.push(Row::decoration(Line::default()));
        }
    }
}

/// Shown if no rule may allow the call.
pub const ASKS_EVERY_TIME: &str = "can't be allowed permanently; asks every time";

/// How much of a file changes, and whether it is new.
pub fn size(diff: &Diff, theme: &Theme) -> Vec<Span<'static>> {
    let counts = diff.counts();
    let mut spans = Vec::new();
    if diff.is_new() {
        spans.push(Span::styled("new file", theme.style(Role::Accent)));
        spans.push(Span::raw("  "));
    }
    let added = format!("+{}", counts.added);
    spans.push(Span::styled(added, theme.style(Role::Added)));
    spans.push(Span::raw("  "));
    let removed = format!("−{}", counts.removed);
    spans.push(Span::styled(removed, theme.style(Role::Removed)));
    spans
}

/// Whether an input can be described in words without hiding anything. Input of external tools can have any fields and
/// is shown as it is.
fn is_plain(tool: &str, input: &Map<String, Value>) -> bool {
    let is_word = |value: &Value| match value {
        Value::String(text) => !text.contains('\n'),
        Value::Bool(_) | Value::Number(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    !tool.starts_with("mcp__") && !input.is_empty() && input.values().all(is_word)
}

/// The name of a field in plain words.
fn plain_name(name: &str) -> String {
    let name = name.strip_suffix("_path").unwrap_or(name);
    name.replace('_', " ")
}

/// A label, padded to a minimum width.
fn beside(label: &str, least: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = reveal(label, theme).spans;
    for span in &mut spans {
        span.style = theme.style(Role::Muted).patch(span.style);
    }
    let taken: usize = spans.iter().map(|span| width(&span.content)).sum();
    let space = least.saturating_sub(taken).max(1);
    spans.push(Span::raw(" ".repeat(space)));
    spans
}

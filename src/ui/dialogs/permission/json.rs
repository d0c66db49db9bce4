//! The input of a call in readable form: a field per row, texts with their own line breaks.

use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, chop, reveal};

/// The whole value, in its order.
pub fn rows(value: &Value, columns: u16, theme: &Theme) -> Vec<Row> {
    let mut writer = Writer {
        columns,
        theme,
        rows: Vec::new(),
    };
    // Indented more than our own labels.
    writer.write(1, Vec::new(), value);
    writer.rows
}

/// All texts in the value, including names.
pub fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push(name);
                texts(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

struct Writer<'a> {
    columns: u16,
    theme: &'a Theme,
    rows: Vec<Row>,
}

impl Writer<'_> {
    fn write(&mut self, depth: usize, mut label: Vec<Span<'static>>, value: &Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let depth = self.open(depth, label);
                for (name, value) in fields {
                    self.write(depth, self.name(name), value);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let depth = self.open(depth, label);
                for item in items {
                    let mark = Span::styled("- ", self.theme.style(Role::Faint));
                    self.write(depth, vec![mark], item);
                }
            }
            Value::String(text) if text.contains('\n') => self.text(depth, label, text),
            Value::String(text) => {
                let quote = || Span::styled("\"", self.theme.style(Role::Faint));
                label.push(quote());
                label.extend(reveal(text, self.theme).spans);
                label.push(quote());
                self.line(depth, label, "  ");
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Object(_)
            | Value::Array(_) => {
                label.push(Span::styled(
                    value.to_string(),
                    self.theme.style(Role::Number),
                ));
                self.line(depth, label, "  ");
            }
        }
    }

    /// What belongs to a label is indented below it.
    fn open(&mut self, depth: usize, label: Vec<Span<'static>>) -> usize {
        if label.is_empty() {
            return depth;
        }
        self.line(depth, label, "  ");
        depth + 1
    }

    /// A text of several lines, each behind a vertical bar.
    fn text(&mut self, depth: usize, label: Vec<Span<'static>>, text: &str) {
        let depth = self.open(depth, label);
        for line in text.split('\n') {
            let bar = Span::styled("│ ", self.theme.style(Role::Faint));
            let mut spans = vec![bar];
            spans.extend(reveal(line, self.theme).spans);
            self.line(depth, spans, "│ ");
        }
    }

    fn line(&mut self, depth: usize, spans: Vec<Span<'static>>, rest: &'static str) {
        // Limits the indentation of deeply nested values.
        let space = " ".repeat((depth * 2).min(usize::from(self.columns / 2)));
        let indent = Indent {
            first: vec![Span::raw(space.clone())],
            gutter: u16::try_from(space.len()).unwrap_or(0),
            rest: vec![
                Span::raw(space),
                Span::styled(rest, self.theme.style(Role::Faint)),
            ],
        };
        let rows = chop(Line::from(spans), self.columns, &indent);
        self.rows.extend(rows);
    }

    fn name(&self, name: &str) -> Vec<Span<'static>> {
        let mut spans = reveal(name, self.theme).spans;
        spans.push(Span::styled(": ", self.theme.style(Role::Faint)));
        spans
    }
}

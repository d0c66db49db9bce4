//! The input of a call as a person would write it down: lists as lists, questions with their answers to choose from,
//! Markdown as Markdown.

use ratatui::text::{Line, Span};
use serde::Deserialize;
use serde_json::Value;

use super::CellContext;
use crate::app::call::Call;
use crate::protocol::ToolInfo;
use crate::protocol::todo::{Todo, TodoStatus};
use crate::theme::Role;
use crate::ui::markdown;
use crate::ui::text::{Indent, Row, chop, clean, reveal, width, wrap};

/// Deeper values are not shown.
const DEEPEST: usize = 8;
/// Further items of a list are only counted.
const MOST_ITEMS: usize = 200;

/// Every field in its order.
pub fn input_rows(call: &Call, cx: &mut CellContext) -> Vec<Row> {
    let Some(fields) = call.input.as_object() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (name, value) in fields {
        let special = special_rows(&call.tool, name, value, cx);
        rows.extend(special.unwrap_or_else(|| field(name, value, 0, cx)));
    }
    rows
}

/// Only what the person wants to see of a call whose result is meant for the model: its todos, questions or plan.
pub fn content_rows(call: &Call, cx: &mut CellContext) -> Vec<Row> {
    let fields = call.input.as_object().into_iter().flatten();
    let mut rows = Vec::new();
    for (name, value) in fields {
        rows.extend(special_rows(&call.tool, name, value, cx).unwrap_or_default());
    }
    rows
}

fn special_rows(
    tool: &ToolInfo,
    name: &str,
    value: &Value,
    cx: &mut CellContext,
) -> Option<Vec<Row>> {
    let subject = &tool.subject;
    if subject.todos.as_deref() == Some(name) {
        let todos = Vec::<Todo>::deserialize(value).ok()?;
        return Some(todos.iter().flat_map(|todo| todo_rows(todo, cx)).collect());
    }
    if subject.questions.as_deref() == Some(name) {
        let questions = Vec::<Asked>::deserialize(value).ok()?;
        return Some(question_rows(&questions, cx));
    }
    let is_markdown = subject.is_markdown && subject.what.iter().any(|what| **what == *name);
    let text = value.as_str().filter(|_| is_markdown)?;
    Some(markdown::render(text, cx.width, cx.theme, cx.code))
}

fn todo_rows(todo: &Todo, cx: &CellContext) -> Vec<Row> {
    let (mark, role, text) = match todo.status {
        TodoStatus::Completed => ("✓ ", Role::Success, Role::Muted),
        TodoStatus::InProgress => ("● ", Role::Accent, Role::Strong),
        TodoStatus::Pending => ("○ ", Role::Muted, Role::Text),
    };
    marked((mark, role), &todo.content, text, cx)
}

/// The parts of a question that a person reads.
#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    options: Vec<Offered>,
}

#[derive(Deserialize)]
struct Offered {
    label: String,
    #[serde(default)]
    description: String,
}

fn question_rows(questions: &[Asked], cx: &CellContext) -> Vec<Row> {
    let mut rows = Vec::new();
    for asked in questions {
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        rows.extend(marked(
            ("? ", Role::Accent),
            &asked.question,
            Role::Strong,
            cx,
        ));
        let labels = asked
            .options
            .iter()
            .map(|option| width(&clean(&option.label)));
        let column = labels.max().unwrap_or(0).min(usize::from(cx.width / 2));
        for option in &asked.options {
            let label = clean(&option.label).into_owned();
            let gap = column.saturating_sub(width(&label)) + 2;
            let label = format!("  {label}{}", " ".repeat(gap));
            rows.extend(marked(
                (&label, Role::Text),
                &option.description,
                Role::Muted,
                cx,
            ));
        }
    }
    rows
}

/// A text after a mark, which indents its further rows.
fn marked((mark, role): (&str, Role), text: &str, style: Role, cx: &CellContext) -> Vec<Row> {
    let indent = Indent {
        gutter: 0,
        first: vec![Span::styled(mark.to_owned(), cx.theme.style(role))],
        rest: vec![Span::raw(" ".repeat(width(mark)))],
    };
    let text = clean(text).replace('\n', " ");
    let line = Line::styled(text, cx.theme.style(style));
    wrap(line, cx.width, &indent)
}

/// A field and its value; fields of fields are below it, indented.
fn field(name: &str, value: &Value, depth: usize, cx: &CellContext) -> Vec<Row> {
    let blanks = "  ".repeat(depth);
    let name = format!("{blanks}{}: ", clean(name));
    let name = Span::styled(name, cx.theme.style(Role::Muted));
    match value {
        Value::Array(items) if items.iter().all(is_simple) => {
            let items: Vec<String> = items.iter().take(MOST_ITEMS).map(plain).collect();
            text_rows(name, &items.join(", "), depth, cx)
        }
        Value::Array(items) => {
            let mut rows = chop(Line::from(name), cx.width, &Indent::default());
            for (number, item) in (1..).zip(items.iter().take(MOST_ITEMS)) {
                rows.extend(nested(&number.to_string(), item, depth + 1, cx));
            }
            rows
        }
        Value::Object(_) => nested(name.content.trim().trim_end_matches(':'), value, depth, cx),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            text_rows(name, &plain(value), depth, cx)
        }
    }
}

/// The fields of an object below its name.
fn nested(name: &str, value: &Value, depth: usize, cx: &CellContext) -> Vec<Row> {
    let Value::Object(fields) = value else {
        return field(name, value, depth, cx);
    };
    let head = format!("{}{name}", "  ".repeat(depth));
    let head = Line::styled(head, cx.theme.style(Role::Muted));
    let mut rows = chop(head, cx.width, &Indent::default());
    if depth < DEEPEST {
        for (name, value) in fields {
            rows.extend(field(name, value, depth + 1, cx));
        }
    }
    rows
}

fn is_simple(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.contains('\n'),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text after its name; further lines are indented.
fn text_rows(name: Span<'static>, text: &str, depth: usize, cx: &CellContext) -> Vec<Row> {
    let indent = Indent::all(vec![Span::raw("  ".repeat(depth + 1))]);
    let mut lines = text.lines();
    let first = reveal(lines.next().unwrap_or_default(), cx.theme);
    let mut head = Line::from(name);
    head.spans.extend(first.spans);
    let mut rows = chop(head, cx.width, &Indent::default());
    for line in lines {
        rows.extend(chop(reveal(line, cx.theme), cx.width, &indent));
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CellContext, field};
    use crate::theme::Theme;
    use crate::ui::highlight::Uncoloured;

    #[test]
    fn nested_values_are_an_outline_and_not_json() {
        let theme = Theme::plain();
        let mut code = Uncoloured;
        let cx = CellContext {
            width: 40,
            theme: &theme,
            code: &mut code,
        };
        let value = json!([{"old": "a\nb", "all": true}, {"old": "c", "tags": ["x", "y"]}]);
        let rows = field("edits", &value, 0, &cx);
        let rows: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        let expected = [
            "edits: ",
            "  1",
            "    old: a",
            "      b",
            "    all: true",
            "  2",
            "    old: c",
            "    tags: x, y",
        ];
        assert_eq!(rows, expected);
    }
}

//! Paints a form: a row for each field, with what it is about below it where there is room.
//!
//! The words come from outside: they are revealed, and each follows a mark of ours.

use std::ops::Range;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::buttons::{self, Button, arrange};
use super::super::places::{self, Places, WantedRows};
use super::super::{draw_rows, foot, more_below, notice_rows, text_field};
use super::options::question_rows;
use crate::app::Settings;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::question::form::{Content, Input};
use crate::app::dialogs::question::{CurrentQuestion, FormDialog};
use crate::app::pointer::Target;
use crate::keymap::{Action, Context};
use crate::protocol::{Bounds, FieldKind, FieldOption, FormField};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, clean_line, reveal, truncate, width, wrap};

/// Beside narrower values, labels get a row of their own.
const LEAST_VALUE: usize = 20;
/// A longer label gets a row of its own.
const WIDEST_LABEL: usize = 28;
/// Before each field; `›` marks the one that has the keys.
const MARK: usize = 2;
const GAP: usize = 2;

#[derive(Debug, Default)]
pub struct Form {
    rows: Vec<Row>,
    /// The rows of each field.
    fields: Vec<Range<usize>>,
    /// Where the text begins that has the keys: its row and column.
    typed: Option<(usize, u16)>,
    notice: Vec<Row>,
    buttons: buttons::Row,
    offset: usize,
    pub places: Places,
}

impl Form {
    pub fn lay_out(
        &mut self,
        asked: &CurrentQuestion,
        dialog: &FormDialog,
        settings: &Settings,
        over: Rect,
    ) -> DialogLayout {
        let (columns, theme) = (places::inner_width(over), &settings.theme);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, columns, theme),
            None => Vec::new(),
        };
        let answers = arrange(answers(dialog, settings), columns.into(), 1);
        let wanted = WantedRows {
            notice: self.notice.len(),
            buttons: answers.len(),
            ..WantedRows::default()
        };
        let most = Places::new(
            over,
            WantedRows {
                content: usize::from(over.height),
                ..wanted
            },
        );
        let room = usize::from(most.content.height);
        // All descriptions if there is room for them, and otherwise that of the field that has the keys.
        self.lay_out_rows(asked, dialog, columns, theme, Detail::All);
        if self.rows.len() > room {
            self.lay_out_rows(asked, dialog, columns, theme, Detail::Current);
        }
        let end = self.rows.len();
        self.places = Places::new(
            over,
            WantedRows {
                content: end,
                ..wanted
            },
        );
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = end.min(self.places.content.height.into());
        let furthest = end - visible;
        self.offset = match self.fields.get(dialog.at()).filter(|_| dialog.follows()) {
            // Shows as much as fits of what is above the field.
            Some(rows) => {
                let last = rows.end.saturating_sub(visible);
                last.min(rows.start).min(furthest)
            }
            None => dialog.reading().offset.min(furthest),
        };
        DialogLayout {
            furthest,
            visible,
            ..DialogLayout::default()
        }
    }

    fn lay_out_rows(
        &mut self,
        asked: &CurrentQuestion,
        dialog: &FormDialog,
        columns: u16,
        theme: &Theme,
        detail: Detail,
    ) {
        let request = dialog.request();
        self.rows = question_rows(asked, &request.message, columns, theme);
        self.fields.clear();
        self.typed = None;
        if !self.rows.is_empty() && !request.fields.is_empty() {
            self.rows.push(Row::decoration(Line::default()));
        }
        let labels = dialog.fields().map(|(field, _)| width(&label(field)));
        let labels = labels.filter(|label| *label <= WIDEST_LABEL).max();
        let look = PieceKind {
            labels: labels.unwrap_or(0),
            columns,
            theme,
        };
        for (index, (field, input)) in dialog.fields().enumerate() {
            let first = self.rows.len();
            let is_current = index == dialog.at();
            let (rows, value_at) = look.field(field, input, is_current);
            if let (true, Content::Text(_)) = (is_current, &input.content) {
                self.typed = Some((first + rows.len() - 1, value_at));
            }
            self.rows.extend(rows);
            if let Some(problem) = &input.problem {
                self.rows.extend(look.below(problem, Role::Error));
            }
            if is_current || detail == Detail::All {
                self.rows.extend(look.below(&about(field), Role::Muted));
            }
            self.fields.push(first..self.rows.len());
        }
    }

    /// A field, or a button.
    pub fn hit(&self, column: u16, row: u16) -> Option<Target> {
        if let Some(action) = self.buttons.hit(column, row) {
            return Some(Target::Button(action));
        }
        let content = self.places.content;
        if !content.contains(Position::new(column, row)) {
            return None;
        }
        let row = self.offset + usize::from(row - content.y);
        let field = self.fields.iter().position(|rows| rows.contains(&row))?;
        Some(Target::Option(field))
    }

    pub fn draw(
        &self,
        dialog: &FormDialog,
        settings: &Settings,
        now: Instant,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let (places, theme) = (&self.places, &settings.theme);
        let content = places.content;
        draw_rows(content, self.rows.iter().skip(self.offset), buf);
        let end = self.offset + usize::from(content.height);
        let below = self.rows.len().saturating_sub(end);
        let words = more_below(below, dialog.context(), places.foot.width, settings);
        foot(places, words, theme, buf);
        draw_rows(places.notice, &self.notice, buf);
        self.buttons.draw(|_| dialog.is_armed(now), theme, buf);
        let (row, column) = self.typed?;
        let row = u16::try_from(row.checked_sub(self.offset)?).ok()?;
        let Content::Text(text) = &dialog.current()?.content else {
            return None;
        };
        if row >= content.height || column >= content.width {
            return None;
        }
        let area = Rect {
            x: content.x + column,
            y: content.y + row,
            width: content.width - column,
            height: 1,
        };
        text_field::draw_line(text, theme, area, buf)
    }
}

/// Which fields are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    Current,
}

/// What all rows of a form share.
struct PieceKind<'t> {
    /// The width of the labels.
    labels: usize,
    columns: u16,
    theme: &'t Theme,
}

impl PieceKind<'_> {
    /// The rows of a field, and the column of its value in the last of them.
    fn field(&self, field: &FormField, input: &Input, is_current: bool) -> (Vec<Row>, u16) {
        let theme = self.theme;
        let role = if is_current { Role::Chosen } else { Role::Text };
        let mark = if is_current { "› " } else { "  " };
        let mark = Span::styled(mark, theme.style(Role::Accent));
        let label = label(field);
        let beside = MARK + self.labels + GAP;
        let fits =
            width(&label) <= self.labels && beside + LEAST_VALUE <= usize::from(self.columns);
        let (mut rows, first, column) = if fits {
            let gap = " ".repeat(self.labels + GAP - width(&label));
            let label = Span::styled(label, theme.style(role));
            (Vec::new(), vec![mark, label, Span::raw(gap)], beside)
        } else {
            let indent = Indent {
                first: vec![mark],
                rest: vec![Span::raw(" ".repeat(MARK))],
                gutter: 2,
            };
            let label = Line::styled(label, theme.style(role));
            let column = 2 * MARK;
            let first = vec![Span::raw(" ".repeat(column))];
            (wrap(label, self.columns, &indent), first, column)
        };
        let gutter = u16::try_from(column).unwrap_or(u16::MAX);
        let indent = Indent {
            rest: vec![Span::raw(" ".repeat(column))],
            first,
            gutter,
        };
        let room = usize::from(self.columns).saturating_sub(column);
        let value = self.value(field, input, is_current, room);
        let mut value = wrap(value, self.columns, &indent);
        if value.is_empty() {
            value.push(Row::decoration(Line::from(indent.first)));
        }
        if let Content::Text(_) = input.content {
            value.truncate(1);
        }
        rows.extend(value);
        (rows, gutter)
    }

    fn value(
        &self,
        field: &FormField,
        input: &Input,
        is_current: bool,
        room: usize,
    ) -> Line<'static> {
        let theme = self.theme;
        let plain = theme.style(Role::Text);
        match (&input.content, &field.kind) {
            (Content::Text(text), kind) => {
                let text = text.lines().join(" ");
                if text.is_empty() {
                    let kind = truncate(&describe(kind), room.saturating_sub(1));
                    return Line::styled(kind, theme.style(Role::Faint));
                }
                if is_current {
                    // The text field is painted over it.
                    return Line::default();
                }
                Line::styled(truncate(&clean_line(&text, 1), room), plain)
            }
            (Content::Flag(flag), _) => {
                let (words, role) = match flag {
                    Some(true) => ("[x] yes", Role::Text),
                    Some(false) => ("[ ] no", Role::Text),
                    None => ("[ ] not set", Role::Faint),
                };
                Line::styled(words, theme.style(role))
            }
            (Content::One { chosen, count }, FieldKind::One(options)) => {
                let Some((at, option)) = chosen.and_then(|at| Some((at, options.get(at)?))) else {
                    return Line::styled("‹ not set ›", theme.style(Role::Faint));
                };
                let place = format!("  {} of {count}", at + 1);
                let mut line = Line::styled(format!("‹ {} ›", title(option)), plain);
                line.push_span(Span::styled(place, theme.style(Role::Faint)));
                line
            }
            (Content::Several { marked, at }, FieldKind::Several(options, _)) => {
                let mut line = Line::default();
                for (index, option) in options.iter().enumerate() {
                    if index > 0 {
                        line.push_span(Span::raw("  "));
                    }
                    let is_marked = marked.get(index).copied().unwrap_or(false);
                    let role = if is_current && index == *at {
                        Role::Chosen
                    } else {
                        Role::Text
                    };
                    let mark = if is_marked { "[x] " } else { "[ ] " };
                    let words = format!("{mark}{}", title(option));
                    line.push_span(Span::styled(words, theme.style(role)));
                }
                line
            }
            (Content::One { .. } | Content::Several { .. }, _) => Line::default(),
        }
    }

    /// What is said about a field, below it.
    fn below(&self, text: &str, role: Role) -> Vec<Row> {
        let indent = Indent::all(vec![Span::raw(" ".repeat(2 * MARK))]);
        let style = self.theme.style(role);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines = lines.map(|line| {
            let shown = reveal(line, self.theme).to_string();
            Line::styled(shown, style)
        });
        lines
            .flat_map(|line| wrap(line, self.columns, &indent))
            .collect()
    }
}

fn label(field: &FormField) -> String {
    let star = if field.required { " *" } else { "" };
    format!("{}{star}", clean_line(&field.title, 1))
}

fn title(option: &FieldOption) -> String {
    clean_line(&option.title, 1).into_owned()
}

fn about(field: &FormField) -> String {
    let kind = describe(&field.kind);
    let kind = if field.required {
        format!("{kind}, required")
    } else {
        kind
    };
    if field.about.is_empty() {
        kind
    } else {
        format!("{} · {kind}", field.about.trim_end())
    }
}

/// What a field takes.
fn describe(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text { format, length } => {
            let what = format.map_or("text", |format| format.describe());
            let length = bounds(length).map(|bounds| format!(", {bounds} characters"));
            format!("{what}{}", length.unwrap_or_default())
        }
        FieldKind::Number { whole, range } => {
            let what = if *whole { "whole number" } else { "number" };
            let range = bounds(range).map(|bounds| format!(", {bounds}"));
            format!("{what}{}", range.unwrap_or_default())
        }
        FieldKind::Flag => "yes or no".to_owned(),
        FieldKind::One(options) => format!("one of {}", options.len()),
        FieldKind::Several(options, count) => {
            let count = bounds(count).unwrap_or_else(|| "any".to_owned());
            format!("{count} of {}", options.len())
        }
    }
}

fn bounds<N: std::fmt::Display + PartialEq>(bounds: &Bounds<N>) -> Option<String> {
    match (&bounds.least, &bounds.most) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (Some(least), Some(most)) if least == most => Some(format!("exactly {least}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
    }
}

/// What the keys do now.
fn answers(dialog: &FormDialog, settings: &Settings) -> Vec<Button> {
    let mark = match dialog.current().map(|input| &input.content) {
        Some(Content::Flag(_) | Content::One { .. }) => Some("change"),
        Some(Content::Several { .. }) => Some("mark"),
        Some(Content::Text(_)) | None => None,
    };
    let next = (dialog.request().fields.len() > 1).then_some("next field");
    let actions = [
        (Action::Submit, Some("submit"), 0),
        (Action::Mark, mark, 3),
        (Action::Next, next, 4),
        (Action::Decline, Some("decline"), 1),
        (Action::Dismiss, Some("cancel"), 2),
    ];
    let context: Context = dialog.context();
    let button = |(action, words, rank): (Action, Option<&str>, usize)| {
        let button = Button::new(action, words?, context, &settings.keymap)?;
        Some(Button { rank, ..button })
    };
    actions.into_iter().filter_map(button).collect()
}

#[cfg(test)]
mod tests;

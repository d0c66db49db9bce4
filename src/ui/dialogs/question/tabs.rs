//! Several questions that are asked together: a tab for each, and an overview of the answers.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::app::dialogs::question::{ChoiceDialog, Page};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, clean_line, reveal, truncate, width, wrap};

/// The last tab.
const OVERVIEW: &str = "Submit";
const GAP: u16 = 3;
/// The least width of a tab if they do not all fit.
const NARROWEST: usize = 4;

/// The tabs with their places. Empty for a single question.
#[derive(Debug, Default)]
pub struct Tabs(Vec<(Rect, String)>);

impl Tabs {
    pub fn new(dialog: &ChoiceDialog, line: Rect) -> Self {
        if line.is_empty() {
            return Self::default();
        }
        let names = names(dialog);
        let gaps = usize::from(GAP) * (names.len() - 1);
        let room = usize::from(line.width).saturating_sub(gaps);
        let all: usize = names.iter().map(|name| width(name)).sum();
        let most = if all <= room {
            room
        } else {
            (room / names.len()).max(NARROWEST)
        };
        let mut x = line.x;
        let mut placed = Vec::new();
        for name in names {
            let name = truncate(&name, most);
            let cells = u16::try_from(width(&name)).unwrap_or(u16::MAX);
            let cells = cells.min(line.right().saturating_sub(x));
            placed.push((Rect::new(x, line.y, cells, 1), name));
            x = x.saturating_add(cells + GAP).min(line.right());
        }
        Self(placed)
    }

    /// The tab at this position.
    pub fn hit(&self, column: u16, row: u16) -> Option<usize> {
        let position = Position::new(column, row);
        self.0.iter().position(|(area, _)| area.contains(position))
    }

    pub fn draw(&self, dialog: &ChoiceDialog, theme: &Theme, buf: &mut Buffer) {
        for (index, (area, name)) in self.0.iter().enumerate() {
            let is_answered = dialog.pages().get(index).is_some_and(is_answered);
            let role = if index == dialog.tab() {
                Role::Chosen
            } else if is_answered {
                Role::Success
            } else {
                Role::Muted
            };
            buf.set_stringn(area.x, area.y, name, area.width.into(), theme.style(role));
        }
    }
}

fn is_answered(page: &Page) -> bool {
    page.answer().is_some()
}

fn names(dialog: &ChoiceDialog) -> Vec<String> {
    let pages = dialog.pages().iter().enumerate();
    let names = pages.map(|(index, page)| {
        let mark = if is_answered(page) { "✓" } else { "○" };
        let request = page.request();
        if request.header.is_empty() {
            return format!("{mark} {}", index + 1);
        }
        format!("{mark} {}", clean_line(&request.header, 1))
    });
    names.chain([OVERVIEW.to_owned()]).collect()
}

/// Each question with its answer, and the rows of each question.
pub fn overview(
    dialog: &ChoiceDialog,
    columns: u16,
    theme: &Theme,
) -> (Vec<Row>, Vec<Range<usize>>) {
    let (mut rows, mut questions) = (Vec::new(), Vec::new());
    for (index, page) in dialog.pages().iter().enumerate() {
        let first = rows.len();
        let number = Span::styled(format!("{} ", index + 1), theme.style(Role::Accent));
        let indent = Indent {
            first: vec![number],
            gutter: 2,
            rest: vec![Span::raw("  ")],
        };
        let question = page.request().question.replace('\n', " ");
        rows.extend(wrap(reveal(&question, theme), columns, &indent));
        let (answer, role) = match page.answer_text() {
            answer if answer.is_empty() => ("no answer yet".to_owned(), Role::Warning),
            answer => (answer, Role::Success),
        };
        let below = Indent::all(vec![Span::raw("  ")]);
        for line in answer.split('\n') {
            let mut line = reveal(line, theme);
            for span in &mut line.spans {
                span.style = theme.style(role).patch(span.style);
            }
            rows.extend(wrap(line, columns, &below));
        }
        questions.push(first..rows.len());
    }
    (rows, questions)
}

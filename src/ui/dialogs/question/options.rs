//! The rows of a question and its options. Descriptions that do not fit beside their labels are shown below the list.

use std::ops::Range;

use ratatui::text::{Line, Span};

use crate::app::dialogs::question::{CurrentQuestion, Page};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, chop, clean_line, reveal, truncate, width, wrap};

/// The width of labels.
const LABEL: &str = "asked by     ";
/// The space between a label and its description.
const GAP: usize = 2;
/// With fewer columns left, descriptions are not shown beside their labels.
const READABLE: usize = 16;
/// With wider labels, descriptions are not shown beside them.
const WIDEST_LABEL: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One row for each option, with this many columns for the labels. If a description does not fit, the one of the current
    /// option is shown in full below the list.
    Rows { labels: usize },
    /// Each description is below its label.
    Stacked,
}

/// The question and its options.
#[derive(Debug, Default)]
pub struct LaidOut {
    pub rows: Vec<Row>,
    /// The rows of each option.
    pub options: Vec<Range<usize>>,
    /// The last rows are the description of the current option.
    pub has_preview: bool,
}

pub fn rows(
    current: &CurrentQuestion,
    page: &Page,
    is_in_title: bool,
    columns: u16,
    theme: &Theme,
) -> LaidOut {
    let request = page.request();
    let question = if is_in_title { "" } else { &request.question };
    let mut rows = question_rows(current, question, columns, theme);
    if !request.options.is_empty() && !rows.is_empty() {
        rows.push(Row::decoration(Line::default()));
    }
    let layout = layout(page, columns);
    let (mut options, mut has_preview) = (Vec::new(), false);
    for index in 0..request.options.len() {
        let first = rows.len();
        match layout {
            Layout::Rows { labels } => rows.push(one_row(index, page, labels, columns, theme)),
            Layout::Stacked => rows.extend(stacked(index, page, columns, theme)),
        }
        options.push(first..rows.len());
    }
    if let Layout::Rows { labels } = layout {
        let preview = preview(page, labels, columns, theme);
        has_preview = !preview.is_empty();
        rows.extend(preview);
    }
    LaidOut {
        rows,
        options,
        has_preview,
    }
}

/// Who asks, if it is not the main conversation, and what.
pub fn question_rows(
    current: &CurrentQuestion,
    question: &str,
    columns: u16,
    theme: &Theme,
) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(asker) = &current.asker {
        let label = Span::styled(LABEL, theme.style(Role::Muted));
        rows.extend(chop(
            reveal(asker, theme),
            columns,
            &Indent::all(vec![label]),
        ));
    }
    let lines = question.split('\n').filter(|_| !question.is_empty());
    for (index, line) in lines.enumerate() {
        let mark = if index == 0 { "? " } else { "  " };
        let indent = Indent {
            first: vec![Span::styled(mark, theme.style(Role::Accent))],
            gutter: 2,
            rest: vec![Span::raw("  ")],
        };
        rows.extend(wrap(reveal(line, theme), columns, &indent));
    }
    rows
}

fn layout(page: &Page, columns: u16) -> Layout {
    let options = &page.request().options;
    let labels = options.iter().map(|option| width(&option.label)).max();
    let labels = labels.unwrap_or(0);
    let is_one_line = |text: &str| clean_line(text, 1) == text;
    let are_short = options.iter().all(|option| is_one_line(&option.label));
    let used = width(&mark(0, page)) + labels + GAP;
    if !are_short || labels > WIDEST_LABEL || used + READABLE > usize::from(columns) {
        return Layout::Stacked;
    }
    Layout::Rows { labels }
}

/// `› 1 [x] `
fn mark(index: usize, page: &Page) -> String {
    let is_at = match page.at() {
        Some(at) => at == index,
        None => index == page.request().options.len(),
    };
    let mut mark = format!("{} {} ", if is_at { "›" } else { " " }, index + 1);
    if page.request().several {
        let is_marked = page.is_marked(index);
        mark.push_str(if is_marked { "[x] " } else { "[ ] " });
    }
    mark
}

fn styled(text: &str, role: Role, theme: &Theme) -> Line<'static> {
    let mut line = reveal(text, theme);
    for span in &mut line.spans {
        span.style = theme.style(role).patch(span.style);
    }
    line
}

fn label_role(index: usize, page: &Page) -> Role {
    if page.at() == Some(index) {
        Role::Chosen
    } else {
        Role::Text
    }
}

/// As much of a description as fits beside the label, and whether that is all of it.
fn beside(about: &str, room: usize) -> (String, bool) {
    let one_line = clean_line(about, 1);
    let shown = truncate(&one_line, room);
    let is_all = shown == about;
    (shown, is_all)
}

fn room_beside(index: usize, page: &Page, labels: usize, columns: u16) -> usize {
    let used = width(&mark(index, page)) + labels + GAP;
    // The mark of the chosen option takes two columns at the end.
    usize::from(columns).saturating_sub(used + 2)
}

/// `› 1 [x] label    description`
fn one_row(index: usize, page: &Page, labels: usize, columns: u16, theme: &Theme) -> Row {
    let option = &page.request().options[index];
    let mut line = Line::from(Span::styled(mark(index, page), theme.style(Role::Accent)));
    let label = styled(&option.label, label_role(index, page), theme);
    line.spans.extend(label.spans);
    let (about, _) = beside(&option.about, room_beside(index, page, labels, columns));
    let gap = labels.saturating_sub(width(&option.label)) + GAP;
    if !about.is_empty() {
        line.push_span(Span::raw(" ".repeat(gap)));
        line.push_span(Span::styled(about, theme.style(Role::Muted)));
    }
    if !page.request().several && page.is_marked(index) {
        line.push_span(Span::styled(" ✓", theme.style(Role::Success)));
    }
    Row::decoration(line)
}

/// The whole description of the current option. It has the same height for each option, so that nothing moves.
fn preview(page: &Page, labels: usize, columns: u16, theme: &Theme) -> Vec<Row> {
    let options = &page.request().options;
    let is_cut = |(index, about): (usize, &str)| {
        let room = room_beside(index, page, labels, columns);
        !about.is_empty() && !beside(about, room).1
    };
    let mut abouts = options
        .iter()
        .map(|option| option.about.as_str())
        .enumerate();
    if !abouts.any(is_cut) {
        return Vec::new();
    }
    let wrapped = |about: &str| -> Vec<Row> {
        let indent = Indent::all(vec![Span::styled("    ", theme.style(Role::Text))]);
        let lines = about.split('\n').filter(|line| !line.is_empty());
        lines
            .flat_map(|line| wrap(styled(line, Role::Text, theme), columns, &indent))
            .collect()
    };
    let all = options.iter().map(|option| wrapped(&option.about));
    let mut all: Vec<Vec<Row>> = all.collect();
    let height = all.iter().map(Vec::len).max().unwrap_or(0);
    let at = page.at().filter(|at| *at < all.len());
    let front = at.map(|at| all.swap_remove(at)).unwrap_or_default();
    let mut rows = vec![Row::decoration(Line::default())];
    rows.extend(front);
    rows.resize_with(height + 1, || Row::decoration(Line::default()));
    rows
}

/// `› 1 [x] label`, and the description below it.
fn stacked(index: usize, page: &Page, columns: u16, theme: &Theme) -> Vec<Row> {
    let option = &page.request().options[index];
    let mark = mark(index, page);
    let indent = |first: String| {
        let gutter = u16::try_from(width(&first)).unwrap_or(u16::MAX);
        Indent {
            rest: vec![Span::raw(" ".repeat(gutter.into()))],
            first: vec![Span::styled(first, theme.style(Role::Accent))],
            gutter,
        }
    };
    let below = " ".repeat(width(&mark));
    let role = label_role(index, page);
    let mut rows = Vec::new();
    for line in option.label.split('\n') {
        let first = if rows.is_empty() {
            mark.clone()
        } else {
            below.clone()
        };
        rows.extend(wrap(styled(line, role, theme), columns, &indent(first)));
    }
    for line in option.about.split('\n').filter(|line| !line.is_empty()) {
        let line = styled(line, Role::Muted, theme);
        rows.extend(wrap(line, columns, &indent(below.clone())));
    }
    rows
}

/// `› 4 [x] Other`: the label of the text field.
pub fn label_rows(page: &Page, columns: u16, theme: &Theme) -> Vec<Row> {
    let request = page.request();
    let own_words = match (request.own_words.as_str(), request.options.is_empty()) {
        ("", true) => "Your answer",
        ("", false) => "Other",
        (words, _) => words,
    };
    let role = if page.is_writing() {
        Role::Chosen
    } else {
        Role::Text
    };
    let mut line = Line::default();
    if !request.options.is_empty() {
        let mark = mark(request.options.len(), page);
        line.push_span(Span::styled(mark, theme.style(Role::Accent)));
    }
    line.push_span(Span::styled(own_words.to_owned(), theme.style(role)));
    chop(line, columns, &Indent::default())
}

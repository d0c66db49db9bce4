//! Code blocks: on a background of their own, or behind an edge if the theme has none, with the language at the right.

use std::ops::Range;
use std::sync::Arc;

use ratatui::text::{Line, Span};

use crate::theme::Role;
use crate::ui::highlight::{Highlighted, growing};
use crate::ui::text::{CONTINUED, Cleaner, Indent, Row, TAB, chop, clean_line, truncate, width};

use super::{Page, Stage};

/// What is at the left of the code, with a background and without one; not copied.
const MARGIN: &str = "  ";
const EDGE: &str = "│ ";

pub fn rows(text: &str, language: &str, stage: Stage, page: &mut Page) -> Vec<Row> {
    let colours = colours(text, language, stage, page);
    let mut rows: Vec<Row> = label(language, page).into_iter().collect();
    for (index, line) in text.lines().enumerate() {
        line_rows(line, colours.line(index), page, &mut rows);
    }
    rows
}

fn colours(text: &str, language: &str, stage: Stage, page: &mut Page) -> Arc<Highlighted> {
    match stage {
        Stage::Open => growing(text, language, page.code),
        Stage::Closed => {
            let found = page.code.colours(language, text);
            found.unwrap_or_else(|| growing(text, language, page.code))
        }
        Stage::Finished => page.code.colours(language, text).unwrap_or_default(),
    }
}

/// The name of the language, at the right so that it doesn't look like the first line.
pub fn label(language: &str, page: &Page) -> Option<Row> {
    let edge = edge(page);
    // Also a blank at its right.
    let room = usize::from(page.width).saturating_sub(width(&edge.content) + 1);
    let name = truncate(&clean_line(language, TAB), room);
    let before = " ".repeat(room - width(&name));
    let name = Span::styled(format!("{before}{name}"), page.theme.style(Role::Faint));
    let line = Line::from(vec![edge, name]);
    let background = page.theme.style(Role::CodeBlock);
    (!language.is_empty()).then(|| Row::decoration(line.style(background)))
}

fn edge(page: &Page) -> Span<'static> {
    let background = page.theme.style(Role::CodeBlock).bg;
    let edge = background.map_or(EDGE, |_| MARGIN);
    Span::styled(edge, page.theme.style(Role::Faint))
}

/// Adds the rows of one line of code. The ranges come from outside; if they don't fit the line, it stays plain.
pub fn line_rows(line: &str, parts: &[(Range<usize>, Role)], page: &Page, rows: &mut Vec<Row>) {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut cleaner = Cleaner::new(TAB);
    let mut spans = Vec::with_capacity(parts.len() * 2 + 1);
    let mut push = |text: &str, role: Option<Role>| {
        if !text.is_empty() {
            let style = role.map(|role| page.theme.style(role)).unwrap_or_default();
            spans.push(Span::styled(cleaner.clean(text).into_owned(), style));
        }
    };
    let mut at = 0;
    for (range, role) in parts {
        if let (Some(plain), Some(part)) = (line.get(at..range.start), line.get(range.clone())) {
            push(plain, None);
            push(part, Some(*role));
            at = range.end;
        }
    }
    push(&line[at..], None);
    let line = Line::from(spans).style(page.theme.style(Role::CodeBlock));
    let indent = Indent {
        rest: vec![Span::styled(CONTINUED, page.theme.style(Role::Faint))],
        ..Indent::all(vec![edge(page)])
    };
    rows.append(&mut chop(line, page.width, &indent));
}

//! Laid-out lines to read, with hanging indents.

use ratatui::text::{Line, Span};

use super::text::{Indent, Row, chop, clean, width, wrap};
use crate::app::page::{self, Tone};
use crate::theme::{Role, Theme};

pub fn rows(lines: &[page::Line], room: u16, theme: &Theme) -> Vec<Row> {
    let lines = lines.iter();
    lines.flat_map(|line| lay_out(line, room, theme)).collect()
}

fn lay_out(line: &page::Line, room: u16, theme: &Theme) -> Vec<Row> {
    let lead = clean(&line.lead).into_owned();
    // A lead that leaves too little room for the text indents only the first row.
    let hang = if width(&lead) <= usize::from(room / 2) {
        width(&lead)
    } else {
        0
    };
    let indent = Indent {
        gutter: u16::try_from(width(&lead)).unwrap_or(0),
        first: vec![Span::styled(lead, theme.style(role(line.lead_tone)))],
        rest: vec![Span::raw(" ".repeat(hang))],
    };
    let text = Span::styled(clean(&line.text).into_owned(), theme.style(role(line.tone)));
    match line.tone {
        Tone::Code => chop(Line::from(text), room, &indent),
        Tone::Text
        | Tone::Muted
        | Tone::Heading
        | Tone::Accent
        | Tone::Person
        | Tone::Good
        | Tone::Warning
        | Tone::Bad => wrap(Line::from(text), room, &indent),
    }
}

fn role(tone: Tone) -> Role {
    match tone {
        Tone::Text | Tone::Code => Role::Text,
        Tone::Muted => Role::Muted,
        Tone::Heading => Role::Heading,
        Tone::Accent => Role::Accent,
        Tone::Person => Role::User,
        Tone::Good => Role::Success,
        Tone::Warning => Role::Warning,
        Tone::Bad => Role::Error,
    }
}

//! Markdown as rows of the screen.
//!
//! A text is cut into segments ([`split`]) that are laid out separately. An answer that is still being written
//! ([`Streaming`]) keeps the rows of all segments except the last, and always has the rows that [`render`] gives for
//! the text so far. The price: a link definition is shown in place and applies only to its own segment, and HTML, which
//! is shown as text, ends at a blank line.

mod blocks;
mod code;
mod inline;
mod open_fence;
mod split;
mod streaming;
mod table;

use crate::theme::Theme;

use super::highlight::CodeColours;
use super::text::Row;

use split::{Joint, Kind, Segment, Splitter};

pub use streaming::Streaming;

/// The rows of a finished text, none wider than `width`.
pub fn render(source: &str, width: u16, theme: &Theme, code: &mut dyn CodeColours) -> Vec<Row> {
    let mut page = Page { width, theme, code };
    let mut rows = Vec::new();
    for segment in Splitter::default().finish(source) {
        append(
            &mut rows,
            lay_out(source, &segment, Stage::Finished, &mut page),
            segment.joint,
        );
    }
    rows
}

/// What every part of the layout needs.
struct Page<'a> {
    width: u16,
    theme: &'a Theme,
    code: &'a mut dyn CodeColours,
}

/// How complete a segment is, which decides what colours to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It may still grow.
    Open,
    /// It has just ended; the colours of its beginning may be known already.
    Closed,
    /// It was complete from the start.
    Finished,
}

fn lay_out(source: &str, segment: &Segment, stage: Stage, page: &mut Page) -> Vec<Row> {
    match &segment.kind {
        Kind::Blocks => blocks::rows(&source[segment.range.clone()], stage, page),
        Kind::Fence(fence) => {
            let text = fence.text(&source[fence.body.clone()]);
            code::rows(&text, &fence.language, stage, page)
        }
    }
}

fn append(rows: &mut Vec<Row>, mut more: Vec<Row>, joint: Joint) {
    if let (Some(first), false) = (more.first_mut(), rows.is_empty()) {
        match joint {
            Joint::Apart => rows.push(Row::default()),
            Joint::Line => {}
            Joint::Word => first.continues = true,
        }
    }
    rows.append(&mut more);
}

#[cfg(test)]
mod tests;

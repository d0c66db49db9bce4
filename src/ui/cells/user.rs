//! What the person wrote.

use ratatui::text::{Line, Span};

use super::{CellContext, MARGIN};
use crate::theme::Role;
use crate::ui::text::{Indent, Row, attach, clean, link_addresses, wrap};

/// A long paste is the model's to read; the screen shows its beginning.
const MOST_LINES: usize = 40;

pub fn rows(text: &str, images: usize, cx: &CellContext) -> Vec<Row> {
    let style = cx.theme.style(Role::User);
    let bar = Span::styled("▌ ", cx.theme.style(Role::Accent));
    let indent = Indent::all(vec![bar]);
    debug_assert_eq!(indent.gutter, MARGIN);
    let mut rows = Vec::new();
    let cleaned = clean(text);
    for line in cleaned.lines().take(MOST_LINES) {
        let line = Line::from(Span::styled(line.to_owned(), style));
        let (line, links) = link_addresses(line, cx.theme.style(Role::Link), |_| false);
        let mut wrapped = wrap(line, cx.width, &indent);
        attach(&mut wrapped, &links);
        rows.append(&mut wrapped);
    }
    let more = cleaned.lines().count().saturating_sub(MOST_LINES);
    let mut asides = Vec::new();
    if more > 0 {
        asides.push(format!("… {more} more lines"));
    }
    match images {
        0 => {}
        1 => asides.push("1 image".to_owned()),
        images => asides.push(format!("{images} images")),
    }
    for aside in asides {
        let line = Line::from(Span::styled(aside, cx.theme.style(Role::Muted)));
        rows.extend(wrap(line, cx.width, &indent));
    }
    rows
}

//! What the person wrote.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{CellContext, MARGIN};
use crate::theme::{Role, Theme};
use crate::ui::queue::first_line;
use crate::ui::text::{Indent, Row, attach, clean, link_addresses, wrap};

/// How many lines of a long message are shown; the model reads all of it.
const MOST_LINES: usize = 40;
const BAR: &str = "▌ ";

pub fn rows(text: &str, images: usize, cx: &CellContext) -> Vec<Row> {
    let style = cx.theme.style(Role::User);
    let background = background_style(cx.theme);
    let bar = Span::styled(BAR, cx.theme.style(Role::Accent).patch(background));
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
    // Images in the text are already shown there.
    match images.saturating_sub(text.matches("[image ").count()) {
        0 => {}
        1 => asides.push("1 image".to_owned()),
        images => asides.push(format!("{images} images")),
    }
    for aside in asides {
        let line = Line::from(Span::styled(aside, cx.theme.style(Role::Muted)));
        rows.extend(wrap(line, cx.width, &indent));
    }
    for row in &mut rows {
        row.line.style = background;
    }
    rows
}

/// A message that is scrolled out of view, as one row.
pub fn pinned(text: &str, width: u16, theme: &Theme) -> Line<'static> {
    let room = usize::from(width.saturating_sub(MARGIN));
    let bar = Span::styled(BAR, theme.style(Role::Accent));
    let text = Span::styled(first_line(text, room), theme.style(Role::User));
    Line::from(vec![bar, text]).style(background_style(theme))
}

/// Only the background: the text on it has its own colours.
fn background_style(theme: &Theme) -> Style {
    Style {
        bg: theme.style(Role::UserGround).bg,
        ..Style::new()
    }
}

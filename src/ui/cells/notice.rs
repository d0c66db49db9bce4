//! Messages of the program itself: news, warnings, errors, and what to do about them.

use ratatui::text::{Line, Span};

use super::{CellContext, marked};
use crate::app::transcript::NoticeKind;
use crate::theme::Role;
use crate::ui::text::{Row, clean};

pub fn rows(kind: NoticeKind, text: &str, cx: &CellContext) -> Vec<Row> {
    let (mark, mark_role, role) = match kind {
        NoticeKind::Info => ("· ", Role::Muted, Role::Muted),
        NoticeKind::Warning => ("! ", Role::Warning, Role::Text),
        NoticeKind::Error => ("✗ ", Role::Error, Role::Error),
        NoticeKind::Hint => ("  ", Role::Muted, Role::Muted),
    };
    let mut rows = Vec::new();
    for (number, line) in clean(text).lines().enumerate() {
        let line = Line::from(Span::styled(line.to_owned(), cx.theme.style(role)));
        let mark = if number == 0 { mark } else { "  " };
        rows.extend(marked(mark, mark_role, line, cx));
    }
    rows
}

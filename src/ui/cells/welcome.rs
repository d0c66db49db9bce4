//! The first cell: what this is, the working directory, and how to begin.

use ratatui::text::{Line, Span};

use super::{CellContext, marked};
use crate::app::AppState;
use crate::theme::Role;
use crate::ui::text::{Row, clean, truncate_middle};

pub fn rows(state: &AppState, cx: &CellContext) -> Vec<Row> {
    let theme = cx.theme;
    let room = usize::from(cx.width.saturating_sub(14));
    let title = Line::from(vec![
        Span::styled("agent-tui", theme.style(Role::Strong)),
        Span::styled(
            format!(
                "  {}",
                truncate_middle(&clean(&state.session.workspace), room)
            ),
            theme.style(Role::Muted),
        ),
    ]);
    let mut rows = marked("◆ ", Role::Accent, title, cx);
    for text in hints(&state.session.provider) {
        let line = Line::from(Span::styled(*text, theme.style(Role::Muted)));
        rows.extend(marked("  ", Role::Muted, line, cx));
    }
    rows
}

fn hints(provider: &str) -> &'static [&'static str] {
    match provider {
        "builtin" => &[
            "No model connected. The built-in demo can read, find, search, edit, replace and run.",
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, then restart.",
        ],
        _ => &[],
    }
}

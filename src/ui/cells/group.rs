//! Consecutive reads and searches in one line: `✓ Read app.py, util.py · Grep total`.

use ratatui::text::{Line, Span};

use super::call::{glyph, shown_name, shown_subject, state_role};
use super::{CellContext, MARGIN};
use crate::app::AppState;
use crate::app::call::Call;
use crate::theme::Role;
use crate::ui::text::{Row, clean, truncate, width};

/// Names that would be shorter than this are only counted.
const SHORTEST: usize = 6;

pub fn row<'a>(calls: impl Iterator<Item = &'a Call>, state: &AppState, cx: &CellContext) -> Row {
    let theme = cx.theme;
    let calls: Vec<&Call> = calls.collect();
    let mut line = Line::default();
    if let Some(first) = calls.first() {
        let mark = format!("{} ", glyph(first));
        line.push_span(Span::styled(mark, theme.style(state_role(first))));
    }
    let room = usize::from(cx.width);
    let mut tool: Option<&str> = None;
    for (at, call) in calls.iter().enumerate() {
        let same = tool == Some(&*call.tool.name);
        let name = if same {
            String::new()
        } else {
            shown_name(&call.tool)
        };
        let between = match tool {
            None => "",
            Some(_) if same => ", ",
            Some(_) => " · ",
        };
        let left = calls.len() - at;
        let rest = format!(" and {left} more");
        let used = line.width() + width(between) + width(&name) + 1;
        let keep = if left > 1 { width(&rest) } else { 0 };
        let subject = shown_subject(call, state);
        let subject = clean(subject.lines().next().unwrap_or_default()).into_owned();
        let fits = room.saturating_sub(used + keep);
        if fits < width(&subject).min(SHORTEST) || at > 0 && fits < width(&subject) {
            line.push_span(Span::styled(rest, theme.style(Role::Muted)));
            break;
        }
        line.push_span(Span::styled(between, theme.style(Role::Muted)));
        if !same {
            line.push_span(Span::styled(name, theme.style(Role::Strong)));
            line.push_span(Span::raw(" "));
        }
        line.push_span(Span::styled(
            truncate(&subject, fits),
            theme.style(Role::Text),
        ));
        tool = Some(&call.tool.name);
    }
    Row {
        gutter: MARGIN,
        ..Row::new(line)
    }
}

//! The model's todo list above the input: the list, or one line if the conversation needs the rows.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::queue::first_line;
use super::text::truncate;
use crate::app::AppState;
use crate::protocol::todo::{Todo, TodoStatus, progress};
use crate::theme::{Role, Theme};

/// A longer list is cut.
const MOST: usize = 8;
/// With no more free rows than this, the list is hidden.
const FEWEST_BESIDE: u16 = 4;
/// The marks are those of calls, whose rows begin at the edge.
const INDENT: u16 = 2;

/// How many of the `free` rows it takes on a screen of this height. If the conversation would get less than a third of
/// the screen, the list is folded to one line.
pub fn height(state: &AppState, free: u16, screen: u16) -> u16 {
    let list = u16::try_from(state.todos_in_view().len().min(MOST)).unwrap_or(0);
    if list == 0 || free <= FEWEST_BESIDE {
        return 0;
    }
    if free.saturating_sub(list) >= screen.div_ceil(3) {
        list
    } else {
        1
    }
}

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    let (theme, todos) = (&state.settings.theme, state.todos_in_view());
    let rows = usize::from(area.height);
    let area = Rect {
        x: area.x + INDENT,
        width: area.width.saturating_sub(INDENT),
        ..area
    };
    if rows == 1 && todos.len() > 1 {
        let text = progress(todos).unwrap_or_default();
        draw_row("●", Role::Executing, (&text, Role::Muted), area, theme, buf);
        return;
    }
    let (shown, rest) = part(todos, rows);
    let mut row = Rect { height: 1, ..area };
    for todo in shown {
        let (mark, role, words) = match todo.status {
            TodoStatus::Completed => ("✓", Role::Completed, (&todo.content, Role::Faint)),
            TodoStatus::InProgress => ("●", Role::Executing, (&todo.active_form, Role::Text)),
            TodoStatus::Pending => ("○", Role::Queued, (&todo.content, Role::Muted)),
        };
        draw_row(mark, role, words, row, theme, buf);
        row.y += 1;
    }
    if let Some(rest) = rest {
        let style = theme.style(Role::Faint);
        let room = usize::from(area.width.saturating_sub(2));
        buf.set_string(area.x + 2, row.y, truncate(&rest, room), style);
    }
}

fn draw_row(
    mark: &str,
    role: Role,
    (words, tone): (&String, Role),
    row: Rect,
    theme: &Theme,
    buf: &mut Buffer,
) {
    let room = usize::from(row.width.saturating_sub(2));
    let line = Line::from(vec![
        Span::styled(format!("{mark} "), theme.style(role)),
        Span::styled(first_line(words, room), theme.style(tone)),
    ]);
    buf.set_line(row.x, row.y, &line, row.width);
}

/// The part of a list that these rows show, and a note about the others. It begins with the last done item before the
/// first open one, so that the item in progress is always visible.
fn part(todos: &[Todo], rows: usize) -> (&[Todo], Option<String>) {
    if todos.len() <= rows {
        return (todos, None);
    }
    let shown = rows.saturating_sub(1);
    let is_open = |todo: &Todo| todo.status != TodoStatus::Completed;
    let open = todos.iter().position(is_open).unwrap_or(0);
    let from = open.saturating_sub(1).min(todos.len() - shown);
    let to = from + shown;
    let hidden = todos.len() - shown;
    let rest = if todos[to..].iter().any(is_open) {
        format!("and {hidden} more")
    } else {
        format!("and {hidden} done")
    };
    (&todos[from..to], Some(rest))
}

//! The queued messages above the input: when they are sent, and what can be done about them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::text::{clean, truncate};
use crate::app::call::Author;
use crate::app::{AppState, Stage};
use crate::keymap::Action;
use crate::theme::Role;

/// More messages than this are only counted.
const MOST: usize = 3;

/// How many rows it wants: the messages, and when they are sent.
pub fn height(state: &AppState) -> u16 {
    match state.queue.len() {
        0 => 0,
        some => u16::try_from(some.min(MOST) + 1).unwrap_or(1),
    }
}

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    let theme = &state.settings.theme;
    let room = usize::from(area.width.saturating_sub(2));
    let mut y = area.y;
    for words in messages(state, area.height, room) {
        let line = Line::from(vec![
            Span::styled("» ", theme.style(Role::Queued)),
            Span::styled(words, theme.style(Role::Muted)),
        ]);
        buf.set_line(area.x, y, &line, area.width);
        y += 1;
    }
    if y < area.bottom() {
        let text = truncate(&when_sent(state), room);
        let line = Line::from(vec![
            Span::raw("  "),
            Span::styled(text, theme.style(Role::Faint)),
        ]);
        buf.set_line(area.x, y, &line, area.width);
    }
}

/// The message in a row of the screen.
pub fn message_at(area: Rect, y: u16) -> Option<usize> {
    let row = usize::from(y.checked_sub(area.y)?);
    (row < message_rows(area.height)).then_some(row)
}

/// How many rows there are for messages. The last row says when they are sent, if there is room.
fn message_rows(height: u16) -> usize {
    usize::from(height.saturating_sub(1).max(1).min(height))
}

fn messages(state: &AppState, height: u16, room: usize) -> Vec<String> {
    let count = state.queue.len();
    let rows = message_rows(height).min(count);
    let messages = state.queue.iter().take(rows).enumerate();
    let words = messages.map(|(number, waiting)| match count - number {
        hidden if number + 1 == rows && hidden > 1 => format!("and {hidden} more"),
        _ => first_line(&waiting.shown, room),
    });
    words.collect()
}

/// When they are sent, and the keys that change that.
fn when_sent(state: &AppState) -> String {
    let when = match state.work().map(|work| &work.stage) {
        Some(Stage::Running) => match open_calls(state) {
            0 => "sent after this answer",
            1 => "sent after the current tool call",
            _ => "sent after the current tool calls",
        },
        Some(Stage::Retrying { .. }) => "sent with the next attempt",
        Some(Stage::Stopping | Stage::Interrupting | Stage::Killing) => "sent when it has stopped",
        None => "sending",
    };
    let contexts = state.contexts();
    let keymap = &state.settings.keymap;
    let hint = |action: Action, does: bool, words: &str| {
        let chord = keymap.chord_for(action, &contexts).filter(|_| does)?;
        Some(format!(" · {chord} {words}"))
    };
    let now = hint(Action::Send, state.sends_queue(), "now");
    let edit = hint(Action::HistoryPrevious, state.composer.is_free(), "edit");
    let several = state.queue.len() > 1;
    let list = hint(Action::EditQueue, several, "edit another");
    let hints = [now, edit, list].into_iter().flatten();
    hints.fold(when.to_owned(), |line, hint| line + &hint)
}

fn open_calls(state: &AppState) -> usize {
    let calls = state.panel.calls().iter().map(|key| state.calls.get(*key));
    let open = calls.filter(|call| call.by == Author::Model && !call.is_over());
    open.count()
}

/// The first line of a text, with a mark if there are more.
pub(super) fn first_line(text: &str, room: usize) -> String {
    let mut lines = text.lines();
    let first = clean(lines.next().unwrap_or_default());
    match lines.next() {
        Some(_) => format!(
            "{}…",
            truncate(&first, room.saturating_sub(1)).trim_end_matches('…')
        ),
        None => truncate(&first, room),
    }
}

//! The help: every key by context, and every command, read from the same tables that they run by.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{centred, frame};
use crate::app::AppState;
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::help::HelpDialog;
use crate::keymap::{Context, Keymap};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, truncate, width, wrap};

const KEYS: usize = 32;

pub fn area(whole: Rect) -> Rect {
    let wanted = whole.height.saturating_sub(2).max(whole.height.min(8));
    centred(whole, 96, wanted)
}

/// All lines, and how far they can be scrolled.
pub fn lay_out(state: &AppState, whole: Rect) -> (Vec<Line<'static>>, DialogRest) {
    let area = area(whole);
    let (width, height) = (area.width.saturating_sub(4), area.height.saturating_sub(2));
    let theme = &state.settings.theme;
    let mut lines = Vec::new();
    lines.push(title("Commands", theme));
    for command in state.composer.commands().all() {
        lines.extend(entry(&command.usage(), &command.about, width, theme));
    }
    lines.extend(entry("!COMMAND", "run a command directly", width, theme));
    lines.extend(entry(
        "#NOTE",
        "add a note to the project's memory",
        width,
        theme,
    ));
    lines.extend(entry("@FILE", "name a file, with completion", width, theme));
    for context in Context::ALL {
        let group = group(&state.settings.keymap, *context);
        if group.is_empty() {
            continue;
        }
        lines.push(Line::default());
        lines.push(title(context.title(), theme));
        for (keys, words) in group {
            lines.extend(entry(&keys, words, width, theme));
        }
    }
    let visible = usize::from(height).min(lines.len());
    let rest = DialogRest {
        furthest: lines.len().saturating_sub(usize::from(height)),
        visible,
    };
    (lines, rest)
}

pub fn draw(
    help: &HelpDialog,
    lines: &[Line<'static>],
    theme: &Theme,
    whole: Rect,
    buf: &mut Buffer,
) {
    let inner = frame(
        area(whole),
        "keys and commands",
        Role::BorderFocused,
        theme,
        buf,
    );
    let from = help.offset.min(lines.len());
    for (y, line) in (inner.y..inner.bottom()).zip(&lines[from..]) {
        buf.set_line(inner.x, y, line, inner.width);
    }
}

fn group(keymap: &Keymap, context: Context) -> Vec<(String, &'static str)> {
    let actions = keymap.group(context).into_iter();
    actions
        .map(|(action, chords)| {
            let keys: Vec<String> = chords.iter().map(ToString::to_string).collect();
            (keys.join("  "), action.explain())
        })
        .collect()
}

fn title(text: &str, theme: &Theme) -> Line<'static> {
    Line::from(Span::styled(text.to_owned(), theme.style(Role::Heading)))
}

fn entry(keys: &str, words: &str, room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let column = KEYS.min(usize::from(room) / 2);
    let keys = truncate(keys, column.saturating_sub(1));
    let gap = column.saturating_sub(width(&keys));
    let indent = Indent {
        first: vec![
            Span::styled(keys, theme.style(Role::Key)),
            Span::raw(" ".repeat(gap)),
        ],
        gutter: 0,
        rest: vec![Span::raw(" ".repeat(column))],
    };
    let text = Line::from(Span::styled(words.to_owned(), theme.style(Role::Text)));
    let rows = wrap(text, room, &indent);
    rows.into_iter().map(|row| row.line).collect()
}

//! The help: every key by context, and every command, from the tables that the program itself uses. In as many columns
//! as fit.

mod first_page;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::modal::{draw_filter, draw_in_frame, keys, keys_in_frame};
use super::{centred, frame, inside};
use crate::app::AppState;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::help::HelpDialog;
use crate::keymap::{Action, Context, Keymap};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, truncate, width, wrap};

/// The least width of a column, and the space between two.
const COLUMN: u16 = 52;
const GAP: u16 = 3;
/// How many keys are listed for one action.
const MOST_CHORDS: usize = 2;
const KEYS: &[(Action, &str)] = &[
    (Action::PageDown, "page down"),
    (Action::PageUp, "page up"),
    (Action::Back, "close"),
];
const PLACEHOLDER: &str = "type to search all keys and commands";

/// The rows of each column, side by side.
#[derive(Default)]
pub struct LaidOut {
    columns: Vec<Column>,
    area: Rect,
}

struct Column {
    x: u16,
    width: u16,
    lines: Vec<Line<'static>>,
}

/// Keys or a command, and what they do.
type Entry = (String, String);

impl LaidOut {
    pub fn lay_out(&mut self, help: &HelpDialog, state: &AppState, whole: Rect) -> DialogLayout {
        if help.is_short || !help.filter.is_empty() {
            let groups = groups(help, state);
            self.area = area(help, &groups, whole);
            self.columns = side_by_side(groups, list(self.area), &state.settings.theme);
        } else {
            self.area = full(whole);
            self.columns = first_page::columns(help, state, list(self.area));
        }
        let room = list(self.area);
        let rows = self.columns.iter().map(|column| column.lines.len()).max();
        let rows = rows.unwrap_or(0);
        let visible = usize::from(room.height).min(rows);
        DialogLayout {
            furthest: rows.saturating_sub(visible),
            visible,
            ..DialogLayout::default()
        }
    }

    pub fn draw(&self, help: &HelpDialog, state: &AppState, buf: &mut Buffer) -> Option<Position> {
        let theme = &state.settings.theme;
        let area = self.area;
        let title = if help.is_short {
            "Keys of this question"
        } else {
            "Keys and commands"
        };
        let inner = frame(area, title, Role::BorderFocused, theme, buf);
        let more = match help.paging.below() {
            0 => String::new(),
            below => format!("{below} more ↓"),
        };
        draw_in_frame(area, &more, theme, buf);
        let contexts = [Context::Help, Context::Global];
        keys_in_frame(area, &keys(KEYS, &contexts, &state.settings), buf);
        let room = list(area);
        for Column { x, width, lines } in &self.columns {
            let from = help.paging.offset().min(lines.len());
            for (y, line) in (room.y..room.bottom()).zip(&lines[from..]) {
                buf.set_line(*x, y, line, (*width).min(room.right().saturating_sub(*x)));
            }
        }
        if self.columns.iter().all(|column| column.lines.is_empty()) && !room.is_empty() {
            let words = truncate("nothing matches", usize::from(room.width));
            buf.set_string(room.x, room.y, words, theme.style(Role::Muted));
        }
        let filter = Rect { height: 1, ..inner };
        draw_filter(help.filter.text(), PLACEHOLDER, theme, filter, buf)
    }
}

fn area(help: &HelpDialog, groups: &[(String, Vec<Entry>)], whole: Rect) -> Rect {
    let margin = if whole.width >= 80 { 4 } else { 0 };
    let most = whole.height - u16::from(whole.height >= 12) * 2;
    if help.is_short && help.filter.is_empty() {
        // As high as its entries need, so that part of the question stays visible.
        let entries: usize = groups.iter().map(|(_, entries)| entries.len() + 1).sum();
        let wanted = u16::try_from(entries).unwrap_or(u16::MAX).saturating_add(4);
        return centred(
            whole,
            (COLUMN + 12).min(whole.width - margin),
            wanted.min(most),
        );
    }
    full(whole)
}

fn full(whole: Rect) -> Rect {
    let margin = if whole.width >= 80 { 4 } else { 0 };
    let most = whole.height - u16::from(whole.height >= 12) * 2;
    centred(whole, 180.min(whole.width - margin), most)
}

/// Below the filter and an empty row.
fn list(area: Rect) -> Rect {
    let inner = inside(area);
    let above = if inner.height >= 8 { 2 } else { 1 };
    Rect {
        y: inner.y + above.min(inner.height),
        height: inner.height.saturating_sub(above),
        ..inner
    }
}

/// Groups in columns of the same width, filled one after the other.
fn side_by_side(groups: Vec<(String, Vec<Entry>)>, room: Rect, theme: &Theme) -> Vec<Column> {
    let count = ((room.width + GAP) / (COLUMN + GAP)).max(1);
    let width = (room.width + GAP) / count - GAP;
    let blocks = groups.into_iter();
    let blocks = blocks.map(|(title, entries)| block(&title, &entries, width, theme));
    let columns = arrange(
        blocks.collect(),
        usize::from(count),
        usize::from(room.height),
    );
    let place = |number: u16| room.x + number * (width + GAP);
    let columns = (0..).zip(columns).map(|(number, lines)| Column {
        x: place(number),
        width,
        lines,
    });
    columns.collect()
}

/// The commands, and the signs that a message can begin with.
fn commands(state: &AppState) -> Vec<Entry> {
    let commands = state.composer.commands().all().iter();
    let commands = commands.map(|command| (command.usage(), command.about.to_string()));
    let signs = [
        ("!COMMAND", "run a shell command yourself"),
        ("#NOTE", "add a note to the project's memory"),
        ("@FILE", "name a file, with completion"),
    ];
    let signs = signs.map(|(name, about)| (name.to_owned(), about.to_owned()));
    signs.into_iter().chain(commands).collect()
}

/// What matches the filter, or the keys of one question.
fn groups(help: &HelpDialog, state: &AppState) -> Vec<(String, Vec<Entry>)> {
    let keymap = &state.settings.keymap;
    let is_short = help.is_short && help.filter.is_empty();
    let contexts = help.contexts();
    let contexts = contexts.filter(|context| !is_short || help.first.contains(context));
    let keys = contexts.map(|context| (context.title().to_owned(), bound(keymap, context)));
    let mut groups: Vec<(String, Vec<Entry>)> = keys.collect();
    if !is_short {
        groups.insert(
            help.first.len().min(groups.len()),
            ("Commands".to_owned(), commands(state)),
        );
    }
    let words: Vec<String> = help
        .filter
        .text()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    for (title, entries) in &mut groups {
        entries.retain(|(keys, about)| {
            let text = format!("{title} {keys} {about}").to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
    }
    groups.retain(|(_, entries)| !entries.is_empty());
    groups
}

fn bound(keymap: &Keymap, context: Context) -> Vec<Entry> {
    let numbers = ("1 … 9", "Choose or mark the answer with this number");
    let numbers = (context == Context::Choice).then_some(numbers);
    let numbers = numbers.map(|(keys, words)| (keys.to_owned(), words.to_owned()));
    // Its own help key is useless in the help of a question.
    let is_listed = |action: Action| !(context.is_question() && action == Action::Help);
    let actions = keymap.group(context).into_iter();
    let actions = actions.filter(|(action, _)| is_listed(*action));
    let bound = actions.map(|(action, chords)| {
        let chords = chords.iter().take(MOST_CHORDS);
        let keys: Vec<String> = chords.map(ToString::to_string).collect();
        let words = action.explain().trim_end_matches('.').to_owned();
        (keys.join("  "), words)
    });
    numbers.into_iter().chain(bound).collect()
}

fn block(title: &str, entries: &[Entry], room: u16, theme: &Theme) -> Vec<Line<'static>> {
    let widest = entries
        .iter()
        .map(|(keys, _)| width(keys))
        .max()
        .unwrap_or(0);
    let column = (widest + 2).min(usize::from(room) / 2);
    let title = Span::styled(title.to_owned(), theme.style(Role::Heading));
    let mut lines = vec![Line::from(title)];
    for (keys, words) in entries {
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
        let text = Line::from(Span::styled(words.clone(), theme.style(Role::Text)));
        lines.extend(wrap(text, room, &indent).into_iter().map(|row| row.line));
    }
    lines
}

/// Fills the columns evenly, one after the other; a group stays together.
fn arrange(
    blocks: Vec<Vec<Line<'static>>>,
    count: usize,
    height: usize,
) -> Vec<Vec<Line<'static>>> {
    let total: usize = blocks.iter().map(|block| block.len() + 1).sum();
    let wanted = total.div_ceil(count).max(height);
    let mut columns: Vec<Vec<Line>> = vec![Vec::new()];
    for block in blocks {
        let is_last = columns.len() == count;
        let Some(column) = columns.last_mut() else {
            break;
        };
        if !column.is_empty() && !is_last && column.len() + 1 + block.len() > wanted {
            columns.push(block);
            continue;
        }
        if !column.is_empty() {
            column.push(Line::default());
        }
        column.extend(block);
    }
    columns
}

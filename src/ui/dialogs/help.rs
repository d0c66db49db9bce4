//! The help: every key by context, and every command, from the tables that the program itself uses. In as many columns
//! as fit.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::modal::{draw_filter, keys, keys_in_frame, say_in_frame};
use super::{centred, frame, inside};
use crate::app::AppState;
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::help::HelpDialog;
use crate::keymap::{Action, Context, Keymap};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, truncate, width, wrap};

/// The least width of a column, and the space between two.
const COLUMN: u16 = 52;
const GAP: u16 = 3;
/// How many keys are listed for one action.
const MOST_CHORDS: usize = 2;
/// The keys of other contexts are found by typing; those places show their keys themselves.
const ALWAYS: [Context; 2] = [Context::Scroll, Context::Panel];
const KEYS: &[(Action, &str)] = &[
    (Action::PageDown, "page down"),
    (Action::PageUp, "page up"),
    (Action::Back, "close"),
];
const PLACEHOLDER: &str = "type to search all keys and commands";

/// The rows of each column, side by side.
#[derive(Default)]
pub struct Laid {
    columns: Vec<Vec<Line<'static>>>,
    column: u16,
    area: Rect,
}

/// Keys or a command, and what they do.
type Entry = (String, String);

impl Laid {
    pub fn lay_out(&mut self, help: &HelpDialog, state: &AppState, whole: Rect) -> DialogRest {
        let theme = &state.settings.theme;
        let groups = groups(help, state);
        self.area = area(help, &groups, whole);
        let room = list(self.area);
        let count = (room.width + GAP) / (COLUMN + GAP);
        let count = count.max(1);
        self.column = (room.width + GAP) / count - GAP;
        let blocks: Vec<Vec<Line>> = groups
            .into_iter()
            .map(|(title, entries)| block(&title, &entries, self.column, theme))
            .collect();
        self.columns = arrange(blocks, usize::from(count), usize::from(room.height));
        let rows = self.columns.iter().map(Vec::len).max().unwrap_or(0);
        let visible = usize::from(room.height).min(rows);
        DialogRest {
            furthest: rows.saturating_sub(visible),
            visible,
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
        say_in_frame(area, &more, theme, buf);
        let contexts = [Context::Help, Context::Global];
        keys_in_frame(area, &keys(KEYS, &contexts, &state.settings), buf);
        let room = list(area);
        for (number, column) in (0..).zip(&self.columns) {
            let x = room.x + number * (self.column + GAP);
            let from = help.paging.offset().min(column.len());
            for (y, line) in (room.y..room.bottom()).zip(&column[from..]) {
                buf.set_line(x, y, line, self.column.min(room.right().saturating_sub(x)));
            }
        }
        if self.columns.iter().all(Vec::is_empty) && !room.is_empty() {
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

fn groups(help: &HelpDialog, state: &AppState) -> Vec<(String, Vec<Entry>)> {
    let commands = state.composer.commands().all().iter();
    let mut all: Vec<Entry> = commands
        .map(|command| (command.usage(), command.about.to_string()))
        .collect();
    let more = [
        ("!COMMAND", "run a shell command yourself"),
        ("#NOTE", "add a note to the project's memory"),
        ("@FILE", "name a file, with completion"),
    ];
    all.extend(more.map(|(name, about)| (name.to_owned(), about.to_owned())));
    let keymap = &state.settings.keymap;
    let is_narrowed = !help.filter.is_empty();
    let is_short = help.is_short && !is_narrowed;
    let contexts = help.contexts().filter(|context| {
        let is_shown = help.first.contains(context) || ALWAYS.contains(context) && !is_short;
        is_narrowed || is_shown
    });
    let keys = contexts.map(|context| (context.title().to_owned(), bound(keymap, context)));
    let mut groups: Vec<(String, Vec<Entry>)> = keys.collect();
    if !is_short {
        groups.insert(
            help.first.len().min(groups.len()),
            ("Commands".to_owned(), all),
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
    let is_worth_it = |action: Action| !(context.is_question() && action == Action::Help);
    let actions = keymap.group(context).into_iter();
    let actions = actions.filter(|(action, _)| is_worth_it(*action));
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

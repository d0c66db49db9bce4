//! The list above the input: completions of a word, or the results of a history search.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use super::put;
use crate::app::composer::Composer;
use crate::app::composer::complete::{Completion, Item, Kind};
use crate::app::composer::history::HistorySearch;
use crate::app::search::find_all;
use crate::theme::{Role, Theme};
use crate::ui::text::{clean_line, width};

const MOST_ROWS: usize = 8;
const INDENT: u16 = 2;
/// The columns between the columns of the list.
const GAP: u16 = 2;

/// Paints the list, if there is one, directly above the input.
pub fn draw_popup(composer: &Composer, theme: &Theme, above: Rect, buf: &mut Buffer) {
    let above = above.intersection(buf.area);
    if above.is_empty() {
        return;
    }
    if let Some(search) = composer.search() {
        draw_found(composer, search, theme, above, buf);
    } else if let Some(completion) = composer.completion() {
        draw_completion(completion, theme, above, buf);
    }
}

fn draw_completion(completion: &Completion, theme: &Theme, above: Rect, buf: &mut Buffer) {
    if completion.items.is_empty() {
        if completion.word.kind == Kind::Path && !completion.complete {
            let area = clear_rows(1, above, buf);
            let said = (INDENT, "looking for files …");
            put(buf, area, 0, said, theme.style(Role::Muted));
        }
        return;
    }
    // A path that is already complete needs no list.
    if completion.word.kind == Kind::Path && !completion.stale && !completion.can_accept() {
        return;
    }
    let window = window(completion.items.len(), completion.chosen, above.height);
    let items = &completion.items[window.clone()];
    let area = clear_rows(items.len(), above, buf);
    let names = items.iter().map(|item| width(&head(item))).max();
    let names = u16::try_from(names.unwrap_or(0)).unwrap_or(u16::MAX);
    for ((y, item), number) in (0..).zip(items).zip(window) {
        let chosen = number == completion.chosen;
        let row = Row {
            theme,
            area,
            y,
            chosen,
        };
        row.draw_ground(buf);
        let name = Name {
            mark: mark(completion.word.kind),
            text: &item.name,
            matched: &item.matched,
        };
        let end = row.draw_name(&name, buf);
        put(
            buf,
            area,
            y,
            (end + 1, &*item.arguments),
            row.style(Role::Muted),
        );
        let about = INDENT.saturating_add(names).saturating_add(GAP);
        put(buf, area, y, (about, &*item.about), row.style(Role::Muted));
    }
}

/// The part of an item before its description.
fn head(item: &Item) -> String {
    match &*item.about {
        "" => String::new(),
        _ => format!("/{} {}", item.name, item.arguments),
    }
}

fn mark(kind: Kind) -> &'static str {
    match kind {
        Kind::Slash => "/",
        Kind::Path => "",
    }
}

fn draw_found(
    composer: &Composer,
    search: &HistorySearch,
    theme: &Theme,
    above: Rect,
    buf: &mut Buffer,
) {
    if search.hits.is_empty() {
        let area = clear_rows(1, above, buf);
        put(
            buf,
            area,
            0,
            (INDENT, "nothing found"),
            theme.style(Role::Muted),
        );
        return;
    }
    let window = window(search.hits.len(), search.chosen, above.height);
    let area = clear_rows(window.len(), above, buf);
    for (y, number) in (0..).zip(window) {
        let entry = composer.past(search.hits[number]);
        let line = line_with(&entry, &search.query);
        let matched = matched(&line, &search.query);
        let chosen = number == search.chosen;
        let row = Row {
            theme,
            area,
            y,
            chosen,
        };
        row.draw_ground(buf);
        let name = Name {
            mark: "",
            text: &line,
            matched: &matched,
        };
        row.draw_name(&name, buf);
    }
}

/// The matching line of an entry, with a mark if there are more lines.
fn line_with(entry: &str, query: &str) -> String {
    let found = entry.lines().find(|line| !find_all(line, query).is_empty());
    let line = found.or_else(|| entry.lines().next()).unwrap_or_default();
    let line: String = line.trim().chars().take(500).collect();
    match entry.lines().nth(1) {
        Some(_) => format!("{line} …"),
        None => line,
    }
}

fn matched(line: &str, query: &str) -> Vec<u32> {
    let Some(found) = find_all(line, query).into_iter().next() else {
        return Vec::new();
    };
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let start = count(&line[..found.start]);
    (start..start + count(&line[found])).collect()
}

struct Row<'a> {
    theme: &'a Theme,
    area: Rect,
    y: u16,
    chosen: bool,
}

struct Name<'a> {
    mark: &'a str,
    text: &'a str,
    /// The characters to highlight.
    matched: &'a [u32],
}

impl Row<'_> {
    fn style(&self, role: Role) -> Style {
        let style = self.theme.style(role);
        if self.chosen {
            return style.patch(self.theme.style(Role::Chosen));
        }
        style
    }

    fn draw_ground(&self, buf: &mut Buffer) {
        let row = Rect::new(self.area.x, self.area.y + self.y, self.area.width, 1);
        buf.set_style(row, self.style(Role::Text));
        if self.chosen {
            put(buf, self.area, self.y, (0, "›"), self.style(Role::Accent));
        }
    }

    /// Paints a name with its matching letters highlighted, and returns where it ends. A long name shows its end,
    /// because paths differ there.
    fn draw_name(&self, name: &Name<'_>, buf: &mut Buffer) -> u16 {
        let room = usize::from(self.area.width.saturating_sub(INDENT));
        let mut column = 0;
        let letters: Vec<(String, bool)> = name
            .text
            .graphemes(true)
            .map(|cluster| {
                let columns = column..column + u32::try_from(cluster.chars().count()).unwrap_or(1);
                column = columns.end;
                let matches = name.matched.iter().any(|letter| columns.contains(letter));
                (clean_line(cluster, 4).into_owned(), matches)
            })
            .collect();
        let mut x = INDENT;
        let mut write = |text: &str, style: Style| {
            put(buf, self.area, self.y, (x, text), style);
            x = x.saturating_add(u16::try_from(width(text)).unwrap_or(u16::MAX));
        };
        write(name.mark, self.style(Role::Muted));
        let mut excess = (width(name.mark)
            + letters.iter().map(|(text, _)| width(text)).sum::<usize>())
        .saturating_sub(room);
        let mut shown = &letters[..];
        if excess > 0 {
            excess += 1;
            while excess > 0
                && let Some(((text, _), rest)) = shown.split_first()
            {
                excess = excess.saturating_sub(width(text));
                shown = rest;
            }
            write("…", self.style(Role::Muted));
        }
        for (text, matches) in shown {
            let role = if *matches { Role::Match } else { Role::Text };
            write(text, self.style(role));
        }
        x
    }
}

/// The visible part of a list, around the selected item.
fn window(count: usize, chosen: usize, height: u16) -> std::ops::Range<usize> {
    let rows = count.min(MOST_ROWS).min(usize::from(height));
    let start = (chosen + 1).saturating_sub(rows).min(count - rows);
    start..start + rows
}

/// Clears rows directly above the input, and returns them.
fn clear_rows(count: usize, above: Rect, buf: &mut Buffer) -> Rect {
    let height = u16::try_from(count).unwrap_or(u16::MAX).min(above.height);
    let area = Rect {
        y: above.bottom() - height,
        height,
        ..above
    };
    for position in area.positions() {
        buf[position].reset();
    }
    area
}

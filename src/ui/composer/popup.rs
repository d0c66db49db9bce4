//! The list above the input: completions of a word, or the results of a history search.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::put;
use crate::app::commands::usage;
use crate::app::composer::Composer;
use crate::app::composer::complete::{Completion, Item, Kind};
use crate::app::composer::history::HistorySearch;
use crate::app::search::find_all;
use crate::theme::{Role, Theme};
use crate::ui::list::{Columns, Entry, Keeps, OutOfView, Painter};

const MOST_ROWS: usize = 8;
const INDENT: u16 = 2;

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
    let kind = completion.word.kind;
    if completion.items.is_empty() {
        if kind == Kind::Path && !completion.complete {
            let area = clear_rows(1, above, buf);
            let text = (INDENT, "looking for files …");
            put(buf, area, 0, text, theme.style(Role::Muted));
        }
        return;
    }
    // A path that is already complete needs no list.
    if kind == Kind::Path && !completion.stale && !completion.can_accept() {
        return;
    }
    let items = completion.items.iter();
    let labels: Vec<Label> = items.map(|item| Label::of(kind, item)).collect();
    let entries: Vec<Entry> = labels.iter().map(Label::entry).collect();
    let view = View::of(completion.found, completion.chosen, entries.len(), above);
    let shown = &entries[view.items.clone()];
    let columns = Columns::of(entries.iter().copied(), usize::from(above.width));
    view.draw(shown, columns, theme, above, buf);
}

/// The row of an item.
struct Label<'a> {
    name: String,
    matched: Vec<u32>,
    keeps: Keeps,
    about: &'a str,
}

impl<'a> Label<'a> {
    fn of(kind: Kind, item: &'a Item) -> Self {
        let (name, before, keeps) = match kind {
            Kind::Slash => (usage(&item.name, &item.arguments), 1, Keeps::Start),
            Kind::Path => (item.name.clone(), 0, Keeps::End),
        };
        Self {
            name,
            matched: item.matched.iter().map(|letter| letter + before).collect(),
            keeps,
            about: &item.about,
        }
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            keeps: self.keeps,
            about: self.about,
            ..Entry::named(&self.name, &self.matched)
        }
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
        let text = (INDENT, "nothing found");
        put(buf, area, 0, text, theme.style(Role::Muted));
        return;
    }
    let count = search.hits.len();
    let view = View::of(count, search.chosen, count, above);
    let lines: Vec<(String, Vec<u32>)> = search.hits[view.items.clone()]
        .iter()
        .map(|hit| {
            let line = line_with(&composer.past(*hit), &search.query);
            let matched = matched(&line, &search.query);
            (line, matched)
        })
        .collect();
    let entries = lines
        .iter()
        .map(|(line, matched)| Entry::named(line, matched));
    let entries: Vec<Entry> = entries.collect();
    let columns = Columns::of(entries.iter().copied(), usize::from(above.width));
    view.draw(&entries, columns, theme, above, buf);
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

/// The visible part of a list, around the selected item.
struct View {
    items: Range<usize>,
    chosen: usize,
    rest: Option<OutOfView>,
}

impl View {
    /// `all` items match, and the first `count` of them are listed. The last row says how many are out of view.
    fn of(all: usize, chosen: usize, count: usize, above: Rect) -> Self {
        let room = MOST_ROWS.min(usize::from(above.height));
        let shows_rest = all.max(count) > room && room > 1;
        let rows = count.min(room - usize::from(shows_rest));
        let start = (chosen + 1).saturating_sub(rows).min(count - rows);
        let items = start..start + rows;
        let rest = shows_rest.then_some(OutOfView {
            above: items.start,
            below: all.max(count) - items.end,
        });
        Self {
            items,
            chosen,
            rest,
        }
    }

    fn draw(
        &self,
        entries: &[Entry],
        columns: Columns,
        theme: &Theme,
        above: Rect,
        buf: &mut Buffer,
    ) {
        let rows = entries.len() + usize::from(self.rest.is_some());
        let area = clear_rows(rows, above, buf);
        let line = |y| Rect {
            y,
            height: 1,
            ..area
        };
        for ((y, entry), number) in (area.y..).zip(entries).zip(self.items.clone()) {
            let painter = Painter {
                theme,
                columns,
                area: line(y),
            };
            painter.draw(entry, number == self.chosen, buf);
        }
        if let Some(rest) = self.rest {
            rest.draw(theme, line(area.bottom() - 1), buf);
        }
    }
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

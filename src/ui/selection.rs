//! The selection in the conversation: how its end moves from row to row, which columns it covers, and its text.

use super::caches::{CellCache, Measured, Shown};
use super::conversation::narrow;
use super::layout::{self, Heights, Place};
use super::text::{Row, graphemes, width};
use crate::app::AppState;
use crate::app::select::{Move, Reach, Selection, Spot};
use crate::app::transcript::CellId;

/// The selection after the moves. A page is as high as the pane.
pub fn moved(selection: &Selection, measured: &mut Measured, height: usize) -> Selection {
    let page = i64::try_from(height.saturating_sub(1).max(1)).unwrap_or(1);
    let mut moved = selection.clone();
    for step in moved.moves.split_off(0) {
        let head = moved.head;
        let head = match step {
            Move::ToggleHold => {
                moved.toggle_hold();
                head
            }
            Move::Up => by_rows(head, -1, measured),
            Move::Down => by_rows(head, 1, measured),
            Move::PageUp => by_rows(head, -page, measured),
            Move::PageDown => by_rows(head, page, measured),
            Move::Match(nth) => to_match(head, nth, measured),
            Move::Left
            | Move::Right
            | Move::WordForward
            | Move::WordBack
            | Move::RowStart
            | Move::RowEnd => in_row(head, step, measured),
        };
        moved.go(head);
    }
    moved
}

fn by_rows(from: Spot, rows: i64, measured: &mut Measured) -> Spot {
    let entries = measured.state.conversation().entries();
    let Some(index) = measured.state.conversation().index_of(from.cell) else {
        return from;
    };
    let place = Place {
        index,
        row: from.row,
    };
    let to = layout::step(entries, measured, place, rows);
    entries.get(to.index).map_or(from, |entry| Spot {
        cell: entry.id,
        row: to.row,
        column: from.column,
    })
}

fn to_match(from: Spot, nth: usize, measured: &mut Measured) -> Spot {
    let state = measured.state;
    let Some(index) = state.conversation().index_of(from.cell) else {
        return from;
    };
    measured.height(index);
    let query = state.search.as_ref().map_or("", |search| &search.query);
    let found = measured.cache.find_match(from.cell, query, nth);
    found.map_or(from, |found| Spot {
        row: found.row,
        column: found.columns.start,
        ..from
    })
}

fn in_row(from: Spot, step: Move, measured: &mut Measured) -> Spot {
    if let Some(index) = measured.state.conversation().index_of(from.cell) {
        measured.height(index);
    }
    let shown = measured.cache.row(from.cell, from.row);
    let text = shown.map(Shown::text).unwrap_or_default();
    let text = text.trim_end();
    let start = shown.map_or(0, Shown::start);
    let end = cluster_at(text, narrow(width(text)).saturating_sub(1)).max(start);
    let column = match step {
        Move::Left => cluster_at(text, from.column.saturating_sub(1)).max(start),
        Move::Right => cluster_after(text, from.column).min(end),
        Move::RowStart => start,
        Move::RowEnd => end,
        Move::WordForward => word_from(text, from.column).min(end),
        Move::WordBack => word_before(text, from.column).max(start),
        Move::Up
        | Move::Down
        | Move::PageUp
        | Move::PageDown
        | Move::Match(_)
        | Move::ToggleHold => from.column,
    };
    Spot { column, ..from }
}

/// The selection as text: wrapped lines joined again, decoration left out.
pub fn text(selection: &Selection, state: &AppState, cache: &CellCache) -> String {
    let (first, last) = selection.ends();
    let mut text = String::new();
    let mut begun = false;
    for cell in cells(selection, state) {
        let rows = if cell == last.cell {
            last.row + 1
        } else {
            cache.height(cell)
        };
        let from = if cell == first.cell { first.row } else { 0 };
        for number in from..rows {
            let Some(shown) = cache.row(cell, number) else {
                continue;
            };
            let Shown { row, margin } = shown;
            if row.gutter == Row::DECORATION {
                continue;
            }
            let Some((from, to)) = selected(selection, cell, number, shown) else {
                continue;
            };
            if begun && !row.continues {
                text.push('\n');
            } else if begun {
                text.extend(std::iter::repeat_n(' ', usize::from(row.glue)));
            }
            begun = true;
            let from = from.saturating_sub(margin).max(row.gutter);
            text.push_str(&slice(row, from, to.saturating_sub(margin)));
        }
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The cells that a selection covers, in order.
pub fn cells(selection: &Selection, state: &AppState) -> impl Iterator<Item = CellId> {
    let (first, last) = selection.ends();
    let entries = state.conversation().entries();
    let from = entries.partition_point(|entry| entry.id < first.cell);
    let ids = entries[from..].iter().map(|entry| entry.id);
    ids.take_while(move |id| *id <= last.cell)
}

impl Shown<'_> {
    /// Its text as shown on the screen.
    fn text(self) -> String {
        format!("{:1$}{2}", "", usize::from(self.margin), self.row.line)
    }

    /// The first column that is not decoration.
    fn start(self) -> u16 {
        match self.row.gutter {
            Row::DECORATION => 0,
            gutter => gutter + self.margin,
        }
    }
}

/// The columns of a row that a selection covers.
pub fn selected(
    selection: &Selection,
    cell: CellId,
    number: usize,
    shown: Shown,
) -> Option<(u16, u16)> {
    let (first, last) = selection.ends();
    let here = (cell, number);
    if here < (first.cell, first.row) || here > (last.cell, last.row) {
        return None;
    }
    let text = shown.text();
    let whole = narrow(width(&text));
    let from = if here == (first.cell, first.row) {
        first.column
    } else {
        0
    };
    let to = if here == (last.cell, last.row) {
        last.column.saturating_add(1)
    } else {
        whole
    };
    let (from, to) = match selection.reach {
        Reach::Letters => (cluster_at(&text, from), to.min(whole)),
        Reach::Words => (
            word_start(&text, from),
            word_end(&text, to.saturating_sub(1)),
        ),
        Reach::Rows => (0, whole),
    };
    Some((from, to.max(from)))
}

fn slice(row: &Row, from: u16, to: u16) -> String {
    let mut column = 0;
    let mut text = String::new();
    for span in &row.line.spans {
        for (cluster, cells) in graphemes(&span.content) {
            if column >= from && column < to {
                text.push_str(cluster);
            }
            column += cells;
        }
    }
    text
}

/// Each cluster with its first column.
fn columns(text: &str) -> Vec<(u16, &str)> {
    let mut column = 0;
    let mut found = Vec::new();
    for (cluster, cells) in graphemes(text) {
        found.push((column, cluster));
        column += cells;
    }
    found
}

/// The first column of the cluster that covers a column.
fn cluster_at(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let covering = all.iter().rev().find(|(at, _)| *at <= column);
    covering.map_or(column, |(at, _)| *at)
}

fn cluster_after(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let after = all.iter().find(|(at, _)| *at > column);
    after.map_or(column, |(at, _)| *at)
}

fn is_word(cluster: &str) -> bool {
    let letters = cluster.chars();
    letters
        .into_iter()
        .any(|letter| letter.is_alphanumeric() || "_-./~".contains(letter))
}

fn word_start(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let before = all.iter().rev().skip_while(|(at, _)| *at > column);
    before
        .take_while(|(_, cluster)| is_word(cluster))
        .last()
        .map_or(column, |(at, _)| *at)
}

fn word_end(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let mut after = all.iter().skip_while(|(at, _)| *at < column);
    after
        .find(|(at, cluster)| *at > column && !is_word(cluster))
        .map_or_else(|| narrow(width(text)), |(at, _)| *at)
}

fn word_from(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let mut rest = all
        .iter()
        .skip_while(|(at, _)| *at < column)
        .skip_while(|(_, cluster)| is_word(cluster))
        .skip_while(|(_, cluster)| !is_word(cluster));
    rest.next()
        .map_or_else(|| narrow(width(text)), |(at, _)| *at)
}

fn word_before(text: &str, column: u16) -> u16 {
    let all = columns(text);
    let mut rest = all
        .iter()
        .rev()
        .skip_while(|(at, _)| *at >= column)
        .skip_while(|(_, cluster)| !is_word(cluster))
        .take_while(|(_, cluster)| is_word(cluster));
    let mut found = 0;
    for (at, _) in rest.by_ref() {
        found = *at;
    }
    found
}

//! The conversation pane: the rows in view, with what is selected and what was found in them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::caches::{CellCache, Measured, Shown};
use super::highlight::Highlights;
use super::layout::{self, Heights, Place};
use super::text::{Row, graphemes, width};
use crate::app::AppState;
use crate::app::scroll::{Anchor, Rest};
use crate::app::search::find_all;
use crate::app::select::{Move, Reach, Selection, Spot};
use crate::app::transcript::CellId;
use crate::theme::Role;

/// The rows in view, from the top.
#[derive(Debug, Default)]
pub struct Pane {
    pub area: Rect,
    pub rows: Vec<(CellId, usize)>,
    pub follows: bool,
}

impl Pane {
    /// Lays out what is in view, after all scrolling, and says where it came to rest.
    pub fn lay_out(
        &mut self,
        state: &AppState,
        area: Rect,
        cache: &mut CellCache,
        code: &mut Highlights,
    ) -> Rest {
        self.area = area;
        self.rows.clear();
        cache.start_frame();
        let height = usize::from(area.height);
        let mut measured = Measured {
            cache,
            code,
            state,
            width: area.width,
        };
        let entries = state.transcript.entries();
        let placed = layout::place(entries, &mut measured, &state.scroll, height);
        self.follows = placed.follows;
        let Place { mut index, mut row } = placed.top;
        while self.rows.len() < height && index < entries.len() {
            let rows = measured.height(index);
            let id = entries[index].id;
            let room = height - self.rows.len();
            self.rows
                .extend((row..rows).take(room).map(|row| (id, row)));
            index += 1;
            row = 0;
        }
        let spot = |at: Option<&(CellId, usize)>| {
            let (cell, row) = at.copied().unwrap_or((CellId(0), 0));
            Spot {
                cell,
                row,
                column: 0,
            }
        };
        let top = spot(self.rows.first());
        Rest {
            anchor: if placed.follows {
                Anchor::Follow
            } else {
                Anchor::At {
                    cell: top.cell,
                    line: top.row,
                }
            },
            top,
            bottom: spot(self.rows.last()),
            head: state
                .selection
                .as_ref()
                .map(|selection| self.moved(selection, measured.cache)),
        }
    }

    pub fn draw(&self, state: &AppState, cache: &CellCache, buf: &mut Buffer) {
        let theme = &state.settings.theme;
        for (y, (cell, number)) in (self.area.y..).zip(&self.rows) {
            let Some(shown) = cache.row(*cell, *number) else {
                continue;
            };
            draw_row(shown.row, inside(self.area, shown.margin), y, buf);
            if let Some(search) = state.search.as_ref().filter(|it| !it.query.is_empty()) {
                let current = search.current().is_some_and(|(at, _)| at == *cell);
                let role = if current {
                    Role::CurrentMatch
                } else {
                    Role::Match
                };
                self.mark_matches(shown, y, &search.query, theme.style(role), buf);
            }
            if let Some(selection) = &state.selection
                && let Some((from, to)) = selected(selection, *cell, *number, shown)
            {
                self.mark(y, from, to, theme.style(Role::Selection), buf);
            }
        }
    }

    /// What is selected, as text: wrapped lines joined again, decoration left out.
    pub fn selected_text(selection: &Selection, state: &AppState, cache: &CellCache) -> String {
        let (first, last) = selection.ends();
        let mut text = String::new();
        let mut begun = false;
        let entries = state.transcript.entries().iter();
        let cells = entries
            .map(|entry| entry.id)
            .skip_while(|id| *id < first.cell)
            .take_while(|id| *id <= last.cell);
        for cell in cells {
            for number in 0..cache.height(cell) {
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

    /// The place in the text under a cell of the screen.
    pub fn spot(&self, column: u16, line: u16) -> Option<Spot> {
        let row = usize::from(line.checked_sub(self.area.y)?);
        let (cell, row) = *self.rows.get(row)?;
        Some(Spot {
            cell,
            row,
            column: column.saturating_sub(self.area.x),
        })
    }

    fn mark_matches(&self, shown: Shown, y: u16, query: &str, style: Style, buf: &mut Buffer) {
        let text = shown.row.line.to_string();
        for hit in find_all(&text, query) {
            let from = shown.margin + narrow(width(&text[..hit.start]));
            let to = from + narrow(width(&text[hit]));
            self.mark(y, from, to, style, buf);
        }
    }

    fn mark(&self, y: u16, from: u16, to: u16, style: Style, buf: &mut Buffer) {
        let to = to.min(self.area.width);
        if from < to {
            let area = Rect::new(self.area.x + from, y, to - from, 1);
            buf.set_style(area, style);
        }
    }

    /// Where the moving end of a selection comes to, after the keys.
    fn moved(&self, selection: &Selection, cache: &CellCache) -> Spot {
        let mut head = selection.head;
        for step in &selection.moves {
            head = self.step(head, *step, cache);
        }
        head
    }

    fn step(&self, from: Spot, step: Move, cache: &CellCache) -> Spot {
        let shown = cache.row(from.cell, from.row);
        let text = shown.map(Shown::text).unwrap_or_default();
        let start = shown.map_or(0, Shown::start);
        let end = narrow(width(text.trim_end())).saturating_sub(1).max(start);
        let column = match step {
            Move::Left => from.column.saturating_sub(1).max(start),
            Move::Right => (from.column + 1).min(end),
            Move::RowStart => start,
            Move::RowEnd => end,
            Move::WordForward => word_from(&text, from.column).min(end),
            Move::WordBack => word_before(&text, from.column).max(start),
            Move::Up | Move::Down => {
                let at = self
                    .rows
                    .iter()
                    .position(|(cell, row)| (*cell, *row) == (from.cell, from.row));
                let next = at.and_then(|at| match step {
                    Move::Up => at.checked_sub(1),
                    _ => Some(at + 1),
                });
                return match next.and_then(|next| self.rows.get(next)) {
                    Some((cell, row)) => Spot {
                        cell: *cell,
                        row: *row,
                        column: from.column,
                    },
                    None => from,
                };
            }
        };
        Spot { column, ..from }
    }
}

impl Shown<'_> {
    /// Its text as it stands on the screen.
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

/// An area without the room at its left.
fn inside(area: Rect, margin: u16) -> Rect {
    let margin = margin.min(area.width);
    Rect {
        x: area.x + margin,
        width: area.width - margin,
        ..area
    }
}

pub fn draw_row(row: &Row, area: Rect, y: u16, buf: &mut Buffer) {
    if y >= area.bottom() {
        return;
    }
    if row.line.style.bg.is_some() {
        let gutter = if row.gutter == Row::DECORATION {
            0
        } else {
            row.gutter
        };
        let from = gutter.min(area.width);
        buf.set_style(
            Rect::new(area.x + from, y, area.width - from, 1),
            row.line.style,
        );
    }
    buf.set_line(area.x, y, &row.line, area.width);
}

/// The columns of a row that a selection covers.
fn selected(
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
        Reach::Letters => (from, to.min(whole)),
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

/// Each cluster with the column it begins at.
fn columns(text: &str) -> Vec<(u16, &str)> {
    let mut column = 0;
    let mut found = Vec::new();
    for (cluster, cells) in graphemes(text) {
        found.push((column, cluster));
        column += cells;
    }
    found
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

fn narrow(cells: usize) -> u16 {
    u16::try_from(cells).unwrap_or(u16::MAX)
}

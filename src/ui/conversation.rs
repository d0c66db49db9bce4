//! The conversation pane: the visible rows, with the selection and the search matches in them.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::caches::{CellCache, Measured, Shown};
use super::cells;
use super::highlight::Highlights;
use super::layout::{self, Heights, Place};
use super::selection::{self, selected};
use super::text::{Row, Targets, width};
use crate::app::AppState;
use crate::app::scroll::{Anchor, Scroll, ScrollLayout};
use crate::app::search::find_all;
use crate::app::select::{Selection, Spot};
use crate::app::transcript::{Cell, CellId};
use crate::theme::Role;

/// The visible rows, from the top.
#[derive(Debug, Default)]
pub struct Pane {
    pub area: Rect,
    pub rows: Vec<(CellId, usize)>,
    pub follows: bool,
    /// The message that the top rows answer, if it is scrolled out of view. It is shown in the row above the area.
    pub pinned: Option<CellId>,
    /// The scroll bar's thumb, in rows of the area.
    pub bar: Option<Range<u16>>,
}

/// In a lower pane no message is pinned.
const HIGH_ENOUGH_TO_PIN: u16 = 8;

impl Pane {
    /// Lays out the visible rows after all scrolling, and reports the resulting position and selection.
    pub fn lay_out(
        &mut self,
        state: &AppState,
        area: Rect,
        cache: &mut CellCache,
        code: &mut Highlights,
    ) -> (ScrollLayout, Option<Selection>) {
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
        let entries = state.conversation().entries();
        let asking = state.asking_cell();
        let mut placed = layout::place(entries, &mut measured, &state.scroll, height, asking);
        let pinned = above(state, placed.top).filter(|_| area.height >= HIGH_ENOUGH_TO_PIN);
        let height = height - usize::from(pinned.is_some());
        if pinned.is_some() && placed.follows {
            placed = layout::place(entries, &mut measured, &Scroll::default(), height, asking);
        }
        self.pinned = pinned;
        let taken = narrow(usize::from(pinned.is_some()));
        self.area = Rect {
            y: area.y + taken,
            height: area.height - taken,
            ..area
        };
        let selection = state.selection.as_ref();
        let moved = selection.map(|selection| selection::moved(selection, &mut measured, height));
        // The selection's moving end stays visible.
        if let Some(moved) = moved.as_ref().filter(|moved| Some(*moved) != selection)
            && let Some(index) = state.conversation().index_of(moved.head.cell)
        {
            let row = moved.head.row;
            let at = Place { index, row };
            placed = layout::reveal(entries, &mut measured, placed, at, height);
        }
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
        self.bar = self.find_bar(state, &mut measured);
        let spot = |at: Option<&(CellId, usize)>| {
            let (cell, row) = at.copied().unwrap_or((CellId(0), 0));
            Spot {
                cell,
                row,
                column: 0,
            }
        };
        let top = spot(self.rows.first());
        let layout = ScrollLayout {
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
        };
        (layout, moved)
    }

    /// Estimated from the visible cells and the number of cells, because nothing else is laid out. `None` if everything
    /// is visible.
    fn find_bar(&self, state: &AppState, measured: &mut Measured) -> Option<Range<u16>> {
        let (first, last) = (self.rows.first()?, self.rows.last()?);
        let count = state.conversation().len();
        let mut part = |(cell, row): (CellId, usize)| {
            let index = state.conversation().index_of(cell)?;
            let rows = measured.height(index).max(1);
            Some((index * 1_000 + row * 1_000 / rows, index, rows))
        };
        let (top, _, _) = part(*first)?;
        let (bottom, index, rows) = part((last.0, last.1 + 1))?;
        if top == 0 && index + 1 == count && last.1 + 1 == rows {
            return None;
        }
        let height = usize::from(self.area.height);
        let at = |part: usize| narrow(part * height / (count * 1_000)).min(self.area.height);
        let end = if self.follows {
            self.area.height
        } else {
            at(bottom).max(1)
        };
        Some(at(top).min(end - 1)..end)
    }

    pub fn draw(&self, state: &AppState, cache: &CellCache, buf: &mut Buffer) {
        let theme = &state.settings.theme;
        if let Some(bar) = &self.bar {
            let style = theme.style(Role::Faint);
            for y in bar.clone() {
                buf.set_string(self.area.right(), self.area.y + y, "┃", style);
            }
        }
        let pinned = self.pinned.and_then(|id| state.conversation().get(id));
        if let Some(Cell::User { text, .. }) = pinned.map(|entry| &entry.cell) {
            let line = cells::pinned(text, self.area.width, theme);
            let row = Rect {
                y: self.area.y - 1,
                height: 1,
                ..self.area
            };
            buf.set_style(row, line.style);
            buf.set_line(row.x, row.y, &line, row.width);
        }
        for (y, (cell, number)) in (self.area.y..).zip(&self.rows) {
            let Some(shown) = cache.row(*cell, *number) else {
                continue;
            };
            draw_row(shown.row, inside(self.area, shown.margin), y, buf);
            if let Some(search) = &state.search {
                self.mark_matches(shown, y, &search.query, theme.style(Role::Match), buf);
            }
            if let Some(selection) = &state.selection
                && let Some((from, to)) = selected(selection, *cell, *number, shown)
            {
                self.mark(y, from, to, theme.style(Role::Selection), buf);
            }
        }
        self.mark_current(state, cache, buf);
    }

    /// Collects the targets of the visible links.
    pub fn find_links(&self, cache: &CellCache, links: &mut Targets) {
        links.clear();
        let rows = self.rows.iter();
        for shown in rows.filter_map(|(cell, number)| cache.row(*cell, *number)) {
            for link in &shown.row.links {
                links.add(link);
            }
        }
    }

    /// Highlights the search's current match over the style of the others.
    fn mark_current(&self, state: &AppState, cache: &CellCache, buf: &mut Buffer) {
        let Some(search) = &state.search else {
            return;
        };
        let found = search.current().and_then(|(cell, nth)| {
            let found = cache.find_match(cell, &search.query, nth)?;
            let is_it = |row: &(CellId, usize)| *row == (cell, found.row);
            Some((self.rows.iter().position(is_it)?, found.columns))
        });
        if let Some((row, columns)) = found {
            let y = self.area.y + narrow(row);
            let style = state.settings.theme.style(Role::CurrentMatch);
            self.mark(y, columns.start, columns.end, style, buf);
        }
    }

    /// The place in the text at a cell of the screen.
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
}

/// The message that a place belongs to, if none of it is visible from there on.
fn above(state: &AppState, top: Place) -> Option<CellId> {
    let entry = state.conversation().entries().get(top.index)?;
    if matches!(entry.cell, Cell::User { .. }) {
        return None;
    }
    state.conversation().message_before(entry.id)
}

/// An area without its left margin.
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

pub fn narrow(cells: usize) -> u16 {
    u16::try_from(cells).unwrap_or(u16::MAX)
}

//! What the terminal shows: a frame is painted, and comes out as the bytes that change the last one into it.
//!
//! The difference is made here, not by ratatui: half a wide character that is written over takes the other half with it,
//! and terminals do not agree on how that looks, so the other half is drawn, too. Rows that have only moved are moved by
//! the terminal itself.
//!
//! Nor do terminals agree on the width of what is made of several characters: a family, a flag, a skin tone. Where one
//! takes more room than it has here, the rest of it stays where nothing is ever drawn. A row with one of these, now or
//! before, is emptied and drawn whole when it changes or moves.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use unicode_width::UnicodeWidthStr;

use super::encoder::Encoder;
use super::shift::{self, Shift};
use crate::ui::text::Targets;

#[cfg(test)]
mod tests;

pub struct Screen {
    encoder: Encoder,
    /// What the terminal shows.
    shown: Buffer,
    /// Where the next frame is painted.
    next: Buffer,
    /// Which rows the next frame changes.
    changed: Vec<bool>,
    size: Size,
    /// Whether cells that are emptied take the ground that is set; elsewhere they are written as blanks.
    pub erases_in_colour: bool,
}

impl Screen {
    pub fn new(size: Size) -> Self {
        Self {
            encoder: Encoder::new(size),
            shown: Buffer::default(),
            next: Buffer::default(),
            changed: Vec::new(),
            size,
            erases_in_colour: true,
        }
    }

    /// The next frame has another size. A terminal that changes its size may do anything with what it shows.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.encoder.resize(size);
        self.repaint();
    }

    /// The next frame is drawn whole.
    pub fn repaint(&mut self) {
        self.shown = Buffer::default();
    }

    /// Lets a frame be painted; the painter says where the caret is, and `moves` is the part whose rows may move up and
    /// down; `links` says where links lead. `None` when the frame looks like the last one. `spare` is a buffer to use again.
    pub fn draw(
        &mut self,
        spare: Vec<u8>,
        moves: Rect,
        links: &Targets,
        paint: impl FnOnce(Rect, &mut Buffer) -> Option<Position>,
    ) -> Option<Vec<u8>> {
        let area = Rect::from((Position::ORIGIN, self.size));
        if self.next.area == area {
            self.next.reset();
        } else {
            self.next = Buffer::empty(area);
        }
        let caret = paint(area, &mut self.next);
        let encoder = &mut self.encoder;
        if self.shown.area != area {
            encoder.begin_anew();
            self.shown = Buffer::empty(area);
        }
        compare(&self.shown, &self.next, &mut self.changed);
        if let Some(shift) = Shift::find(&self.shown, &self.next, moves, &self.changed) {
            encoder.shift(shift);
            shift::apply(&mut self.shown, shift);
            compare(&self.shown, &self.next, &mut self.changed);
            for y in shift.top..shift.bottom {
                self.changed[usize::from(y)] |= is_uncertain(row(&self.next, y));
            }
        }
        for (y, _) in (0..).zip(&self.changed).filter(|(_, changed)| **changed) {
            let (before, after) = (row(&self.shown, y), row(&self.next, y));
            if is_uncertain(before) || is_uncertain(after) {
                draw_row(after, y, links, encoder);
            } else {
                let erases = self.erases_in_colour;
                change_row((before, after), y, links, erases, encoder);
            }
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        encoder.finish(spare, caret)
    }
}

/// Notes which rows look different. Comparing is most of what a frame costs: it is done once.
fn compare(before: &Buffer, after: &Buffer, changed: &mut Vec<bool>) {
    changed.clear();
    changed.extend((0..after.area.height).map(|y| row(before, y) != row(after, y)));
}

fn row(buffer: &Buffer, y: u16) -> &[Cell] {
    let columns = usize::from(buffer.area.width);
    let start = usize::from(y) * columns;
    &buffer.content[start..start + columns]
}

/// Sends every cell that looks different, and those that the change of a neighbour has touched.
fn change_row(
    (before, after): (&[Cell], &[Cell]),
    y: u16,
    links: &Targets,
    erases_in_colour: bool,
    encoder: &mut Encoder,
) {
    let (mut x, mut touched) = (0, 0);
    while let Some(cell) = after.get(x) {
        let mut end = x + width(cell);
        if x < touched || *cell != before[x] {
            let at = Position::new(column(x), y);
            let blanks = if erases_in_colour || cell.bg == Cell::EMPTY.bg {
                blanks(before, after, x)
            } else {
                0
            };
            if blanks >= WORTH_ERASING {
                encoder.erase(at, blanks, cell);
                end = x + blanks;
            } else {
                encoder.put(at, cell, links);
            }
            let first = x.saturating_sub(1);
            let under = (first..end).zip(&before[first..]);
            let reach = under.map(|(x, cell)| x + width(cell)).max();
            touched = touched.max(reach.unwrap_or(0));
        }
        x = end;
    }
}

/// From here on emptying cells takes fewer bytes than writing blanks.
const WORTH_ERASING: usize = 8;

/// How many cells from here on are the same blank, up to the last of them that has changed.
fn blanks(before: &[Cell], after: &[Cell], x: usize) -> usize {
    let cell = &after[x];
    let is_plain = cell.modifier.is_empty() && cell.underline_color == Cell::EMPTY.underline_color;
    if cell.symbol() != " " || !is_plain {
        return 0;
    }
    let same = after[x..].iter().take_while(|other| *other == cell).count();
    let changed = (x..x + same).rposition(|x| before[x] != after[x]);
    changed.map_or(0, |last| last + 1)
}

/// Sends a row as if nothing were known of what the terminal shows there.
fn draw_row(cells: &[Cell], y: u16, links: &Targets, encoder: &mut Encoder) {
    encoder.begin_row(y);
    let mut x = 0;
    while let Some(cell) = cells.get(x) {
        let end = x + width(cell);
        if *cell != Cell::EMPTY {
            encoder.put(Position::new(column(x), y), cell, links);
        }
        if is_cluster(cell) && end < cells.len() {
            encoder.clear_from(Position::new(column(end), y));
        }
        x = end;
    }
    encoder.end_row();
}

/// Whether the terminal may take something in the row for wider or narrower than it is here.
fn is_uncertain(row: &[Cell]) -> bool {
    row.iter().any(is_cluster)
}

/// Longer than any single character.
fn is_cluster(cell: &Cell) -> bool {
    cell.symbol().len() > '\u{10ffff}'.len_utf8()
}

fn width(cell: &Cell) -> usize {
    let symbol = cell.symbol();
    if symbol.len() == 1 {
        return 1;
    }
    symbol.width().max(1)
}

fn column(x: usize) -> u16 {
    u16::try_from(x).expect("a row is as wide as its area")
}

//! What the terminal shows: a frame is painted and encoded as the bytes that turn the last one into it.
//!
//! ratatui's diff is not used. Overwriting half of a wide character damages the other half, and terminals differ in how
//! that looks, so the other half is drawn, too. Rows that only moved are scrolled by the terminal itself.
//!
//! Terminals also disagree about the width of clusters of several characters: a family, a flag, a skin tone. If one is
//! wider in the terminal than here, the rest of it stays where nothing is drawn. So a row that has one of these, or had
//! one, is cleared and drawn as a whole when it changes or moves.

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
    /// Whether cleared cells get the current background; if not, they are written as blanks.
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

    /// The next frame has another size. A terminal may do anything with its content when it is resized.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.encoder.resize(size);
        self.repaint();
    }

    /// The next frame is drawn as a whole.
    pub fn repaint(&mut self) {
        self.shown = Buffer::default();
    }

    /// Paints a frame. `paint` returns the caret, `moves` is the area whose rows may scroll, and `links` has the
    /// targets of links. `None` if the frame looks like the last one. `spare` is a buffer to reuse.
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
            encoder.clear_screen();
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

/// Finds the rows that look different. Comparing is most of a frame's cost, so it is done once.
fn compare(before: &Buffer, after: &Buffer, changed: &mut Vec<bool>) {
    changed.clear();
    changed.extend((0..after.area.height).map(|y| row(before, y) != row(after, y)));
}

fn row(buffer: &Buffer, y: u16) -> &[Cell] {
    let columns = usize::from(buffer.area.width);
    let start = usize::from(y) * columns;
    &buffer.content[start..start + columns]
}

/// Sends every cell that looks different, and those damaged by the change of a neighbour.
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

/// For fewer blanks, writing takes fewer bytes than clearing.
const WORTH_ERASING: usize = 8;

/// How many cells from here on are the same blank, up to the last changed one.
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

/// Sends a row as if nothing were known about what the terminal shows there.
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

/// Whether the terminal may measure something in the row differently.
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

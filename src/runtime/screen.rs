//! What the terminal shows: a frame is painted, and comes out as the bytes that change the last one into it.
//!
//! The difference is made here, not by ratatui: half a wide character that is written over takes the other half with it,
//! and terminals do not agree on how that looks, so the other half is drawn, too. Rows that have only moved are moved by
//! the terminal itself.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use unicode_width::UnicodeWidthStr;

use super::encoder::Encoder;
use super::shift::{self, Shift};

pub struct Screen {
    encoder: Encoder,
    /// What the terminal shows.
    shown: Buffer,
    /// Where the next frame is painted.
    next: Buffer,
    /// Which rows the next frame changes.
    changed: Vec<bool>,
    size: Size,
}

impl Screen {
    pub fn new(size: Size) -> Self {
        Self {
            encoder: Encoder::new(size),
            shown: Buffer::default(),
            next: Buffer::default(),
            changed: Vec::new(),
            size,
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
    /// down. `None` when the frame looks like the last one. `spare` is a buffer to use again.
    pub fn draw(
        &mut self,
        spare: Vec<u8>,
        moves: Rect,
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
        }
        for (y, _) in (0..).zip(&self.changed).filter(|(_, changed)| **changed) {
            change_row(row(&self.shown, y), row(&self.next, y), y, encoder);
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
fn change_row(before: &[Cell], after: &[Cell], y: u16, encoder: &mut Encoder) {
    let (mut x, mut touched) = (0, 0);
    while let Some(cell) = after.get(x) {
        let end = x + width(cell);
        if x < touched || *cell != before[x] {
            encoder.put(Position::new(column(x), y), cell);
            let first = x.saturating_sub(1);
            let under = (first..end).zip(&before[first..]);
            let reach = under.map(|(x, cell)| x + width(cell)).max();
            touched = touched.max(reach.unwrap_or(0));
        }
        x = end;
    }
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

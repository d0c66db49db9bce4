//! The screen as ratatui sees it: a frame is painted, and comes out as the bytes that change the last one into it.
//!
//! The difference is made here, not by ratatui: half a wide character that is written over takes the other half with it,
//! and terminals do not agree on how that looks, so the other half is drawn, too.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Size};
use ratatui::{Frame, Terminal};
use unicode_width::UnicodeWidthStr;

use super::encoder::Encoder;

pub struct Screen {
    terminal: Terminal<Encoder>,
    /// What the terminal shows.
    shown: Buffer,
}

impl Screen {
    pub fn new(size: Size) -> Self {
        let Ok(terminal) = Terminal::new(Encoder::new(size));
        Self {
            terminal,
            shown: Buffer::default(),
        }
    }

    /// The next frame has another size. A terminal that changes its size may do anything with what it shows.
    pub fn resize(&mut self, size: Size) {
        self.terminal.backend_mut().resize(size);
        self.repaint();
    }

    /// The next frame is drawn whole.
    pub fn repaint(&mut self) {
        self.shown = Buffer::default();
    }

    /// `None` when the frame looks like the last one. `spare` is a buffer to use again.
    pub fn draw(&mut self, spare: Vec<u8>, view: impl FnOnce(&mut Frame)) -> Option<Vec<u8>> {
        let Ok(frame) = self.terminal.draw(view);
        let painted = frame.buffer.clone();
        let encoder = self.terminal.backend_mut();
        if self.shown.area != painted.area {
            encoder.begin_anew();
            self.shown = Buffer::empty(painted.area);
        }
        change(&self.shown, &painted, encoder);
        self.shown = painted;
        encoder.finish(spare)
    }
}

/// Sends every cell that looks different, and those that the change of a neighbour has touched.
fn change(before: &Buffer, after: &Buffer, encoder: &mut Encoder) {
    let columns = usize::from(after.area.width).max(1);
    let rows = before
        .content
        .chunks(columns)
        .zip(after.content.chunks(columns));
    for (y, (before, after)) in (0..).zip(rows) {
        let (mut x, mut touched) = (0, 0);
        while let Some(cell) = after.get(x) {
            let end = x + width(cell);
            if x < touched || *cell != before[x] {
                encoder.put(Position::new(column(x), y), cell);
                let last = before
                    .iter()
                    .take(end)
                    .enumerate()
                    .skip(x.saturating_sub(1));
                let reach = last.map(|(x, cell)| x + width(cell)).max();
                touched = touched.max(reach.unwrap_or(0));
            }
            x = end;
        }
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

//! Frames as bytes: cells that have changed, in as few bytes as a terminal needs.
//!
//! Nothing is written here; the bytes of a frame leave the program in one piece. Terminals do not agree on how wide some
//! characters are, so after one of these the cursor is placed again: a wrong guess smears one cell, not the row.

use std::io::Write;

use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Modifier;
use unicode_width::UnicodeWidthChar;

use super::look::Look;
use super::shift::Shift;
use crate::theme::LinkId;
use crate::ui::text::Targets;

#[cfg(test)]
mod tests;

/// So that a terminal shows a frame whole, or not yet.
const BEGIN_FRAME: &[u8] = b"\x1b[?2026h";
const END_FRAME: &[u8] = b"\x1b[?2026l";

#[derive(Debug)]
pub struct Encoder {
    bytes: Vec<u8>,
    size: Size,
    /// Where the terminal's cursor is, as far as that is certain.
    at: Option<Position>,
    look: Option<Look>,
    /// The link that the next character will be part of.
    link: Option<LinkId>,
    /// Whether the terminal shows its cursor, as far as that is known.
    cursor_shown: Option<bool>,
}

impl Encoder {
    pub fn new(size: Size) -> Self {
        Self {
            bytes: BEGIN_FRAME.to_vec(),
            size,
            at: None,
            look: None,
            link: None,
            cursor_shown: None,
        }
    }

    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Begins with an empty screen. Somebody else may have written to it: nothing is known about it.
    pub fn begin_anew(&mut self) {
        self.at = None;
        self.look = None;
        self.cursor_shown = None;
        // What is cleared takes the colour of the ground that is set.
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[2J");
    }

    /// Lets the terminal move rows. Line feeds and their reverse inside margins are what every terminal knows.
    pub fn shift(&mut self, shift: Shift) {
        let Shift { top, bottom, up } = shift;
        // The rows that come in take the colour of the ground that is set.
        self.undress();
        let (first, last) = (u32::from(top) + 1, u32::from(bottom));
        self.write(format_args!("\x1b[{first};{last}r"));
        let (row, feed): (u32, &[u8]) = if up > 0 {
            (last, b"\n")
        } else {
            (first, b"\x1bM")
        };
        self.write(format_args!("\x1b[{row}H"));
        for _ in 0..up.unsigned_abs() {
            self.bytes.extend_from_slice(feed);
        }
        self.bytes.extend_from_slice(b"\x1b[r");
        self.at = None;
    }

    /// Empties a row. Until its end nothing goes on in the next row, however wide the terminal takes it for.
    pub fn begin_row(&mut self, y: u16) {
        self.go_to(Position::new(0, y));
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[?7l\x1b[2K");
    }

    pub fn end_row(&mut self) {
        self.bytes.extend_from_slice(b"\x1b[?7h");
        self.at = None;
    }

    /// Empties the rest of a row.
    pub fn clear_from(&mut self, at: Position) {
        self.go_to(at);
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[K");
    }

    /// `links` says where the link of a cell leads.
    pub fn put(&mut self, at: Position, cell: &Cell, links: &Targets) {
        self.go_to(at);
        let link = LinkId::in_cell(cell).and_then(|id| Some((id, links.of(id)?)));
        self.link(link);
        self.dress(Look::of(cell));
        let symbol = cell.symbol();
        let symbol = if symbol.is_empty() { " " } else { symbol };
        self.bytes.extend_from_slice(symbol.as_bytes());
        let moved = certain_width(symbol).map(|width| at.x.saturating_add(width));
        // At the end of a row some terminals are on it and some on the next.
        let moved = moved.filter(|x| *x < self.size.width);
        self.at = moved.map(|x| Position::new(x, at.y));
    }

    /// Empties some cells of a row, which take the ground of `cell`, without moving the cursor.
    pub fn erase(&mut self, at: Position, cells: usize, cell: &Cell) {
        self.go_to(at);
        self.link(None);
        self.dress(Look {
            modifier: Modifier::empty(),
            ..Look::of(cell)
        });
        self.write(format_args!("\x1b[{cells}X"));
    }

    /// Places the cursor and returns the bytes of the frame; `None` when nothing has changed.
    pub fn finish(&mut self, mut spare: Vec<u8>, caret: Option<Position>) -> Option<Vec<u8>> {
        self.link(None);
        if let Some(caret) = caret {
            self.go_to(caret);
        }
        let shown = caret.is_some();
        if self.cursor_shown != Some(shown) {
            self.cursor_shown = Some(shown);
            let code: &[u8] = if shown { b"\x1b[?25h" } else { b"\x1b[?25l" };
            self.bytes.extend_from_slice(code);
        }
        if self.bytes.len() == BEGIN_FRAME.len() {
            return None;
        }
        self.bytes.extend_from_slice(END_FRAME);
        spare.clear();
        spare.extend_from_slice(BEGIN_FRAME);
        Some(std::mem::replace(&mut self.bytes, spare))
    }

    fn write(&mut self, arguments: std::fmt::Arguments) {
        self.bytes
            .write_fmt(arguments)
            .expect("a vector takes all that is written to it");
    }

    fn go_to(&mut self, to: Position) {
        let (row, column) = (u32::from(to.y) + 1, u32::from(to.x) + 1);
        match self.at {
            Some(at) if at == to => {}
            Some(at) if at.y == to.y && at.x < to.x => match to.x - at.x {
                1 => self.bytes.extend_from_slice(b"\x1b[C"),
                gap => self.write(format_args!("\x1b[{gap}C")),
            },
            _ if column == 1 => self.write(format_args!("\x1b[{row}H")),
            _ => self.write(format_args!("\x1b[{row};{column}H")),
        }
        self.at = Some(to);
    }

    /// What is written from here on is part of a link (OSC 8), or of none. The number tells the terminal which parts belong
    /// together, over rows and frames. A target is printable ASCII: it cannot end the sequence.
    fn link(&mut self, link: Option<(LinkId, &str)>) {
        let id = link.map(|(id, _)| id);
        if self.link == id {
            return;
        }
        self.link = id;
        match link {
            Some((id, target)) => self.write(format_args!("\x1b]8;id={id};{target}\x1b\\")),
            None => self.bytes.extend_from_slice(b"\x1b]8;;\x1b\\"),
        }
    }

    /// What is emptied belongs to no link and has the terminal's own ground.
    fn undress(&mut self) {
        self.link(None);
        self.dress(Look::default());
    }

    fn dress(&mut self, look: Look) {
        look.write(self.look, &mut self.bytes);
        self.look = Some(look);
    }
}

/// The width of what all terminals agree on; `None` for emoji, symbols and everything of more than one character.
fn certain_width(symbol: &str) -> Option<u16> {
    let mut letters = symbol.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return None;
    };
    let agreed =
        matches!(letter, '\u{0}'..'\u{2600}' | '\u{2e80}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}');
    let width = letter.width().filter(|width| agreed && *width > 0)?;
    u16::try_from(width).ok()
}

//! Encodes frames: the changed cells in as few bytes as possible.
//!
//! Nothing is written here; the bytes of a frame are written in one piece. Terminals disagree about the width of some
//! characters, so the cursor is placed again after one of these: a wrong guess damages one cell, not the row.

use std::io::Write;

use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Modifier;
use unicode_width::UnicodeWidthChar;

use super::shift::Shift;
use super::style_codes::CellStyle;
use crate::theme::LinkId;
use crate::ui::text::Targets;

#[cfg(test)]
mod tests;

/// Makes the terminal show a frame as a whole.
const BEGIN_FRAME: &[u8] = b"\x1b[?2026h";
const END_FRAME: &[u8] = b"\x1b[?2026l";

#[derive(Debug)]
pub struct Encoder {
    bytes: Vec<u8>,
    size: Size,
    /// Where the terminal's cursor is, if known.
    at: Option<Position>,
    style: Option<CellStyle>,
    /// The link that the next character belongs to.
    link: Option<LinkId>,
    /// Whether the terminal shows its cursor, if known.
    cursor_shown: Option<bool>,
}

impl Encoder {
    pub fn new(size: Size) -> Self {
        Self {
            bytes: BEGIN_FRAME.to_vec(),
            size,
            at: None,
            style: None,
            link: None,
            cursor_shown: None,
        }
    }

    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Begins with an empty screen. Another program may have written to it, so nothing is known about it.
    pub fn clear_screen(&mut self) {
        self.at = None;
        self.style = None;
        self.cursor_shown = None;
        // Cleared cells get the current background colour.
        self.reset_style();
        self.bytes.extend_from_slice(b"\x1b[2J");
    }

    /// Lets the terminal scroll rows. Every terminal knows line feed and reverse line feed inside margins.
    pub fn shift(&mut self, shift: Shift) {
        let Shift { top, bottom, up } = shift;
        // New rows get the current background colour.
        self.reset_style();
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

    /// Clears a row. Until its end nothing wraps into the next row, even if the terminal measures it wider.
    pub fn begin_row(&mut self, y: u16) {
        self.go_to(Position::new(0, y));
        self.reset_style();
        self.bytes.extend_from_slice(b"\x1b[?7l\x1b[2K");
    }

    pub fn end_row(&mut self) {
        self.bytes.extend_from_slice(b"\x1b[?7h");
        self.at = None;
    }

    /// Clears the rest of a row.
    pub fn clear_from(&mut self, at: Position) {
        self.go_to(at);
        self.reset_style();
        self.bytes.extend_from_slice(b"\x1b[K");
    }

    /// `links` has the targets of links.
    pub fn put(&mut self, at: Position, cell: &Cell, links: &Targets) {
        self.go_to(at);
        let link = LinkId::in_cell(cell).and_then(|id| Some((id, links.of(id)?)));
        self.link(link);
        self.set_style(CellStyle::of(cell));
        let symbol = cell.symbol();
        let symbol = if symbol.is_empty() { " " } else { symbol };
        self.bytes.extend_from_slice(symbol.as_bytes());
        let moved = certain_width(symbol).map(|width| at.x.saturating_add(width));
        // At the end of a row some terminals stay on it and some wrap.
        let moved = moved.filter(|x| *x < self.size.width);
        self.at = moved.map(|x| Position::new(x, at.y));
    }

    /// Clears some cells of a row to the background of `cell`, without moving the cursor.
    pub fn erase(&mut self, at: Position, cells: usize, cell: &Cell) {
        self.go_to(at);
        self.link(None);
        self.set_style(CellStyle {
            modifier: Modifier::empty(),
            ..CellStyle::of(cell)
        });
        self.write(format_args!("\x1b[{cells}X"));
    }

    /// Places the cursor and returns the bytes of the frame; `None` if nothing has changed.
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

    /// From here on, text belongs to a link (OSC 8), or to none. The id tells the terminal which parts belong together,
    /// across rows and frames. A target is printable ASCII, so it cannot end the sequence.
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

    /// Cleared cells belong to no link and have the terminal's own background.
    fn reset_style(&mut self) {
        self.link(None);
        self.set_style(CellStyle::default());
    }

    fn set_style(&mut self, style: CellStyle) {
        style.write(self.style, &mut self.bytes);
        self.style = Some(style);
    }
}

/// The width of characters that all terminals agree on; `None` for emoji, symbols and every cluster of several
/// characters.
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

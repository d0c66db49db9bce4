//! Encodes frames: the changed cells in as few bytes as possible.
//!
//! Nothing is written here; the bytes of a frame are written in one piece. Terminals disagree about the width of some
//! characters, so the cursor is placed again after one of these: a wrong guess damages one cell, not the row.

use std::io::Write;

use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthChar;

use super::shift::Shift;
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
    look: Option<Look>,
    /// The link that the next character belongs to.
    link: Option<LinkId>,
    /// Whether the terminal shows its cursor, if known.
    cursor_shown: Option<bool>,
}

/// The style of the next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    text: Color,
    ground: Color,
    modifier: Modifier,
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

    /// Begins with an empty screen. Another program may have written to it, so nothing is known about it.
    pub fn begin_anew(&mut self) {
        self.at = None;
        self.look = None;
        self.cursor_shown = None;
        // Cleared cells get the current background colour.
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[2J");
    }

    /// Lets the terminal scroll rows. Every terminal knows line feed and reverse line feed inside margins.
    pub fn shift(&mut self, shift: Shift) {
        let Shift { top, bottom, up } = shift;
        // New rows get the current background colour.
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

    /// Clears a row. Until its end nothing wraps into the next row, even if the terminal measures it wider.
    pub fn begin_row(&mut self, y: u16) {
        self.go_to(Position::new(0, y));
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[?7l\x1b[2K");
    }

    pub fn end_row(&mut self) {
        self.bytes.extend_from_slice(b"\x1b[?7h");
        self.at = None;
    }

    /// Clears the rest of a row.
    pub fn clear_from(&mut self, at: Position) {
        self.go_to(at);
        self.undress();
        self.bytes.extend_from_slice(b"\x1b[K");
    }

    /// `links` has the targets of links.
    pub fn put(&mut self, at: Position, cell: &Cell, links: &Targets) {
        self.go_to(at);
        let link = LinkId::in_cell(cell).and_then(|id| Some((id, links.of(id)?)));
        self.link(link);
        self.dress(Look {
            text: cell.fg,
            ground: cell.bg,
            modifier: cell.modifier,
        });
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
        self.dress(Look {
            text: cell.fg,
            ground: cell.bg,
            modifier: Modifier::empty(),
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
    fn undress(&mut self) {
        self.link(None);
        self.dress(Look::default());
    }

    fn dress(&mut self, look: Look) {
        if self.look == Some(look) {
            return;
        }
        let before = self.look.unwrap_or_default();
        // The terminal's style before the first frame is unknown; and some attributes can only be reset together.
        let reset = self.look.is_none() || !look.modifier.contains(before.modifier);
        let before = if reset { Look::default() } else { before };
        self.bytes.extend_from_slice(b"\x1b[");
        let mut codes = Codes {
            bytes: &mut self.bytes,
            first: true,
        };
        if reset {
            codes.push(format_args!("0"));
        }
        for (modifier, code) in MODIFIERS {
            if (look.modifier - before.modifier).contains(modifier) {
                codes.push(format_args!("{code}"));
            }
        }
        codes.colour(before.text, look.text, 30);
        codes.colour(before.ground, look.ground, 40);
        self.bytes.push(b'm');
        self.look = Some(look);
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

const MODIFIERS: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// The numbers of one `SGR`.
struct Codes<'a> {
    bytes: &'a mut Vec<u8>,
    first: bool,
}

impl Codes<'_> {
    fn push(&mut self, code: std::fmt::Arguments) {
        if !std::mem::take(&mut self.first) {
            self.bytes.push(b';');
        }
        self.bytes
            .write_fmt(code)
            .expect("a vector takes all that is written to it");
    }

    /// `base` is 30 for the foreground, 40 for the background.
    fn colour(&mut self, before: Color, after: Color, base: u8) {
        if before == after {
            return;
        }
        let (bright, extended) = (base + 60, base + 8);
        let code = match after {
            Color::Reset => base + 9,
            Color::Black => base,
            Color::Red => base + 1,
            Color::Green => base + 2,
            Color::Yellow => base + 3,
            Color::Blue => base + 4,
            Color::Magenta => base + 5,
            Color::Cyan => base + 6,
            Color::Gray => base + 7,
            Color::DarkGray => bright,
            Color::LightRed => bright + 1,
            Color::LightGreen => bright + 2,
            Color::LightYellow => bright + 3,
            Color::LightBlue => bright + 4,
            Color::LightMagenta => bright + 5,
            Color::LightCyan => bright + 6,
            Color::White => bright + 7,
            Color::Indexed(index) => return self.push(format_args!("{extended};5;{index}")),
            Color::Rgb(red, green, blue) => {
                return self.push(format_args!("{extended};2;{red};{green};{blue}"));
            }
        };
        self.push(format_args!("{code}"));
    }
}

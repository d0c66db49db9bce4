//! The meaning of one complete sequence: keys of xterm, kitty, rxvt and the Linux console, the mouse, the focus, and
//! replies.

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::{Event, Reply};

/// A byte below 128, as terminals send it for a key.
pub(super) fn ascii(byte: u8) -> KeyEvent {
    let control = |letter: u8| (KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    let (code, modifiers) = match byte {
        b'\t' => (KeyCode::Tab, KeyModifiers::NONE),
        b'\r' => (KeyCode::Enter, KeyModifiers::NONE),
        0x1b => (KeyCode::Esc, KeyModifiers::NONE),
        0x7f.. => (KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        // Ctrl+A to Ctrl+Z, then `\`, `]`, `^` and `_`.
        0x01..0x1b => control(byte | 0x60),
        0x1c..0x20 => control(byte | 0x40),
        0x20..0x7f => return typed(char::from(byte)),
    };
    KeyEvent::new(code, modifiers)
}

/// A character outside ASCII; `None` for an invalid one, and for controls.
pub(super) fn letter(bytes: &[u8]) -> Option<KeyEvent> {
    let letter = std::str::from_utf8(bytes).ok()?.chars().next()?;
    (!letter.is_control()).then(|| typed(letter))
}

fn typed(letter: char) -> KeyEvent {
    let modifiers = if letter.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    KeyEvent::new(KeyCode::Char(letter), modifiers)
}

/// `ESC [ [` and a letter.
pub(super) fn console(last: u8) -> Option<KeyEvent> {
    let number = last.checked_sub(b'A').filter(|number| *number < 5)?;
    Some(KeyEvent::new(KeyCode::F(number + 1), KeyModifiers::NONE))
}

/// `ESC O`, sometimes a number for the modifiers, and a letter.
pub(super) fn shifted(bytes: &[u8], last: u8) -> Option<KeyEvent> {
    let code = match last {
        b'M' => KeyCode::Enter,
        b'X' => KeyCode::Char('='),
        // The keypad sends its own characters, shifted up.
        b'j'..=b'y' => KeyCode::Char(char::from(last - 0x40)),
        _ => cursor_key(last)?,
    };
    // The modifiers come last, whatever is before them.
    let field = bytes.split(|byte| *byte == b';').count() - 1;
    Some(key(code, Parameters(bytes), field))
}

/// A complete `ESC [` sequence: its parameters and its last byte. `None` if it means nothing to us.
pub(super) fn control(bytes: &[u8], last: u8) -> Option<Event> {
    let parameters = Parameters(bytes);
    match (bytes.first(), last) {
        (Some(b'<'), b'M' | b'm') => mouse(Parameters(&bytes[1..]), last),
        // Replies: marked as such, and the terminal's state, size and attributes.
        (Some(b'<' | b'=' | b'>' | b'?'), _) | (Some(_), b'n' | b't' | b'c' | b'x' | b'y') => {
            Some(Event::Reply(Reply::Other))
        }
        (None, b'I') => Some(Event::Focused(true)),
        (None, b'O') => Some(Event::Focused(false)),
        (_, b'u') => kitty(parameters).map(Event::Key),
        (_, b'~') => tilde(parameters).map(Event::Key),
        // The position of the cursor, unless it can only be F3 with modifiers.
        (Some(_), b'R') if parameters.number(0) != Some(1) || parameters.number(1) > Some(16) => {
            Some(Event::Reply(Reply::Other))
        }
        (_, b'Z') => {
            let mut key = key(KeyCode::BackTab, parameters, 1);
            key.modifiers |= KeyModifiers::SHIFT;
            Some(Event::Key(key))
        }
        _ => cursor_key(last).map(|code| Event::Key(key(code, parameters, 1))),
    }
}

/// A text that the terminal sent about itself; never typing.
pub(super) fn reply(kind: u8, bytes: &[u8]) -> Reply {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match (kind, text.strip_prefix("11;")) {
        (b']', Some(colour)) => Reply::Background(colour.to_owned()),
        _ => Reply::Other,
    }
}

/// The numbers of a sequence: fields between `;`, parts of a field between `:`.
#[derive(Clone, Copy)]
struct Parameters<'a>(&'a [u8]);

impl Parameters<'_> {
    fn number(self, field: usize) -> Option<u32> {
        self.part(field, 0)
    }

    fn part(self, field: usize, part: usize) -> Option<u32> {
        let field = self.0.split(|byte| *byte == b';').nth(field)?;
        let part = field.split(|byte| *byte == b':').nth(part)?;
        std::str::from_utf8(part).ok()?.parse().ok()
    }
}

/// A key; one field has its modifiers and whether it was pressed or released.
fn key(code: KeyCode, parameters: Parameters, field: usize) -> KeyEvent {
    let held = parameters.number(field).unwrap_or(1).saturating_sub(1);
    let bits = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ];
    let set = bits.into_iter().filter(|(bit, _)| held & bit != 0);
    let modifiers = set.map(|(_, modifier)| modifier).collect();
    let kind = match parameters.part(field, 1) {
        Some(2) => KeyEventKind::Repeat,
        Some(3) => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    KeyEvent::new_with_kind(code, modifiers, kind)
}

fn cursor_key(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::KeypadBegin,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'R' => KeyCode::F(3),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

fn tilde(parameters: Parameters) -> Option<KeyEvent> {
    let number = parameters.number(0)?;
    let code = match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        // How xterm reports keys without a sequence of their own.
        27 => {
            let code = code_of(parameters.number(2)?)?;
            return Some(shift_letter(key(code, parameters, 1)));
        }
        11..=15 => function(number, 10)?,
        17..=21 => function(number, 11)?,
        23..=26 => function(number, 12)?,
        28 | 29 => function(number, 13)?,
        31..=34 => function(number, 14)?,
        _ => return None,
    };
    Some(key(code, parameters, 1))
}

fn function(number: u32, less: u32) -> Option<KeyCode> {
    u8::try_from(number - less).ok().map(KeyCode::F)
}

fn kitty(parameters: Parameters) -> Option<KeyEvent> {
    let code = code_of(parameters.number(0)?)?;
    Some(shift_letter(key(code, parameters, 1)))
}

/// Shift and a letter is the capital letter, as terminals without modifier reports send it.
fn shift_letter(mut key: KeyEvent) -> KeyEvent {
    match key.code {
        KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => key.code = KeyCode::BackTab,
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::SHIFT) => {
            let mut capitals = letter.to_uppercase();
            if let (Some(capital), None) = (capitals.next(), capitals.next()) {
                key.code = KeyCode::Char(capital);
            }
        }
        _ => {}
    }
    key
}

/// The key with this number: a character, or one of kitty's own.
fn code_of(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        57376..=57398 => function(number, 57363)?,
        // The keypad: digits, then operators, then cursor keys.
        57399..=57408 => KeyCode::Char(char::from_digit(number - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57415 => KeyCode::Char('='),
        57416 => KeyCode::Char(','),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57425 => KeyCode::Insert,
        57426 => KeyCode::Delete,
        57427 => KeyCode::KeypadBegin,
        // Locks, media keys and modifiers alone mean nothing here.
        57344..=63743 => return None,
        _ => KeyCode::Char(char::from_u32(number).filter(|letter| !letter.is_control())?),
    })
}

fn mouse(parameters: Parameters, last: u8) -> Option<Event> {
    let bits = parameters.number(0)?;
    let place = |field| {
        let counted_from_one = parameters.number(field)?;
        u16::try_from(counted_from_one.saturating_sub(1)).ok()
    };
    let button = match bits & 3 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let kind = match (bits & 0b1110_0000, button) {
        (0, Some(button)) if last == b'M' => MouseEventKind::Down(button),
        (0, Some(button)) => MouseEventKind::Up(button),
        (32, Some(button)) => MouseEventKind::Drag(button),
        (32, None) => MouseEventKind::Moved,
        (64, _) => match bits & 3 {
            0 => MouseEventKind::ScrollUp,
            1 => MouseEventKind::ScrollDown,
            2 => MouseEventKind::ScrollLeft,
            _ => MouseEventKind::ScrollRight,
        },
        _ => return None,
    };
    let held = [
        (4, KeyModifiers::SHIFT),
        (8, KeyModifiers::ALT),
        (16, KeyModifiers::CONTROL),
    ];
    let held = held.into_iter().filter(|(bit, _)| bits & bit != 0);
    Some(Event::Pointed(MouseEvent {
        kind,
        column: place(1)?,
        row: place(2)?,
        modifiers: held.map(|(_, modifier)| modifier).collect(),
    }))
}

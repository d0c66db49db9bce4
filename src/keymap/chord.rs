//! Keys: what terminals report, how people write them, how the screen shows them.
//!
//! Terminals report one key in several ways, and most cannot distinguish some keys (`Ctrl+M` is Enter). A [`Key`] is
//! normalised, so that a binding means the same in every terminal: a capital letter is itself if it is typed, and a
//! small letter with Shift if Ctrl, Alt or Super is held.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::{cut, nearest};

/// One key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// One key, or two in sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    pub first: Key,
    pub second: Option<Key>,
}

/// Why a text does not name a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub what: String,
    pub hint: String,
}

const MODIFIERS: [(KeyModifiers, &str, &[&str]); 4] = [
    (KeyModifiers::CONTROL, "Ctrl", &["control"]),
    (KeyModifiers::ALT, "Alt", &["meta", "option"]),
    (KeyModifiers::SHIFT, "Shift", &[]),
    (KeyModifiers::SUPER, "Super", &["cmd", "win"]),
];

/// Each key with its displayed name, and other names it may be written with.
const NAMED: [(KeyCode, &str, &[&str]); 17] = [
    (KeyCode::Enter, "Enter", &["return"]),
    (KeyCode::Esc, "Esc", &["escape"]),
    (KeyCode::Tab, "Tab", &[]),
    (KeyCode::BackTab, "BackTab", &[]),
    (KeyCode::Char(' '), "Space", &[]),
    (KeyCode::Backspace, "Backspace", &[]),
    (KeyCode::Delete, "Del", &["delete"]),
    (KeyCode::Insert, "Ins", &["insert"]),
    (KeyCode::Home, "Home", &[]),
    (KeyCode::End, "End", &[]),
    (KeyCode::PageUp, "PgUp", &["pageup"]),
    (KeyCode::PageDown, "PgDn", &["pagedown", "pgdown"]),
    (KeyCode::Up, "↑", &["up"]),
    (KeyCode::Down, "↓", &["down"]),
    (KeyCode::Left, "←", &["left"]),
    (KeyCode::Right, "→", &["right"]),
    (KeyCode::Char('+'), "+", &["plus"]),
];

/// The highest function key that terminals report.
const LAST_FUNCTION_KEY: u8 = 35;

impl Key {
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut modifiers = modifiers;
        if modifiers.contains(KeyModifiers::META) {
            modifiers = (modifiers - KeyModifiers::META) | KeyModifiers::ALT;
        }
        match code {
            KeyCode::Char(character) => Self::typed(character, modifiers),
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            code => Self { code, modifiers },
        }
    }

    /// Whether pressing it types a character.
    pub fn is_text(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.modifiers.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }

    fn typed(character: char, mut modifiers: KeyModifiers) -> Self {
        let small = only(character.to_lowercase()).unwrap_or(character);
        let capital = only(small.to_uppercase()).unwrap_or(small);
        if character != small {
            modifiers |= KeyModifiers::SHIFT;
        }
        // Which sign is on a shifted key depends on the keyboard, so Shift is ignored for signs.
        if small == capital {
            modifiers -= KeyModifiers::SHIFT;
        }
        if modifiers == KeyModifiers::SHIFT {
            return Self {
                code: KeyCode::Char(capital),
                modifiers: KeyModifiers::NONE,
            };
        }
        let held =
            modifiers.contains(KeyModifiers::CONTROL) && !modifiers.contains(KeyModifiers::SHIFT);
        let code = match held.then(|| control(small)).flatten() {
            Some(KeyCode::Char(sign)) => KeyCode::Char(sign),
            Some(code) => {
                modifiers -= KeyModifiers::CONTROL;
                code
            }
            None => KeyCode::Char(small),
        };
        Self { code, modifiers }
    }
}

/// The key that a terminal without a keyboard protocol sends for Ctrl and a character. `Ctrl+J` stays itself: a
/// newline.
const fn control(character: char) -> Option<KeyCode> {
    match character {
        'm' => Some(KeyCode::Enter),
        'i' => Some(KeyCode::Tab),
        'h' => Some(KeyCode::Backspace),
        '[' => Some(KeyCode::Esc),
        // These four bytes reach us as digits.
        '4' => Some(KeyCode::Char('\\')),
        '5' => Some(KeyCode::Char(']')),
        '6' => Some(KeyCode::Char('^')),
        '7' | '_' => Some(KeyCode::Char('/')),
        _ => None,
    }
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next();
    first.filter(|_| characters.next().is_none())
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }
}

impl Chord {
    pub const fn single(key: Key) -> Self {
        Self {
            first: key,
            second: None,
        }
    }

    /// Whether one of the two would make the other unreachable.
    pub fn clashes(self, other: Self) -> bool {
        self.first == other.first
            && (self.second == other.second || self.second.is_none() || other.second.is_none())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name, _) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                write!(formatter, "{name}+")?;
            }
        }
        if let Some((_, name, _)) = NAMED.iter().find(|(code, ..)| *code == self.code) {
            return formatter.write_str(name);
        }
        match self.code {
            KeyCode::Char(character) if self.modifiers.is_empty() => {
                write!(formatter, "{character}")
            }
            KeyCode::Char(character) => {
                write!(
                    formatter,
                    "{}",
                    only(character.to_uppercase()).unwrap_or(character)
                )
            }
            KeyCode::F(number) => write!(formatter, "F{number}"),
            code => write!(formatter, "{code:?}"),
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.first)?;
        self.second
            .map_or(Ok(()), |second| write!(formatter, " {second}"))
    }
}

impl FromStr for Chord {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let mut keys = text.split_whitespace();
        let first = keys.next().ok_or_else(|| Unreadable {
            what: "missing key".into(),
            hint: "write a key like `ctrl+t`; the space bar is `space`".into(),
        })?;
        let first = first.parse()?;
        let second = keys.next().map(str::parse).transpose()?;
        if keys.next().is_some() {
            return Err(Unreadable {
                what: format!("`{}` has more than two keys", cut(text)),
                hint: "use one key, or two in sequence".into(),
            });
        }
        Ok(Self { first, second })
    }
}

impl FromStr for Key {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        // The last sign can itself be a plus: `ctrl++`.
        let split = text.strip_suffix('+').map_or_else(
            || text.rfind('+'),
            |rest| rest.rfind('+').filter(|at| at + 1 == rest.len()),
        );
        let (held, name) = split.map_or(("", text), |at| (&text[..at], &text[at + 1..]));
        let mut modifiers = KeyModifiers::NONE;
        for word in held.split('+').filter(|_| split.is_some()) {
            modifiers |=
                modifier(word).ok_or_else(|| unknown(word, "a modifier (ctrl, alt, shift)"))?;
        }
        let code = code(name).ok_or_else(|| unknown(name, "a key"))?;
        // With Ctrl and Alt the case of a letter is ignored; only `shift` matters.
        let code = match code {
            KeyCode::Char(character) if !modifiers.is_empty() => {
                KeyCode::Char(only(character.to_lowercase()).unwrap_or(character))
            }
            code => code,
        };
        Ok(Self::new(code, modifiers))
    }
}

fn modifier(word: &str) -> Option<KeyModifiers> {
    MODIFIERS
        .iter()
        .find(|(_, shown, written)| is_named(word, shown, written))
        .map(|(modifier, ..)| *modifier)
}

fn code(word: &str) -> Option<KeyCode> {
    let named = NAMED
        .iter()
        .find(|(_, shown, written)| is_named(word, shown, written))
        .map(|(code, ..)| *code);
    let character = || only(word.chars()).filter(|character| !character.is_control());
    named
        .or_else(|| character().map(KeyCode::Char))
        .or_else(|| function_key(word))
}

fn function_key(word: &str) -> Option<KeyCode> {
    let number = word.strip_prefix(['f', 'F'])?.parse().ok()?;
    (1..=LAST_FUNCTION_KEY)
        .contains(&number)
        .then_some(KeyCode::F(number))
}

fn is_named(word: &str, shown: &str, written: &[&str]) -> bool {
    let mut names = written.iter().copied().chain([shown]);
    names.any(|name| name.eq_ignore_ascii_case(word))
}

fn unknown(word: &str, wanted: &str) -> Unreadable {
    let dashed = word.replace('-', "+");
    let hint = if dashed != word && dashed.parse::<Key>().is_ok() {
        format!("write `{dashed}`")
    } else {
        let names = NAMED
            .iter()
            .flat_map(|(_, shown, written)| written.iter().chain([shown]));
        let held = MODIFIERS.iter().map(|(_, shown, _)| shown);
        nearest(word, names.chain(held).copied()).map_or_else(
            || "write keys like `ctrl+t`, `shift+enter`, `pgup`, `f1` or `g g`".into(),
            |name| format!("did you mean `{}`?", name.to_lowercase()),
        )
    };
    Unreadable {
        what: format!("`{}` is not {wanted}", cut(word)),
        hint,
    }
}

//! Decodes the terminal's bytes into [`Event`]s. Pure: it never waits, and reports how long to wait for the rest of a
//! sequence.
//!
//! The events do not depend on how the bytes were split into reads. The memory for a sequence that never ends is
//! bounded.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::sequence;
use super::{Event, Reply};

/// After this time a lone ESC is the Esc key.
const AFTER_ESCAPE: Duration = Duration::from_millis(20);
/// The rest of a sequence or of a character arrives within this time, or never.
const AFTER_PART: Duration = Duration::from_millis(100);
/// A reply may have to cross a slow connection.
const AFTER_REPLY: Duration = Duration::from_secs(1);
/// Long, because what comes after a wrong end would be typed, including Enter.
const AFTER_PASTE: Duration = Duration::from_secs(5);

const LONGEST_SEQUENCE: usize = 64;
const LONGEST_REPLY: usize = 4096;
/// Longer pastes are cut.
pub(super) const LONGEST_PASTE: usize = 16 << 20;
const PASTE_END: &[u8] = b"\x1b[201~";

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
}

/// Whether an ESC came before the sequence, which is how some terminals report Alt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    Alt,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Initial,
    /// The first bytes of a character.
    Character {
        bytes: [u8; 4],
        have: usize,
        whole: usize,
        prefix: Prefix,
    },
    Escape(Prefix),
    /// After `ESC [`.
    Control {
        bytes: Vec<u8>,
        prefix: Prefix,
    },
    /// After `ESC O`.
    Shifted {
        bytes: Vec<u8>,
        prefix: Prefix,
    },
    /// After `ESC ]`, `ESC P` and the like: a reply of the terminal.
    Text {
        kind: u8,
        bytes: Vec<u8>,
        ends: bool,
    },
    /// The number of bytes that an old mouse report still needs.
    Mouse(u8),
    /// After `ESC [ [`: a function key of the Linux console.
    Console,
    Paste(Vec<u8>),
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            rest = match &mut self.state {
                State::Paste(text) => match take_paste(text, rest) {
                    Some(end) => {
                        self.flush(events);
                        &rest[end..]
                    }
                    None => return,
                },
                State::Initial
                | State::Character { .. }
                | State::Escape(_)
                | State::Control { .. }
                | State::Shifted { .. }
                | State::Text { .. }
                | State::Mouse(_)
                | State::Console => {
                    self.step(byte, events);
                    tail
                }
            };
        }
    }

    /// How long to wait for the rest of a sequence before calling [`Decoder::flush`].
    pub fn max_wait(&self) -> Option<Duration> {
        match &self.state {
            State::Initial => None,
            State::Escape(_) => Some(AFTER_ESCAPE),
            State::Text { bytes, .. } if !bytes.is_empty() => Some(AFTER_REPLY),
            State::Paste(_) => Some(AFTER_PASTE),
            State::Character { .. }
            | State::Control { .. }
            | State::Shifted { .. }
            | State::Text { .. }
            | State::Mouse(_)
            | State::Console => Some(AFTER_PART),
        }
    }

    /// Nothing more has arrived: ends the current sequence.
    pub fn flush(&mut self, events: &mut Vec<Event>) {
        match std::mem::take(&mut self.state) {
            State::Escape(prefix) => {
                if prefix == Prefix::Alt {
                    events.push(escape());
                }
                events.push(escape());
            }
            State::Control { bytes, prefix } if bytes.is_empty() => alt(b'[', prefix, events),
            State::Shifted { bytes, prefix } if bytes.is_empty() => alt(b'O', prefix, events),
            State::Text { kind, bytes, .. } if bytes.is_empty() => alt(kind, Prefix::None, events),
            State::Paste(mut text) => {
                text.truncate(LONGEST_PASTE);
                let text = String::from_utf8(text)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                events.push(Event::Pasted(text));
            }
            State::Initial
            | State::Character { .. }
            | State::Control { .. }
            | State::Shifted { .. }
            | State::Text { .. }
            | State::Mouse(_)
            | State::Console => {}
        }
    }

    fn step(&mut self, byte: u8, events: &mut Vec<Event>) {
        match std::mem::take(&mut self.state) {
            State::Initial => self.begin(byte, Prefix::None, events),
            State::Character {
                mut bytes,
                have,
                whole,
                prefix,
            } => {
                if !(0x80..0xc0).contains(&byte) {
                    // The character was cut off; this is something else.
                    return self.begin(byte, Prefix::None, events);
                }
                bytes[have] = byte;
                let have = have + 1;
                if have < whole {
                    self.state = State::Character {
                        bytes,
                        have,
                        whole,
                        prefix,
                    };
                } else if let Some(letter) = sequence::letter(&bytes[..whole]) {
                    events.push(Event::Key(with(letter, prefix)));
                }
            }
            State::Escape(prefix) => self.escaped(byte, prefix, events),
            State::Control { bytes, prefix } => self.control(byte, bytes, prefix, events),
            State::Shifted { bytes, prefix } => self.shifted(byte, bytes, prefix, events),
            State::Text { kind, bytes, ends } => self.text(byte, kind, bytes, ends, events),
            State::Mouse(1) => {}
            State::Mouse(left) => self.state = State::Mouse(left.saturating_sub(1)),
            State::Console => events.extend(sequence::console(byte).map(Event::Key)),
            State::Paste(text) => self.state = State::Paste(text),
        }
    }

    /// A byte outside any sequence.
    fn begin(&mut self, byte: u8, prefix: Prefix, events: &mut Vec<Event>) {
        let whole = match byte {
            ESC => {
                self.state = State::Escape(Prefix::None);
                return;
            }
            0x00..0x80 => {
                events.push(Event::Key(with(sequence::ascii(byte), prefix)));
                return;
            }
            0xc2..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf5 => 4,
            // No character begins with these.
            0x80..0xc2 | 0xf5.. => return,
        };
        self.state = State::Character {
            bytes: [byte, 0, 0, 0],
            have: 1,
            whole,
            prefix,
        };
    }

    fn escaped(&mut self, byte: u8, prefix: Prefix, events: &mut Vec<Event>) {
        let bytes = Vec::new();
        match (byte, prefix) {
            (b'[', _) => self.state = State::Control { bytes, prefix },
            (b'O', _) => self.state = State::Shifted { bytes, prefix },
            (ESC, Prefix::None) => self.state = State::Escape(Prefix::Alt),
            // Esc was pressed twice, and then something else.
            (_, Prefix::Alt) => {
                events.push(escape());
                self.state = State::Escape(Prefix::None);
                self.step(byte, events);
            }
            (b']' | b'P' | b'X' | b'^' | b'_', Prefix::None) => {
                self.state = State::Text {
                    kind: byte,
                    bytes,
                    ends: false,
                };
            }
            (_, Prefix::None) => self.begin(byte, Prefix::Alt, events),
        }
    }

    fn control(&mut self, byte: u8, mut bytes: Vec<u8>, prefix: Prefix, events: &mut Vec<Event>) {
        match byte {
            b'[' if bytes.is_empty() => self.state = State::Console,
            b'M' if bytes.is_empty() => self.state = State::Mouse(3),
            0x20..0x40 => {
                // The end of a sequence that is too long is still waited for.
                if bytes.len() < LONGEST_SEQUENCE {
                    bytes.push(byte);
                }
                self.state = State::Control { bytes, prefix };
            }
            0x40..0x7f if bytes.len() >= LONGEST_SEQUENCE => {}
            b'~' if bytes == b"200" => self.state = State::Paste(Vec::new()),
            0x40..0x7f => {
                let event = sequence::control(&bytes, byte);
                events.extend(event.map(|event| event_with(event, prefix)));
            }
            0x00..0x20 | 0x7f.. => {
                self.state = State::Control { bytes, prefix };
                self.flush(events);
                self.begin(byte, Prefix::None, events);
            }
        }
    }

    fn shifted(&mut self, byte: u8, mut bytes: Vec<u8>, prefix: Prefix, events: &mut Vec<Event>) {
        match byte {
            b'0'..=b'9' | b';' if bytes.len() < LONGEST_SEQUENCE => {
                bytes.push(byte);
                self.state = State::Shifted { bytes, prefix };
            }
            0x21..0x7f => {
                let key = sequence::shifted(&bytes, byte);
                events.extend(key.map(|key| Event::Key(with(key, prefix))));
            }
            0x00..0x21 | 0x7f.. => {
                self.state = State::Shifted { bytes, prefix };
                self.flush(events);
                self.begin(byte, Prefix::None, events);
            }
        }
    }

    fn text(
        &mut self,
        byte: u8,
        kind: u8,
        mut bytes: Vec<u8>,
        ends: bool,
        events: &mut Vec<Event>,
    ) {
        match byte {
            b'\\' if ends => events.push(Event::Reply(sequence::reply(kind, &bytes))),
            BEL if !ends => events.push(Event::Reply(sequence::reply(kind, &bytes))),
            // It was not the end but the beginning of something else.
            _ if ends => self.escaped(byte, Prefix::None, events),
            ESC => {
                self.state = State::Text {
                    kind,
                    bytes,
                    ends: true,
                };
            }
            // No reply contains a control character: this is a key, and so was what came before.
            0x00..0x20 | 0x7f => {
                self.state = State::Text { kind, bytes, ends };
                self.flush(events);
                self.begin(byte, Prefix::None, events);
            }
            0x20.. => {
                if bytes.len() < LONGEST_REPLY {
                    bytes.push(byte);
                }
                self.state = State::Text { kind, bytes, ends };
            }
        }
    }
}

/// Takes what belongs to the paste. Once its end has arrived, returns how many of the bytes that was.
fn take_paste(text: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
    let before = text.len();
    // The end may have begun in an earlier read.
    let from = before.saturating_sub(PASTE_END.len() - 1);
    text.extend_from_slice(bytes);
    if let Some(at) = memchr::memmem::find(&text[from..], PASTE_END) {
        let at = from + at;
        text.truncate(at);
        return Some(at + PASTE_END.len() - before);
    }
    let keep = PASTE_END.len() - 1;
    if text.len() > LONGEST_PASTE + keep {
        text.drain(LONGEST_PASTE..text.len() - keep);
    }
    None
}

fn escape() -> Event {
    Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE))
}

/// Alt and a character that looked like the beginning of a sequence.
fn alt(byte: u8, prefix: Prefix, events: &mut Vec<Event>) {
    if prefix == Prefix::Alt {
        events.push(escape());
    }
    events.push(Event::Key(with(sequence::ascii(byte), Prefix::Alt)));
}

fn with(mut key: KeyEvent, prefix: Prefix) -> KeyEvent {
    if prefix == Prefix::Alt {
        key.modifiers |= KeyModifiers::ALT;
    }
    key
}

fn event_with(event: Event, prefix: Prefix) -> Event {
    match event {
        Event::Key(key) => Event::Key(with(key, prefix)),
        other @ (Event::Pasted(_)
        | Event::Pointed(_)
        | Event::Focused(_)
        | Event::Reply(Reply::Background(_) | Reply::Other)
        | Event::Gone) => other,
    }
}

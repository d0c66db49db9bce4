//! Reads a JSON object while it arrives: the strings at its top level, as far as they are known.
//!
//! A fragment may end anywhere, and costs its own length. Everything else in the object is skipped. Invalid JSON is not
//! an error here: the complete call is checked elsewhere.

use std::collections::HashMap;
use std::mem;
use std::ops::RangeInclusive;

/// Whether more of a string may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Open,
    Complete,
}

#[derive(Debug, Clone, Default)]
pub struct Partial {
    fields: HashMap<String, Field>,
    state: State,
}

#[derive(Debug, Clone)]
struct Field {
    value: String,
    newlines: usize,
    progress: Progress,
}

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    BeforeObject,
    BeforeKey,
    InKey {
        name: String,
        escape: Escape,
    },
    BeforeColon {
        name: String,
    },
    BeforeValue {
        name: String,
    },
    InString {
        name: String,
        escape: Escape,
    },
    /// Inside a list or an object.
    Nested {
        depth: usize,
        string: Nested,
    },
    /// In a number, `true`, `false` or `null`, or after a value.
    AfterValue,
    /// After the object, or in something that is not an object.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nested {
    Outside,
    Inside,
    Escaped,
}

/// The part of an escape sequence read so far.
#[derive(Debug, Clone, Copy, Default)]
struct Escape {
    stage: Stage,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
enum Stage {
    #[default]
    Plain,
    Backslash,
    Unicode {
        digits: u8,
        value: u32,
    },
}

impl Partial {
    pub fn push(&mut self, fragment: &str) {
        let mut rest = fragment;
        while !rest.is_empty() {
            rest = self.step(rest);
        }
    }

    /// A string at the top level, as far as it has arrived.
    pub fn get(&self, name: &str) -> Option<(&str, Progress)> {
        let field = self.fields.get(name)?;
        Some((&field.value, field.progress))
    }

    /// How many newlines are in the text that [`get`](Self::get) returns.
    pub fn newlines(&self, name: &str) -> usize {
        self.fields.get(name).map_or(0, |field| field.newlines)
    }

    /// Consumes at least one character, and returns the rest.
    fn step<'a>(&mut self, text: &'a str) -> &'a str {
        match &mut self.state {
            State::InString { name, escape } => {
                let field = self
                    .fields
                    .get_mut(name)
                    .expect("the field is there before its string is read");
                let before = field.value.len();
                let rest = escape.read(text, &mut field.value);
                let new = &field.value.as_bytes()[before..];
                field.newlines += memchr::memchr_iter(b'\n', new).count();
                match rest {
                    Ok(rest) => rest,
                    Err(behind) => {
                        field.progress = Progress::Complete;
                        self.state = State::AfterValue;
                        behind
                    }
                }
            }
            State::InKey { name, escape } => match escape.read(text, name) {
                Ok(rest) => rest,
                Err(behind) => {
                    let name = mem::take(name);
                    self.state = State::BeforeColon { name };
                    behind
                }
            },
            State::Nested { depth, string } => {
                let rest = skip_nested(text, depth, string);
                if *depth == 0 {
                    self.state = State::AfterValue;
                }
                rest
            }
            State::BeforeObject
            | State::BeforeKey
            | State::BeforeColon { .. }
            | State::BeforeValue { .. }
            | State::AfterValue => self.between(text),
            State::Over => "",
        }
    }

    /// Reads single characters between strings.
    fn between<'a>(&mut self, text: &'a str) -> &'a str {
        let mut characters = text.chars();
        let character = characters.next().unwrap_or_default();
        if !character.is_ascii_whitespace() {
            self.state = self.after(character);
        }
        characters.as_str()
    }

    fn after(&mut self, character: char) -> State {
        match mem::take(&mut self.state) {
            State::BeforeObject if character == '{' => State::BeforeKey,
            State::BeforeKey if character == '"' => State::InKey {
                name: String::new(),
                escape: Escape::default(),
            },
            State::BeforeColon { name } if character == ':' => State::BeforeValue { name },
            State::BeforeValue { name } => self.begin(name, character),
            State::AfterValue => match character {
                ',' => State::BeforeKey,
                '}' => State::Over,
                _ => State::AfterValue,
            },
            State::BeforeObject
            | State::BeforeKey
            | State::InKey { .. }
            | State::BeforeColon { .. }
            | State::InString { .. }
            | State::Nested { .. }
            | State::Over => State::Over,
        }
    }

    /// Begins the value of a field. If a name repeats, the last value is used, as in other JSON readers.
    fn begin(&mut self, name: String, first: char) -> State {
        self.fields.remove(&name);
        match first {
            '"' => {
                let field = Field {
                    value: String::new(),
                    newlines: 0,
                    progress: Progress::Open,
                };
                self.fields.insert(name.clone(), field);
                State::InString {
                    name,
                    escape: Escape::default(),
                }
            }
            '{' | '[' => State::Nested {
                depth: 1,
                string: Nested::Outside,
            },
            _ => State::AfterValue,
        }
    }
}

/// Skips a list or an object, and returns the rest once `depth` is 0.
fn skip_nested<'a>(text: &'a str, depth: &mut usize, string: &mut Nested) -> &'a str {
    for (at, byte) in text.bytes().enumerate() {
        match (*string, byte) {
            (Nested::Escaped, _) | (Nested::Outside, b'"') => *string = Nested::Inside,
            (Nested::Inside, b'\\') => *string = Nested::Escaped,
            (Nested::Inside, b'"') => *string = Nested::Outside,
            (Nested::Outside, b'{' | b'[') => *depth += 1,
            (Nested::Outside, b'}' | b']') => *depth -= 1,
            (Nested::Inside | Nested::Outside, _) => {}
        }
        if *depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

impl Escape {
    /// Decodes into `value`, and returns the rest of the text: in `Err` if the string has ended.
    fn read<'a>(&mut self, text: &'a str, value: &mut String) -> Result<&'a str, &'a str> {
        match self.stage {
            Stage::Plain => self.plain(text, value),
            Stage::Backslash => {
                let mut characters = text.chars();
                if let Some(character) = characters.next() {
                    self.escaped(character, value);
                }
                Ok(characters.as_str())
            }
            Stage::Unicode { digits, value: sum } => {
                let mut characters = text.chars();
                match characters.next().and_then(|digit| digit.to_digit(16)) {
                    Some(digit) if digits == 3 => self.unit(sum * 16 + digit, value),
                    Some(digit) => {
                        self.stage = Stage::Unicode {
                            digits: digits + 1,
                            value: sum * 16 + digit,
                        };
                    }
                    // Not a hexadecimal digit: the sequence is broken, and this is read as text.
                    None => {
                        self.put(char::REPLACEMENT_CHARACTER, value);
                        return Ok(text);
                    }
                }
                Ok(characters.as_str())
            }
        }
    }

    fn plain<'a>(&mut self, text: &'a str, value: &mut String) -> Result<&'a str, &'a str> {
        let end = memchr::memchr2(b'"', b'\\', text.as_bytes());
        let run = &text[..end.unwrap_or(text.len())];
        let ended = end.is_some_and(|end| text.as_bytes()[end] == b'"');
        if ended || !run.is_empty() {
            self.settle(value);
        }
        value.push_str(run);
        match end {
            Some(end) if ended => Err(&text[end + 1..]),
            Some(end) => {
                self.stage = Stage::Backslash;
                Ok(&text[end + 1..])
            }
            None => Ok(""),
        }
    }

    fn escaped(&mut self, character: char, value: &mut String) {
        let meant = match character {
            'u' => {
                self.stage = Stage::Unicode {
                    digits: 0,
                    value: 0,
                };
                return;
            }
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            other => other,
        };
        self.put(meant, value);
    }

    /// A complete `\uXXXX`: a character, or half of a surrogate pair.
    fn unit(&mut self, unit: u32, value: &mut String) {
        const HIGH: RangeInclusive<u32> = 0xD800..=0xDBFF;
        const LOW: RangeInclusive<u32> = 0xDC00..=0xDFFF;
        match self.high {
            Some(high) if LOW.contains(&unit) => {
                self.high = None;
                let code = 0x1_0000 + ((high - HIGH.start()) << 10) + (unit - LOW.start());
                self.put(
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                    value,
                );
            }
            _ if HIGH.contains(&unit) => {
                self.settle(value);
                self.high = Some(unit);
                self.stage = Stage::Plain;
            }
            _ => self.put(
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                value,
            ),
        }
    }

    fn put(&mut self, character: char, value: &mut String) {
        self.settle(value);
        value.push(character);
        self.stage = Stage::Plain;
    }

    /// Drops a first half that no second one follows.
    fn settle(&mut self, value: &mut String) {
        if self.high.take().is_some() {
            value.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

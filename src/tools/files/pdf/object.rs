//! The syntax of PDF: objects in a file, operands and operators in a page's content.

use std::collections::HashMap;

pub type Dictionary = HashMap<String, Object>;

#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    Array(Vec<Object>),
    Dictionary(Dictionary),
    /// The number of another object; its generation is ignored.
    Reference(u32),
    /// An operator in a page's content; in a file also `true`, `null`, `stream` and similar words.
    Keyword(Vec<u8>),
}

/// Reads objects one after the other.
pub struct Parser<'a> {
    pub bytes: &'a [u8],
    pub position: usize,
}

/// Only a malicious file is nested deeper than this.
const MAX_DEPTH: usize = 32;

impl Object {
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The approximate cost of a copy, in bytes.
    pub fn weight(&self) -> usize {
        const EACH: usize = 32;
        EACH + match self {
            Self::Number(_) | Self::Reference(_) => 0,
            Self::Name(name) => name.len(),
            Self::Text(bytes) | Self::Keyword(bytes) => bytes.len(),
            Self::Array(items) => items.iter().map(Self::weight).sum(),
            Self::Dictionary(entries) => entries
                .iter()
                .map(|(key, value)| key.len() + value.weight())
                .sum(),
        }
    }

    /// The number as an index; `None` for anything else.
    pub fn as_index(&self) -> Option<u32> {
        let number = self.as_number()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked"
        )]
        (number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0)
            .then_some(number as u32)
    }
}

impl<'a> Parser<'a> {
    pub fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    /// The next object; `None` at the end or if the syntax is invalid.
    pub fn next(&mut self) -> Option<Object> {
        self.object(0)
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        self.skip_blanks();
        let first = *self.bytes.get(self.position)?;
        if depth > MAX_DEPTH {
            return None;
        }
        match first {
            b'/' => {
                self.position += 1;
                Some(Object::Name(self.name()))
            }
            b'(' => Some(Object::Text(self.literal())),
            b'<' if self.bytes.get(self.position + 1) == Some(&b'<') => {
                self.position += 2;
                Some(Object::Dictionary(self.dictionary(depth)))
            }
            b'<' => Some(Object::Text(self.hexadecimal())),
            b'[' => {
                self.position += 1;
                Some(Object::Array(self.items(b"]", depth)))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => Some(self.number_or_reference()),
            // A closing bracket without an opening one is skipped, so that reading continues after it.
            b')' | b'>' | b']' | b'{' | b'}' => {
                self.position += 1;
                Some(Object::Keyword(vec![first]))
            }
            _ => Some(Object::Keyword(self.word().to_vec())),
        }
    }

    fn dictionary(&mut self, depth: usize) -> Dictionary {
        let mut items = self.items(b">>", depth).into_iter();
        let mut dictionary = Dictionary::new();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            if let Object::Name(key) = key {
                dictionary.insert(key, value);
            }
        }
        dictionary
    }

    fn items(&mut self, end: &[u8], depth: usize) -> Vec<Object> {
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.bytes[self.position..].starts_with(end) {
                self.position += end.len();
                return items;
            }
            match self.object(depth + 1) {
                Some(object) => items.push(object),
                None => return items,
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.bytes.get(self.position) {
            match byte {
                b'%' => {
                    let rest = &self.bytes[self.position..];
                    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    self.position += end;
                }
                0 | b'\t' | b'\n' | 12 | b'\r' | b' ' => self.position += 1,
                _ => return,
            }
        }
    }

    fn word(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        let end = rest.iter().position(|byte| is_delimiter(*byte));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.position += word.len();
        word
    }

    fn name(&mut self) -> String {
        let word = self.word();
        let mut name = Vec::new();
        let mut bytes = word.iter();
        while let Some(byte) = bytes.next() {
            let digits = bytes.as_slice().get(..2);
            let escaped = (*byte == b'#')
                .then(|| std::str::from_utf8(digits?).ok())
                .flatten()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            if let Some(escaped) = escaped {
                name.push(escaped);
                bytes.nth(1);
            } else {
                name.push(*byte);
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    fn literal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut open = 0;
        while let Some(byte) = self.take() {
            match byte {
                b'(' => {
                    open += 1;
                    if open > 1 {
                        text.push(byte);
                    }
                }
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                    text.push(byte);
                }
                b'\\' => self.escape(&mut text),
                byte => text.push(byte),
            }
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        match self.take() {
            Some(b'n') => text.push(b'\n'),
            Some(b'r') => text.push(b'\r'),
            Some(b't') => text.push(b'\t'),
            Some(b'b') => text.push(8),
            Some(b'f') => text.push(12),
            Some(digit @ b'0'..=b'7') => {
                let mut code = u32::from(digit - b'0');
                for _ in 0..2 {
                    match self.bytes.get(self.position) {
                        Some(digit @ b'0'..=b'7') => code = code * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    self.position += 1;
                }
                text.extend(u8::try_from(code & 0xFF));
            }
            // An escaped line break is not part of the string.
            Some(b'\r') if self.bytes.get(self.position) == Some(&b'\n') => self.position += 1,
            Some(b'\n' | b'\r') | None => {}
            Some(other) => text.push(other),
        }
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.position += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.take() {
            match char::from(byte).to_digit(16) {
                Some(digit) => digits.extend(u8::try_from(digit)),
                None if byte == b'>' => break,
                None => {}
            }
        }
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0))
            .collect()
    }

    fn number_or_reference(&mut self) -> Object {
        let word = self.word();
        let text = std::str::from_utf8(word).unwrap_or_default();
        let Ok(number) = text.parse::<f64>() else {
            return Object::Keyword(word.to_vec());
        };
        let start = self.position;
        if let (Ok(id), Some(())) = (text.parse(), self.rest_of_reference()) {
            return Object::Reference(id);
        }
        self.position = start;
        Object::Number(number)
    }

    /// The rest of a reference after the object's number: its generation and the letter R.
    fn rest_of_reference(&mut self) -> Option<()> {
        self.skip_blanks();
        let generation = self.word();
        if generation.is_empty() || !generation.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.skip_blanks();
        (self.word() == b"R").then_some(())
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.position)?;
        self.position += 1;
        Some(*byte)
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        0 | b'\t'
            | b'\n'
            | 12
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}

#[cfg(test)]
mod tests {
    use super::{Object, Parser};

    #[test]
    fn objects_of_every_kind_are_read() {
        let text = b"<< /A 1 0 R /B [1 -2.5 (a\\(b\\051\\n(c)) <4a4B5>] /C#20D true >> % note\nBT";
        let mut parser = Parser::new(text, 0);
        let Some(Object::Dictionary(dictionary)) = parser.next() else {
            panic!("a dictionary");
        };
        assert_eq!(dictionary["A"], Object::Reference(1));
        assert_eq!(
            dictionary["B"],
            Object::Array(vec![
                Object::Number(1.0),
                Object::Number(-2.5),
                Object::Text(b"a(b)\n(c)".to_vec()),
                Object::Text(b"JKP".to_vec()),
            ])
        );
        assert_eq!(dictionary["C D"], Object::Keyword(b"true".to_vec()));
        assert_eq!(parser.next(), Some(Object::Keyword(b"BT".to_vec())));
        assert_eq!(parser.next(), None);
    }

    #[test]
    fn parsing_invalid_input_ends() {
        for text in [
            &b"(((("[..],
            b"<<<<<<",
            b"[[[[",
            b"]>>)",
            b"<4",
            b"/#",
            b"1 0",
            b"\\",
        ] {
            let mut parser = Parser::new(text, 0);
            let count = std::iter::from_fn(|| parser.next()).take(100).count();
            assert!(count < 100, "{text:?}");
        }
        let deep = b"[".repeat(100_000);
        assert!(Parser::new(&deep, 0).next().is_some());
    }
}

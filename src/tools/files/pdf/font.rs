//! From the codes in a page's content to characters.
//!
//! A font may bring a table for this purpose (`ToUnicode`); without one, codes are taken for Windows-1252 with the
//! differences that the font names. Codes of two bytes without a table mean shapes that nobody here can name.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::File;
use super::object::{Object, Parser};

/// The fonts of a file, each built once.
pub struct Fonts<'a> {
    file: &'a File<'a>,
    known: HashMap<u32, Rc<Font>>,
}

#[derive(Debug, Default)]
pub struct Font {
    /// How many bytes a code has: one or two.
    width: usize,
    table: HashMap<u32, String>,
    /// Codes that are not in the table stand for themselves.
    plain: bool,
}

impl<'a> Fonts<'a> {
    pub fn new(file: &'a File<'a>) -> Self {
        Self {
            file,
            known: HashMap::new(),
        }
    }

    pub fn get(&mut self, font: &Object) -> Rc<Font> {
        let make = || Rc::new(Font::new(self.file, font));
        match font {
            Object::Reference(id) => Rc::clone(self.known.entry(*id).or_insert_with(make)),
            _ => make(),
        }
    }
}

impl Font {
    fn new(file: &File<'_>, reference: &Object) -> Self {
        let font = file.dictionary(Some(reference)).unwrap_or_default();
        let composite = font.get("Subtype").and_then(Object::as_name) == Some("Type0");
        let mut result = Self {
            width: if composite { 2 } else { 1 },
            table: HashMap::new(),
            plain: !composite,
        };
        if let Some(encoding) = file.dictionary(font.get("Encoding")) {
            result.add_differences(&file.list(encoding.get("Differences")));
        }
        if let Some(Object::Reference(id)) = font.get("ToUnicode") {
            result.add_map(&file.stream(*id).unwrap_or_default());
        }
        result
    }

    /// A font without any information.
    pub fn unknown() -> Self {
        Self {
            width: 1,
            table: HashMap::new(),
            plain: true,
        }
    }

    pub fn decode(&self, codes: &[u8], text: &mut String) {
        for code in codes.chunks(self.width.max(1)) {
            let code = code
                .iter()
                .fold(0, |code, byte| code << 8 | u32::from(*byte));
            match self.table.get(&code) {
                Some(characters) => text.push_str(characters),
                None if self.plain => text.push(windows_1252(code)),
                None => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
    }

    /// `[65 /alpha /beta 97 /a]`: a code, and the glyph names from this code on.
    fn add_differences(&mut self, differences: &[Object]) {
        let mut code = 0;
        for item in differences {
            if let Some(start) = item.as_index() {
                code = start;
            } else if let Some(name) = item.as_name() {
                if let Some(characters) = glyph(name) {
                    self.table.insert(code, characters);
                }
                code = code.wrapping_add(1);
            }
        }
    }

    /// Reads a table: `<code> <characters>` pairs, and `<first> <last> <characters>` ranges.
    fn add_map(&mut self, map: &[u8]) {
        /// The longest range that is accepted.
        const LONGEST: u32 = 0xFF00;
        /// The largest table that is accepted.
        const MOST: usize = 0x2_0000;
        let mut parser = Parser::new(map, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = parser.next() {
            let Object::Keyword(keyword) = &object else {
                operands.push(object);
                continue;
            };
            match keyword.as_slice() {
                b"endcodespacerange" => {
                    if let Some(Object::Text(first)) = operands.first() {
                        self.width = first.len().clamp(1, 2);
                    }
                }
                b"endbfchar" => {
                    for pair in operands.chunks_exact(2) {
                        if let [Object::Text(from), Object::Text(to)] = pair {
                            self.table.insert(code(from), utf16(to, 0));
                        }
                    }
                }
                b"endbfrange" => {
                    for range in operands.chunks_exact(3) {
                        if self.table.len() > MOST {
                            return;
                        }
                        let [Object::Text(first), Object::Text(last), to] = range else {
                            continue;
                        };
                        let codes =
                            code(first)..=code(last).min(code(first).saturating_add(LONGEST));
                        for (index, code) in (0..).zip(codes) {
                            let characters = match to {
                                Object::Text(to) => Some(utf16(to, index)),
                                Object::Array(items) => match items.get(index as usize) {
                                    Some(Object::Text(to)) => Some(utf16(to, 0)),
                                    _ => None,
                                },
                                _ => None,
                            };
                            self.table
                                .extend(characters.map(|characters| (code, characters)));
                        }
                    }
                }
                _ => {}
            }
            operands.clear();
        }
    }
}

fn code(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |code, byte| code << 8 | u32::from(*byte))
}

/// The characters in UTF-16, with `step` added to the last one.
fn utf16(bytes: &[u8], step: u16) -> String {
    let mut units: Vec<u16> = bytes
        .chunks(2)
        .map(|pair| {
            pair.iter()
                .fold(0, |unit, byte| unit << 8 | u16::from(*byte))
        })
        .collect();
    if let Some(last) = units.last_mut() {
        *last = last.wrapping_add(step);
    }
    String::from_utf16_lossy(&units)
}

fn windows_1252(code: u32) -> char {
    const FROM_128: [char; 32] = [
        '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž',
        '\u{fffd}', '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ',
        '\u{fffd}', 'ž', 'Ÿ',
    ];
    match code {
        128..160 => FROM_128[code as usize - 128],
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// The characters that a glyph name means, as far as text needs them.
fn glyph(name: &str) -> Option<String> {
    const NAMED: [(&str, &str); 56] = [
        ("space", " "),
        ("exclam", "!"),
        ("quotedbl", "\""),
        ("numbersign", "#"),
        ("dollar", "$"),
        ("percent", "%"),
        ("ampersand", "&"),
        ("quotesingle", "'"),
        ("parenleft", "("),
        ("parenright", ")"),
        ("asterisk", "*"),
        ("plus", "+"),
        ("comma", ","),
        ("hyphen", "-"),
        ("period", "."),
        ("slash", "/"),
        ("zero", "0"),
        ("one", "1"),
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("colon", ":"),
        ("semicolon", ";"),
        ("less", "<"),
        ("equal", "="),
        ("greater", ">"),
        ("question", "?"),
        ("at", "@"),
        ("bracketleft", "["),
        ("backslash", "\\"),
        ("bracketright", "]"),
        ("asciicircum", "^"),
        ("underscore", "_"),
        ("braceleft", "{"),
        ("bar", "|"),
        ("braceright", "}"),
        ("asciitilde", "~"),
        ("quoteleft", "‘"),
        ("quoteright", "’"),
        ("quotedblleft", "“"),
        ("quotedblright", "”"),
        ("bullet", "•"),
        ("endash", "–"),
        ("emdash", "—"),
        ("ellipsis", "…"),
        ("fi", "fi"),
        ("fl", "fl"),
        ("ff", "ff"),
        ("ffi", "ffi"),
        ("ffl", "ffl"),
        ("germandbls", "ß"),
    ];
    if let Some((_, characters)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some((*characters).to_owned());
    }
    if let Some(digits) = name.strip_prefix("uni").and_then(|rest| rest.get(..4)) {
        let code = u32::from_str_radix(digits, 16).ok()?;
        return Some(char::from_u32(code)?.to_string());
    }
    let mut letters = name.chars();
    let letter = letters.next()?;
    match letters.as_str() {
        "" => Some(letter.to_string()),
        accent => accented(letter, accent).map(String::from),
    }
}

/// Accented letters have names like `eacute`.
fn accented(letter: char, accent: &str) -> Option<char> {
    let (base, marked) = match accent {
        "acute" => ("aeiouyAEIOUY", "áéíóúýÁÉÍÓÚÝ"),
        "grave" => ("aeiouAEIOU", "àèìòùÀÈÌÒÙ"),
        "circumflex" => ("aeiouAEIOU", "âêîôûÂÊÎÔÛ"),
        "dieresis" => ("aeiouyAEIOU", "äëïöüÿÄËÏÖÜ"),
        "tilde" => ("anoANO", "ãñõÃÑÕ"),
        "cedilla" => ("cC", "çÇ"),
        "ring" => ("aA", "åÅ"),
        "slash" => ("oO", "øØ"),
        _ => return None,
    };
    let index = base.chars().position(|candidate| candidate == letter)?;
    marked.chars().nth(index)
}

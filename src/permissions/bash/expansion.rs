//! Reading expansions: `$..`, backticks, arithmetic, arrays, and the scripts hidden in them.

use std::iter::Peekable;
use std::str::Chars;

use super::reader::{Broken, Draft, MAX_DEPTH, Quoting, Reader, is_name};
use super::script::{Script, Traits, Word};

/// How many bytes may be read ahead, in addition to the length of the text.
const MAX_LOOKING_AHEAD: usize = 1 << 16;

impl Reader<'_> {
    /// At a `$`.
    pub(super) fn dollar(&mut self, word: &mut Draft, quoting: Quoting) -> Result<(), Broken> {
        let start = self.at;
        match self.peek_second() {
            Some(b'(') => {
                self.bump();
                self.bump();
                match self.arithmetic_end()? {
                    Some(end) => self.arithmetic(end)?,
                    None => self.substitution()?,
                }
            }
            Some(b'{') => {
                self.bump();
                self.bump();
                self.parameter(quoting)?;
            }
            Some(b'[') => {
                self.bump();
                self.bump();
                let end = self
                    .matching(self.at, b'[', b']')?
                    .ok_or(Broken("`$[` is not closed"))?;
                self.scan(self.at, end)?;
                self.evaluated(&self.source[self.at..end])?;
                self.at = end + 1;
            }
            Some(b'\'') if quoting == Quoting::Bare => return self.ansi_quoted(word),
            Some(b'"') if quoting == Quoting::Bare => {
                self.bump();
                word.push_quoted("$", "");
                word.push_expansion("", Traits::DOLLAR_QUOTED);
                return self.double_quoted(word);
            }
            Some(first) if first == b'_' || first.is_ascii_alphabetic() => {
                self.bump();
                let from = self.at;
                while self
                    .peek()
                    .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                {
                    self.at += 1;
                }
                let place = quoting == Quoting::Double
                    && matches!(&self.source[from..self.at], "HOME" | "PWD");
                let kind = if place {
                    Traits::PLACE
                } else {
                    Traits::EXPANSION
                };
                word.push_expansion(&self.source[start..self.at], kind);
                return Ok(());
            }
            Some(b'?') => {
                self.bump();
                self.at += 1;
                word.push_expansion("$?", Traits::STATUS);
                return Ok(());
            }
            Some(b'@' | b'*' | b'#' | b'-' | b'$' | b'!' | b'0'..=b'9') => {
                self.bump();
                self.at += 1;
            }
            Some(_) | None => {
                self.at += 1;
                word.push_plain("$");
                return Ok(());
            }
        }
        word.push_expansion(&self.source[start..self.at], Traits::EXPANSION);
        Ok(())
    }

    /// After `$(`, `<(` or `>(`: a script up to its `)`.
    pub(super) fn substitution(&mut self) -> Result<(), Broken> {
        self.deeper(|reader| {
            let outer_pending = reader.outer_pending;
            let pending = std::mem::take(&mut reader.pending);
            let inside = std::mem::take(&mut reader.inside);
            reader.outer_pending = outer_pending || !pending.is_empty();
            let script = reader.script_until_parenthesis()?;
            reader.outer_pending = outer_pending;
            reader.pending = pending;
            reader.inside = inside;
            reader.inside.scripts.push(script);
            Ok(())
        })
    }

    pub(super) fn backtick(&mut self, word: &mut Draft, quoting: Quoting) -> Result<(), Broken> {
        let start = self.at;
        self.at += 1;
        let mut inside = String::new();
        loop {
            let rest = &self.source[self.at..];
            let Some(special) = rest.find(['`', '\\']) else {
                return Err(Broken("a backtick is not closed"));
            };
            inside.push_str(&rest[..special]);
            self.at += special;
            if self.byte(self.at) == Some(b'`') {
                self.at += 1;
                break;
            }
            match self.byte(self.at + 1) {
                Some(next @ (b'`' | b'\\' | b'$')) => inside.push(char::from(next)),
                Some(b'"') if quoting == Quoting::Double => inside.push('"'),
                _ => {
                    inside.push('\\');
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
        }
        let script = self.deeper(|reader| Reader::new(&inside, reader.depth).script())?;
        self.inside.scripts.push(script);
        word.push_expansion(&self.source[start..self.at], Traits::EXPANSION);
        Ok(())
    }

    /// After `${`: up to the first `}` that is not quoted.
    fn parameter(&mut self, quoting: Quoting) -> Result<(), Broken> {
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return Err(Broken("`${ ..}` runs commands in newer shells"));
        }
        self.deeper(|reader| {
            let mut ignored = Draft::default();
            let from = reader.at;
            loop {
                match reader.peek() {
                    None => return Err(Broken("`${` is not closed")),
                    Some(b'}') => {
                        let inside = reader.source[from..reader.at].replace("\\\n", "");
                        reader.at += 1;
                        return reader.parameter_effects(&inside);
                    }
                    Some(b'\\') => {
                        reader.at += 1 + reader.width(reader.at + 1);
                    }
                    // Inside double quotes its meaning depends on the operator.
                    Some(b'\'') if quoting == Quoting::Double => {
                        return Err(Broken("a single quote is inside `\"${..}\"`"));
                    }
                    Some(b'\'') => {
                        let rest = &reader.source[reader.at + 1..];
                        let length = rest
                            .find('\'')
                            .ok_or(Broken("a single quote is not closed"))?;
                        reader.at += length + 2;
                    }
                    Some(b'"') => reader.double_quoted(&mut ignored)?,
                    Some(b'$') => reader.dollar(&mut ignored, quoting)?,
                    Some(b'`') => reader.backtick(&mut ignored, quoting)?,
                    Some(b'<' | b'>') if reader.peek_second() == Some(b'(') => {
                        reader.bump();
                        reader.bump();
                        reader.substitution()?;
                    }
                    Some(_) => reader.at += 1,
                }
            }
        })
    }

    /// After the first of two parentheses: where the inner one closes, if the outer one closes right after it. This is
    /// how bash tells `((1))` from `( (ls) )`.
    pub(super) fn arithmetic_end(&mut self) -> Result<Option<usize>, Broken> {
        if self.peek() != Some(b'(') {
            return Ok(None);
        }
        let end = self.matching(self.at + 1, b'(', b')')?;
        Ok(end.filter(|end| self.byte(end + 1) == Some(b')')))
    }

    /// Reads the inside of `((..))`, from the inner parenthesis here to its `end`.
    pub(super) fn arithmetic(&mut self, end: usize) -> Result<(), Broken> {
        // Bash may read this as arithmetic or as two subshells; we do not guess.
        if self.source[self.at..end].contains(['\n', ';']) {
            return Err(Broken("arithmetic contains a separator"));
        }
        self.scan(self.at + 1, end)?;
        self.evaluated(&self.source[self.at + 1..end])?;
        self.at = end + 2;
        Ok(())
    }

    /// The closing byte that matches one opened just before `from`. Quotes hide brackets, as in bash.
    fn matching(&mut self, from: usize, open: u8, close: u8) -> Result<Option<usize>, Broken> {
        let end = match_bracket(self.source.as_bytes(), from, open, close);
        // Looking ahead again and again costs the square of the length.
        self.looked_ahead += end.unwrap_or(self.source.len()) - from;
        if self.looked_ahead > MAX_LOOKING_AHEAD + 8 * self.source.len() {
            return Err(Broken("it is nested too deeply"));
        }
        Ok(end)
    }

    /// Looks for substitutions in text that is not made of words: arithmetic, subscripts, here-documents. Single quotes
    /// do not hide them, because arithmetic also evaluates quoted text.
    pub(super) fn scan(&mut self, from: usize, to: usize) -> Result<(), Broken> {
        self.scan_text(&self.source[from..to])
    }

    pub(super) fn scan_text(&mut self, text: &str) -> Result<(), Broken> {
        let inside = self.deeper(|reader| {
            let mut inner = Reader::new(text, reader.depth);
            inner.unquoted = reader.unquoted;
            let mut ignored = Draft::default();
            while let Some(byte) = inner.peek() {
                match byte {
                    b'\\' => inner.at += 1 + inner.width(inner.at + 1),
                    b'$' => inner.dollar(&mut ignored, Quoting::Double)?,
                    b'`' => inner.backtick(&mut ignored, Quoting::Double)?,
                    _ => inner.at += 1,
                }
            }
            reader.unquoted = inner.unquoted;
            Ok(inner.inside)
        })?;
        self.inside.scripts.extend(inside.scripts);
        self.inside.effect = self.inside.effect.or(inside.effect);
        Ok(())
    }

    /// `name=(a b c)`: the elements are words.
    pub(super) fn array(&mut self, word: &mut Draft) -> Result<(), Broken> {
        let start = self.at;
        self.at += 1;
        self.deeper(|reader| {
            loop {
                reader.skip_blanks();
                match reader.peek() {
                    Some(b')') => {
                        reader.at += 1;
                        return Ok(());
                    }
                    Some(b'\n') if reader.pending.is_empty() && !reader.outer_pending => {
                        reader.at += 1;
                    }
                    Some(b'#') => reader.comment(),
                    _ => match reader.word(true)? {
                        Some(_) => {}
                        None => return Err(Broken("an array is not closed")),
                    },
                }
            }
        })?;
        word.push_expansion(&self.source[start..self.at], Traits::EXPANSION);
        Ok(())
    }

    /// `name[..]` where an assignment may be.
    pub(super) fn subscript(&mut self, word: &mut Draft) -> Result<(), Broken> {
        let start = self.at;
        let end = self
            .matching(start + 1, b'[', b']')?
            .ok_or(Broken("`[` is not closed"))?;
        self.scan(start + 1, end)?;
        self.at = end + 1;
        word.push_expansion(
            &self.source[start..self.at],
            Traits::GLOB.or(Traits::EXPANSION),
        );
        Ok(())
    }

    /// To the end of the line. A backslash does not continue a comment.
    pub(super) fn comment(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn ansi_quoted(&mut self, word: &mut Draft) -> Result<(), Broken> {
        let start = self.at;
        self.bump();
        self.at += 1;
        let from = self.at;
        loop {
            match self.byte(self.at) {
                None => return Err(Broken("a single quote is not closed")),
                Some(b'\'') => break,
                Some(b'\\') => {
                    self.at += 1 + self.width(self.at + 1);
                }
                Some(_) => self.at += 1,
            }
        }
        let text = decode_ansi(&self.source[from..self.at]);
        self.at += 1;
        word.push_quoted(&self.source[start..self.at], &text);
        word.push_expansion("", Traits::DOLLAR_QUOTED);
        Ok(())
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        if self.depth >= MAX_DEPTH {
            return Err(Broken("it is nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}

pub(super) fn match_bracket(bytes: &[u8], from: usize, open: u8, close: u8) -> Option<usize> {
    let (mut at, mut depth) = (from, 1_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\'' => {
                let rest = bytes.get(at + 1..)?;
                at += 1 + rest.iter().position(|&other| other == b'\'')?;
            }
            b'"' => {
                at += 1;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            _ if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ if byte == open => depth += 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// `$'..'` as bash decodes it. Only deny and ask rules compare the result, so unusual escapes may stay as they are.
pub(super) fn decode_ansi(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let Some(escape) = (character == '\\').then(|| rest.next()) else {
            decoded.push(character);
            continue;
        };
        decoded.push(match escape {
            None => '\\',
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('e' | 'E') => '\u{1b}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('x') => digits(&mut rest, 16, 2, 0),
            Some('u') => digits(&mut rest, 16, 4, 0),
            Some('U') => digits(&mut rest, 16, 8, 0),
            Some(first @ '0'..='7') => digits(&mut rest, 8, 2, u32::from(first) - u32::from('0')),
            Some(other) => other,
        });
    }
    decoded
}

fn digits(rest: &mut Peekable<Chars<'_>>, radix: u32, most: usize, first: u32) -> char {
    let mut value = first;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(radix)) else {
            break;
        };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        rest.next();
    }
    char::from_u32(value).unwrap_or('\u{fffd}')
}

/// The name of an assignment word: `NAME=`, `NAME+=`, `NAME[..]=`. The second value is where the value starts.
pub(super) fn assignment_name(raw: &str) -> Option<(&str, usize)> {
    let end = raw.find(['=', '[', '+'])?;
    let name = &raw[..end];
    if !is_name(name) {
        return None;
    }
    let rest = &raw[end..];
    if rest.starts_with('=') {
        return Some((name, end + 1));
    }
    if rest.starts_with("+=") {
        return Some((name, end + 2));
    }
    let close = rest
        .rfind("]=")
        .map(|close| close + 2)
        .or_else(|| rest.rfind("]+=").map(|close| close + 3))?;
    rest.starts_with('[').then_some((name, end + close))
}

/// Reads `source` as one word; `None` if it is not exactly one word.
pub fn lone_word(source: &str) -> Option<Word> {
    let mut reader = Reader::new(source, 0);
    let word = reader.word(false).ok()??;
    (reader.at == source.len()).then_some(word)
}

/// Reads `source` as one script.
pub fn parse(source: &str) -> Result<Script, Broken> {
    Reader::new(source, 0).script()
}

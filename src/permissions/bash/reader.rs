//! The basis of the shell reader: a position in the text, limits, and reading words as bash does.
//!
//! Hand-written, linear and bounded: groups and loops live on an explicit stack, only substitutions recurse, and
//! [`MAX_DEPTH`] ends that. What bash accepts but this reader does not handle is [`Broken`]; the caller then approves
//! nothing and tries deny rules on fragments. So any doubt makes the call ask; it never opens a hole.

use super::brace;
use super::script::{Script, Traits, Word};

/// How deep substitutions may nest.
pub const MAX_DEPTH: usize = 40;

/// The text could not be parsed completely; the string says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken(pub &'static str);

pub struct Reader<'t> {
    pub(super) source: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Here-documents whose body starts after the next newline.
    pub(super) pending: Vec<Pending>,
    /// A here-document of an outer script still needs its body: a newline in here would be ambiguous.
    pub(super) outer_pending: bool,
    /// What was found in expansions since the last part ended.
    pub(super) inside: Inside,
    /// How many bytes were read ahead.
    pub(super) looked_ahead: usize,
    /// How many bytes were read a second time without their quotes.
    pub(super) unquoted: usize,
}

/// Side effects of expansions.
#[derive(Default)]
pub struct Inside {
    pub scripts: Vec<Script>,
    pub effect: Option<&'static str>,
}

pub struct Pending {
    pub delimiter: String,
    pub strip_tabs: bool,
    pub literal: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Double,
}

impl<'t> Reader<'t> {
    pub fn new(source: &'t str, depth: usize) -> Self {
        Self {
            source,
            at: 0,
            depth,
            pending: Vec::new(),
            outer_pending: false,
            inside: Inside::default(),
            looked_ahead: 0,
            unquoted: 0,
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.source.as_bytes().get(at).copied()
    }

    fn skip_continuations(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// The current byte, after line continuations: bash removes them before it sees tokens, even between `$` and `(`.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.at = self.skip_continuations(self.at);
        self.byte(self.at)
    }

    /// The byte after the current one, skipping line continuations.
    pub(super) fn peek_second(&self) -> Option<u8> {
        self.byte(self.skip_continuations(self.at + 1))
    }

    /// The length of the character at `at` in bytes; zero at the end.
    pub(super) fn width(&self, at: usize) -> usize {
        self.source
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8)
    }

    /// Skips the current byte.
    pub(super) fn bump(&mut self) {
        self.at = self.skip_continuations(self.at + 1);
    }

    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads one word. `assignable` is set where bash would accept an assignment; there `a[1 + 2]=3` is one word.
    pub(super) fn word(&mut self, assignable: bool) -> Result<Option<Word>, Broken> {
        self.word_at(assignable, assignable)
    }

    /// After `declare` and similar builtins an array may be assigned, but a blank ends `a[1 `.
    pub(super) fn word_at(
        &mut self,
        assignable: bool,
        arrays: bool,
    ) -> Result<Option<Word>, Broken> {
        let mut word = Draft::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'(' if arrays && word.awaits_array() => self.array(&mut word)?,
                b'<' | b'>' if self.peek_second() == Some(b'(') => {
                    let start = self.at;
                    self.bump();
                    self.bump();
                    self.substitution()?;
                    word.push_expansion(&self.source[start..self.at], Traits::EXPANSION);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => self.escape(&mut word)?,
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'$' => self.dollar(&mut word, Quoting::Bare)?,
                b'`' => self.backtick(&mut word, Quoting::Bare)?,
                b'[' if assignable && word.is_name() => self.subscript(&mut word)?,
                _ => {
                    let start = self.at;
                    self.at += 1;
                    if byte == b'{' {
                        word.opens_brace = true;
                    } else if matches!(byte, b'*' | b'?' | b'[') {
                        word.traits.add(Traits::GLOB);
                    } else if byte == b'~' {
                        word.tilde();
                    } else {
                        while self.byte(self.at).is_some_and(is_plain) {
                            self.at += 1;
                        }
                    }
                    word.push_plain(&self.source[start..self.at]);
                }
            }
        }
        Ok(word.finish())
    }

    fn escape(&mut self, word: &mut Draft) -> Result<(), Broken> {
        let start = self.at;
        let Some(character) = self.source[start + 1..].chars().next() else {
            return Err(Broken("it ends in a backslash"));
        };
        self.at = start + 1 + character.len_utf8();
        word.push_quoted(
            &self.source[start..self.at],
            &self.source[start + 1..self.at],
        );
        Ok(())
    }

    fn single_quoted(&mut self, word: &mut Draft) -> Result<(), Broken> {
        let start = self.at;
        let Some(length) = self.source[start + 1..].find('\'') else {
            return Err(Broken("a single quote is not closed"));
        };
        self.at = start + length + 2;
        word.push_quoted(
            &self.source[start..self.at],
            &self.source[start + 1..self.at - 1],
        );
        Ok(())
    }

    pub(super) fn double_quoted(&mut self, word: &mut Draft) -> Result<(), Broken> {
        word.push_quoted("\"", "");
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Broken("a double quote is not closed")),
                Some(b'"') => {
                    self.at += 1;
                    word.push_quoted("\"", "");
                    return Ok(());
                }
                Some(b'\\') => {
                    if matches!(self.byte(self.at + 1), Some(b'$' | b'`' | b'"' | b'\\')) {
                        word.push_quoted(
                            &self.source[self.at..self.at + 2],
                            &self.source[self.at + 1..self.at + 2],
                        );
                        self.at += 2;
                    } else {
                        word.push_quoted("\\", "\\");
                        self.at += 1;
                    }
                }
                Some(b'$') => self.dollar(word, Quoting::Double)?,
                Some(b'`') => self.backtick(word, Quoting::Double)?,
                Some(_) => {
                    let start = self.at;
                    self.at += 1;
                    while self
                        .byte(self.at)
                        .is_some_and(|byte| !matches!(byte, b'"' | b'\\' | b'$' | b'`'))
                    {
                        self.at += 1;
                    }
                    let text = &self.source[start..self.at];
                    word.push_quoted(text, text);
                }
            }
        }
    }
}

/// Bytes without special meaning in a bare word. `=` and `:` are left out because a `~` may follow them.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'%' | b'@' | b'^')
}

/// A word while it is read.
#[derive(Default)]
pub(super) struct Draft {
    raw: String,
    text: String,
    traits: Traits,
    started: bool,
    /// There is a `{` that is neither quoted nor part of an expansion.
    opens_brace: bool,
}

impl Draft {
    pub(super) fn push_plain(&mut self, text: &str) {
        self.started = true;
        self.raw.push_str(text);
        self.text.push_str(text);
    }

    pub(super) fn push_quoted(&mut self, raw: &str, text: &str) {
        self.started = true;
        self.raw.push_str(raw);
        self.text.push_str(text);
        self.traits.add(Traits::QUOTED);
    }

    pub(super) fn push_expansion(&mut self, raw: &str, kind: Traits) {
        self.push_plain(raw);
        self.traits.add(kind);
    }

    /// `~` expands at the start of a word and, in what looks like an assignment, after `=` and `:`.
    fn tilde(&mut self) {
        if !self.started || self.raw.ends_with(['=', ':']) {
            self.traits.add(Traits::TILDE);
        }
    }

    fn is_name(&self) -> bool {
        !self.traits.has(Traits::QUOTED.or(Traits::EXPANSION)) && is_name(&self.raw)
    }

    fn awaits_array(&self) -> bool {
        !self.traits.has(Traits::QUOTED)
            && self
                .raw
                .strip_suffix('=')
                .is_some_and(|name| is_name(name.strip_suffix('+').unwrap_or(name)))
    }

    fn finish(mut self) -> Option<Word> {
        // A lone bracket is the command `[`, not a pattern.
        if self.raw == "[" {
            self.traits = Traits::default();
        }
        if self.opens_brace && brace::expands(&self.raw) {
            self.traits.add(Traits::BRACE);
        }
        self.started.then_some(Word {
            raw: self.raw,
            text: self.text,
            traits: self.traits,
        })
    }
}

/// Whether this is the name of a shell variable.
pub fn is_name(text: &str) -> bool {
    text.bytes()
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

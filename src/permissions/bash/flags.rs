//! Lists of permitted flags, and reading arguments against them.
//!
//! Lists say what is permitted, never what is not: an unknown flag, an abbreviation or a bundle that hides a flag fails.

use super::script::Word;

/// The permitted flags of a command.
#[derive(Debug, Clone, Copy)]
pub struct Flags {
    /// Letters. `:` after one means a value, `/` a value that is a path, `?` a value only if attached, `;` a value only
    /// if in the next word.
    pub short: &'static str,
    /// Names, separated by blanks, followed by `=`, `/` and `?` as above.
    pub long: &'static str,
    /// `-5` is a count.
    pub numeric: bool,
}

/// Text of a word that names a file, or any operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'w> {
    pub text: &'w str,
    /// The word it comes from, for its quoting.
    pub word: &'w Word,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments<'w> {
    pub operands: Vec<Named<'w>>,
    /// Values of flags that name files.
    pub paths: Vec<Named<'w>>,
    /// Letters and names of the flags that were given.
    pub given: Vec<&'w str>,
    /// Values of the other flags, with their flag.
    pub values: Vec<(&'w str, &'w str)>,
}

impl Arguments<'_> {
    pub fn has(&self, flags: &[&str]) -> bool {
        self.given.iter().any(|given| flags.contains(given))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Data,
    Path,
    Attached,
    NextWord,
}

impl Flags {
    pub const NONE: Self = Self::new("", "");

    pub const fn new(short: &'static str, long: &'static str) -> Self {
        Self {
            short,
            long,
            numeric: false,
        }
    }

    pub const fn with_numbers(short: &'static str, long: &'static str) -> Self {
        Self {
            short,
            long,
            numeric: true,
        }
    }

    /// Reads `words`, the arguments of a command. The error is the flag that is not permitted.
    pub fn read<'w>(&self, words: &'w [Word]) -> Result<Arguments<'w>, &'w str> {
        let mut arguments = Arguments::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            let is_flag = text.len() > 1 && text.starts_with('-');
            if !is_flag {
                arguments.operands.push(Named { text, word });
            } else if text == "--" {
                arguments.operands.extend(rest.by_ref().map(|word| Named {
                    text: &word.text,
                    word,
                }));
            } else if let Some(name) = text.strip_prefix("--") {
                self.long(name, word, &mut rest, &mut arguments)
                    .ok_or(text)?;
            } else if self.numeric && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
                arguments.given.push(&text[1..]);
            } else {
                self.bundle(&text[1..], word, &mut rest, &mut arguments)
                    .ok_or(text)?;
            }
        }
        Ok(arguments)
    }

    fn long<'w>(
        &self,
        text: &'w str,
        word: &'w Word,
        rest: &mut std::slice::Iter<'w, Word>,
        arguments: &mut Arguments<'w>,
    ) -> Option<()> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let kind = self.long_kind(name)?;
        arguments.given.push(name);
        match (kind, attached) {
            (Value::None | Value::Attached, None) => {}
            (Value::None | Value::NextWord, Some(_)) => return None,
            (Value::Attached | Value::Data, Some(value)) => arguments.values.push((name, value)),
            (Value::Path, Some(text)) => arguments.paths.push(Named { text, word }),
            (Value::Data | Value::NextWord, None) => {
                arguments.values.push((name, next_value(rest)?.text));
            }
            (Value::Path, None) => arguments.paths.push(next_value(rest)?),
        }
        Some(())
    }

    fn bundle<'w>(
        &self,
        letters: &'w str,
        word: &'w Word,
        rest: &mut std::slice::Iter<'w, Word>,
        arguments: &mut Arguments<'w>,
    ) -> Option<()> {
        for (at, letter) in letters.char_indices() {
            let kind = self.short_kind(letter)?;
            let end = at + letter.len_utf8();
            let name = &letters[at..end];
            let attached = &letters[end..];
            arguments.given.push(name);
            match kind {
                Value::None => continue,
                Value::Data | Value::NextWord if attached.is_empty() => {
                    arguments.values.push((name, next_value(rest)?.text));
                }
                Value::NextWord => return None,
                Value::Data | Value::Attached => arguments.values.push((name, attached)),
                Value::Path if attached.is_empty() => arguments.paths.push(next_value(rest)?),
                Value::Path => arguments.paths.push(Named {
                    text: attached,
                    word,
                }),
            }
            return Some(());
        }
        Some(())
    }

    fn short_kind(&self, letter: char) -> Option<Value> {
        if !letter.is_ascii_alphanumeric() && letter != '.' {
            return None;
        }
        let at = self.short.find(letter)?;
        Some(kind(self.short.as_bytes().get(at + 1).copied()))
    }

    fn long_kind(&self, name: &str) -> Option<Value> {
        self.long.split_ascii_whitespace().find_map(|listed| {
            let plain = listed.trim_end_matches(['=', '/', '?']);
            (plain == name).then(|| kind(listed.as_bytes().get(plain.len()).copied()))
        })
    }
}

/// A value in a word of its own. A value that looks like a flag may be one, if a program disagrees with our list.
fn next_value<'w>(rest: &mut std::slice::Iter<'w, Word>) -> Option<Named<'w>> {
    let word = rest.next()?;
    let text = word.text.as_str();
    let flag_like = text.len() > 1
        && text.starts_with('-')
        && !text[1..].bytes().all(|byte| byte.is_ascii_digit());
    (!flag_like).then_some(Named { text, word })
}

fn kind(mark: Option<u8>) -> Value {
    match mark {
        Some(b':' | b'=') => Value::Data,
        Some(b'/') => Value::Path,
        Some(b'?') => Value::Attached,
        Some(b';') => Value::NextWord,
        Some(_) | None => Value::None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Flags, Word};

    const FLAGS: Flags = Flags::with_numbers("abn:f/M?L;", "all lines= file/ color?");

    /// Flags, operands and paths.
    fn read(text: &str) -> Result<[Vec<String>; 3], String> {
        let words: Vec<Word> = text.split(' ').map(Word::plain).collect();
        let arguments = FLAGS.read(&words).map_err(str::to_owned)?;
        let texts =
            |named: &[super::Named<'_>]| named.iter().map(|named| named.text.to_owned()).collect();
        let given = arguments
            .given
            .iter()
            .map(|given| (*given).to_owned())
            .collect();
        Ok([given, texts(&arguments.operands), texts(&arguments.paths)])
    }

    #[test]
    fn values_are_no_operands() {
        let [given, operands, paths] =
            read("-ab -n 5 x --lines 3 -fy --file=z -M9 --color -7 - -- -q").expect("permitted");
        assert_eq!(
            given,
            ["a", "b", "n", "lines", "f", "file", "M", "color", "7"]
        );
        assert_eq!(operands, ["x", "-", "-q"]);
        assert_eq!(paths, ["y", "z"]);
    }

    #[test]
    fn what_is_not_listed_fails() {
        for text in [
            "-x", "-ax", "--al", "--all=1", "--alle", "x -x", "-n", "--lines", "-n -x", "-Lx",
            "-5x", "-:", "--colour",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

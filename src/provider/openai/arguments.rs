//! The arguments of a call, which arrive in pieces, without an end marker.
//!
//! A JSON object ends with its last brace: only white space can follow. So the braces are counted while the pieces come
//! in, each byte is looked at once, and the text is parsed once, when the count is back at zero.

use memchr::memchr2;
use serde_json::{Map, Value};

use crate::provider::wire;

#[derive(Debug, Default)]
pub(super) struct Arguments {
    raw: String,
    scan: Scan,
}

#[derive(Debug, Default, Clone, Copy)]
enum Scan {
    /// Nothing but white space so far.
    #[default]
    Blank,
    Inside {
        depth: usize,
        quoted: Quoted,
    },
    /// The last brace has arrived.
    Closed,
    /// Will not be complete before its end: no object, an empty one, or a broken one.
    Open,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Quoted {
    #[default]
    No,
    Yes,
    /// The last byte was a backslash.
    Escaping,
}

impl Arguments {
    pub(super) fn as_str(&self) -> &str {
        &self.raw
    }

    pub(super) fn into_string(self) -> String {
        self.raw
    }

    /// Appends a piece. Gives the object as soon as it is complete.
    ///
    /// An empty object is not given: some servers send `{}` first and the arguments after it. Nor is one followed by
    /// something else: what the model meant is not known, and a tool must not run on a guess.
    pub(super) fn push(&mut self, piece: &str) -> Option<Map<String, Value>> {
        let Some(end) = self.scan.advance(piece.as_bytes()) else {
            self.raw.push_str(piece);
            return None;
        };
        let before = self.raw.len();
        self.raw.push_str(&piece[..end]);
        let alone = piece[end..].trim_ascii().is_empty();
        match wire::parse_input(&self.raw) {
            Some(input) if alone && !input.is_empty() => {
                self.scan = Scan::Closed;
                Some(input)
            }
            Some(_) | None => {
                self.scan = Scan::Open;
                self.raw.truncate(before);
                self.raw.push_str(piece);
                None
            }
        }
    }

    /// Takes a piece after the last brace. False if it makes the object invalid; white space is harmless, and so is a
    /// server that sends the whole object again.
    pub(super) fn accepts(&mut self, piece: &str) -> bool {
        let harmless = piece.trim_ascii().is_empty() || piece.trim_ascii() == self.raw.trim_ascii();
        if !harmless {
            self.scan = Scan::Open;
            self.raw.push_str(piece);
        }
        harmless
    }
}

impl Scan {
    /// Where in `bytes` the object ends, if it does.
    fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        if matches!(self, Self::Blank) {
            let first = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
            *self = match bytes[first] {
                b'{' => Self::Inside {
                    depth: 0,
                    quoted: Quoted::No,
                },
                _ => Self::Open,
            };
            at = first;
        }
        let Self::Inside { depth, quoted } = self else {
            return None;
        };
        while at < bytes.len() {
            match *quoted {
                Quoted::Yes => {
                    at += memchr2(b'"', b'\\', &bytes[at..])?;
                    *quoted = match bytes[at] {
                        b'"' => Quoted::No,
                        _ => Quoted::Escaping,
                    };
                }
                Quoted::Escaping => *quoted = Quoted::Yes,
                Quoted::No => match bytes[at] {
                    b'"' => *quoted = Quoted::Yes,
                    b'{' | b'[' => *depth += 1,
                    b'}' | b']' => {
                        *depth = depth.saturating_sub(1);
                        if *depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                },
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::{Value, json};

    use super::Arguments;

    /// Which piece completed the object, and what it is.
    fn feed(pieces: &[&str]) -> Option<(usize, Value)> {
        let mut arguments = Arguments::default();
        let mut pieces = pieces.iter().enumerate();
        pieces.find_map(|(at, piece)| Some((at, Value::Object(arguments.push(piece)?))))
    }

    #[test]
    fn the_last_brace_completes_the_object() {
        let expected = Some((2, json!({"a": [{"b": "}\\\"{"}]})));
        assert_eq!(
            feed(&[" {\"a\": [{\"b\"", ": \"}\\\\\\", "\"{\"}]}", " "]),
            expected
        );
    }

    #[test]
    fn what_follows_the_object_voids_it_unless_it_is_blank_or_the_same_again() {
        for (more, harmless) in [
            (" \n", true),
            ("", true),
            ("{\"a\":1}", true),
            ("trailing", false),
            ("}", false),
            ("{\"a\":2}", false),
        ] {
            let mut arguments = Arguments::default();
            assert!(arguments.push("{\"a\":1}").is_some());
            assert_eq!(arguments.accepts(more), harmless, "{more:?}");
            let whole = format!("{{\"a\":1}}{}", if harmless { "" } else { more });
            assert_eq!(arguments.as_str(), whole);
        }
        let mut arguments = Arguments::default();
        assert_eq!(arguments.push("{\"a\":1} trailing"), None);
        assert_eq!(arguments.as_str(), "{\"a\":1} trailing");
        assert!(Arguments::default().push("{\"a\":1} \n").is_some());
    }

    #[test]
    fn nothing_but_a_filled_object_completes_early() {
        for pieces in [
            &["{}", ""][..],
            &["[1]"],
            &["null"],
            &["", " "],
            &["{\"a\":1]", "}"],
            &["\"{}\""],
        ] {
            assert_eq!(feed(pieces), None, "{pieces:?}");
        }
        let mut arguments = Arguments::default();
        arguments.push("{} ");
        arguments.push("{\"a\":1}");
        assert_eq!(arguments.as_str(), "{} {\"a\":1}");
    }

    proptest! {
        #[test]
        fn an_object_completes_exactly_with_its_last_byte(key in ".*", text in ".*", cut in 1_usize..5) {
            let whole = json!({key: [{"x": text}, "}]"]});
            let raw = whole.to_string();
            let mut arguments = Arguments::default();
            let mut seen = None;
            let letters: Vec<char> = raw.chars().collect();
            for piece in letters.chunks(cut) {
                assert!(seen.is_none());
                seen = arguments.push(&piece.iter().collect::<String>());
            }
            assert_eq!(seen.map(Value::Object), Some(whole));
        }
    }
}

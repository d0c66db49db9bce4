//! Words and quotes of a request.
//!
//! Quotes keep their content together and keep joining words from joining. A quote is one only where a person means it:
//! it opens after a character that is not a letter, and closes before one. So `don't` is an ordinary word, and an
//! unclosed quote is just a character.

use std::ops::Range;

/// A text whose quoted parts are known.
#[derive(Debug)]
pub(super) struct Words<'a> {
    text: &'a str,
    /// With their quotes, in order.
    quoted: Vec<Range<usize>>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut quoted: Vec<Range<usize>> = Vec::new();
        // A quote that is not closed after one place is not closed after a later one either: checking once keeps this
        // linear.
        let mut never_closed = Vec::new();
        let mut before = None;
        for (at, character) in text.char_indices() {
            let is_inside = quoted.last().is_some_and(|last| last.contains(&at));
            let opens = before.is_none_or(|c: char| !c.is_alphanumeric() && c != '\\');
            before = Some(character);
            if is_inside || !opens || never_closed.contains(&character) {
                continue;
            }
            match quote_at(text, at) {
                Some(range) => quoted.push(range),
                None if closing(character).is_some() => never_closed.push(character),
                None => {}
            }
        }
        Self { text, quoted }
    }

    /// The words: white space separates them, unless it is quoted.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let mut words = Vec::new();
        let mut start = None;
        for (at, character) in self.text.char_indices() {
            let separates = character.is_whitespace() && !self.is_quoted(at);
            match start {
                None if !separates => start = Some(at),
                Some(begin) if separates => {
                    words.push(begin..at);
                    start = None;
                }
                None | Some(_) => {}
            }
        }
        words.extend(start.map(|begin| begin..self.text.len()));
        words
    }

    /// The positions of `needle` outside quotes.
    pub(super) fn positions(&self, needle: &str) -> Vec<usize> {
        let all = self.text.match_indices(needle).map(|(at, _)| at);
        all.filter(|at| !self.is_quoted(*at)).collect()
    }

    /// The text before and after the first unquoted word `word`, if there is text before it.
    pub(super) fn split_at_word(&self, word: &str) -> Option<(&'a str, &'a str)> {
        let words = self.ranges();
        let at = words.iter().skip(1).find(|range| self.is(range, word))?;
        Some((self.text[..at.start].trim(), self.text[at.end..].trim()))
    }

    /// The text before the last unquoted `word`, and the one word after it, if nothing else follows.
    pub(super) fn split_off_last(&self, word: &str) -> Option<(&'a str, &'a str)> {
        let words = self.ranges();
        let [_, .., joint, last] = words.as_slice() else {
            return None;
        };
        let behind = &self.text[last.clone()];
        self.is(joint, word)
            .then(|| (self.text[..joint.start].trim(), behind))
    }

    fn is(&self, range: &Range<usize>, word: &str) -> bool {
        self.text[range.clone()].eq_ignore_ascii_case(word)
    }

    fn is_quoted(&self, at: usize) -> bool {
        let behind = self.quoted.partition_point(|range| range.end <= at);
        self.quoted
            .get(behind)
            .is_some_and(|range| range.contains(&at))
    }
}

/// The content of the quotes around all of `text`, if there are any; punctuation after them is ignored.
pub(super) fn unquoted(text: &str) -> Option<String> {
    let text = text.trim();
    let range = quote_at(text, 0)?;
    let rest = &text[range.end..];
    if !rest
        .chars()
        .all(|c| matches!(c, '.' | ',' | ';' | '!' | '?'))
    {
        return None;
    }
    let mut characters = text[range].chars();
    characters.next();
    let close = characters.next_back()?;
    // Only the quote itself can be escaped: a backslash in a regex or a path stays as it is.
    Some(
        characters
            .as_str()
            .replace(&format!("\\{close}"), &close.to_string()),
    )
}

/// The quoted part that begins with the character at `start`.
fn quote_at(text: &str, start: usize) -> Option<Range<usize>> {
    let open = text[start..].chars().next()?;
    let end = end_of_quote(text, start + open.len_utf8(), closing(open)?)?;
    Some(start..end)
}

fn end_of_quote(text: &str, inside: usize, close: char) -> Option<usize> {
    text[inside..]
        .match_indices(close)
        .map(|(offset, _)| inside + offset)
        .find(|at| {
            let behind = text[at + close.len_utf8()..].chars().next();
            let is_escaped = *at > inside && text[..*at].ends_with('\\');
            !is_escaped && behind.is_none_or(|c| !c.is_alphanumeric())
        })
        .map(|at| at + close.len_utf8())
}

fn closing(open: char) -> Option<char> {
    match open {
        '\'' | '"' | '`' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Words, unquoted};

    fn words(text: &str) -> Vec<&str> {
        let ranges = Words::new(text).ranges();
        ranges.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(words("run 'a b' c"), ["run", "'a b'", "c"]);
        assert_eq!(words("x=\"a b\" `c d`"), ["x=\"a b\"", "`c d`"]);
        assert_eq!(words("“a b” ‘c d’"), ["“a b”", "‘c d’"]);
        assert_eq!(words(r#""a \" b" c"#), [r#""a \" b""#, "c"]);
    }

    #[test]
    fn an_apostrophe_is_no_quote() {
        assert_eq!(
            words("echo don't stop 'til"),
            ["echo", "don't", "stop", "'til"]
        );
        assert_eq!(words("'it's here' x"), ["'it's here'", "x"]);
        assert_eq!(words("an \"open one"), ["an", "\"open", "one"]);
    }

    #[test]
    fn only_quotes_around_everything_are_taken_off() {
        assert_eq!(unquoted(" 'a b'. ").as_deref(), Some("a b"));
        assert_eq!(
            unquoted(r#""say \"hi\" \n""#).as_deref(),
            Some(r#"say "hi" \n"#)
        );
        assert_eq!(unquoted("''").as_deref(), Some(""));
        for text in ["'a' 'b'", "a 'b'", "'a' b", "plain", "'open", ""] {
            assert_eq!(unquoted(text), None, "{text}");
        }
    }

    #[test]
    fn splits_see_no_quoted_words() {
        let text = "'a with b' WITH c with d";
        assert_eq!(
            Words::new(text).split_at_word("with"),
            Some(("'a with b'", "c with d"))
        );
        assert_eq!(Words::new("with b").split_at_word("with"), None);
        let text = "x in y in 'z in'";
        assert_eq!(
            Words::new(text).split_off_last("in"),
            Some(("x in y", "'z in'"))
        );
        assert_eq!(Words::new("x in y z").split_off_last("in"), None);
        assert_eq!(Words::new("in y").split_off_last("in"), None);
        assert_eq!(Words::new("'=>' => b").positions("=>"), [5]);
    }
}

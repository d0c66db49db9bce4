//! The last resort for text that the reader does not understand: every fragment that could be a command.
//!
//! Only deny and ask rules see fragments. The text is also cut at operators inside quotes, because it is not known here
//! where a quote begins.

use super::script::{Part, Script, Word};
use super::text::is_deceptive;

/// Words that may come before a command without being one.
const KEYWORDS: [&str; 15] = [
    "!", "if", "then", "elif", "else", "do", "while", "until", "time", "coproc", "function", "in",
    "case", "for", "select",
];

/// The name of this structure in a reason.
pub const CUT: &str = "text that cannot be read";

/// Cuts `text` twice: with quotes removed, so that `r"m" x` is found, and with quotes as borders, so that `sh -c "rm x` is.
pub fn fragments(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    cut(text, &mut parts, false);
    if text.contains(['\'', '"', '\\']) {
        cut(text, &mut parts, true);
    }
    parts
}

/// A script made of fragments only.
pub fn fragment_script(text: &str) -> Script {
    Script {
        parts: fragments(text),
        structure: Some(CUT),
        ..Script::default()
    }
}

fn cut(text: &str, parts: &mut Vec<Part>, quotes_cut: bool) {
    let mut words: Vec<Word> = Vec::new();
    let mut word = String::new();
    let flush = |word: &mut String, words: &mut Vec<Word>| {
        let skipped = word.is_empty() || (words.is_empty() && KEYWORDS.contains(&word.as_str()));
        if !skipped {
            words.push(Word::plain(word));
        }
        word.clear();
    };
    for character in text.chars() {
        match character {
            '\'' | '"' | '\\' if !quotes_cut => {}
            ';' | '|' | '&' | '\n' | '(' | ')' | '{' | '}' | '`' | '<' | '>' | '\'' | '"' => {
                flush(&mut word, &mut words);
                end(&mut words, parts);
            }
            ' ' | '\t' | '\\' => flush(&mut word, &mut words),
            _ if character.is_whitespace() || character.is_control() => {
                flush(&mut word, &mut words);
            }
            _ if is_deceptive(character) => {}
            _ => word.push(character),
        }
    }
    flush(&mut word, &mut words);
    end(&mut words, parts);
}

fn end(words: &mut Vec<Word>, parts: &mut Vec<Part>) {
    let leading = words
        .iter()
        .take_while(|word| super::expansion::assignment_name(&word.raw).is_some())
        .count();
    let words: Vec<Word> = std::mem::take(words).split_off(leading);
    if !words.is_empty() {
        parts.push(Part {
            words,
            ..Part::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::fragments;

    fn texts(text: &str) -> Vec<String> {
        let join = |part: &super::Part| {
            part.words
                .iter()
                .map(|word| word.text.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        fragments(text).iter().map(join).collect()
    }

    #[test]
    fn every_piece_between_operators_is_a_fragment() {
        assert_eq!(texts("a b && c; (d `e"), ["a b", "c", "d", "e"]);
    }

    #[test]
    fn quotes_are_removed_and_are_borders() {
        assert_eq!(texts("r'm' -x \"y z"), ["rm -x y z", "r", "m", "-x", "y z"]);
    }

    #[test]
    fn keywords_assignments_and_hidden_characters_do_not_cover_a_command() {
        assert_eq!(texts("then A=1 r\u{200b}m\u{a0}x"), ["rm x"]);
    }
}

//! The filter of a list: a text field of one line, and how well an item matches it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::text::one_line;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    text: String,
}

impl Filter {
    /// A field that contains a text already.
    pub fn of(text: &str) -> Self {
        Self {
            text: one_line(text),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns whether the key changed it.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let before = self.text.len();
        let command = KeyModifiers::CONTROL | KeyModifiers::ALT;
        match key.code {
            KeyCode::Char(letter) if !key.modifiers.intersects(command) => self.text.push(letter),
            KeyCode::Char('u') if key.modifiers == KeyModifiers::CONTROL => self.text.clear(),
            KeyCode::Char('w') if key.modifiers == KeyModifiers::CONTROL => self.remove_word(),
            KeyCode::Backspace if key.modifiers.intersects(command) => self.remove_word(),
            KeyCode::Backspace => drop(self.text.pop()),
            _ => {}
        }
        self.text.len() != before
    }

    pub fn paste(&mut self, text: &str) -> bool {
        let text = one_line(text);
        self.text.push_str(&text);
        !text.is_empty()
    }

    fn remove_word(&mut self) {
        let word = self.text.trim_end();
        let start = word.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        self.text.truncate(start);
    }

    pub fn matching(&self) -> Matching {
        let words = self.text.split_whitespace();
        let word = |word: &str| Word {
            fuzzy: atom(word, AtomKind::Fuzzy),
            exact: atom(word, AtomKind::Substring),
        };
        Matching {
            words: words.map(word).collect(),
            matcher: Matcher::new(Config::DEFAULT),
            letters: Vec::new(),
        }
    }
}

/// Matches items against the words of a filter. Every word has to match.
pub struct Matching {
    words: Vec<Word>,
    matcher: Matcher,
    letters: Vec<char>,
}

struct Word {
    fuzzy: Atom,
    exact: Atom,
}

/// How well an item matches; greater is better. First those with all words in the name, then by how well they match it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    in_name: bool,
    score: u32,
}

impl Matching {
    /// A name matches if it has the letters of a word in order. The other texts must contain the whole word, because
    /// the letters alone would match any long text. Also returns the matching letters of the name.
    pub fn fit(&mut self, name: &str, also: &[&str]) -> Option<(Fit, Vec<u32>)> {
        let mut fit = Fit {
            in_name: true,
            score: 0,
        };
        let mut matched = Vec::new();
        for word in &self.words {
            let text = Utf32Str::new(name, &mut self.letters);
            if let Some(score) = word.fuzzy.indices(text, &mut self.matcher, &mut matched) {
                fit.score += u32::from(score);
                continue;
            }
            let found = also.iter().find_map(|text| {
                let text = Utf32Str::new(text, &mut self.letters);
                word.exact.score(text, &mut self.matcher)
            });
            fit.score += u32::from(found?);
            fit.in_name = false;
        }
        matched.sort_unstable();
        matched.dedup();
        Some((fit, matched))
    }
}

fn atom(word: &str, kind: AtomKind) -> Atom {
    let (case, normal) = (CaseMatching::Ignore, Normalization::Smart);
    Atom::new(word, case, normal, kind, false)
}

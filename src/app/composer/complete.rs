//! The word that is being completed: a command after `/`, or a path after `@`.

use std::sync::Arc;

use super::editor::Place;
use crate::app::commands::Commands;
use crate::app::job::Candidate;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Slash,
    Path,
}

/// The beginning of a word that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub kind: Kind,
    pub start: Place,
    pub query: String,
}

/// One suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    /// The characters of the name that matched.
    pub matched: Vec<u32>,
    pub arguments: Arc<str>,
    pub about: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub word: Word,
    pub items: Vec<Item>,
    pub chosen: usize,
    /// How many match in total; the items are the best of them.
    pub found: usize,
    /// Identifies the request that the items answer.
    pub generation: u64,
    /// Whether the items answer an older request.
    pub stale: bool,
    /// Whether all files have been searched.
    pub complete: bool,
}

impl Completion {
    pub fn new(word: Word, generation: u64, known: &Commands) -> Self {
        let mut completion = Self {
            word,
            items: Vec::new(),
            chosen: 0,
            found: 0,
            generation,
            stale: true,
            complete: false,
        };
        if completion.word.kind == Kind::Slash {
            completion.items = commands(&completion.word.query, known);
            completion.found = completion.items.len();
            completion.stale = false;
            completion.complete = true;
        }
        completion
    }

    /// Continues with a word that was typed further. The items found so far stay until better ones arrive.
    pub fn refine(&mut self, word: Word, generation: u64, known: &Commands) {
        let (items, found) = (std::mem::take(&mut self.items), self.found);
        let is_path = word.kind == Kind::Path;
        *self = Self::new(word, generation, known);
        if is_path {
            self.items = items;
            self.found = found;
        }
    }

    /// Updates the items after the commands have changed.
    pub fn update_commands(&mut self, known: &Commands) {
        if self.word.kind == Kind::Slash {
            self.items = commands(&self.word.query, known);
            self.chosen = self.chosen.min(self.items.len().saturating_sub(1));
        }
    }

    /// Takes an answer, unless it is for an older request.
    pub fn answer(&mut self, generation: u64, paths: Vec<Candidate>, found: usize, complete: bool) {
        if generation != self.generation || self.word.kind != Kind::Path {
            return;
        }
        let before = self.items.get(self.chosen).map(|item| item.name.clone());
        // A directory that is typed out is open: the list shows what is in it.
        let is_typed = |path: &str| path == self.word.query && path.ends_with('/');
        let count = paths.len();
        self.items = paths
            .into_iter()
            .filter(|candidate| !is_typed(&candidate.path))
            .map(|candidate| Item {
                name: candidate.path,
                matched: candidate.matched,
                arguments: Arc::from(""),
                about: Arc::from(""),
            })
            .collect();
        // If the person has moved down the list, their choice stays selected while more files are found.
        let moved = self.chosen > 0 && !self.stale;
        let same = self
            .items
            .iter()
            .position(|item| Some(&item.name) == before.as_ref());
        self.chosen = if moved { same.unwrap_or(0) } else { 0 };
        self.stale = false;
        self.found = found.saturating_sub(count - self.items.len());
        self.complete = complete;
    }

    pub fn choose(&mut self, by: isize) {
        let count = self.items.len().cast_signed();
        if count > 0 {
            self.chosen = (self.chosen.cast_signed() + by)
                .rem_euclid(count)
                .cast_unsigned();
        }
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.items.get(self.chosen)
    }

    /// Whether Enter and Tab accept a suggestion: there is one, and it isn't typed out already.
    pub fn can_accept(&self) -> bool {
        !self.stale
            && self
                .chosen()
                .is_some_and(|item| item.name != self.word.query)
    }

    /// The text that replaces the word.
    pub fn accepted(&self) -> Option<String> {
        let item = self.chosen().filter(|_| !self.stale)?;
        let name = &item.name;
        Some(match self.word.kind {
            Kind::Slash if item.arguments.is_empty() => format!("/{name}"),
            Kind::Slash => format!("/{name} "),
            // After a directory, completion continues inside it.
            Kind::Path if name.ends_with('/') && needs_quotes(name) => format!("@\"{name}"),
            Kind::Path if name.ends_with('/') => format!("@{name}"),
            Kind::Path if needs_quotes(name) => format!("@\"{name}\" "),
            Kind::Path => format!("@{name} "),
        })
    }
}

fn needs_quotes(path: &str) -> bool {
    path.contains(char::is_whitespace)
}

/// The word that ends at the caret, if it can be completed.
pub fn word_before(before: &str, line: usize) -> Option<Word> {
    let command = before.strip_prefix('/').filter(|name| {
        line == 0 && !name.contains(|letter: char| letter.is_whitespace() || letter == '/')
    });
    if let Some(name) = command {
        return Some(Word {
            kind: Kind::Slash,
            start: Place::START,
            query: name.to_owned(),
        });
    }
    let (at, query) = quoted(before).or_else(|| unquoted(before))?;
    let begins_word = before[..at]
        .chars()
        .next_back()
        .is_none_or(|letter| letter.is_whitespace() || "([{<,;:'`".contains(letter));
    begins_word.then(|| Word {
        kind: Kind::Path,
        start: Place::new(line, before[..at].chars().count()),
        query: query.to_owned(),
    })
}

fn quoted(before: &str) -> Option<(usize, &str)> {
    let at = before.rfind("@\"")?;
    let query = &before[at + 2..];
    (!query.contains('"')).then_some((at, query))
}

fn unquoted(before: &str) -> Option<(usize, &str)> {
    let at = before.rfind('@')?;
    let query = &before[at + 1..];
    let ends = |letter: char| letter.is_whitespace() || letter == '"';
    (!query.contains(ends)).then_some((at, query))
}

/// The matching commands: first those that begin with the query, then those that contain it, then those that contain
/// its letters in order.
fn commands(query: &str, known: &Commands) -> Vec<Item> {
    let query = query.to_lowercase();
    let mut found: Vec<(usize, Item)> = known
        .all()
        .iter()
        .filter_map(|command| {
            let matched = letters(&command.name, &query)?;
            let rank = match command.name.find(&query) {
                // A name that is typed in full must not be completed to another one.
                _ if *command.name == *query => 0,
                Some(0) => 1,
                Some(_) => 2,
                None => 3,
            };
            let item = Item {
                name: command.name.to_string(),
                matched,
                arguments: command.arguments.clone(),
                about: command.about.clone(),
            };
            Some((rank, item))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, item)| item).collect()
}

/// Where the letters of the query are in a name: side by side if possible, else anywhere in this order.
fn letters(name: &str, query: &str) -> Option<Vec<u32>> {
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    if let Some(at) = name.find(query) {
        let start = count(&name[..at]);
        return Some((start..start + count(query)).collect());
    }
    let mut name = (0..).zip(name.chars());
    query
        .chars()
        .map(|wanted| name.find(|(_, letter)| *letter == wanted).map(|(at, _)| at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Kind, commands, word_before};
    use crate::app::commands::Commands;

    fn word(before: &str) -> Option<(Kind, usize, String)> {
        word_before(before, 0).map(|word| (word.kind, word.start.column, word.query))
    }

    #[test]
    fn knows_the_word_before_the_caret() {
        for (before, expected) in [
            ("/", Some((Kind::Slash, 0, ""))),
            ("/he", Some((Kind::Slash, 0, "he"))),
            ("/usr/b", None),
            ("/model x", None),
            ("@", Some((Kind::Path, 0, ""))),
            ("see @src/ma", Some((Kind::Path, 4, "src/ma"))),
            ("é (@a", Some((Kind::Path, 3, "a"))),
            ("a@b", None),
            ("@a b", None),
            ("@\"a b", Some((Kind::Path, 0, "a b"))),
            ("@\"a b\" ", None),
            ("/model @x", Some((Kind::Path, 7, "x"))),
        ] {
            let expected = expected.map(|(kind, start, query)| (kind, start, query.to_owned()));
            assert_eq!(word(before), expected, "{before}");
        }
    }

    #[test]
    fn commands_that_begin_with_the_query_come_first() {
        let names = |query| {
            let items = commands(query, &Commands::default()).into_iter();
            items
                .map(|item| (item.name, item.matched))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("he"),
            [("help".into(), vec![0, 1]), ("theme".into(), vec![1, 2])]
        );
        assert_eq!(names("MDL"), [("model".into(), vec![0, 2, 4])]);
        assert_eq!(names("nothing"), []);
    }
}

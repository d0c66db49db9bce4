//! A TOML file that a person wrote, and its mistakes.
//!
//! Reading continues after a mistake: a broken line is reported and skipped, the rest applies. The reader interprets
//! the entries; here they keep their positions, so that every [`Problem`] can name its line and column.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A mistake in a file: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    pub what: String,
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let (line, column) = (self.line, self.column);
        write!(
            formatter,
            "`{file}`, line {line}, column {column}: {}\nhint: {}",
            self.what, self.hint
        )
    }
}

impl std::error::Error for Problem {}

/// A name or a value, with its position in the text.
pub type Name<'a> = Spanned<DeString<'a>>;
pub type Value<'a> = Spanned<DeValue<'a>>;

/// The entries of a file, with their positions.
#[derive(Debug)]
pub struct Document<'a> {
    file: &'a Path,
    text: &'a str,
    root: DeTable<'a>,
    /// The lines that are not valid TOML; what the parser recovered there is not used.
    broken: Vec<usize>,
}

impl<'a> Document<'a> {
    pub fn read(text: &'a str, file: &'a Path) -> (Self, Vec<Problem>) {
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut document = Self {
            file,
            text,
            root: root.into_inner(),
            broken: Vec::new(),
        };
        let mut problems = Vec::new();
        for error in errors {
            let at = error.span().unwrap_or_default();
            let problem = document.problem(
                &at,
                error.message(),
                "write `name = \"value\"`, and quote names with anything but letters, digits, `-` and `_`; the line is ignored",
            );
            if !document.broken.contains(&problem.line) {
                document.broken.push(problem.line);
                problems.push(problem);
            }
        }
        problems.sort_by_key(|problem| problem.line);
        (document, problems)
    }

    /// The entries at the top of the file.
    pub fn top(&self) -> Vec<(&Name<'a>, &Value<'a>)> {
        self.entries(&self.root)
    }

    /// The entries of a table of this file, in the order in which they were written.
    pub fn entries<'t>(&self, table: &'t DeTable<'a>) -> Vec<(&'t Name<'a>, &'t Value<'a>)> {
        let mut entries: Vec<_> = table.iter().collect();
        if !self.broken.is_empty() {
            entries.retain(|(name, value)| {
                value.get_ref().is_table()
                    || !self.broken.contains(&self.position(name.span().start).0)
            });
        }
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
    }

    pub fn problem(
        &self,
        at: &Range<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        let (line, column) = self.position(at.start);
        Problem {
            file: self.file.to_owned(),
            line,
            column,
            what: what.into(),
            hint: hint.into(),
        }
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.char_indices();
        let before = before.take_while(|(at, _)| *at < offset);
        before.fold((1, 1), |(line, column), (_, character)| {
            if character == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            }
        })
    }
}

/// `a`, `b` or `c`.
pub fn listed<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<(usize, usize)>) {
        let (document, problems) = Document::read(text, Path::new("x.toml"));
        let names = document.top().into_iter();
        let names = names.map(|(name, _)| name.get_ref().to_string()).collect();
        let places = problems
            .iter()
            .map(|problem| (problem.line, problem.column));
        (names, places.collect())
    }

    #[test]
    fn a_broken_line_does_not_affect_the_others() {
        assert_eq!(
            read("a = 1\nb = two\nc+d = 3\ne = 'f\ng = 'h'\na = 2\n"),
            (
                vec!["a".to_owned(), "g".to_owned()],
                vec![(2, 5), (3, 2), (4, 7), (6, 1)]
            )
        );
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(read("\"äöü\" = x"), (vec![], vec![(1, 9)]));
    }

    #[test]
    fn a_problem_has_its_place_and_a_hint() {
        let (document, _) = Document::read("a = 1\n", Path::new("keys.toml"));
        let problem = document.problem(&(4..5), "`1` is no word", "write a word");
        assert_eq!(
            problem.to_string(),
            "`keys.toml`, line 1, column 5: `1` is no word\nhint: write a word"
        );
    }
}

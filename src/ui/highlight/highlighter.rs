//! Finds the colours: syntect's parser with bat's syntaxes, and our roles instead of its themes.
//!
//! Expensive to create and slow to use, so it runs on its own thread. Bounded by size instead of time, so that the same
//! code always gets the same colours.

use std::ops::Range;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

use crate::theme::Role;

use super::Highlighted;
use super::scopes::Scopes;

/// Larger code stays plain.
pub const MOST_BYTES: usize = 500 * 1024;
/// A longer line stays plain: it is data, and slow for regular expressions.
const LONGEST_LINE: usize = 2_000;
/// Lines after this one stay plain.
const MOST_LINES: usize = 10_000;

/// A language's expressions are compiled when it is first used and take 5 to 50 MiB; beyond this many languages all are
/// dropped.
const MOST_LANGUAGES: usize = 4;

pub struct Highlighter {
    syntaxes: SyntaxSet,
    languages: Vec<String>,
    scopes: Scopes,
}

impl Default for Highlighter {
    fn default() -> Self {
        Self::new()
    }
}

impl Highlighter {
    pub fn new() -> Self {
        Self {
            syntaxes: two_face::syntax::extra_newlines(),
            languages: Vec::new(),
            scopes: Scopes::new().expect("the table of scopes is well-formed"),
        }
    }

    /// The colours of `code`; `None` if the language is unknown.
    pub fn highlight(&mut self, language: &str, code: &str) -> Option<Highlighted> {
        if code.len() > MOST_BYTES {
            return None;
        }
        let name = self.syntax(language)?.name.clone();
        self.remember_language(name);
        let mut parser = ParseState::new(self.syntax(language)?);
        let mut stack = ScopeStack::new();
        let lines = LinesWithEndings::from(code).take(MOST_LINES);
        let lines = lines
            .map_while(|line| self.line(line, &mut parser, &mut stack))
            .collect();
        Some(Highlighted { lines })
    }

    fn remember_language(&mut self, name: String) {
        if self.languages.contains(&name) {
            return;
        }
        if self.languages.len() == MOST_LANGUAGES {
            self.syntaxes = two_face::syntax::extra_newlines();
            self.languages.clear();
        }
        self.languages.push(name);
    }

    /// The parts of one line; `None` if the syntax itself is faulty, and the rest is better left plain.
    fn line(
        &self,
        line: &str,
        parser: &mut ParseState,
        stack: &mut ScopeStack,
    ) -> Option<Vec<(Range<usize>, Role)>> {
        if line.len() > LONGEST_LINE {
            return Some(Vec::new());
        }
        let operations = parser.parse_line(line, &self.syntaxes).ok()?;
        let end = line.trim_end_matches(['\n', '\r']).len();
        let mut parts = Vec::new();
        let mut from = 0;
        for (at, operation) in operations {
            self.part(from..at.min(end), stack, &mut parts);
            from = at.min(end);
            stack.apply(&operation).ok()?;
        }
        self.part(from..end, stack, &mut parts);
        Some(parts)
    }

    fn part(&self, range: Range<usize>, stack: &ScopeStack, parts: &mut Vec<(Range<usize>, Role)>) {
        if range.is_empty() {
            return;
        }
        let Some(role) = self.scopes.role(stack) else {
            return;
        };
        match parts.last_mut() {
            Some((before, same)) if *same == role && before.end == range.start => {
                before.end = range.end;
            }
            _ => parts.push((range, role)),
        }
    }

    pub(super) fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let name = language.rsplit(['/', '\\']).next().unwrap_or(language);
        let extension = name.rsplit('.').next().unwrap_or(name);
        [name, extension, alias(&extension.to_lowercase())]
            .into_iter()
            .filter(|token| !token.is_empty())
            .find_map(|token| self.syntaxes.find_syntax_by_token(token))
            .filter(|syntax| syntax.name != "Plain Text")
    }
}

/// Names that models use for languages that the syntaxes know by another name.
fn alias(word: &str) -> &str {
    match word {
        "shell" | "console" | "shell-session" | "terminal" => "bash",
        "golang" => "go",
        "python3" | "py3" => "python",
        "c#" | "csharp" => "cs",
        "jsonc" | "json5" | "jsonl" | "ndjson" => "json",
        "mjs" | "cjs" | "node" => "js",
        "mts" | "cts" => "ts",
        "rustlang" => "rs",
        "docker" | "containerfile" => "dockerfile",
        "make" => "makefile",
        "objectivec" | "objc" => "m",
        "proto3" => "proto",
        _ => "",
    }
}

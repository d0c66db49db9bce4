//! A JSON text that a person wrote, with the position of every value. Pure.
//!
//! It may have comments. They are replaced by blanks first, so that every other byte keeps its position and serde's
//! parser alone decides what the text means and whether it is JSON.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions, ast, parse_to_ast};
use serde_json::Value;

/// A place in a file, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Wrong {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

/// A value and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub span: Range<usize>,
    pub inside: Inside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    Object(Vec<Member>),
    List(Vec<Node>),
    /// A string, a number, true, false or null.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// The position of its name.
    pub start: usize,
    pub value: Node,
}

impl Node {
    /// The members of an object.
    pub fn members(&self) -> &[Member] {
        match &self.inside {
            Inside::Object(members) => members,
            Inside::List(_) | Inside::Plain => &[],
        }
    }

    /// The value of a key; if a key occurs twice, the last one, as JSON readers do.
    pub fn get(&self, name: &str) -> Option<&Node> {
        let mut members = self.members().iter().rev();
        let found = members.find(|member| member.name == name);
        found.map(|member| &member.value)
    }

    /// The members whose names have occurred before.
    pub fn repeated(&self) -> impl Iterator<Item = &Member> {
        let mut seen = std::collections::HashSet::new();
        let members = self.members().iter();
        members.filter(move |member| !seen.insert(member.name.as_str()))
    }
}

/// Reads text that must be JSON, apart from comments.
pub fn read(text: &str) -> Result<(Value, Node), Wrong> {
    let text = &*without_comments(text);
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(text, &error))?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let node = parsed.ok().and_then(|parsed| parsed.value);
    let node = node.ok_or_else(|| Wrong {
        line: 1,
        column: 1,
        problem: "not valid JSON".to_owned(),
    })?;
    Ok((value, Node::from(&node)))
}

/// The same text with blanks in place of comments.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut blanks: Vec<Range<usize>> = Vec::new();
    // The parser reports what the scanner does not understand.
    while let Ok(Some(token)) = scanner.scan() {
        if let Token::CommentLine(_) | Token::CommentBlock(_) = token {
            blanks.push(scanner.token_start()..scanner.token_end());
        }
    }
    if blanks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut page = text.as_bytes().to_vec();
    for byte in blanks.into_iter().flatten() {
        if page[byte] != b'\n' {
            page[byte] = b' ';
        }
    }
    // Only whole characters were replaced, so it is still text.
    String::from_utf8(page).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The parser's message, with the place before the problem and not again at its end.
pub fn wrong(text: &str, error: &serde_json::Error) -> Wrong {
    let whole = error.to_string();
    let problem = whole
        .rsplit_once(" at line ")
        .map_or(whole.as_str(), |(problem, _)| problem);
    let line = text.lines().nth(error.line().saturating_sub(1));
    // The parser counts bytes.
    let column = line.map_or(error.column(), |line| {
        let before = line.char_indices().filter(|(at, _)| *at < error.column());
        before.count()
    });
    Wrong {
        line: error.line().max(1),
        column: column.max(1),
        problem: problem.to_owned(),
    }
}

/// Line and column, from 1, in characters.
pub fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

impl From<&ast::Value<'_>> for Node {
    /// Not deeper than serde's parser has accepted.
    fn from(value: &ast::Value<'_>) -> Self {
        let inside = match value {
            ast::Value::Object(object) => {
                Inside::Object(object.properties.iter().map(Member::from).collect())
            }
            ast::Value::Array(list) => Inside::List(list.elements.iter().map(Node::from).collect()),
            ast::Value::StringLit(_)
            | ast::Value::NumberLit(_)
            | ast::Value::BooleanLit(_)
            | ast::Value::NullKeyword(_) => Inside::Plain,
        };
        let span = value.start()..value.end();
        Self { span, inside }
    }
}

impl From<&ast::ObjectProp<'_>> for Member {
    fn from(member: &ast::ObjectProp<'_>) -> Self {
        Self {
            name: member.name.as_str().to_owned(),
            start: member.name.start(),
            value: Node::from(&member.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_position() {
        let text = "{\n  \"a\": [1, \"x\\\"y\"],\n  \"ä\": {\"b\": null}\n}\n";
        let (_, node) = read(text).expect("JSON");
        let names: Vec<_> = node
            .members()
            .iter()
            .map(|member| (member.name.as_str(), place(text, member.start)))
            .collect();
        assert_eq!(names, [("a", (2, 3)), ("ä", (3, 3))]);
        let inner = node.get("ä").and_then(|node| node.get("b"));
        let inner = inner.expect("it is there");
        assert_eq!(&text[inner.span.clone()], "null");
        assert_eq!(place(text, inner.span.start), (3, 14));
        let list = node.get("a").expect("it is there");
        assert_eq!(&text[list.span.clone()], "[1, \"x\\\"y\"]");
    }

    #[test]
    fn a_duplicate_key_is_found() {
        let (_, node) = read(r#"{"a": 1, "b": 2, "a": 3}"#).expect("JSON");
        let repeated: Vec<_> = node.repeated().map(|member| member.start).collect();
        assert_eq!(repeated, [17]);
    }

    #[test]
    fn a_mistake_is_reported_with_line_and_column_in_characters() {
        assert_eq!(
            read("{\n  \"ä\" oops\n}")
                .map(|_| ())
                .map_err(|wrong| wrong.to_string()),
            Err("line 2, column 7: expected `:`".to_owned())
        );
        let deep = "[".repeat(100_000);
        assert!(read(&deep).is_err(), "and not a crash");
    }

    #[test]
    fn comments_are_skipped_and_positions_stay() {
        let text = "// mine\n{\n  \"a\": /* why */ [1, 2 /* , */], // ä \"b\": 3\n  \"url\": \"http://x/*\"\n}\n";
        let (value, node) = read(text).expect("JSON");
        let expected = serde_json::json!({"a": [1, 2], "url": "http://x/*"});
        assert_eq!(value, expected);
        let list = node.get("a").expect("it is there");
        assert_eq!(&text[list.span.clone()], "[1, 2 /* , */]");
        assert_eq!(place(text, node.members()[1].start), (4, 3));
        assert_eq!(without_comments(r#"{"a": "//"}"#), r#"{"a": "//"}"#);
    }

    #[test]
    fn no_other_extension_of_json_is_accepted() {
        for text in [
            "[1,]",
            r#"{"a": 1, /* last */}"#,
            "{a: 1}",
            "{'a': 1}",
            r#"{"a": 0x1}"#,
            r#"{"a": +1}"#,
            r#"{"a": NaN}"#,
            r#"{"a": 1 "b": 2}"#,
            "{\"a\": \"x\ny\"}",
            "\u{a0}{}",
            "{\"a\": 1\0}",
            "{} /* no end",
            "// nothing",
            "",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}

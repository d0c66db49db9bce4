//! A JSON text that a person wrote, with the place of every value. Pure.

use std::ops::Range;

use serde_json::Value;

/// A place in a file, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Wrong {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub span: Range<usize>,
    pub inside: Inside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    Object(Vec<Member>),
    List(Vec<Node>),
    /// A text, a number, true, false or null.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Where its name begins.
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

    /// The value that a key has; of a key that stands there twice, the last one, as JSON's readers do.
    pub fn get(&self, name: &str) -> Option<&Node> {
        let mut members = self.members().iter().rev();
        let found = members.find(|member| member.name == name);
        found.map(|member| &member.value)
    }

    /// The members whose names stand there before already.
    pub fn repeated(&self) -> impl Iterator<Item = &Member> {
        let mut seen = std::collections::HashSet::new();
        let members = self.members().iter();
        members.filter(move |member| !seen.insert(member.name.as_str()))
    }
}

/// Reads a text that must be JSON.
pub fn read(text: &str) -> Result<(Value, Node), Wrong> {
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(text, &error))?;
    let scan = Scan { text };
    let node = scan.value(scan.blanks(0)).ok_or_else(|| Wrong {
        line: 1,
        column: 1,
        problem: "it is not understood".to_owned(),
    })?;
    Ok((value, node))
}

/// What the parser says, with the place before the problem and not again at its end.
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

/// Finds places in a text that is known to be JSON, no deeper than its parser goes.
struct Scan<'t> {
    text: &'t str,
}

impl Scan<'_> {
    fn value(&self, start: usize) -> Option<Node> {
        let bytes = self.text.as_bytes();
        let is_object = match bytes.get(start)? {
            b'{' => true,
            b'[' => false,
            _ => {
                let span = start..self.plain_end(start)?;
                let inside = Inside::Plain;
                return Some(Node { span, inside });
            }
        };
        let (mut members, mut list) = (Vec::new(), Vec::new());
        let mut at = self.blanks(start + 1);
        while !matches!(bytes.get(at)?, b'}' | b']') {
            if is_object {
                let end = self.plain_end(at)?;
                let name = serde_json::from_str(&self.text[at..end]).ok()?;
                // Behind the colon.
                let value = self.value(self.blanks(self.blanks(end) + 1))?;
                let start = at;
                at = self.blanks(value.span.end);
                members.push(Member { name, start, value });
            } else {
                let value = self.value(at)?;
                at = self.blanks(value.span.end);
                list.push(value);
            }
            if bytes.get(at)? == &b',' {
                at = self.blanks(at + 1);
            }
        }
        let inside = if is_object {
            Inside::Object(members)
        } else {
            Inside::List(list)
        };
        let span = start..at + 1;
        Some(Node { span, inside })
    }

    fn blanks(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        at + blanks.count()
    }

    /// The end of a text, a number or a word.
    fn plain_end(&self, start: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(start..)?;
        if rest.first() != Some(&b'"') {
            let ends =
                |byte: &u8| matches!(byte, b'}' | b']' | b',' | b' ' | b'\n' | b'\r' | b'\t');
            let end = rest.iter().position(ends);
            return Some(start + end.unwrap_or(rest.len()));
        }
        let mut escaped = false;
        for (offset, byte) in rest.iter().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return Some(start + offset + 1),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_place() {
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
    fn a_key_that_stands_there_twice_is_found() {
        let (_, node) = read(r#"{"a": 1, "b": 2, "a": 3}"#).expect("JSON");
        let repeated: Vec<_> = node.repeated().map(|member| member.start).collect();
        assert_eq!(repeated, [17]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_its_column_in_characters() {
        assert_eq!(
            read("{\n  \"ä\" oops\n}")
                .map(|_| ())
                .map_err(|wrong| wrong.to_string()),
            Err("line 2, column 7: expected `:`".to_owned())
        );
        let deep = "[".repeat(100_000);
        assert!(read(&deep).is_err(), "and not a crash");
    }
}

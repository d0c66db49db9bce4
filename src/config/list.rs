//! Adds a text to a list in a settings file and leaves the rest of the file as it is: order, indentation, blanks. Pure.

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

/// The JSON object in `text` with `item` at the end of the list that `keys` lead to; what is missing on the way is made.
/// `None` if the list has it already.
pub fn add(text: &str, keys: &[&str], item: &str) -> Result<Option<String>, Wrong> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let problem = whole
            .rsplit_once(" at line ")
            .map_or(whole.as_str(), |(problem, _)| problem);
        Wrong {
            line: error.line(),
            column: error.column(),
            problem: problem.to_owned(),
        }
    })?;
    let list = list_at(&mut value, keys).ok_or_else(|| Wrong {
        line: 1,
        column: 1,
        problem: format!("`{}` is not a list", keys.join(".")),
    })?;
    if list.iter().any(|other| other == item) {
        return Ok(None);
    }
    list.push(Value::String(item.to_owned()));
    let edited = Edit::new(text).add(keys, item);
    let same =
        |edited: &String| serde_json::from_str::<Value>(edited).is_ok_and(|new| new == value);
    // What the careful way did not get right, a key that stands there twice say, is written anew as a whole.
    Ok(Some(
        edited
            .filter(same)
            .unwrap_or_else(|| format!("{value:#}\n")),
    ))
}

fn list_at<'v>(value: &'v mut Value, keys: &[&str]) -> Option<&'v mut Vec<Value>> {
    match keys.split_first() {
        None => value.as_array_mut(),
        Some((key, rest)) => {
            let missing = || match rest {
                [] => Value::Array(Vec::new()),
                _ => Value::Object(serde_json::Map::new()),
            };
            let inner = value.as_object_mut()?.entry(*key).or_insert_with(missing);
            list_at(inner, rest)
        }
    }
}

/// An edit of a text that is known to be JSON.
struct Edit<'t> {
    text: &'t str,
    /// One step of indentation, as the file has it.
    unit: &'t str,
}

/// What an object or a list has in it.
struct Inside {
    keys: Vec<String>,
    values: Vec<Range<usize>>,
    /// Where the first member begins, with its key.
    first: Option<usize>,
    close: usize,
}

impl<'t> Edit<'t> {
    fn new(text: &'t str) -> Self {
        let indented = text.lines().find_map(|line| {
            let width = line.len() - line.trim_start().len();
            (width > 0 && width < line.len()).then(|| &line[..width])
        });
        Self {
            text,
            unit: indented.unwrap_or("  "),
        }
    }

    fn add(&self, keys: &[&str], item: &str) -> Option<String> {
        let mut open = self.blanks(0);
        for (depth, key) in keys.iter().enumerate() {
            let inside = self.inside(open)?;
            let found = inside.keys.iter().rposition(|other| other == key);
            match found {
                Some(at) => open = inside.values[at].start,
                None => return Some(self.insert(open, &inside, &keys[depth..], item)),
            }
        }
        let inside = self.inside(open)?;
        Some(self.insert(open, &inside, &[], item))
    }

    /// Puts `item`, inside objects and a list for the `keys` that are missing, at the end of what begins at `open`.
    fn insert(&self, open: usize, inside: &Inside, keys: &[&str], item: &str) -> String {
        let indent = self.indent(open);
        let inner = format!("{indent}{}", self.unit);
        let (at, before, after) = match (inside.first, inside.values.last()) {
            (Some(first), Some(last)) => {
                let gap = &self.text[open + 1..first];
                let gap = if gap.is_empty() { " " } else { gap };
                (last.end..last.end, format!(",{gap}"), String::new())
            }
            _ => (
                open + 1..inside.close,
                format!("\n{inner}"),
                format!("\n{indent}"),
            ),
        };
        let new = self.nested(keys, item, &inner);
        format!(
            "{}{before}{new}{after}{}",
            &self.text[..at.start],
            &self.text[at.end..]
        )
    }

    fn nested(&self, keys: &[&str], item: &str, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        match keys {
            [] => Value::from(item).to_string(),
            [key] => {
                let item = Value::from(item);
                format!("{}: [\n{inner}{item}\n{indent}]", Value::from(*key))
            }
            [key, rest @ ..] => {
                let rest = self.nested(rest, item, &inner);
                format!("{}: {{\n{inner}{rest}\n{indent}}}", Value::from(*key))
            }
        }
    }

    /// The blanks at the beginning of the line that has `at`.
    fn indent(&self, at: usize) -> &'t str {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn inside(&self, open: usize) -> Option<Inside> {
        let bytes = self.text.as_bytes();
        let is_object = match bytes.get(open)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        let mut inside = Inside {
            keys: Vec::new(),
            values: Vec::new(),
            first: None,
            close: open,
        };
        let mut at = self.blanks(open + 1);
        while !matches!(bytes.get(at)?, b'}' | b']') {
            inside.first.get_or_insert(at);
            if is_object {
                let end = self.value_end(at)?;
                inside
                    .keys
                    .push(serde_json::from_str(&self.text[at..end]).ok()?);
                // Behind the colon.
                at = self.blanks(self.blanks(end) + 1);
            }
            let end = self.value_end(at)?;
            inside.values.push(at..end);
            at = self.blanks(end);
            if bytes.get(at)? == &b',' {
                at = self.blanks(at + 1);
            }
        }
        inside.close = at;
        Some(inside)
    }

    fn blanks(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.len() - rest.trim_start().len()
    }

    /// The end of the value that begins at `start`.
    fn value_end(&self, start: usize) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        for (offset, byte) in self.text.as_bytes().get(start..)?.iter().enumerate() {
            let at = start + offset;
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => {
                        in_string = false;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return Some(at),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        Some(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn added(text: &str) -> String {
        add(text, &["permissions", "allow"], "Bash(x)")
            .expect("JSON")
            .expect("new")
    }

    #[test]
    fn a_list_grows_as_it_is_written() {
        assert_eq!(
            added(
                "{\n    \"model\": \"m\",\n    \"permissions\": {\n        \"allow\": [\n            \"a\",\n            \"b\"\n        ],\n        \"deny\": []\n    }\n}\n"
            ),
            "{\n    \"model\": \"m\",\n    \"permissions\": {\n        \"allow\": [\n            \"a\",\n            \"b\",\n            \"Bash(x)\"\n        ],\n        \"deny\": []\n    }\n}\n"
        );
        assert_eq!(
            added(r#"{"permissions":{"allow":["a"],"x":1e3}}"#),
            r#"{"permissions":{"allow":["a", "Bash(x)"],"x":1e3}}"#
        );
    }

    #[test]
    fn what_is_missing_is_made() {
        let whole = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(x)\"\n    ]\n  }\n}\n";
        assert_eq!(added("{}\n"), whole);
        assert_eq!(
            added("{\n\t\"permissions\": {\n\t\t\"deny\": [\"a\"]\n\t}\n}"),
            "{\n\t\"permissions\": {\n\t\t\"deny\": [\"a\"],\n\t\t\"allow\": [\n\t\t\t\"Bash(x)\"\n\t\t]\n\t}\n}"
        );
    }

    #[test]
    fn what_is_there_is_not_added_again() {
        let text = r#"{"permissions":{"allow":["Bash(x)"]}}"#;
        assert_eq!(add(text, &["permissions", "allow"], "Bash(x)"), Ok(None));
    }

    #[test]
    fn what_is_no_json_or_no_list_is_an_error_with_its_place() {
        let keys = ["permissions", "allow"];
        let wrong = add("{\n  \"a\": oops\n}", &keys, "x").expect_err("no JSON");
        assert_eq!((wrong.line, wrong.problem.as_str()), (2, "expected value"));
        for text in [
            "[]",
            "3",
            r#"{"permissions":[]}"#,
            r#"{"permissions":{"allow":"x"}}"#,
        ] {
            let wrong = add(text, &keys, "x").expect_err("no list");
            assert_eq!(wrong.problem, "`permissions.allow` is not a list", "{text}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\,:{}\\[\\] \n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_rest_of_the_file_stays(rest in json_value(), rules in prop::collection::vec("[a-z(\"]{0,4}", 0..3), pretty in any::<bool>()) {
            let old = json!({ "before": rest, "permissions": { "x": rest, "allow": rules }, "after": rest });
            let text = if pretty { format!("{old:#}") } else { old.to_string() };
            let mut expected = old.clone();
            expected["permissions"]["allow"].as_array_mut().expect("a list").push("Bash(x)".into());
            let new: Value = serde_json::from_str(&added(&text)).expect("JSON");
            prop_assert_eq!(new, expected);
        }

        #[test]
        fn any_text_is_an_answer_or_an_error(text in "[\\[\\]{}\",:a-c0-9 \n]{0,40}") {
            let _ = add(&text, &["a", "b"], "c");
        }
    }
}

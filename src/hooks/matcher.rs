//! Which events a hook applies to: a regular expression that must match the whole of a name.

use std::borrow::Cow;
use std::fmt;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A longer pattern cannot be the name of a tool.
const LONGEST: usize = 10_000;
/// How much memory a compiled pattern may take.
const LARGEST: usize = 1 << 20;

/// Compared by its text.
#[derive(Clone, Default)]
pub struct Matcher {
    text: String,
    /// `None` matches everything.
    regex: Option<RegexMatcher>,
}

impl Matcher {
    /// The error says what is wrong with the pattern.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(Self {
                text: text.to_owned(),
                regex: None,
            });
        }
        if text.len() > LONGEST {
            return Err(format!("the matcher is longer than {LONGEST} characters"));
        }
        // On its own first, so that the error shows the pattern as written.
        compile(text)?;
        Ok(Self {
            text: text.to_owned(),
            regex: Some(compile(&format!(r"\A(?:{text})\z"))?),
        })
    }

    pub fn matches(&self, name: &str) -> bool {
        match &self.regex {
            None => true,
            Some(regex) => regex.is_match(name.as_bytes()).unwrap_or(true),
        }
    }

    /// The pattern as written; `*` if it was left out.
    pub fn text(&self) -> &str {
        if self.text.is_empty() {
            "*"
        } else {
            &self.text
        }
    }
}

fn compile(pattern: &str) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    let compiled = builder
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build(pattern);
    compiled.map_err(|error| {
        // The crate's message contains a drawing; its last line has the explanation.
        let message = error.to_string();
        let why = message.lines().last().unwrap_or_default();
        let why = why.strip_prefix("error: ").unwrap_or(why);
        format!("the matcher `{pattern}` is not a valid regular expression: {why}")
    })
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matcher({:?})", self.text())
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Matcher;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a regular expression as a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Matcher, E> {
                Matcher::new(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Matcher {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Matcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Regular expression that must match the whole tool name (or the event's source, trigger, notification type or reason). Empty or `*`: all.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Matcher;

    fn matching<'n>(pattern: &str, names: &[&'n str]) -> Vec<&'n str> {
        let matcher = Matcher::new(pattern).expect("a pattern");
        let names = names.iter().copied();
        names.filter(|name| matcher.matches(name)).collect()
    }

    #[test]
    fn a_pattern_matches_the_whole_name() {
        let names = [
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "Write",
            "mcp__a__b",
            "edit",
        ];
        assert_eq!(matching("Edit", &names), ["Edit"]);
        assert_eq!(matching("Edit|Write", &names), ["Edit", "Write"]);
        assert_eq!(
            matching(".*Edit", &names),
            ["Edit", "MultiEdit", "NotebookEdit"]
        );
        assert_eq!(matching("mcp__.*", &names), ["mcp__a__b"]);
        assert_eq!(matching("^Edit$", &names), ["Edit"]);
        for all in ["", "*"] {
            assert_eq!(matching(all, &names), names);
        }
    }

    #[test]
    fn a_name_with_a_newline_is_matched_whole_too() {
        assert_eq!(
            matching("Edit", &["Edit\n", "Edit\nWrite"]),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn an_invalid_pattern_is_reported() {
        for wrong in ["Edit(", "[", "(?P<", "x{9999999}"] {
            let error = Matcher::new(wrong).expect_err(wrong);
            assert!(
                error.contains("is not a valid regular expression"),
                "{error}"
            );
        }
        assert!(Matcher::new(&"x".repeat(10_001)).is_err());
    }
}

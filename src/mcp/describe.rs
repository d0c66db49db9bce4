//! Makes texts and schemas of servers safe to show and to send: servers may hide instructions in characters that
//! nobody sees, control the terminal, or send a schema that makes a provider refuse the whole request.

use serde_json::{Map, Value, json};

use crate::text::{is_hidden, is_joiner_between, strip_ansi};

/// The most of a description that models and people get.
pub const MOST_DESCRIPTION: usize = 16 << 10;
/// A tool with a larger schema is not offered.
pub const MOST_SCHEMA: usize = 256 << 10;
const CUT: &str = "… [cut]";
/// Providers refuse requests with longer names of properties.
const LONGEST_PROPERTY: usize = 64;

/// A description without control, invisible and bidi characters, of bounded length.
pub fn description(text: &str) -> String {
    let visible = visible(text);
    if visible.len() <= MOST_DESCRIPTION {
        return visible;
    }
    let most = MOST_DESCRIPTION - CUT.len();
    let end = (0..=most).rev().find(|end| visible.is_char_boundary(*end));
    format!("{}{CUT}", &visible[..end.unwrap_or(0)])
}

/// A name or title for one line.
pub fn line(text: &str) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
    crate::text::shortened(text.trim(), 200, "…").into_owned()
}

/// Text without escape sequences and without characters that nobody sees.
pub fn visible(text: &str) -> String {
    let text = strip_ansi(text);
    let letters: Vec<char> = text.chars().collect();
    let keeps = |(at, letter): (usize, &char)| {
        let context = || Some((*letters.get(at.checked_sub(1)?)?, *letters.get(at + 1)?));
        let is_spelling =
            || context().is_some_and(|(before, after)| is_joiner_between(before, *letter, after));
        let is_kept = matches!(letter, '\n' | '\t') || !is_hidden(*letter) || is_spelling();
        is_kept.then_some(*letter)
    };
    letters.iter().enumerate().filter_map(keeps).collect()
}

/// The schema of a tool's input as a model gets it. `None` if it is too large.
///
/// It stays as it is unless a provider would refuse it: then the model gets a schema that accepts every object, and
/// the server judges the input.
pub fn schema(schema: Option<&Value>) -> Option<Value> {
    let Some(Value::Object(found)) = schema else {
        return Some(any_object());
    };
    let mut object = cleaned_object(found);
    let is_object = object.get("type").is_none_or(|kind| kind == "object");
    // Not allowed at the top level by some providers.
    let combines = ["anyOf", "oneOf", "allOf", "not", "enum"];
    if !is_object || combines.iter().any(|key| object.contains_key(*key)) {
        return Some(any_object());
    }
    object.insert("type".to_owned(), json!("object"));
    drop_odd_properties(&mut object);
    let schema = Value::Object(object);
    if schema.to_string().len() > MOST_SCHEMA {
        return None;
    }
    let compiles = jsonschema::validator_for(&schema).is_ok();
    Some(if compiles { schema } else { any_object() })
}

fn any_object() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn drop_odd_properties(object: &mut Map<String, Value>) {
    match object.get_mut("properties") {
        Some(Value::Object(properties)) => properties.retain(|name, _| is_property(name)),
        Some(_) | None => {
            object.insert("properties".to_owned(), json!({}));
        }
    }
    let properties = object["properties"].as_object().cloned();
    let known = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        properties
            .as_ref()
            .is_some_and(|all| all.contains_key(name))
    };
    match object.get_mut("required") {
        Some(Value::Array(required)) => required.retain(known),
        Some(_) => drop(object.remove("required")),
        None => {}
    }
}

fn is_property(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    (1..=LONGEST_PROPERTY).contains(&name.len()) && name.chars().all(fits)
}

fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(description(text)),
        Value::Array(values) => values.iter().map(cleaned).collect(),
        Value::Object(object) => Value::Object(cleaned_object(object)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cleaned_object(object: &Map<String, Value>) -> Map<String, Value> {
    let visible_key = |key: &str| !key.chars().any(is_hidden);
    let entries = object.iter().filter(|(key, _)| visible_key(key));
    entries
        .map(|(key, value)| (key.clone(), cleaned(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_instructions_are_removed() {
        let tags: String = "ignore".chars().filter_map(tag).collect();
        let text = format!("Adds\u{200b} two{tags} numbers\u{202e}.\u{1b}[31m red\u{9b}2J\r\n\tok");
        assert_eq!(description(&text), "Adds two numbers. red\n\tok");
        assert_eq!(line("a\nb\u{7}\tc "), "a b c");
    }

    fn tag(letter: char) -> Option<char> {
        char::from_u32(0xe0000 + u32::from(letter))
    }

    #[test]
    fn persian_spelling_is_kept() {
        assert_eq!(description("می\u{200c}خواهم"), "می\u{200c}خواهم");
    }

    #[test]
    fn a_long_description_is_cut_and_says_so() {
        let cut = description(&"ä".repeat(MOST_DESCRIPTION));
        assert!(cut.len() <= MOST_DESCRIPTION && cut.ends_with(CUT));
        let fits = "x".repeat(MOST_DESCRIPTION);
        assert_eq!(description(&fits), fits);
    }

    #[test]
    fn an_ordinary_schema_stays_as_it_is() {
        let found = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": { "path": { "type": "string", "description": "Where" } },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema(Some(&found)), Some(found));
    }

    #[test]
    fn a_schema_that_providers_refuse_accepts_every_object() {
        for found in [
            json!(null),
            json!([]),
            json!({ "type": "string" }),
            json!({ "type": 5 }),
            json!({ "type": "object", "properties": { "a": { "type": 7 } } }),
            json!({ "type": "object", "oneOf": [{}] }),
        ] {
            assert_eq!(schema(Some(&found)), Some(any_object()), "{found}");
        }
        assert_eq!(schema(None), Some(any_object()));
    }

    #[test]
    fn properties_with_names_that_providers_refuse_are_left_out() {
        let found = json!({
            "type": "object",
            "properties": { "a": {}, "b\u{200b}": {}, "c d": {} },
            "required": ["a", "c d"],
        });
        let expected = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
        assert_eq!(schema(Some(&found)), Some(expected));
    }

    #[test]
    fn a_schema_that_is_too_large_is_not_used() {
        let many: Map<String, Value> = (0..40_000)
            .map(|number| (format!("p{number}"), json!({ "type": "string" })))
            .collect();
        assert_eq!(
            schema(Some(&json!({ "type": "object", "properties": many }))),
            None
        );
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_character_that_nobody_sees(text in "\\PC{0,20}|[\\x00-\\x{9f}\\x{200b}-\\x{206f}\\x{e0000}-\\x{e007f}a-c ]{0,40}") {
            let left = description(&text);
            let bad = left.chars().find(|letter| is_hidden(*letter) && !matches!(letter, '\n' | '\t' | '\u{200c}' | '\u{200d}'));
            prop_assert_eq!(bad, None);
        }
    }
}

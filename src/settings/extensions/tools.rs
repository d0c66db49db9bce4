//! Custom tools: a TOML file with the description for the model and the command to run.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::files::File;
use crate::config::front_matter::Mistake;
use crate::protocol::{CustomTool, InterruptBehavior};

/// The default time limit of a call.
const TIMEOUT: u64 = 120_000;
/// The longest time limit: a day.
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60 * 1_000;
/// The longest name that every provider accepts.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 16 << 10;
/// The prefix of tools of MCP servers.
const OF_SERVERS: &str = "mcp__";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    description: Spanned<String>,
    command: Spanned<String>,
    input_schema: Option<Spanned<toml::Value>>,
    #[serde(default)]
    read_only: bool,
    timeout: Option<Spanned<u64>>,
    interrupt: Option<InterruptBehavior>,
    max_result_chars: Option<Spanned<usize>>,
}

pub(super) fn tool(text: &str, file: &File) -> Result<CustomTool, Mistake> {
    let written: Written = toml::from_str(text).map_err(|error| Mistake {
        line: line(text, error.span()),
        problem: error.message().trim().replace('\n', "; "),
    })?;
    let mistake = |at: Range<usize>, problem: String| Mistake {
        line: line(text, Some(at)),
        problem,
    };
    let name = written.name.get_ref();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fits) {
        let problem =
            format!("`name` has at most {LONGEST_NAME} letters, digits, - and _, not `{name}`");
        return Err(mistake(written.name.span(), problem));
    }
    if name.starts_with(OF_SERVERS) {
        let problem = format!("`name` can't begin with `{OF_SERVERS}`: MCP tools do");
        return Err(mistake(written.name.span(), problem));
    }
    for (key, value) in [
        ("description", &written.description),
        ("command", &written.command),
    ] {
        if value.get_ref().trim().is_empty() {
            return Err(mistake(value.span(), format!("`{key}` is empty")));
        }
    }
    let timeout_ms = match &written.timeout {
        Some(timeout) if !(1..=LONGEST_TIMEOUT).contains(timeout.get_ref()) => {
            let problem = format!("`timeout` is in milliseconds, from 1 to {LONGEST_TIMEOUT}");
            return Err(mistake(timeout.span(), problem));
        }
        Some(timeout) => *timeout.get_ref(),
        None => TIMEOUT,
    };
    if let Some(most) = written
        .max_result_chars
        .as_ref()
        .filter(|it| *it.get_ref() == 0)
    {
        let problem = "`max_result_chars` is a number from 1 on".to_owned();
        return Err(mistake(most.span(), problem));
    }
    let input_schema = match written.input_schema {
        Some(schema) => {
            let at = schema.span();
            self::schema(schema.into_inner()).map_err(|problem| mistake(at, problem))?
        }
        None => json!({"type": "object", "properties": {}}),
    };
    let description = written.description.get_ref().trim();
    Ok(CustomTool {
        name: name.as_str().into(),
        description: crate::text::beginning(description, LONGEST_DESCRIPTION).into(),
        input_schema,
        command: written.command.into_inner(),
        read_only: written.read_only,
        timeout_ms,
        interrupt: written.interrupt.unwrap_or(InterruptBehavior::Cancel),
        max_result_chars: written.max_result_chars.map(Spanned::into_inner),
        source: file.name.as_str().into(),
    })
}

/// A JSON Schema of objects, written as a table or as JSON in a string.
fn schema(written: toml::Value) -> Result<Value, String> {
    let schema = match written {
        toml::Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| format!("`input_schema` is not JSON: {error}"))?,
        other => serde_json::to_value(other)
            .map_err(|error| format!("`input_schema` can't be written as JSON: {error}"))?,
    };
    let Value::Object(mut schema) = schema else {
        return Err("`input_schema` is a table, or JSON of an object".to_owned());
    };
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), json!("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => return Err("`input_schema` describes an object: `type = \"object\"`".to_owned()),
    }
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    let schema = Value::Object(schema);
    jsonschema::validator_for(&schema)
        .map_err(|error| format!("`input_schema` is not a JSON Schema: {error}"))?;
    Ok(schema)
}

/// The line of a position in a text, from 1.
fn line(text: &str, at: Option<Range<usize>>) -> usize {
    let before = at.and_then(|at| text.get(..at.start)).unwrap_or_default();
    before.matches('\n').count() + 1
}

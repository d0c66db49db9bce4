//! The text of a script: TOML or JSONL in, turns or one problem with its place out.
//!
//! An unknown key is an error, because a misspelt one would make a test pass that tests nothing.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{Input, ScriptedCall, Step, Turn};
use crate::protocol::WireId;
use crate::provider::{StreamError, StreamErrorKind};

/// What is wrong, and where: line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

pub(super) fn parse(text: &str) -> Result<Vec<Turn>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // TOML never begins with a brace, and our JSON lines always do.
    if text.trim_start().starts_with('{') {
        parse_jsonl(text)
    } else {
        parse_toml(text)
    }
}

fn parse_toml(text: &str) -> Result<Vec<Turn>, Problem> {
    let file: TomlFile = toml::from_str(text).map_err(|error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        Problem {
            line,
            column,
            message: error.message().to_owned(),
        }
    })?;
    Ok(file.turn)
}

fn parse_jsonl(text: &str) -> Result<Vec<Turn>, Problem> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| {
                let message = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                Problem {
                    line: index + 1,
                    column: error.column().max(1),
                    message: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
                }
            })
        })
        .collect()
}

/// Line and column of a byte. The column counts characters, as editors do.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    #[serde(default)]
    turn: Vec<Turn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    agent: Option<String>,
    text: Option<String>,
    #[serde(alias = "steps")]
    step: Option<Vec<Step>>,
    #[serde(default)]
    word_ms: u64,
}

/// All keys that a step can have; which go together is checked afterwards.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    text: Option<String>,
    thinking: Option<String>,
    call: Option<String>,
    input: Option<Map<String, Value>>,
    raw: Option<String>,
    id: Option<WireId>,
    delay_ms: Option<u64>,
    error: Option<String>,
    message: Option<String>,
    cut: Option<bool>,
    times: Option<u32>,
    stop_reason: Option<String>,
}

/// The keys of something that is checked once they are all there.
trait Raw: DeserializeOwned {
    type Checked;
    const WHAT: &'static str;

    fn check(self) -> Result<Self::Checked, &'static str>;
}

impl<'de> Deserialize<'de> for Turn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Checker::<RawTurn>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Checker::<RawStep>(PhantomData))
    }
}

/// Checked inside the visit: only an error from there gets the place of this table, not of the list that holds it.
struct Checker<R>(PhantomData<R>);

impl<'de, R: Raw> Visitor<'de> for Checker<R> {
    type Value = R::Checked;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(R::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R::Checked, A::Error> {
        let raw = R::deserialize(MapAccessDeserializer::new(map))?;
        raw.check().map_err(A::Error::custom)
    }
}

impl Raw for RawTurn {
    type Checked = Turn;
    const WHAT: &'static str = "a turn: a table with `text` or steps";

    fn check(self) -> Result<Turn, &'static str> {
        if self.text.is_none() && self.step.is_none() {
            return Err("a turn needs `text` or steps");
        }
        let text = self.text.map(Step::Text);
        let steps: Vec<Step> = text
            .into_iter()
            .chain(self.step.unwrap_or_default())
            .collect();
        let end = steps.iter().position(|step| matches!(step, Step::Stop(_)));
        if end.is_some_and(|end| end + 1 < steps.len()) {
            return Err("`stop_reason` ends the turn: no step can follow it");
        }
        Ok(Turn {
            agent: self.agent,
            steps,
            between_words: Duration::from_millis(self.word_ms),
        })
    }
}

impl Raw for RawStep {
    type Checked = Step;
    const WHAT: &'static str = "a step: a table such as `{ text = \"…\" }`";

    fn check(self) -> Result<Step, &'static str> {
        if (self.input.is_some() || self.raw.is_some() || self.id.is_some()) && self.call.is_none()
        {
            return Err("`input`, `raw` and `id` go with `call`");
        }
        if self.message.is_some() && self.error.is_none() {
            return Err("`message` goes with `error`");
        }
        if self.times.is_some() && self.error.is_none() && self.cut.is_none() {
            return Err("`times` goes with `error` or `cut`");
        }
        let times = self.times.unwrap_or(1);
        let message = self.message;
        let (input, raw, id) = (self.input, self.raw, self.id);
        let kinds = [
            self.text.map(|text| Ok(Step::Text(text))),
            self.thinking.map(|text| Ok(Step::Thinking(text))),
            self.delay_ms
                .map(|delay| Ok(Step::Delay(Duration::from_millis(delay)))),
            self.stop_reason.map(|reason| Ok(Step::Stop(reason.into()))),
            self.call.map(|tool| call(tool, input, raw, id)),
            self.error.map(|code| {
                Ok(Step::Fail {
                    error: api_error(code, message),
                    times,
                })
            }),
            self.cut.map(|cut| cut_off(cut, times)),
        ];
        let mut given = kinds.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(step), None) => step,
            (None | Some(_), _) => Err(
                "a step is exactly one of `text`, `thinking`, `call`, `delay_ms`, `error`, `cut` and `stop_reason`",
            ),
        }
    }
}

fn call(
    tool: String,
    input: Option<Map<String, Value>>,
    raw: Option<String>,
    id: Option<WireId>,
) -> Result<Step, &'static str> {
    let input = match (input, raw) {
        (Some(_), Some(_)) => return Err("a call has `input` or `raw`, not both"),
        (input, None) => Input::Object(input.unwrap_or_default()),
        // As on a real wire, an input without any text is the empty object.
        (None, Some(raw)) if raw.trim().is_empty() => Input::Object(Map::new()),
        (None, Some(raw)) => match serde_json::from_str(&raw) {
            Ok(object) => Input::Object(object),
            Err(_) => Input::Broken(raw),
        },
    };
    let call = ScriptedCall { tool, input };
    Ok(Step::Call { id, call })
}

fn cut_off(cut: bool, times: u32) -> Result<Step, &'static str> {
    if !cut {
        return Err("`cut` can only be `true`");
    }
    let error = StreamError {
        kind: StreamErrorKind::Truncated,
        code: "truncated".into(),
        message: "the stream ended in the middle of the response".into(),
        retryable: true,
    };
    Ok(Step::Fail { error, times })
}

fn api_error(code: String, message: Option<String>) -> StreamError {
    let message = message.unwrap_or_else(|| format!("the script fails here with `{code}`"));
    crate::provider::wire::api_error(code, message)
}

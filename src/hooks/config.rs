//! The `hooks` of a settings file, in Claude Code's schema, and the active hooks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::event::Event;
use super::matcher::Matcher;

/// The default time limit of a hook.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// A larger value is probably a wrong unit.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// What Claude Code shows while a hook runs. It has no effect here, so it gives no warning.
const HARMLESS: &str = "statusMessage";

/// One active hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    pub event: Event,
    pub matcher: Matcher,
    pub command: String,
    pub timeout: Duration,
    /// Its file, for people.
    pub origin: String,
    pub file: PathBuf,
}

/// The hooks that run, and the variables of the settings that they find in their environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Active {
    pub hooks: Vec<Hook>,
    pub env: BTreeMap<String, String>,
}

/// The value of `hooks` in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HooksFile {
    groups: Vec<(Event, Group)>,
    /// Names of unknown events.
    unknown: Vec<String>,
}

/// Hooks for one matcher.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct Group {
    #[serde(default)]
    matcher: Matcher,
    hooks: Vec<Entry>,
}

/// One hook in a file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct Entry {
    /// Only `command` is supported.
    #[serde(rename = "type")]
    kind: String,
    /// Run by `bash -c`, with the event as JSON on stdin.
    #[serde(default)]
    command: Option<String>,
    /// Seconds after which the hook is stopped; 60 unless given.
    #[serde(default)]
    timeout: Option<Seconds>,
    #[serde(flatten)]
    #[schemars(skip)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Seconds(Duration);

impl HooksFile {
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The hooks of the file `origin`, and notices about those that are not used as written.
    pub fn hooks(self, file: &Path, origin: &str) -> (Vec<Hook>, Vec<String>) {
        let mut warnings: Vec<String> = self
            .unknown
            .iter()
            .map(|name| unknown_event(name))
            .collect();
        let mut hooks = Vec::new();
        for (event, group) in self.groups {
            for entry in group.hooks {
                let at = event.name();
                if entry.kind != "command" {
                    let kind = entry.kind;
                    warnings.push(format!(
                        "`hooks.{at}`: hooks of type `{kind}` don't run; only `command` does"
                    ));
                    continue;
                }
                let Some(command) = entry.command.filter(|command| !command.trim().is_empty())
                else {
                    warnings.push(format!("`hooks.{at}`: a hook has no `command`"));
                    continue;
                };
                for key in entry.unknown.keys().filter(|key| *key != HARMLESS) {
                    warnings.push(format!(
                        "`hooks.{at}`: unknown key `{key}` in the hook `{command}`; ignored"
                    ));
                }
                hooks.push(Hook {
                    event,
                    matcher: group.matcher.clone(),
                    command,
                    timeout: entry.timeout.map_or(DEFAULT_TIMEOUT, |seconds| seconds.0),
                    origin: origin.to_owned(),
                    file: file.to_owned(),
                });
            }
        }
        (hooks, warnings)
    }
}

/// The matching hooks, each command once.
pub fn matching<'h>(hooks: &'h [Hook], event: Event, subject: &str) -> Vec<&'h Hook> {
    let mut found: Vec<&Hook> = Vec::new();
    for hook in hooks.iter().filter(|hook| hook.event == event) {
        let matches = event.subject_field().is_none() || hook.matcher.matches(subject);
        if matches && !found.iter().any(|other| other.command == hook.command) {
            found.push(hook);
        }
    }
    found
}

fn unknown_event(name: &str) -> String {
    let meant = Event::nearest(name).map(|event| format!("; did you mean `{}`?", event.name()));
    format!(
        "`hooks.{name}` is not a known event, so its hooks don't run{}",
        meant.unwrap_or_default()
    )
}

impl<'de> Deserialize<'de> for HooksFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Events;
        impl<'de> Visitor<'de> for Events {
            type Value = HooksFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a list of hooks for each event")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HooksFile, A::Error> {
                let mut file = HooksFile::default();
                while let Some(name) = map.next_key::<String>()? {
                    let Some(event) = Event::from_name(&name) else {
                        map.next_value::<IgnoredAny>()?;
                        file.unknown.push(name);
                        continue;
                    };
                    let groups: Vec<Group> = map.next_value().map_err(|error| {
                        // serde_json adds line and column at the end of the message again.
                        A::Error::custom(format!(
                            "`hooks.{name}`: {}",
                            plain_error(&error.to_string())
                        ))
                    })?;
                    file.groups
                        .extend(groups.into_iter().map(|group| (event, group)));
                }
                Ok(file)
            }
        }
        deserializer.deserialize_map(Events)
    }
}

/// serde names the program's types, which mean nothing to the author of a file.
fn plain_error(error: &str) -> String {
    error
        .replace("struct Group", "an object with `matcher` and `hooks`")
        .replace("struct Entry", "an object with `type` and `command`")
}

impl JsonSchema for HooksFile {
    fn schema_name() -> Cow<'static, str> {
        "Hooks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let groups = generator.subschema_for::<Vec<Group>>();
        let events = Event::ALL.map(|event| (event.name().to_owned(), groups.clone().to_value()));
        let events = serde_json::Map::from_iter(events);
        json_schema!({
            "type": "object",
            "description": "Commands to run when something happens, by event.",
            "properties": events,
        })
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        let time = Duration::try_from_secs_f64(seconds).ok();
        let time = time.filter(|time| !time.is_zero() && *time <= LONGEST_TIMEOUT);
        let time = time.ok_or_else(|| {
            D::Error::custom(format!(
                "`timeout` is in seconds, more than 0 and at most 86400, not {seconds}"
            ))
        })?;
        Ok(Self(time))
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 86_400 })
    }
}

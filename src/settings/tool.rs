//! Settings of single tools, by name.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Settings;
use crate::permissions::names::is_tool;
use crate::protocol::InterruptBehavior;
use crate::text::{cut, nearest};

/// Settings of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Milliseconds between the starts of two calls.
    pub rate_limit: Option<NonZeroU64>,
    /// Milliseconds after which a call is stopped.
    pub timeout: Option<NonZeroU64>,
    /// Characters of a result that the model gets; a longer result goes to a file.
    pub max_result_chars: Option<usize>,
    /// What an interrupt does to a running call.
    pub interrupt: Option<InterruptBehavior>,
}

impl ToolSettings {
    pub fn rate_limit(&self) -> Option<Duration> {
        self.rate_limit
            .map(|millis| Duration::from_millis(millis.get()))
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
            .map(|millis| Duration::from_millis(millis.get()))
    }

    /// Takes over the values of a higher layer.
    pub(super) fn override_with(&mut self, higher: Self) {
        let Self {
            rate_limit,
            timeout,
            max_result_chars,
            interrupt,
        } = higher;
        self.rate_limit = rate_limit.or(self.rate_limit);
        self.timeout = timeout.or(self.timeout);
        self.max_result_chars = max_result_chars.or(self.max_result_chars);
        self.interrupt = interrupt.or(self.interrupt);
    }
}

impl Settings {
    /// The settings of all tools that have any; `interruptBehavior` is the older form of `interrupt`.
    pub fn all_tools(&self) -> BTreeMap<String, ToolSettings> {
        let mut all = self.tools.clone();
        for (name, behavior) in &self.interrupt_behavior {
            let settings = all.entry(name.clone()).or_default();
            settings.interrupt.get_or_insert(*behavior);
        }
        all
    }

    /// Warnings about settings of tools that do not exist; `known` are those of this run. Tools of MCP servers may be
    /// added later.
    pub fn unknown_tools(&self, known: &[&str]) -> Vec<String> {
        let named = |key: &'static str, names: Vec<&String>| {
            let names = names.into_iter();
            let unknown = names.filter(|name| {
                !known.contains(&name.as_str()) && !is_tool(name) && !name.starts_with("mcp__")
            });
            let warning = |name: &String| {
                let file = self.origins.get(&format!("{key}.{name}"));
                let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
                let meant = nearest(name, known.iter().copied());
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
                let meant = meant.unwrap_or_default();
                format!("{file}`{key}.{}`: no such tool{meant}", cut(name))
            };
            unknown.map(warning).collect::<Vec<String>>()
        };
        let mut warnings = named("tools", self.tools.keys().collect());
        warnings.extend(named(
            "interruptBehavior",
            self.interrupt_behavior.keys().collect(),
        ));
        warnings
    }
}

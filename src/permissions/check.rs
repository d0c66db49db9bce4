//! Cases as lines of JSON, decided without settings and without a look at the disk.
//!
//! The world of a case: home is `/home/u`, links are those that the case lists, rules stand in the project's settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::bash::classify_in;
use super::{Asked, Cause, RuleList, Rules, Source, Verdict, World, decide};
use crate::protocol::{Level, Mode};

const HOME: &str = "/home/u";
const WORKSPACE: &str = "/repo";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    rules: Lists,
    mode: Option<String>,
    cwd: Option<PathBuf>,
    tool: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    symlinks: BTreeMap<PathBuf, PathBuf>,
    #[serde(default)]
    additional_directories: Vec<PathBuf>,
}

#[derive(Default, Deserialize)]
struct Lists {
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
}

/// Decides one case and answers `{"decision","reason","rule"}`, or `{"error"}` for a line that is no case.
pub fn check_case(line: &str) -> String {
    match check(line) {
        Ok(verdict) => answer(&verdict).to_string(),
        Err(error) => json!({ "error": error }).to_string(),
    }
}

/// Classifies the `command` of one line and answers `{"readonly","reason"}`, or `{"error"}`.
pub fn classify_case(line: &str) -> String {
    let case: Result<Value, _> = serde_json::from_str(line);
    let command = case
        .as_ref()
        .ok()
        .and_then(|case| case.get("command"))
        .and_then(Value::as_str);
    match command {
        Some(command) => {
            let found = classify_in(command, Path::new(WORKSPACE));
            json!({ "readonly": found.read_only, "reason": found.reason }).to_string()
        }
        None => json!({ "error": "a case is a JSON object with a `command`" }).to_string(),
    }
}

/// A verdict as `permissions check` prints it.
pub fn answer(verdict: &Verdict) -> Value {
    let rule = match &verdict.cause {
        Cause::Rule(rule) => Some(&rule.text),
        Cause::BuiltIn
        | Cause::ProtectedPath
        | Cause::Mode(_)
        | Cause::Classifier
        | Cause::Default
        | Cause::Hook(_)
        | Cause::Person => None,
    };
    json!({ "decision": verdict.decision.name(), "reason": verdict.reason, "rule": rule })
}

fn check(line: &str) -> Result<Verdict, String> {
    let case: Case = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mode = match case.mode.as_deref() {
        None => Mode::Default,
        Some(name) => Mode::from_name(name).ok_or_else(|| format!("there is no mode `{name}`"))?,
    };
    let mut rules = Rules::default();
    let source = Source("the project's settings".to_owned());
    for (list, texts) in [
        (RuleList::Deny, &case.rules.deny),
        (RuleList::Ask, &case.rules.ask),
        (RuleList::Allow, &case.rules.allow),
    ] {
        for text in texts {
            rules.add(list, text, &source)?;
        }
    }
    let world = World {
        cwd: case.cwd.unwrap_or_else(|| PathBuf::from(WORKSPACE)),
        home: PathBuf::from(HOME),
        shell_dir: None,
        additional_directories: case.additional_directories,
        config_dir: None,
        links: &case.symlinks,
    };
    let asked = Asked {
        tool: &case.tool,
        input: &case.input,
        level: Level::Confirm,
        read_only: matches!(
            case.tool.as_str(),
            "WebFetch" | "WebSearch" | "TodoWrite" | "Task" | "AskUserQuestion"
        ),
    };
    Ok(decide(&asked, &rules, mode, &world))
}

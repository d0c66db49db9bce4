//! Cases as lines of JSON, decided without settings and without reading the disk.
//!
//! The world of a case: home is `/home/u`, links are those listed in the case, rules belong to the project's settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::bash::classify_in;
use super::names::is_read_only_if_absent;
use super::{CallDetails, Cause, Decision, Rule, RuleList, Rules, Source, Verdict, World, decide};
use crate::protocol::{Level, Mode, Touches};

const HOME: &str = "/home/u";
const CONFIG: &str = "/home/u/.config/agent-tui";
const WORKSPACE: &str = "/repo";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    rules: Option<Lists>,
    mode: Option<String>,
    cwd: Option<PathBuf>,
    tool: String,
    #[serde(default)]
    input: Value,
    symlinks: Option<BTreeMap<PathBuf, PathBuf>>,
    additional_directories: Option<Vec<PathBuf>>,
}

#[derive(Default, Deserialize)]
struct Lists {
    deny: Option<Vec<String>>,
    ask: Option<Vec<String>>,
    allow: Option<Vec<String>>,
}

/// Decides one case and answers `{"decision","reason","rule"}`. A line that is not a case gives `ask` with an `error`.
///
/// `touches` says what a call of a tool touches.
pub fn check_case(line: impl AsRef<[u8]>, touches: impl FnOnce(&str, &Value) -> Touches) -> String {
    match check(line.as_ref(), touches) {
        Ok(verdict) => answer(&verdict).to_string(),
        Err(error) => {
            json!({ "decision": "ask", "reason": error, "rule": null, "error": error }).to_string()
        }
    }
}

/// Classifies the `command` of one line and answers `{"readonly","reason"}`; a line without one is not read-only.
pub fn classify_case(line: impl AsRef<[u8]>) -> String {
    let case: Result<Value, _> = serde_json::from_slice(line.as_ref());
    let command = case
        .as_ref()
        .ok()
        .and_then(|case| case.get("command"))
        .and_then(Value::as_str);
    let Some(command) = command else {
        let error = "a case is a JSON object with a `command`";
        return json!({ "readonly": false, "reason": error, "error": error }).to_string();
    };
    let found = classify_in(command, Path::new(WORKSPACE));
    json!({ "readonly": found.read_only, "reason": found.reason }).to_string()
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
        | Cause::Blocked
        | Cause::Person => None,
    };
    json!({ "decision": verdict.decision.name(), "reason": verdict.reason, "rule": rule })
}

fn check(line: &[u8], touches: impl FnOnce(&str, &Value) -> Touches) -> Result<Verdict, String> {
    let case: Case = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let mode = match case.mode.as_deref() {
        None => Mode::Default,
        Some(name) => Mode::from_name(name).ok_or_else(|| format!("unknown mode `{name}`"))?,
    };
    let lists = case.rules.unwrap_or_default();
    let mut rules = Rules::default();
    let mut broken = None;
    for (list, texts) in [
        (RuleList::Deny, &lists.deny),
        (RuleList::Ask, &lists.ask),
        (RuleList::Allow, &lists.allow),
    ] {
        for text in texts.iter().flatten() {
            match rules.add(list, text, &Source::Case) {
                Ok(_) => {}
                // What it would have allowed asks.
                Err(_) if list == RuleList::Allow => {}
                Err(error) => broken = Some(error),
            }
        }
    }
    // Only the program's own tools and those of MCP servers are known here.
    rules.allow.retain(Rule::names_a_known_tool);
    let links = case.symlinks.unwrap_or_default();
    let world = World {
        cwd: case.cwd.unwrap_or_else(|| PathBuf::from(WORKSPACE)),
        home: PathBuf::from(HOME),
        shell_dir: None,
        additional_directories: case.additional_directories.unwrap_or_default(),
        config_dir: Some(PathBuf::from(CONFIG)),
        data_dir: None,
        protected_files: Vec::new(),
        links: &links,
    };
    let call = CallDetails {
        tool: &case.tool,
        input: &case.input,
        touches: touches(&case.tool, &case.input),
        level: Level::Confirm,
        read_only: is_read_only_if_absent(&case.tool),
    };
    let verdict = decide(&call, &rules, mode, &world);
    Ok(match (broken, verdict.decision) {
        // A rule that should have refused something, but it is not known what.
        (Some(error), Decision::Allow) => Verdict {
            decision: Decision::Ask,
            reason: error,
            cause: Cause::Default,
        },
        (Some(_) | None, _) => verdict,
    })
}

//! Tests of the whole of a decision; parts have their own beside them.

mod bash_words;
mod cases;
mod clauses;
mod decisions;
mod git_findings;
mod lessons;
mod more_lessons;
mod path_lessons;
mod properties;
mod reading;
mod second_findings;
mod second_opinion;
mod semantics;
mod shell_findings;

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::bash::classify;
use super::check;
use crate::protocol::Touches;
use crate::tools::registry::Registry;

/// What the program's own tools say of a call.
pub(super) fn touched(tool: &str, input: &Value) -> Touches {
    static TOOLS: LazyLock<Registry> = LazyLock::new(Registry::built_in);
    TOOLS.touches(tool, input)
}

fn check_case(line: impl AsRef<[u8]>) -> String {
    check::check_case(line, touched)
}

/// A call in the world of the shared cases, built up word by word.
struct Call {
    case: Value,
}

impl Call {
    fn new(tool: &str, input: impl Into<Value>) -> Self {
        let input = input.into();
        let rules = json!({ "deny": [], "ask": [], "allow": [] });
        Self {
            case: json!({ "tool": tool, "input": input, "cwd": "/repo", "mode": "default", "rules": rules }),
        }
    }

    fn bash(command: &str) -> Self {
        Self::new("Bash", json!({ "command": command }))
    }

    fn read(path: &str) -> Self {
        Self::new("Read", json!({ "file_path": path }))
    }

    fn write(path: &str) -> Self {
        Self::new("Write", json!({ "file_path": path, "content": "x" }))
    }

    fn rule(mut self, list: &str, rule: &str) -> Self {
        self.case["rules"][list]
            .as_array_mut()
            .expect("a list")
            .push(rule.into());
        self
    }

    fn deny(self, rule: &str) -> Self {
        self.rule("deny", rule)
    }

    fn ask(self, rule: &str) -> Self {
        self.rule("ask", rule)
    }

    fn allow(self, rule: &str) -> Self {
        self.rule("allow", rule)
    }

    fn mode(mut self, mode: &str) -> Self {
        self.case["mode"] = mode.into();
        self
    }

    fn link(mut self, from: &str, to: &str) -> Self {
        self.case["symlinks"][from] = to.into();
        self
    }

    fn decision(&self) -> String {
        let answer: Value =
            serde_json::from_str(&check_case(self.case.to_string())).expect("an answer is JSON");
        answer["decision"]
            .as_str()
            .map_or_else(|| answer.to_string(), str::to_owned)
    }
}

/// None of these is read-only.
fn refused(commands: &[&str]) {
    for command in commands {
        assert!(!classify(command).read_only, "{command}");
    }
}

/// All of these are read-only.
fn accepted(commands: &[&str]) {
    for command in commands {
        let found = classify(command);
        assert!(found.read_only, "{command}: {}", found.reason);
    }
}

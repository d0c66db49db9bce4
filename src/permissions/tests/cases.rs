//! The shared cases, every one of them.

use std::path::Path;

use serde_json::Value;

use crate::permissions::bash::classify_in;
use crate::permissions::check::check_case;

const BASH: &str = include_str!("../../../tests/fixtures/security/bash_cases.jsonl");
const PERMISSION: &str = include_str!("../../../tests/fixtures/security/permission_cases.jsonl");

fn cases(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case is JSON"))
}

#[test]
fn every_shared_command_is_classified_as_agreed() {
    let mut wrong = Vec::new();
    for case in cases(BASH) {
        let command = case["command"].as_str().expect("a case has a command");
        let found = classify_in(command, Path::new("/repo"));
        if Some(found.read_only) != case["readonly"].as_bool() {
            wrong.push(format!("{case}\n  found: {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_shared_call_is_decided_as_agreed() {
    let mut wrong = Vec::new();
    for (line, case) in PERMISSION.lines().zip(cases(PERMISSION)) {
        let found: Value = serde_json::from_str(&check_case(line)).expect("an answer is JSON");
        if found["decision"] != case["expect"] {
            wrong.push(format!("{case}\n  found: {found}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

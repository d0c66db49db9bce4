//! The shared cases, every one of them, and our own of the same kind.

use std::path::Path;

use serde_json::Value;

use super::check_case;
use crate::permissions::bash::classify_in;

pub(super) const BASH: &str = include_str!("../../../tests/fixtures/security/bash_cases.jsonl");
pub(super) const PERMISSION: &str =
    include_str!("../../../tests/fixtures/security/permission_cases.jsonl");
/// What an adversary added after breaking the program.
pub(super) const BASH_2: &str = include_str!("../../../tests/fixtures/security/bash_cases_2.jsonl");
pub(super) const PERMISSION_2: &str =
    include_str!("../../../tests/fixtures/security/permission_cases_2.jsonl");

/// Made clause by clause from the agreed text, on both sides of each line.
pub(super) const OWN_BASH: &str =
    include_str!("../../../tests/fixtures/security/own_bash_cases.jsonl");
pub(super) const OWN_PERMISSION: &str =
    include_str!("../../../tests/fixtures/security/own_permission_cases.jsonl");

pub(super) fn cases(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case is JSON"))
}

#[test]
fn every_shared_command_is_classified_as_agreed() {
    classified_as_agreed(BASH);
    classified_as_agreed(BASH_2);
}

#[test]
fn every_command_of_our_own_is_classified_as_agreed() {
    classified_as_agreed(OWN_BASH);
}

#[test]
fn every_shared_call_is_decided_as_agreed() {
    decided_as_agreed(PERMISSION);
    decided_as_agreed(PERMISSION_2);
}

#[test]
fn every_call_of_our_own_is_decided_as_agreed() {
    decided_as_agreed(OWN_PERMISSION);
}

fn classified_as_agreed(text: &str) {
    let mut wrong = Vec::new();
    for case in cases(text) {
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

fn decided_as_agreed(text: &str) {
    let mut wrong = Vec::new();
    for (line, case) in text.lines().zip(cases(text)) {
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

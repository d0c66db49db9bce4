//! Holes that an adversary found around git: names for files that are more than paths.

use std::path::Path;

use serde_json::json;

use super::super::{CallDetails, Decision, Remembered, Rules, World, decide};
use super::super::{RuleList, Source};
use super::{Call, accepted, refused, touched};
use crate::protocol::{Level, Mode};

/// What is decided in `cwd`, in a repository that begins at `toplevel`.
fn decided(cwd: &Path, toplevel: &Path, command: &str, deny: &str) -> Decision {
    let links = Remembered::default();
    links.answer_repository(cwd.to_owned(), None, Some(toplevel.to_owned()));
    let mut rules = Rules::default();
    if !deny.is_empty() {
        let added = rules.add(RuleList::Deny, deny, &Source::Session);
        assert!(added.is_ok(), "{deny}");
    }
    let world = World {
        cwd: cwd.to_owned(),
        home: cwd.parent().expect("not the root").to_owned(),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &links,
    };
    let input = json!({ "command": command });
    let call = CallDetails {
        tool: "Bash",
        input: &input,
        touches: touched("Bash", &input),
        level: Level::Dangerous,
        read_only: true,
    };
    decide(&call, &rules, Mode::Default, &world).decision
}

#[test]
fn h2_magic_in_a_path_is_no_reading_of_the_workspace() {
    refused(&[
        "git grep --untracked --no-exclude-standard KEY :/",
        "git grep --untracked KEY ':(top).ssh'",
        "git grep --untracked KEY -- ':(icase)../.SSH'",
        "git grep -e KEY ':(glob)../.ssh/**'",
        "git grep KEY :/.ssh",
        "git ls-files -o :/",
        "git ls-files -o -- ':(top)'",
        "git ls-files ':!x'",
        "git status :/",
        "git diff :/",
        "git diff -- :/",
        "git log -p -- ':(top).ssh'",
        "git log -- :/x",
        "git show HEAD -- :/x",
        "git show ':(top)'",
        "git log :",
        "git blame :/x",
        // A directory may have the name `:`.
        "git grep --untracked KEY */",
        "git grep KEY -- *",
    ]);
    accepted(&[
        "git show :/fix",
        "git log :/fix",
        "git show :0:src/a.rs",
        "git show :src/a.rs",
        "git diff :1:a.rs :3:a.rs",
        "git rev-parse :/fix",
        "git grep :/",
        "git grep -e :/ src",
    ]);
}

#[test]
fn h2_rules_reach_the_whole_repository() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let top = dir.path().canonicalize().expect("it exists");
    let work = top.join("proj");
    std::fs::create_dir(&work).expect("mkdir");
    let rule = "Read(~/other/key)";
    for command in [
        "git diff",
        "git log -p",
        "git show",
        "git show HEAD:other/key",
    ] {
        assert_eq!(
            decided(&work, &top, command, rule),
            Decision::Ask,
            "{command}"
        );
        assert_eq!(
            decided(&work, &work, command, rule),
            Decision::Allow,
            "{command}"
        );
        assert_eq!(
            decided(&work, &top, command, ""),
            Decision::Allow,
            "{command}"
        );
    }
    assert_eq!(decided(&work, &top, "git status", rule), Decision::Allow);
    assert_eq!(
        decided(&work, &top, "git diff -- src", rule),
        Decision::Allow
    );
}

#[test]
fn h8_an_object_by_another_name_is_the_same_file() {
    let rule = "Read(/config/prod.key)";
    for (command, expected) in [
        ("git show 0f3a9c:prod.key", "ask"),
        ("git cat-file -p 0f3a9c1:prod.key", "ask"),
        ("git show v1-2-g0f3a9c:prod.key", "ask"),
        ("git show HEAD:config/prod.key", "deny"),
        ("git show HEAD:sub/config/prod.key", "deny"),
        ("git cat-file -p main~1:a/b/config/prod.key", "deny"),
        ("git show HEAD:src/a.rs", "allow"),
        ("git show HEAD:./src/config/prod.key", "allow"),
    ] {
        assert_eq!(
            Call::bash(command).deny(rule).decision(),
            expected,
            "{command}"
        );
    }
}

//! Modes and places through the whole pipeline, with the built-in tools: forbidden changes do not happen.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::rig::{Rig, Setting, Tools};
use super::shared::Asking;
use crate::permissions::Source;
use crate::protocol::{Answer, Mode};

fn planning() -> Rig {
    let rig = Rig::with(Setting {
        mode: Mode::Plan,
        asking: Asking::Person,
        tools: Tools::Real,
        ..Setting::default()
    });
    rig.scratch.put("a", "one\n");
    for rule in ["Bash", "Edit(**)", "Write", "Edit", "KillShell"] {
        let source = Source::Session;
        rig.context.shared.allow(rule, &source).expect("a rule");
    }
    rig
}

/// All ways in which something could change. The allow rules do not help, and the person is not asked.
#[tokio::test]
async fn plan_mode_blocks_every_change_whatever_the_route() {
    let bash = |command: &str| ("Bash", json!({ "command": command }));
    let routes: Vec<(&str, Value)> = vec![
        bash("touch b"),
        bash("echo x > b"),
        bash("echo x >> a"),
        bash("cat a >| b"),
        bash("ls &> b"),
        bash("cat <> b"),
        bash("cp a b"),
        bash("sed -i s/one/two/ a"),
        bash("sh -c 'touch b'"),
        bash("ls $(touch b)"),
        bash("cat <(touch b)"),
        bash("touch b &"),
        bash("ls; touch b"),
        bash("if true; then touch b; fi"),
        bash("x=1 touch b"),
        bash("find . -name a -exec touch b ';'"),
        bash("git init -q ."),
        bash("rm a"),
        bash("tee b < a"),
        (
            "Bash",
            json!({ "command": "touch b", "run_in_background": true }),
        ),
        ("Write", json!({ "file_path": "b", "content": "x" })),
        ("Write", json!({ "file_path": "new/b", "content": "x" })),
        (
            "Edit",
            json!({ "file_path": "b", "old_string": "", "new_string": "x" }),
        ),
        (
            "Edit",
            json!({ "file_path": "a", "old_string": "one", "new_string": "two" }),
        ),
    ];
    for (tool, input) in routes {
        let mut rig = planning();
        rig.scratch.read("a").await.expect("readable");
        rig.call("1", tool, input.clone());
        rig.stream_ended();
        let results = rig.results().await;
        assert!(results[0].is_error, "{input}");
        let text = results[0].as_text();
        assert!(text.contains("plan mode"), "{input}: {text}");
        assert_eq!(rig.scratch.names(), ["a", "sub"], "{input}");
        assert_eq!(rig.scratch.bytes("a"), b"one\n", "{input}");
    }
}

#[tokio::test]
async fn plan_mode_reads() {
    let mut rig = planning();
    rig.call("1", "Bash", json!({ "command": "cat a | wc -l" }));
    rig.call("2", "Read", json!({ "file_path": "a" }));
    rig.call("3", "Grep", json!({ "pattern": "one" }));
    rig.call("4", "Glob", json!({ "pattern": "*" }));
    rig.stream_ended();
    let results = rig.results().await;
    assert_eq!(
        results
            .iter()
            .map(|result| result.is_error)
            .collect::<Vec<_>>(),
        [false; 4]
    );
}

/// A link replaces the target while the person looks at the question.
#[tokio::test]
async fn cve_2026_88968_what_was_swapped_while_the_person_was_asked_is_not_written() {
    for link_to in ["file", "directory"] {
        let mut rig = Rig::real();
        let outside = rig.scratch.root.with_file_name("outside");
        std::fs::create_dir(&outside).expect("mkdir");
        std::fs::write(outside.join("b"), "theirs\n").expect("write");
        let theirs = outside.join("b").display().to_string();
        rig.scratch.read(&theirs).await.expect("readable");
        std::fs::create_dir(rig.scratch.path("d")).expect("mkdir");
        rig.call(
            "1",
            "Write",
            json!({ "file_path": "d/b", "content": "mine\n" }),
        );
        rig.request("1").await;
        if link_to == "file" {
            symlink(outside.join("b"), rig.scratch.path("d/b")).expect("link");
        } else {
            std::fs::remove_dir(rig.scratch.path("d")).expect("remove");
            symlink(&outside, rig.scratch.path("d")).expect("link");
        }
        rig.answer("1", Answer::Allow);
        rig.stream_ended();
        let results = rig.results().await;
        let text = results[0].as_text();
        assert!(
            text.contains("changed while it was being decided; try again"),
            "{text}"
        );
        let kept = std::fs::read_to_string(outside.join("b")).expect("readable");
        assert_eq!(kept, "theirs\n");
    }
}

/// Nothing is created through a dangling link, even if it is allowed.
#[tokio::test]
async fn cve_2026_32055_nothing_is_created_through_a_dangling_link() {
    let mut rig = Rig::with(Setting {
        mode: Mode::BypassPermissions,
        tools: Tools::Real,
        ..Setting::default()
    });
    let target = rig.scratch.root.with_file_name("nowhere");
    symlink(&target, rig.scratch.path("link")).expect("link");
    rig.call("1", "Write", json!({ "file_path": "link", "content": "x" }));
    rig.call(
        "2",
        "Write",
        json!({ "file_path": "link/b", "content": "x" }),
    );
    let far = rig.scratch.root.with_file_name("far").join("b");
    rig.call("3", "Write", json!({ "file_path": far, "content": "x" }));
    rig.stream_ended();
    let results = rig.results().await;
    assert!(results.iter().all(|result| result.is_error));
    assert!(!target.exists());
    assert!(!rig.scratch.root.with_file_name("far").exists());
}

/// Without a person, a call that would ask is denied, and the result says so.
#[tokio::test]
async fn ghsa_wpqr_6v78_jr5g_without_a_person_what_would_ask_is_denied() {
    let mut rig = Rig::with(Setting {
        mode: Mode::Default,
        asking: Asking::Nobody,
        tools: Tools::Real,
        ..Setting::default()
    });
    rig.call("1", "Bash", json!({ "command": "touch b" }));
    rig.stream_ended();
    let results = rig.results().await;
    assert!(results[0].is_error);
    assert!(results[0].as_text().contains("nobody is there to ask"));
    assert_eq!(rig.scratch.names(), ["sub"]);
}

//! Reads the source and holds us to the architecture: who may know whom, and how long a file may be.

use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 600;

/// What a part of the program must not mention.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "protocol",
        &[
            "crate::agent",
            "crate::executor",
            "crate::tools",
            "crate::provider",
            "crate::session",
            "tokio",
        ],
    ),
    (
        "executor",
        &[
            "ratatui",
            "crate::agent",
            "crate::headless",
            "crate::cli",
            "crate::provider",
            "crate::session",
        ],
    ),
    (
        "tools",
        &[
            "crate::agent",
            "crate::headless",
            "crate::cli",
            "crate::provider",
            "crate::session",
        ],
    ),
    (
        "permissions",
        &[
            "tokio",
            "std::process",
            "crate::agent",
            "crate::tools",
            "crate::executor",
            "crate::cli",
        ],
    ),
    (
        "process",
        &[
            "ratatui",
            "crate::agent",
            "crate::app",
            "crate::cli",
            "crate::executor",
            "crate::git",
            "crate::hooks",
            "crate::permissions",
            "crate::runtime",
            "crate::tools",
            "crate::ui",
        ],
    ),
    (
        "git",
        &[
            "ratatui",
            "crate::agent",
            "crate::app",
            "crate::cli",
            "crate::executor",
            "crate::hooks",
            "crate::runtime",
            "crate::tools",
            "crate::ui",
        ],
    ),
    (
        "provider",
        &[
            "crate::agent",
            "crate::executor",
            "crate::tools",
            "crate::headless",
            "crate::cli",
        ],
    ),
    (
        "session",
        &[
            "crate::agent",
            "crate::executor",
            "crate::tools",
            "crate::provider",
            "crate::cli",
        ],
    ),
    (
        "hooks",
        &[
            "ratatui",
            "crate::agent",
            "crate::executor",
            "crate::headless",
            "crate::cli",
            "crate::provider",
            "crate::session",
        ],
    ),
    (
        "agent",
        &[
            "crate::headless",
            "crate::cli",
            "crate::app",
            "crate::ui",
            "ratatui",
        ],
    ),
    (
        "app",
        &[
            "tokio",
            "std::fs",
            "Instant::now",
            "Frame",
            "crate::ui",
            "crate::agent",
            "crate::executor",
            "crate::tools",
            "crate::runtime",
        ],
    ),
    (
        "ui",
        &[
            "tokio",
            "std::fs",
            "Instant::now",
            "Color::",
            "crate::agent",
            "crate::executor",
            "crate::tools",
            "crate::runtime",
        ],
    ),
    ("keymap", &["crate::app", "crate::ui", "std::fs", "tokio"]),
    ("theme", &["crate::app", "crate::ui", "std::fs", "tokio"]),
    ("headless", &["crate::app", "crate::ui", "crate::runtime"]),
];

/// The pure machines: no clock, no disk, no waiting.
const PURE: &[&str] = &[
    "executor/machine.rs",
    "executor/schedule.rs",
    "agent/turn.rs",
    "agent/history.rs",
    "session/replay.rs",
    "permissions/decide.rs",
    "hooks/answer.rs",
    "hooks/occasion.rs",
    "hooks/said.rs",
];

#[test]
fn nobody_knows_whom_they_should_not() {
    let mut wrong = Vec::new();
    for (part, words) in FORBIDDEN {
        for file in sources(&root().join("src").join(part)) {
            // Tests may use what they test with.
            if file.components().any(|part| is_test(part.as_os_str())) {
                continue;
            }
            let source = std::fs::read_to_string(&file).expect("readable");
            for (number, line) in source.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for word in words.iter().filter(|word| code.contains(*word)) {
                    wrong.push(format!("{}:{}: {word}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A name would be looked for in `PATH`, which may lead into the workspace.
#[test]
fn a3_no_program_is_started_by_its_name() {
    for file in sources(&root().join("src")) {
        let source = std::fs::read_to_string(&file).expect("readable");
        // Tests start what they like.
        let is_tests = file.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            is_test(part.as_ref().as_ref()) || part.ends_with("_tests.rs")
        });
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(
            is_tests || !source.contains("Command::new(\""),
            "{} starts a program by its name",
            file.display()
        );
    }
}

#[test]
fn machines_are_pure() {
    for file in PURE {
        let source = std::fs::read_to_string(root().join("src").join(file)).expect("readable");
        for word in [
            "async fn",
            ".await",
            "Instant::now",
            "SystemTime::now",
            "std::fs",
            "tokio::",
        ] {
            assert!(!source.contains(word), "{file} mentions {word}");
        }
    }
}

#[test]
fn files_are_short() {
    let mut long = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for file in sources(&root().join(folder)) {
            let lines = std::fs::read_to_string(&file)
                .expect("readable")
                .lines()
                .count();
            if lines > LONGEST_FILE {
                long.push(format!("{} has {lines} lines", file.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_module_says_what_it_is() {
    for file in sources(&root().join("src")) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let is_tests = file.components().any(|part| is_test(part.as_os_str()))
            || file
                .file_name()
                .is_some_and(|name| name.to_string_lossy().contains("tests"));
        assert!(
            is_tests || source.starts_with("//!"),
            "{} has no module documentation",
            file.display()
        );
    }
}

fn is_test(part: &std::ffi::OsStr) -> bool {
    matches!(part.to_str(), Some("tests" | "tests.rs" | "rig.rs"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = crate::support::program::files_below(folder);
    files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

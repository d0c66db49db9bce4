//! Reads the source and checks the architecture: which module may use which, and how long a file may be.

use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 600;
/// A longer function can be split; a flat table is data, and belongs in a `const` or an asset.
const LONGEST_FUNCTION: usize = 80;

/// Which room may use which, in reading order: each uses only rooms above it, so there are no cycles. An edge that is
/// not listed fails; add a new one here with its reason.
const KNOWS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("text", &[]),
    ("config", &[]),
    ("permissions", &["protocol", "config"]),
    ("process", &["config", "text"]),
    ("git", &["config", "permissions", "process"]),
    ("provider", &["protocol", "config"]),
    ("session", &["protocol", "config"]),
    (
        "tools",
        &["protocol", "config", "permissions", "process", "git"],
    ),
    ("hooks", &["protocol", "config", "permissions", "process"]),
    (
        "settings",
        &["protocol", "config", "permissions", "process", "hooks"],
    ),
    (
        "mcp",
        &[
            "protocol",
            "config",
            "permissions",
            "process",
            "tools",
            "hooks",
            "settings",
        ],
    ),
    (
        "executor",
        &[
            "protocol",
            // For its logs: without keys, and not too long.
            "config",
            "permissions",
            "process",
            "tools",
            "hooks",
            "settings",
        ],
    ),
    (
        "conversation",
        &[
            "protocol",
            "config",
            "permissions",
            "provider",
            "session",
            "tools",
            "hooks",
            "executor",
        ],
    ),
    (
        "agent",
        &[
            "protocol",
            "config",
            "permissions",
            "provider",
            "session",
            "tools",
            "hooks",
            "settings",
            "mcp",
            "executor",
            "conversation",
        ],
    ),
    (
        "headless",
        &["protocol", "text", "config", "process", "agent"],
    ),
    ("keymap", &["config"]),
    ("theme", &["config"]),
    (
        "app",
        &[
            "protocol",
            "text",
            "permissions",
            "settings",
            "keymap",
            "theme",
        ],
    ),
    ("ui", &["protocol", "settings", "keymap", "theme", "app"]),
    (
        "runtime",
        &[
            "protocol", "config", "process", "session", "tools", "settings", "agent", "keymap",
            "theme", "app", "ui",
        ],
    ),
    (
        "cli",
        &[
            "protocol",
            "text",
            "config",
            "permissions",
            "process",
            "git",
            "provider",
            "session",
            "tools",
            "hooks",
            "settings",
            "mcp",
            "executor",
            "conversation",
            "agent",
            "headless",
            "keymap",
            "app",
            "runtime",
        ],
    ),
];

/// Depends on nothing, so every room may use it.
const FOR_ALL: &str = "text";

/// What a room must not use besides: it would block, or access a clock, a disk or a screen.
const AVOIDS: &[(&str, &[&str])] = &[
    ("protocol", &["tokio"]),
    ("permissions", &["tokio", "std::process"]),
    ("process", &["ratatui"]),
    ("git", &["ratatui"]),
    ("hooks", &["ratatui"]),
    ("executor", &["ratatui"]),
    ("agent", &["ratatui"]),
    ("keymap", &["std::fs", "tokio"]),
    ("theme", &["std::fs", "tokio"]),
    ("app", &["tokio", "std::fs", "Instant::now", "Frame"]),
    ("ui", &["tokio", "std::fs", "Instant::now", "Color::"]),
];

/// The pure machines: no clock, no disk, no waiting.
const PURE: &[&str] = &[
    "executor/machine.rs",
    "executor/schedule.rs",
    "executor/stopped.rs",
    "conversation/turn.rs",
    "conversation/turn/answering.rs",
    "conversation/turn/names.rs",
    "conversation/limits.rs",
    "conversation/spending.rs",
    "session/history.rs",
    "session/repair.rs",
    "permissions/decide.rs",
    "hooks/answer.rs",
    "hooks/payload.rs",
    "hooks/output.rs",
];

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let tests = test_files();
    let mut wrong = Vec::new();
    for (part, knows) in KNOWS {
        for file in shipped(part, &tests) {
            for (number, line) in code(&file) {
                for name in mentioned(&line, depth(&file)) {
                    if name != *part && name != FOR_ALL && !knows.contains(&name) {
                        wrong.push(format!("{}:{number}: {part} knows {name}", file.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_is_listed_after_those_it_uses() {
    let listed: Vec<&str> = KNOWS.iter().map(|(part, _)| *part).collect();
    for entry in std::fs::read_dir(root().join("src")).expect("readable") {
        let entry = entry.expect("readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_part = entry.file_type().expect("a type").is_dir();
        assert!(
            !is_part || listed.contains(&name.as_str()),
            "{name} is not listed"
        );
    }
    for (at, (part, knows)) in KNOWS.iter().enumerate() {
        for name in *knows {
            assert!(listed[..at].contains(name), "{part} comes before {name}");
        }
    }
}

#[test]
fn rooms_avoid_what_they_must_not_use() {
    let tests = test_files();
    let mut wrong = Vec::new();
    for (part, words) in AVOIDS {
        for file in shipped(part, &tests) {
            for (number, line) in code(&file) {
                for word in words.iter().filter(|word| line.contains(*word)) {
                    wrong.push(format!("{}:{number}: {word}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A name would be looked up in `PATH`, which may include the workspace.
#[test]
fn a3_no_program_is_started_by_its_name() {
    let tests = test_files();
    for file in shipped("", &tests) {
        for (number, line) in code(&file) {
            assert!(
                !line.contains("Command::new(\""),
                "{}:{number} starts a program by its name",
                file.display()
            );
        }
    }
}

/// Where tool names may be written: in the tools, in the syntax of rules, and in the built-in model, which calls tools
/// by name like every model. Everything else asks the tool.
const NAME_TOOLS: &[&str] = &["tools", "permissions/names.rs", "provider/builtin"];

#[test]
fn tool_names_are_written_only_where_allowed() {
    let names = tool_names();
    assert!(names.len() > 20, "{names:?}");
    let tests = test_files();
    let mut wrong = Vec::new();
    for file in shipped("", &tests) {
        let below = file.strip_prefix(root().join("src")).expect("a source");
        if NAME_TOOLS.iter().any(|may| below.starts_with(may)) {
            continue;
        }
        for (number, line) in code(&file) {
            for literal in literals(&line) {
                // Also as a rule: `Bash(…)`.
                let name = literal.split('(').next().unwrap_or_default();
                if names.iter().any(|known| known == name) {
                    wrong.push(format!("{}:{number}: {literal}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names that rules know. A test of theirs checks that all tools are among them.
fn tool_names() -> Vec<String> {
    let file = root().join("src/permissions/names.rs");
    let is_name = |literal: &&str| {
        literal.starts_with(|first: char| first.is_ascii_uppercase())
            && literal.chars().all(|letter| letter.is_ascii_alphabetic())
    };
    let lines = code(&file);
    let names = lines
        .iter()
        .flat_map(|(_, line)| literals(line))
        .filter(is_name);
    names.map(str::to_owned).collect()
}

/// The string literals in a line.
fn literals(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
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
fn functions_are_short() {
    let tests = test_files();
    let mut long = Vec::new();
    for file in shipped("", &tests) {
        let source = std::fs::read_to_string(&file).expect("readable");
        for (name, lines) in functions(&source) {
            if lines > LONGEST_FUNCTION {
                long.push(format!("{}: {name} has {lines} lines", file.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The functions of a formatted file with their length: each ends at the brace below its first letter.
fn functions(source: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some((before, after)) = code.split_once("fn ") else {
            continue;
        };
        let words = [
            "pub", "async", "const", "unsafe", "extern", "(crate)", "(super)",
        ];
        let is_definition = before.split_whitespace().all(|word| {
            words.iter().any(|known| word.starts_with(known)) || word.starts_with("crate::")
        });
        if !is_definition || code.starts_with("//") {
            continue;
        }
        let indent = line.len() - code.len();
        let end = format!("{}}}", " ".repeat(indent));
        // A mere declaration has no body.
        let mut head = lines[at..].iter().map(|line| line.trim_end());
        let opens = head.find(|line| line.ends_with(['{', ';']));
        if opens.is_some_and(|line| line.ends_with(';')) {
            continue;
        }
        let length = lines[at..].iter().position(|line| *line == end);
        let name = after.split(['(', '<']).next().unwrap_or(after);
        found.extend(length.map(|length| (name, length + 1)));
    }
    found
}

#[test]
fn the_length_of_functions_is_measured() {
    let source = "impl A {\n    pub(super) async fn one(&self) -> B {\n        x\n    }\n}\n\nfn two<T>() {\n}\n";
    assert_eq!(functions(source), [("one", 3), ("two", 2)]);
}

#[test]
fn every_module_says_what_it_is() {
    let tests = test_files();
    for file in shipped("", &tests) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let documented = ["//!", "#![doc = include_str!("];
        assert!(
            documented.iter().any(|begin| source.starts_with(begin)),
            "{} has no module documentation",
            file.display()
        );
    }
}

#[test]
fn the_floor_plan_lists_exactly_the_rooms() {
    let plan = std::fs::read_to_string(root().join("src/ARCHITECTURE.md")).expect("readable");
    for (part, _) in KNOWS {
        assert!(plan.contains(&format!("[`{part}`]")), "{part} is missing");
    }
    for word in plan.split('`').skip(1).step_by(2) {
        let is_path = word.contains('/') && !word.contains([' ', ':', '…']);
        let example = word.replace("x.rs", "mod.rs");
        let is_there = ["", "src"]
            .iter()
            .any(|base| root().join(base).join(&example).exists());
        assert!(!is_path || is_there, "`{word}` is not there");
    }
}

#[test]
fn tests_and_edges_are_recognised() {
    let tests = test_files();
    let source = |path: &str| root().join("src").join(path);
    for path in [
        "agent/rig.rs",
        "conversation/turn_tests.rs",
        "app/composer/tests/vim.rs",
        "provider/sample.rs",
        "settings/trust/tests.rs",
        "tools/files/scratch.rs",
    ] {
        assert!(is_test(&source(path), &tests), "{path}");
    }
    for path in ["settings/trust.rs", "process/sandbox/seatbelt.rs"] {
        assert!(!is_test(&source(path), &tests), "{path}");
    }
    assert_eq!(depth(&source("git/mod.rs")), 1);
    assert_eq!(depth(&source("git/inspection.rs")), 2);
    for (line, depth, names) in [
        ("use crate::tools::bash;", 2, vec!["tools"]),
        ("use crate::{app, ui};", 2, vec!["{"]),
        ("crate::a::b(crate::c::d)", 2, vec!["a", "c"]),
        ("use super::super::tools::bash;", 2, vec!["tools"]),
        ("use super::look;", 2, vec![]),
        ("use super::tools;", 1, vec!["tools"]),
        ("pub(in crate::git) fn", 2, vec!["git"]),
        ("pub(crate) use super::{a, b};", 1, vec!["{"]),
    ] {
        assert_eq!(mentioned(line, depth), names, "{line}");
    }
}

/// The rooms that a line names, from a module `depth` levels below the root. A list in braces at the root is reported
/// as `{`, which is never allowed, because it would hide its members.
fn mentioned(line: &str, depth: usize) -> Vec<&str> {
    let up = "super::".repeat(depth);
    let mut names = Vec::new();
    for way in ["crate::", &up] {
        for (at, _) in line.match_indices(way) {
            let rest = &line[at + way.len()..];
            let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
            let name = &rest[..end.unwrap_or(rest.len())];
            if rest.starts_with('{') {
                names.push("{");
            } else if !name.is_empty() {
                names.push(name);
            }
        }
    }
    names
}

/// How many `super::` lead from a file's module to the root of the crate.
fn depth(file: &Path) -> usize {
    let below = file.strip_prefix(root().join("src")).expect("a source");
    let folders = below.components().count() - 1;
    folders + usize::from(!is_module_root(file))
}

/// Whether a file is the root of its folder's module.
fn is_module_root(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    matches!(name, Some("mod.rs" | "lib.rs" | "main.rs"))
}

/// The lines of a file with their numbers, without comments and without the tests at its end.
fn code(file: &Path) -> Vec<(usize, String)> {
    let source = std::fs::read_to_string(file).expect("readable");
    let end = source.find("#[cfg(test)]\nmod tests {");
    let lines = source[..end.unwrap_or(source.len())].lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default().to_owned());
    (1..).zip(code).collect()
}

/// The files of a room that are compiled into the program. Tests may use anything.
pub(crate) fn shipped(part: &str, tests: &[PathBuf]) -> Vec<PathBuf> {
    let files = sources(&root().join("src").join(part)).into_iter();
    files.filter(|file| !is_test(file, tests)).collect()
}

fn is_test(file: &Path, tests: &[PathBuf]) -> bool {
    tests.iter().any(|test| file.starts_with(test))
}

/// The modules that exist only for tests, as the source declares them: each as a file and as a folder.
pub(crate) fn test_files() -> Vec<PathBuf> {
    let mut tests = Vec::new();
    for file in sources(&root().join("src")) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let folder = if is_module_root(&file) {
            file.parent().expect("a folder").to_owned()
        } else {
            file.with_extension("")
        };
        for after in source.split("#[cfg(test)]\n").skip(1) {
            let declared = after.lines().find(|line| !line.starts_with("#["));
            let declared = declared.map(|line| {
                let public = ["pub ", "pub(crate) "];
                let rest = public.iter().find_map(|it| line.strip_prefix(it));
                rest.unwrap_or(line)
            });
            let name = declared.and_then(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
            if let Some(name) = name {
                tests.push(folder.join(name));
                tests.push(folder.join(format!("{name}.rs")));
            }
        }
    }
    tests
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = crate::support::program::files_below(folder);
    files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

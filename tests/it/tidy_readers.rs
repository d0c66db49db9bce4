//! Reads the source and checks how files are read: a file that others can write is opened by `config::read_regular` or
//! `config::open_regular`, which never wait for a pipe or read an endless device.

use std::path::{Path, PathBuf};

use crate::support::program::files_below;

/// Functions that read a file without checking what it is, ours and those of crates.
const UNCHECKED: &[&str] = &[
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "File::open(",
    "File::create(",
    "tokio::fs",
    ".add_ignore(",
    "Gitignore::new(",
    "Gitignore::global(",
    "GitignoreBuilder::add(",
    ".standard_filters(true",
    ".search_path(",
    ".search_file(",
    "load_from_folder(",
    "UserDirs",
];

/// The exceptions, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "config/mod.rs",
        "what the person names on the command line may be a pipe",
    ),
    (
        "config/save.rs",
        "opens the folder of what it saved, to have it written",
    ),
    ("process/signals.rs", "a file of the kernel"),
    ("process/stragglers.rs", "files of the kernel"),
    ("runtime/guard.rs", "opens the program's own file"),
    (
        "tools/bash/shell.rs",
        "writes to a temporary file that it has just made",
    ),
    (
        "tools/grep/search.rs",
        "a method of its own, which opens the file as the rules allow",
    ),
];

#[test]
fn every_file_is_checked_before_it_is_read() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in files_below(&root) {
        let name = file.strip_prefix(&root).expect("below it").to_owned();
        let is_rust = name.extension().is_some_and(|ending| ending == "rs");
        if !is_rust
            || is_for_tests(&name)
            || ALLOWED.iter().any(|(other, _)| name == Path::new(other))
        {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("readable");
        let source = source.split("#[cfg(test)]\nmod tests {").next();
        // Options don't check what is opened; a file that is newly created is safe.
        let checks = ["open_regular(", ".create_new(true)", "NONBLOCK"];
        let whole = source.unwrap_or_default();
        if whole.contains("OpenOptions::new()") && !checks.iter().any(|check| whole.contains(check))
        {
            wrong.push(format!("{}: OpenOptions::new()", name.display()));
        }
        for (number, line) in whole.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in UNCHECKED.iter().filter(|word| code.contains(*word)) {
                wrong.push(format!("{}:{}: {word}", name.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    for (name, why) in ALLOWED {
        let source = std::fs::read_to_string(root.join(name)).expect("readable");
        let needs = UNCHECKED.iter().any(|word| source.contains(word));
        assert!(needs, "{name}: {why}");
    }
}

/// Tests, and modules that are compiled only for them.
fn is_for_tests(name: &Path) -> bool {
    const HELPERS: &[&str] = &[
        "rig",
        "fixture",
        "scratch",
        "race",
        "processes",
        "sample",
        "test_tools",
    ];
    let mut parts = name.iter().filter_map(|part| part.to_str());
    parts.any(|part| {
        let part = part.trim_end_matches(".rs");
        part == "tests"
            || part.ends_with("_tests")
            || part.ends_with("_test")
            || HELPERS.contains(&part)
    })
}

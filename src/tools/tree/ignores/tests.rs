//! Compares the rules with the crate's own reader on all kinds of trees, and tests files that only look like ignore
//! files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ignore::WalkBuilder;
use ignore::types::Types;
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert_eq, proptest};
use tempfile::TempDir;

use super::{Ignores, LONGEST_FILE};
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::{Hidden, walk};

/// The entries that a walk sees below the root.
fn seen(root: &Path, builder: &WalkBuilder) -> BTreeSet<String> {
    let entries = builder.build().filter_map(Result::ok);
    let names = entries.filter_map(|entry| {
        let below = entry.path().strip_prefix(root).ok()?;
        Some(below.display().to_string())
    });
    names.collect()
}

fn ours(root: &Path) -> BTreeSet<String> {
    let walk = walk(
        root,
        &Hidden::Skipped,
        Types::empty(),
        &OffLimits::default(),
    );
    seen(root, &walk.builder)
}

/// As `rg` walks, with ignore files read by the crate.
fn theirs(root: &Path) -> BTreeSet<String> {
    let in_repository = root.ancestors().any(|above| above.join(".git").exists());
    let mut builder = WalkBuilder::new(root);
    builder
        .require_git(in_repository)
        .parents(in_repository)
        .current_dir(root)
        .add_custom_ignore_filename(".rgignore");
    seen(root, &builder)
}

const DIRECTORIES: [&str; 8] = ["", "a", "a/b", "a/b/c", "d", "d/a", ".h", "a/.h"];
const NAMES: [&str; 7] = ["x", "y.o", "z.o", ".x", "keep", "a x", "Y.O"];
const FILES: [&str; 4] = [".gitignore", ".ignore", ".rgignore", ".git/info/exclude"];
const PATTERNS: [&str; 22] = [
    "*.o", "!z.o", "x", "/x", "a/", "/a/b", "b/c", "**/c", "!.x", "!.h", ".h/", "# note", "",
    "keep ", "!keep", "a/**", "[", "d/*", "!d/a", "\\!x", "*", "!*/",
];

/// An ignore file: its directory, its name, and its lines.
type File = (usize, usize, Vec<usize>);

fn files() -> impl Strategy<Value = Vec<File>> {
    let lines = prop::collection::vec(0..PATTERNS.len(), 1..5);
    prop::collection::vec((0..DIRECTORIES.len(), 0..FILES.len(), lines), 0..7)
}

fn planted(files: &[File], repositories: &[usize]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for directory in DIRECTORIES {
        let directory = dir.path().join(directory);
        fs::create_dir_all(&directory).expect("made");
        for name in NAMES {
            fs::write(directory.join(name), "").expect("written");
        }
    }
    for at in repositories {
        fs::create_dir_all(dir.path().join(DIRECTORIES[*at]).join(".git")).expect("made");
    }
    for (at, name, lines) in files {
        let file = dir.path().join(DIRECTORIES[*at]).join(FILES[*name]);
        fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        let lines: Vec<&str> = lines.iter().map(|line| PATTERNS[*line]).collect();
        fs::write(file, lines.join("\n")).expect("written");
    }
    dir
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_walk_sees_the_same_as_one_by_the_crate(
        files in files(),
        repositories in prop::collection::vec(0..DIRECTORIES.len(), 0..3),
        start in 0..4_usize,
    ) {
        let dir = planted(&files, &repositories);
        let root = dir.path().join(DIRECTORIES[start]);
        prop_assert_eq!(ours(&root), theirs(&root));
        let link = dir.path().with_extension("link");
        symlink(&root, &link).expect("linked");
        let (ours, theirs) = (ours(&link), theirs(&link));
        fs::remove_file(&link).expect("removed");
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn files_that_only_look_like_ignore_files_are_skipped_and_named() {
    for name in FILES {
        let dir = planted(&[], &[0]);
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        let before = ours(dir.path());
        let plants: [(&str, &dyn Fn()); 5] = [
            ("not a regular file", &|| {
                symlink("/dev/zero", &file).expect("linked");
            }),
            ("not a regular file", &|| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &file, kind, mode, 0).expect("a pipe");
            }),
            ("not a regular file", &|| {
                fs::create_dir(&file).expect("made");
            }),
            ("longer than", &|| {
                let file = fs::File::create(&file).expect("made");
                file.set_len(LONGEST_FILE + 1).expect("grown");
            }),
            ("too many levels", &|| {
                symlink(&file, &file).expect("linked");
            }),
        ];
        for (problem, plant) in plants {
            plant();
            assert_eq!(ours(dir.path()), before, "{name}: {problem}");
            let ignores = Ignores::new(dir.path());
            ignores.status(&dir.path().join("x"), false);
            let status = ignores.left_out().unwrap_or_default().to_lowercase();
            assert!(
                status.contains(problem) && status.contains(name),
                "{status}"
            );
            let removed = fs::remove_file(&file).or_else(|_| fs::remove_dir(&file));
            removed.expect("removed");
        }
    }
}

#[test]
fn many_long_ignore_files_share_one_limit() {
    let dir = planted(&[], &[0]);
    let lines = "# a long comment\n".repeat(usize::try_from(LONGEST_FILE).expect("fits") / 20);
    let ignores = Ignores::new(dir.path());
    for number in 0..12 {
        let directory = dir.path().join(format!("n{number}"));
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join(".gitignore"), &lines).expect("written");
        ignores.status(&directory.join("x"), false);
    }
    let status = ignores.left_out().unwrap_or_default();
    assert!(
        status.contains("ignore files are not used") && status.contains("together"),
        "{status}"
    );
}

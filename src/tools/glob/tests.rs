//! Glob on real trees: patterns, ignored files, and errors.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Glob, Input, run};
use crate::permissions::Places;
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::fixture::Tree;
use crate::tools::{Tool, ToolError, ToolErrorKind, ToolOutput, input_schema};

async fn find_in(cwd: &Path, pattern: &str, path: Option<&str>) -> Result<ToolOutput, ToolError> {
    let input = Input {
        pattern: pattern.into(),
        path: path.map(Into::into),
    };
    run(
        input,
        cwd,
        &CancellationToken::new(),
        OffLimits::default(),
        Places::default(),
    )
    .await
}

/// The matches in a tree, relative to its root.
async fn find(tree: &Tree, pattern: &str) -> String {
    tree.text_of(find_in(tree.root(), pattern, None).await)
}

#[tokio::test]
async fn a_pattern_without_a_slash_matches_names_at_any_depth() {
    let tree = Tree::new([
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/deep/c.rs", ""),
        ("d.txt", ""),
    ]);
    assert_eq!(
        find(&tree, "*.rs").await,
        "/a.rs\n/src/b.rs\n/src/deep/c.rs"
    );
    assert_eq!(find(&tree, "c.rs").await, "/src/deep/c.rs");
}

#[tokio::test]
async fn a_pattern_with_a_slash_matches_the_path_below_the_root() {
    let tree = Tree::new([
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/deep/c.rs", ""),
        ("lib/src/d.rs", ""),
    ]);
    assert_eq!(find(&tree, "src/*.rs").await, "/src/b.rs");
    assert_eq!(find(&tree, "./src/*.rs").await, "/src/b.rs");
    assert_eq!(
        find(&tree, "src/**/*.rs").await,
        "/src/b.rs\n/src/deep/c.rs"
    );
    assert_eq!(find(&tree, "**/src/*.rs").await, "/lib/src/d.rs\n/src/b.rs");
    assert_eq!(find(&tree, "src/").await, "/src/b.rs\n/src/deep/c.rs");
    assert_eq!(find(&tree, "*/*.rs").await, "/src/b.rs");
}

#[tokio::test]
async fn braces_are_alternatives_also_with_slashes_in_them() {
    let tree = Tree::new([("a.rs", ""), ("b.ts", ""), ("src/c.rs", ""), ("d.md", "")]);
    assert_eq!(find(&tree, "*.{rs,ts}").await, "/a.rs\n/b.ts\n/src/c.rs");
    assert_eq!(find(&tree, "{src/c,a}.rs").await, "/a.rs\n/src/c.rs");
}

#[tokio::test]
async fn the_newest_come_first_and_ties_are_sorted_by_path() {
    let tree = Tree::new([("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    tree.set_age("c", 1);
    tree.set_age("a", 2_000);
    assert_eq!(find(&tree, "*").await, "/c\n/b\n/d\n/a");
}

#[tokio::test]
async fn after_a_hundred_paths_the_rest_is_counted() {
    let tree = Tree::new([]);
    for number in 0..130 {
        tree.write(format!("{number:03}.txt"), b"");
        tree.set_age(format!("{number:03}.txt"), 1_000 - number);
    }
    let answer = find(&tree, "*.txt").await;
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 101);
    assert_eq!((lines[0], lines[99]), ("/129.txt", "/030.txt"));
    assert_eq!(
        lines[100],
        "[30 more files match, older than these; narrow `pattern` or `path` to see them]"
    );
}

#[tokio::test]
async fn files_that_git_ignores_are_left_out() {
    let tree = Tree::repository([
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/a.rs", ""),
        ("b.rs", ""),
        ("c.log", ""),
        ("keep.log", ""),
        ("sub/.ignore", "d.rs\n"),
        ("sub/d.rs", ""),
        (".git/info/exclude", "secret.rs\n"),
        ("secret.rs", ""),
    ]);
    assert_eq!(find(&tree, "*.rs").await, "/b.rs");
    assert_eq!(find(&tree, "*.log").await, "/keep.log");
    assert_eq!(find(&tree, "target/*.rs").await, "No files found");
    let below = find_in(&tree.path("sub"), "**", None).await;
    assert_eq!(tree.text_of(below), "No files found");
}

#[tokio::test]
async fn a_gitignore_applies_without_a_repository_too() {
    let tree = Tree::new([(".gitignore", "*.log\n"), ("a.log", ""), ("b.txt", "")]);
    assert_eq!(find(&tree, "*").await, "/b.txt");
}

#[tokio::test]
async fn hidden_files_are_found_only_if_the_pattern_has_the_dot() {
    let tree = Tree::repository([
        (".env", ""),
        ("sub/.env.local", ""),
        (".github/workflows/ci.yml", ""),
        (".github/.cache/x.yml", ""),
        (".git/config.yml", ""),
        ("a.yml", ""),
    ]);
    assert_eq!(find(&tree, "**").await, "/a.yml");
    assert_eq!(find(&tree, "**/*.yml").await, "/a.yml");
    assert_eq!(find(&tree, ".env*").await, "/.env\n/sub/.env.local");
    assert_eq!(find(&tree, ".github/**").await, "/.github/workflows/ci.yml");
    assert_eq!(find(&tree, ".git/**").await, "No files found");
    let named = find_in(tree.root(), "*.yml", Some(".github")).await;
    assert_eq!(tree.text_of(named), "/.github/workflows/ci.yml");
}

#[tokio::test]
async fn an_absolute_pattern_brings_its_own_root() {
    let tree = Tree::repository([
        (".gitignore", "out\n"),
        ("src/a.rs", ""),
        ("out/b.rs", ""),
        ("other/c.rs", ""),
    ]);
    let pattern = |tail: &str| format!("{}/{tail}", tree.root().display());
    assert_eq!(find(&tree, &pattern("src/*.rs")).await, "/src/a.rs");
    assert_eq!(find(&tree, &pattern("out/*.rs")).await, "No files found");
    let from_elsewhere = find_in(&tree.path("src"), &pattern("other/**/*.rs"), None).await;
    assert_eq!(tree.text_of(from_elsewhere), "/other/c.rs");
    let upwards = find_in(&tree.path("src"), "../other/*.rs", None).await;
    assert_eq!(tree.text_of(upwards), "/other/c.rs");
}

#[tokio::test]
async fn links_to_files_are_found_and_cycles_are_not_followed() {
    let tree = Tree::new([("real/a.rs", "")]);
    symlink(tree.root(), tree.path("real/up")).expect("a link");
    symlink(tree.path("real/a.rs"), tree.path("link.rs")).expect("a link");
    symlink(tree.path("nowhere"), tree.path("dangling.rs")).expect("a link");
    symlink(tree.path("real"), tree.path("directory.rs")).expect("a link");
    assert_eq!(find(&tree, "*.rs").await, "/link.rs\n/real/a.rs");
    let through = find_in(tree.root(), "*.rs", Some("directory.rs")).await;
    assert_eq!(tree.text_of(through), "/directory.rs/a.rs");
}

#[tokio::test]
async fn odd_names_are_found_and_shown_on_one_line() {
    let tree = Tree::new([]);
    for name in [b"a\nb".as_slice(), b"\x1b[31m", b"-rf", b" x", b"\xff"] {
        tree.write(std::ffi::OsStr::from_bytes(name), b"");
    }
    let mut deep = std::path::PathBuf::new();
    deep.extend(std::iter::repeat_n("d", 200));
    tree.write(deep.join("n".repeat(255)), b"");
    let answer = find(&tree, "**").await;
    let deepest = format!("/{}/{}", deep.display(), "n".repeat(255));
    let expected = ["/\\u{1b}[31m", "/ x", "/-rf", "/a\\nb", &deepest, "/\\xff"];
    assert_eq!(answer.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn unreadable_directories_are_reported_at_the_end() {
    let tree = Tree::new([("a.rs", ""), ("locked/b.rs", "")]);
    let locked = tree.path("locked");
    let set_mode = |mode| {
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode))
            .expect("the test owns it");
    };
    set_mode(0o000);
    // Root may read everything.
    let is_readable = std::fs::read_dir(&locked).is_ok();
    let answer = find(&tree, "*.rs").await;
    set_mode(0o755);
    if is_readable {
        assert_eq!(answer, "/a.rs\n/locked/b.rs");
    } else {
        assert!(answer.starts_with("/a.rs\n[Not searched: "), "{answer}");
    }
}

#[tokio::test]
async fn invalid_inputs_are_explained() {
    let tree = Tree::new([("a.rs", "")]);
    assert_eq!(
        find(&tree, "a[").await,
        "error: `pattern` is not a valid glob: error parsing glob 'a[': unclosed character class; missing ']'"
    );
    assert_eq!(
        find(&tree, "").await,
        "error: `pattern` is empty; `**` matches every file"
    );
    let file = find_in(tree.root(), "*", Some("a.rs")).await;
    assert_eq!(
        tree.text_of(file),
        "error: `/a.rs` is not a directory; give the directory in `path` and the name in `pattern`"
    );
    let missing = find_in(tree.root(), "*", Some("nope")).await;
    assert_eq!(
        tree.text_of(missing),
        "error: `/nope` cannot be searched: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn a_cancelled_call_says_so() {
    let tree = Tree::new([("a.rs", "")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let input = Input {
        pattern: "*".into(),
        path: None,
    };
    let result = run(
        input,
        tree.root(),
        &cancel,
        OffLimits::default(),
        Places::default(),
    )
    .await;
    assert_eq!(
        result.map_err(|error| error.kind),
        Err(ToolErrorKind::Cancelled)
    );
}

#[test]
fn the_schema_is_strict_and_requires_the_pattern() {
    let schema = input_schema::<<Glob as Tool>::Input>();
    assert_eq!(schema["required"], json!(["pattern"]));
    assert_eq!(schema["additionalProperties"], json!(false));
}

//! Grep on real trees: every input, every mode, and errors.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Grep, Input, OutputMode, Query, report, run, search};
use crate::permissions::Places;
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::Stop;
use crate::tools::tree::fixture::Tree;
use crate::tools::{Tool, ToolErrorKind, input_schema};

/// The text for the model, without the root of the tree.
async fn grep_from(tree: &Tree, cwd: &Path, input: Value) -> String {
    let input: Input = serde_json::from_value(input).expect("the input fits the schema");
    tree.text_of(
        run(
            input,
            cwd,
            &CancellationToken::new(),
            OffLimits::default(),
            Places::default(),
        )
        .await,
    )
}

async fn grep(tree: &Tree, input: Value) -> String {
    grep_from(tree, tree.root(), input).await
}

/// A search in content mode, with more fields for the input.
async fn content(tree: &Tree, pattern: &str, more: Value) -> String {
    let mut input = json!({ "pattern": pattern, "output_mode": "content" });
    let fields = input.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    grep(tree, input).await
}

#[tokio::test]
async fn by_default_it_lists_files_the_newest_first() {
    let tree = Tree::new([
        ("a.txt", "needle\n"),
        ("b.txt", "needle\n"),
        ("c/d.txt", "a needle\nneedle\n"),
        ("e.txt", "hay\n"),
    ]);
    tree.set_age("b.txt", 5);
    assert_eq!(
        grep(&tree, json!({ "pattern": "needle" })).await,
        "/b.txt\n/a.txt\n/c/d.txt"
    );
    assert_eq!(
        grep(&tree, json!({ "pattern": "absent" })).await,
        "No matches found"
    );
}

#[tokio::test]
async fn content_shows_lines_sorted_by_path() {
    let tree = Tree::new([
        ("b.txt", "hay\nneedle 1\n"),
        ("a/z.txt", "needle 2"),
        ("a-b.txt", "needle 3\r\n"),
    ]);
    tree.set_age("b.txt", 5);
    assert_eq!(
        content(&tree, "needle", json!({})).await,
        "a/z.txt:1:needle 2\na-b.txt:1:needle 3\nb.txt:2:needle 1"
    );
    assert_eq!(
        content(&tree, "needle", json!({ "-n": false })).await,
        "a/z.txt:needle 2\na-b.txt:needle 3\nb.txt:needle 1"
    );
}

#[tokio::test]
async fn count_counts_lines_and_with_multiline_matches() {
    let tree = Tree::new([("a.txt", "x x\nx\n\n"), ("b.txt", "y\n"), ("c.txt", "x")]);
    let input =
        |multiline| json!({ "pattern": "x", "output_mode": "count", "multiline": multiline });
    assert_eq!(grep(&tree, input(false)).await, "a.txt:2\nc.txt:1");
    let across = json!({ "pattern": "x\\s", "output_mode": "count", "multiline": true });
    assert_eq!(grep(&tree, across).await, "a.txt:3");
}

#[tokio::test]
async fn context_is_shown_in_groups() {
    let text = "1\n2\nneedle\n4\n5\n6\n7\nneedle\nneedle\n10\n";
    let tree = Tree::new([("a.txt", text), ("b.txt", "needle\n")]);
    assert_eq!(
        content(&tree, "needle", json!({ "-C": 1 })).await,
        "a.txt-2-2\na.txt:3:needle\na.txt-4-4\n--\n\
         a.txt-7-7\na.txt:8:needle\na.txt:9:needle\na.txt-10-10\n--\nb.txt:1:needle"
    );
    assert_eq!(
        content(
            &tree,
            "needle",
            json!({ "-A": 1, "path": "a.txt", "-n": false })
        )
        .await,
        "a.txt:needle\na.txt-4\n--\na.txt:needle\na.txt:needle\na.txt-10"
    );
    assert_eq!(
        content(&tree, "^5", json!({ "-B": 2, "-C": 1 })).await,
        "a.txt-3-needle\na.txt-4-4\na.txt:5:5\na.txt-6-6"
    );
    let files = json!({ "pattern": "needle", "-C": 3 });
    assert_eq!(grep(&tree, files).await, "/a.txt\n/b.txt");
}

#[tokio::test]
async fn the_i_flag_ignores_case() {
    let tree = Tree::new([("a.txt", "Needle ÄÖ\n")]);
    assert_eq!(
        content(&tree, "needle", json!({})).await,
        "No matches found"
    );
    assert_eq!(
        content(&tree, "needle äö", json!({ "-i": true })).await,
        "a.txt:1:Needle ÄÖ"
    );
}

#[tokio::test]
async fn multiline_matches_across_lines_and_the_dot_too() {
    let tree = Tree::new([("a.rs", "struct A {\n    b: u8,\n}\n\nfn c() {}\n")]);
    assert_eq!(
        content(&tree, r"struct.*?\n\}", json!({ "multiline": true })).await,
        "a.rs:1:struct A {\na.rs:2:    b: u8,\na.rs:3:}"
    );
    assert_eq!(
        content(&tree, r"\{\n", json!({})).await,
        "error: the pattern contains a line end; set `multiline` to match across lines"
    );
}

#[tokio::test]
async fn head_limit_cuts_every_mode_after_the_first_lines() {
    let tree = Tree::new([]);
    for number in 0..50 {
        tree.write(format!("{number:02}.txt"), b"needle\nneedle\n");
        tree.set_age(format!("{number:02}.txt"), number);
    }
    let limited = |mode: &str, limit: u32| json!({ "pattern": "needle", "output_mode": mode, "head_limit": limit });
    assert_eq!(
        grep(&tree, limited("files_with_matches", 2)).await,
        "/00.txt\n/01.txt"
    );
    assert_eq!(grep(&tree, limited("count", 2)).await, "00.txt:2\n01.txt:2");
    assert_eq!(
        grep(&tree, limited("content", 3)).await,
        "00.txt:1:needle\n00.txt:2:needle\n01.txt:1:needle"
    );
    assert_eq!(
        grep(&tree, limited("content", 0)).await.lines().count(),
        100
    );
}

#[tokio::test]
async fn globs_choose_files_and_respect_ignore_files() {
    let tree = Tree::repository([
        (".gitignore", "made.rs\nout/\n"),
        ("a.rs", "x"),
        ("made.rs", "x"),
        ("out/b.rs", "x"),
        ("src/c.rs", "x"),
        ("src/c.test.rs", "x"),
        ("src/d.ts", "x"),
        (".github/ci.yml", "x"),
        (".env", "x"),
    ]);
    let with = async |glob: &str| grep(&tree, json!({ "pattern": "x", "glob": glob })).await;
    assert_eq!(with("*.rs").await, "/a.rs\n/src/c.rs\n/src/c.test.rs");
    assert_eq!(with("src/*.rs").await, "/src/c.rs\n/src/c.test.rs");
    assert_eq!(
        with("*.{rs,ts}, !*.test.rs").await,
        "/a.rs\n/src/c.rs\n/src/d.ts"
    );
    assert_eq!(with("!src").await, "/a.rs");
    assert_eq!(with(".github/**").await, "/.github/ci.yml");
    assert_eq!(
        with("out/**").await,
        "No matches found: no file has a name that `glob` and `type` allow"
    );
    assert_eq!(
        with("[").await,
        "error: `glob` is not valid: error parsing glob '[': unclosed character class; missing ']'"
    );
    let below = json!({ "pattern": "x", "path": "src", "glob": "/c*.rs" });
    assert_eq!(grep(&tree, below).await, "/src/c.rs\n/src/c.test.rs");
}

#[tokio::test]
async fn types_are_those_of_ripgrep_and_unknown_ones_get_suggestions() {
    let tree = Tree::new([("a.rs", "x"), ("b.py", "x"), ("c.txt", "x")]);
    let of = |kind: &str| json!({ "pattern": "x", "type": kind });
    assert_eq!(grep(&tree, of("rust")).await, "/a.rs");
    assert_eq!(grep(&tree, of("py")).await, "/b.py");
    let unknown = grep(&tree, of("rs")).await;
    assert!(
        unknown.starts_with("error: unknown file type `rs`; near names: `rust`, "),
        "{unknown}"
    );
    let misspelt = grep(&tree, of("pyhton")).await;
    assert!(misspelt.contains("`python`"), "{misspelt}");
}

#[tokio::test]
async fn ignored_and_hidden_files_are_searched_only_if_named() {
    let tree = Tree::repository([
        (".gitignore", "*.log\n"),
        ("a.log", "x"),
        (".hidden", "x"),
        (".git/config", "x"),
        ("b.txt", "x"),
    ]);
    assert_eq!(grep(&tree, json!({ "pattern": "x" })).await, "/b.txt");
    for name in ["a.log", ".hidden", ".git/config"] {
        let named = grep(&tree, json!({ "pattern": "x", "path": name })).await;
        assert_eq!(named, format!("/{name}"));
    }
}

#[tokio::test]
async fn binary_files_are_skipped_unless_named() {
    let tree = Tree::new([("a.txt", "needle\n")]);
    tree.write("b.bin", b"needle\n\0\0needle\n");
    let late = [b"needle\n".repeat(20_000).as_slice(), b"\0\nneedle\n"].concat();
    tree.write("c.bin", &late);
    assert_eq!(
        grep(&tree, json!({ "pattern": "needle", "path": "b.bin" })).await,
        "/b.bin"
    );
    assert_eq!(
        content(&tree, "needle", json!({ "path": "b.bin" })).await,
        "b.bin: binary file matches (found a NUL byte around offset 7)"
    );
    let all = content(&tree, "needle", json!({})).await;
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[..2], ["a.txt:1:needle", "c.bin:1:needle"]);
    let last = "c.bin: binary file, not searched after the NUL byte around offset 140000";
    assert_eq!(lines.last(), Some(&last));
}

#[tokio::test]
async fn line_ends_of_either_kind_are_not_part_of_a_line() {
    let tree = Tree::new([("dos.txt", "one\r\ntwo\r\n"), ("unix.txt", "one\ntwo\n")]);
    assert_eq!(
        content(&tree, "^one$", json!({})).await,
        "dos.txt:1:one\nunix.txt:1:one"
    );
    assert_eq!(content(&tree, r"two\r", json!({})).await, "dos.txt:2:two");
    assert_eq!(
        content(&tree, r"one\r?\ntwo", json!({ "multiline": true })).await,
        "dos.txt:1:one\ndos.txt:2:two\nunix.txt:1:one\nunix.txt:2:two"
    );
}

#[tokio::test]
async fn other_encodings_are_read_or_shown_with_marks() {
    let tree = Tree::new([]);
    tree.write("latin.txt", b"caf\xe9 needle\n");
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain("a needle\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    tree.write("wide.txt", &utf16);
    assert_eq!(
        content(&tree, "needle", json!({})).await,
        "latin.txt:1:caf\u{fffd} needle\nwide.txt:1:a needle"
    );
}

#[tokio::test]
async fn long_lines_are_cut_around_the_match() {
    let tree = Tree::new([]);
    let line = format!("{}needle{}\n", "ä".repeat(5_000), "z".repeat(5_000));
    tree.write("min.js", line.as_bytes());
    let shown = content(&tree, "needle", json!({})).await;
    let expected = format!(
        "min.js:1:[9500 bytes left out] {}needle{} [3506 bytes left out]",
        "ä".repeat(250),
        "z".repeat(1_494)
    );
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_line_too_long_to_hold_is_reported() {
    let tree = Tree::new([("a.txt", "needle\n")]);
    tree.write("huge.js", &vec![b'x'; 33 * 1024 * 1024]);
    let answer = grep(&tree, json!({ "pattern": "needle" })).await;
    assert_eq!(
        answer,
        "/a.txt\n[Not searched: /huge.js: a line is longer than 33554432 bytes]"
    );
}

#[tokio::test]
async fn paths_outside_the_working_directory_are_absolute() {
    let tree = Tree::new([("in/a.txt", "x\n"), ("out/b.txt", "x\n")]);
    let input = json!({ "pattern": "x", "path": "..", "output_mode": "content" });
    assert_eq!(
        grep_from(&tree, &tree.path("in"), input).await,
        "a.txt:1:x\n/out/b.txt:1:x"
    );
}

#[tokio::test]
async fn links_are_not_followed_but_a_root_may_be_one() {
    let tree = Tree::new([("real/a.txt", "x\n")]);
    symlink(tree.root(), tree.path("real/up")).expect("a link");
    symlink(tree.path("real/a.txt"), tree.path("link.txt")).expect("a link");
    symlink(tree.path("real"), tree.path("linked")).expect("a link");
    assert_eq!(grep(&tree, json!({ "pattern": "x" })).await, "/real/a.txt");
    let root = json!({ "pattern": "x", "path": "linked" });
    assert_eq!(grep(&tree, root).await, "/linked/a.txt");
    let file = json!({ "pattern": "x", "path": "link.txt" });
    assert_eq!(grep(&tree, file).await, "/link.txt");
}

#[tokio::test]
async fn odd_names_are_searched_and_shown_on_one_line() {
    let tree = Tree::new([]);
    for name in [b"a\nb".as_slice(), b"\x1b[31m", b"-rf", b" x", b"\xff"] {
        tree.write(std::ffi::OsStr::from_bytes(name), b"needle\n");
    }
    assert_eq!(
        content(&tree, "needle", json!({})).await,
        "\\u{1b}[31m:1:needle\n x:1:needle\n-rf:1:needle\na\\nb:1:needle\n\\xff:1:needle"
    );
}

#[tokio::test]
async fn unreadable_files_are_reported_at_the_end() {
    let tree = Tree::new([("a.txt", "x\n"), ("locked.txt", "x\n")]);
    let locked = tree.path("locked.txt");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000))
        .expect("the test owns it");
    // Root may read everything.
    let expected = if std::fs::File::open(&locked).is_ok() {
        "/a.txt\n/locked.txt"
    } else {
        "/a.txt\n[Not searched: /locked.txt: Permission denied (os error 13)]"
    };
    assert_eq!(grep(&tree, json!({ "pattern": "x" })).await, expected);
}

#[tokio::test]
async fn invalid_inputs_are_refused_before_the_search() {
    let tree = Tree::new([]);
    let bad = grep(&tree, json!({ "pattern": "fn (" })).await;
    assert!(
        bad.starts_with("error: `pattern` is not a regular expression")
            && bad.contains("unclosed group"),
        "{bad}"
    );
    let lookahead = grep(&tree, json!({ "pattern": "(?=x)" })).await;
    assert!(lookahead.contains("look-around"), "{lookahead}");
    let large = grep(&tree, json!({ "pattern": r"(\pL{500}){500}" })).await;
    assert!(large.contains("exceeds size limit"), "{large}");
    assert_eq!(
        grep(&tree, json!({ "pattern": "x", "path": "nope" })).await,
        "error: `/nope` cannot be searched: No such file or directory (os error 2)"
    );
    assert_eq!(
        grep(&tree, json!({ "pattern": "x", "path": "/dev/null" })).await,
        "error: `/dev/null` is neither a file nor a directory and cannot be searched"
    );
}

#[tokio::test]
async fn a_cancelled_call_says_so() {
    let tree = Tree::new([("a.txt", "x")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let input = Input {
        pattern: "x".into(),
        ..Input::default()
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
fn a_stopped_search_is_marked_as_partial() {
    let tree = Tree::new([("a.txt", "x")]);
    for path in [None, Some("a.txt".to_owned())] {
        let input = Input {
            pattern: "x".into(),
            path,
            ..Input::default()
        };
        let query = Query::new(&input, tree.root()).expect("a query");
        let stop = Stop::default();
        stop.set();
        let found = search(
            &query,
            &start(&query),
            &OffLimits::default(),
            &stop,
            &AtomicUsize::new(0),
        );
        assert!(found.stopped && found.files.is_empty());
        assert_eq!(
            report::text(&query, &found),
            "No matches found\n\
             [The search took too long and was stopped: files are missing; narrow `path` or `glob`]"
        );
    }
}

#[test]
fn a_huge_result_is_cut_and_marked() {
    let tree = Tree::new([]);
    let lines = "x\n".repeat(60_000);
    for name in ["c", "a", "b"] {
        tree.write(name, lines.as_bytes());
    }
    let input = Input {
        pattern: "x".into(),
        output_mode: OutputMode::Content,
        ..Input::default()
    };
    let query = Query::new(&input, tree.root()).expect("a query");
    let text = report::text(
        &query,
        &search(
            &query,
            &start(&query),
            &OffLimits::default(),
            &Stop::default(),
            &AtomicUsize::new(0),
        ),
    );
    let answer: Vec<&str> = text.lines().collect();
    assert_eq!(answer.len(), 100_001);
    assert_eq!((answer[0], answer[99_999]), ("a:1:x", "b:40000:x"));
    assert_eq!(
        answer[100_000],
        "[The result was cut here; narrow `path`, `glob` or `pattern` to see the rest]"
    );
}

#[test]
fn the_schema_is_strict_and_has_the_names_models_know() {
    let schema = input_schema::<<Grep as Tool>::Input>();
    assert_eq!(schema["required"], json!(["pattern"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let names: Vec<&String> = schema["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(
        names,
        [
            "pattern",
            "path",
            "glob",
            "type",
            "output_mode",
            "-i",
            "-n",
            "-A",
            "-B",
            "-C",
            "head_limit",
            "multiline"
        ]
    );
}

proptest! {
    #[test]
    fn content_equals_a_search_line_by_line(
        files in prop::collection::vec(prop::collection::vec(line(), 0..8), 1..5),
        pattern in prop_oneof![
            Just("a"), Just("^a"), Just("b$"), Just("^$"), Just(r"\bab\b"), Just("a.b"), Just("[^a]b"),
            Just("(?i)A+"), Just("ä|b"), Just("x*"), Just(r"\s")
        ],
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        has_last_ending in prop::bool::ANY,
    ) {
        let tree = Tree::new([]);
        let mut expected = Vec::new();
        let matcher = RegexMatcher::new(pattern).expect("a pattern");
        for (number, lines) in files.iter().enumerate() {
            let mut text = lines.join(ending);
            // An empty last line without an ending does not count as a line.
            if has_last_ending || lines.last().is_some_and(String::is_empty) {
                text.push_str(ending);
            }
            let has_lines = !lines.is_empty();
            let name = format!("{number}.txt");
            tree.write(&name, if has_lines { text.as_bytes() } else { b"" });
            for (at, line) in (1..).zip(lines) {
                if matcher.is_match(line.as_bytes()).expect("it cannot fail") {
                    expected.push(format!("{name}:{at}:{line}"));
                }
            }
        }
        let input = Input {
            pattern: pattern.into(),
            output_mode: OutputMode::Content,
            ..Input::default()
        };
        let query = Query::new(&input, tree.root()).expect("a query");
        let text = report::text(&query, &search(&query, &start(&query), &OffLimits::default(), &Stop::default(), &AtomicUsize::new(0)));
        if expected.is_empty() {
            expected.push("No matches found".into());
        }
        prop_assert_eq!(text, expected.join("\n"));
    }

    #[test]
    fn a_head_limit_gives_the_first_lines_of_the_full_result(
        files in prop::collection::vec(prop::collection::vec(line(), 0..6), 1..12),
        limit in 1_u32..20,
        context in 0_u32..3,
    ) {
        let tree = Tree::new([]);
        for (number, lines) in files.iter().enumerate() {
            let path: PathBuf = [format!("{}", number % 3), format!("{number}.txt")].iter().collect();
            tree.write(path, lines.join("\n").as_bytes());
        }
        let answer = |head_limit| {
            let input = Input {
                pattern: "a".into(),
                output_mode: OutputMode::Content,
                context: Some(context),
                head_limit,
                ..Input::default()
            };
            let query = Query::new(&input, tree.root()).expect("a query");
            report::text(&query, &search(&query, &start(&query), &OffLimits::default(), &Stop::default(), &AtomicUsize::new(0)))
        };
        let whole = answer(None);
        let head: Vec<&str> = whole.lines().take(limit as usize).collect();
        prop_assert_eq!(answer(Some(limit)), head.join("\n"));
    }
}

fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("b"),
        Just("ab"),
        Just(" "),
        Just("ä"),
        Just("A")
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

/// The start of a query, without links.
fn start(query: &Query) -> PathBuf {
    crate::tools::tree::decided(query.root.path(), &Places::default()).expect("it is there")
}

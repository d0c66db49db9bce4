//! Finding, requesting and caching colours.

use std::sync::{Arc, LazyLock, Mutex};

use proptest::prelude::{ProptestConfig, proptest};

use crate::theme::Role;

use super::{CodeColours, Highlighted, Highlighter, Highlights, growing, settled};

static HIGHLIGHTER: LazyLock<Mutex<Highlighter>> = LazyLock::new(Mutex::default);

fn highlight(language: &str, code: &str) -> Option<Highlighted> {
    HIGHLIGHTER
        .lock()
        .expect("no test panics while it highlights")
        .highlight(language, code)
}

fn coloured<'code>(language: &str, line: &'code str) -> Vec<(&'code str, Role)> {
    let highlighted = highlight(language, line).expect("the language is known");
    let parts = highlighted.line(0).iter();
    parts
        .map(|(range, role)| (&line[range.clone()], *role))
        .collect()
}

fn colours() -> Highlighted {
    Highlighted {
        lines: vec![vec![(0..2, Role::Keyword)]],
    }
}

#[test]
fn code_has_roles() {
    let parts = coloured("rust", "let x: u8 = f(1); // no");
    for part in [
        ("let", Role::Keyword),
        ("f", Role::Function),
        ("1", Role::Number),
        ("// no", Role::Comment),
    ] {
        assert!(parts.contains(&part), "{part:?} in {parts:?}");
    }
    assert!(coloured("py", "x = 'a'").contains(&("'a'", Role::String)));
}

#[test]
fn a_language_is_known_by_word_extension_or_file_name() {
    let highlighter = Highlighter::new();
    for known in [
        "rust",
        "Rust",
        "rs",
        "src/main.rs",
        "python3",
        "ts",
        "tsx",
        "toml",
        "Dockerfile",
        "a/Makefile",
        "sh",
        "console",
        "json",
        "jsonc",
        "yaml",
        "go",
        "cpp",
        "c++",
        "csharp",
        "diff",
        "sql",
        "html",
        "css",
        "md",
        "swift",
        "kt",
    ] {
        assert!(highlighter.syntax(known).is_some(), "{known}");
    }
    for unknown in ["", "text", "txt", "nonsense", "."] {
        assert!(highlighter.syntax(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn a_string_over_two_lines_is_coloured_in_both() {
    let found = highlight("rust", "let a = \"one\ntwo\";\n").expect("rust is known");
    assert_eq!(found.lines[1][0], (0..4, Role::String));
}

#[test]
fn long_lines_and_long_code_stay_plain() {
    let long = format!("let a = \"{}\";\nlet b = 1;\n", "x".repeat(3_000));
    let found = highlight("rust", &long).expect("rust is known");
    assert_eq!(
        (found.lines[0].len(), found.lines[1][0].clone()),
        (0, (0..3, Role::Keyword))
    );
    assert!(highlight("rust", &"a\n".repeat(300_000)).is_none());
}

#[test]
fn missing_colours_are_asked_for_once() {
    let mut highlights = Highlights::default();
    assert_eq!(highlights.colours("rs", "fn"), None);
    assert_eq!(highlights.colours("rs", "fn"), None);
    assert!(highlights.take_missed());
    let wanted = highlights.take_wanted();
    assert_eq!(
        wanted
            .iter()
            .map(|request| request.code.as_str())
            .collect::<Vec<_>>(),
        ["fn"]
    );

    highlights.ready(wanted[0].key, Some(colours()));
    assert_eq!(highlights.revision(), 1);
    assert_eq!(highlights.colours("rs", "fn"), Some(Arc::new(colours())));
    assert!(!highlights.take_missed());
    assert_eq!(highlights.take_wanted(), []);
}

#[test]
fn colours_of_an_unknown_language_are_requested_once() {
    let mut highlights = Highlights::default();
    assert_eq!(highlights.colours("", "fn"), Some(Arc::default()));
    assert_eq!(highlights.colours("klingon", "Qapla"), None);
    let key = highlights.take_wanted()[0].key;
    highlights.ready(key, None);
    assert_eq!(highlights.colours("klingon", "Qapla"), Some(Arc::default()));
}

#[test]
fn the_least_recently_used_colours_are_dropped_first() {
    let mut highlights = Highlights::bounded(2_000);
    for number in 0..100 {
        highlights.colours("rs", &format!("{number}"));
        for request in highlights.take_wanted() {
            highlights.ready(request.key, Some(colours()));
        }
        assert!(highlights.colours("rs", "0").is_some(), "always in use");
    }
    let mut still_known = |number: &usize| highlights.colours("rs", &format!("{number}")).is_some();
    let known: Vec<_> = (0..100)
        .rev()
        .filter(|number| still_known(number))
        .collect();
    assert!(
        known.contains(&99) && !known.contains(&1) && known.len() < 20,
        "{known:?}"
    );
}

#[test]
fn colours_of_growing_code_are_requested_at_every_doubling() {
    let code = |lines: usize| "let a = 1;\n".repeat(lines);
    assert_eq!(
        [7, 8, 15, 16, 100].map(|lines| settled(&code(lines)).map(|text| text.lines().count())),
        [None, Some(8), Some(8), Some(16), Some(64)]
    );

    let mut highlights = Highlights::default();
    for lines in 0..1_000 {
        growing(&(code(lines) + "let"), "rust", &mut highlights);
    }
    let asked: Vec<_> = highlights
        .take_wanted()
        .iter()
        .map(|request| request.code.lines().count())
        .collect();
    assert_eq!(asked, [8, 16, 32, 64, 128, 256, 512]);
}

#[test]
fn growing_code_keeps_older_colours_until_newer_ones_arrive() {
    let code = "let a = 1;\n".repeat(16);
    let mut highlights = Highlights::default();
    growing(&code[..code.len() - 1], "rust", &mut highlights);
    let key = highlights.take_wanted()[0].key;
    highlights.ready(key, Some(colours()));
    assert_eq!(*growing(&code, "rust", &mut highlights), colours());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_are_in_order_and_on_characters(code in "([a-z(){}\"'/*#<>= \té漢\u{301}\r]{0,30}\n){0,6}", language in "(rs|py|md)") {
        let found = highlight(&language, &code).expect("the language is known");
        for (line, parts) in code.lines().zip(&found.lines) {
            let mut end = 0;
            for (range, _) in parts {
                assert!(range.start >= end && line.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}

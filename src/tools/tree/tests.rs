//! The common parts of Glob and Grep: order, names, hidden globs, and how a search ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use tokio_util::sync::CancellationToken;

use super::first::{Entry, First, Key, Limit, compare_paths};
use super::{Hidden, Stop, Unread, hidden_names, names, root as tree_root, run};
use crate::tools::{ToolError, ToolErrorKind};

fn entry(path: &str, age: u64, lines: usize) -> Entry<()> {
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age);
    Entry {
        key: Key::newest_first(modified, PathBuf::from(path)),
        lines,
        bytes: 1,
        value: (),
    }
}

fn lines(lines: usize) -> Limit {
    Limit {
        lines,
        bytes: usize::MAX,
    }
}

fn paths(first: First<()>) -> (Vec<String>, bool) {
    let (entries, more) = first.finish();
    let paths = entries
        .iter()
        .map(|entry| entry.key.path().display().to_string())
        .collect();
    (paths, more)
}

#[test]
fn the_first_results_are_kept_whatever_order_they_arrive_in() {
    let first = First::new(lines(2));
    let mut hand = first.thread_results();
    for (path, age) in [("d", 4), ("a", 1), ("c", 3), ("b", 2), ("e", 0)] {
        hand.add(entry(path, age, 1));
    }
    drop(hand);
    assert_eq!(paths(first), (vec!["e".into(), "a".into()], true));
}

#[test]
fn exactly_the_limit_is_not_more() {
    let first = First::new(lines(2));
    let mut hand = first.thread_results();
    hand.add(entry("a", 0, 1));
    hand.add(entry("b", 0, 1));
    drop(hand);
    assert_eq!(paths(first), (vec!["a".into(), "b".into()], false));
}

#[test]
fn results_after_the_bound_are_no_longer_wanted() {
    let first = First::new(lines(1));
    let mut hand = first.thread_results();
    hand.add(entry("b", 5, 1));
    let time = |age: u64| move || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age);
    assert!(hand.wants(Path::new("c"), time(4)));
    assert!(hand.wants(Path::new("a"), time(5)));
    drop(hand);
    let mut late = first.thread_results();
    assert!(!late.wants(Path::new("c"), time(5)));
    drop(late);
    assert_eq!(paths(first), (vec!["b".into()], true));
}

#[test]
fn bytes_are_a_limit_too() {
    let first = First::new(Limit {
        lines: 100,
        bytes: 2,
    });
    let mut hand = first.thread_results();
    for path in ["c", "a", "b"] {
        hand.add(entry(path, 0, 1));
    }
    drop(hand);
    assert_eq!(paths(first), (vec!["a".into(), "b".into()], true));
}

proptest! {
    #[test]
    fn keeping_the_first_equals_sorting_and_cutting(
        ages in prop::collection::vec((0_u64..20, 1_usize..4), 0..60),
        limit in 1_usize..12,
        threads in 1_usize..4,
    ) {
        let all: Vec<Entry<()>> = ages
            .iter()
            .enumerate()
            .map(|(number, (age, lines))| entry(&format!("f{number:02}"), *age, *lines))
            .collect();

        let first = First::new(lines(limit));
        let mut hands: Vec<_> = (0..threads).map(|_| first.thread_results()).collect();
        for (number, entry) in all.iter().enumerate() {
            hands[number % threads].add(entry.clone());
        }
        drop(hands);
        let (kept, _) = first.finish();

        let mut expected = all;
        expected.sort_by(|a, b| a.key.cmp(&b.key));
        let mut room = limit;
        expected.retain(|entry| {
            let fits = room > 0;
            room = room.saturating_sub(entry.lines);
            fits
        });
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn paths_are_ordered_as_std_orders_them(a in path(), b in path()) {
        prop_assert_eq!(compare_paths(&a, &b), a.cmp(&b));
    }

    #[test]
    fn a_name_is_one_line_without_control_characters(name in any::<Vec<u8>>()) {
        use std::os::unix::ffi::OsStrExt;
        let shown = names::show(Path::new(std::ffi::OsStr::from_bytes(&name)));
        prop_assert_eq!(shown.chars().find(|character| character.is_control()), None);
    }
}

fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop_oneof![Just("a"), Just("a-"), Just("a.b"), Just("ab"), Just("b")];
    prop::collection::vec(name, 1..4).prop_map(|names| Path::new("/").join(names.join("/")))
}

#[test]
fn control_characters_in_names_are_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"a\nb\x1b[31m\xff\xe2\x80\xae \xc3\xa4");
    assert_eq!(
        names::show(Path::new(name)),
        "a\\nb\\u{1b}[31m\\xff\\u{202e} ä"
    );
}

#[test]
fn the_hidden_names_of_a_glob_are_those_it_contains() {
    let named = |glob: &str, name: &str| match hidden_names([glob]).expect("a glob") {
        Hidden::Skipped => false,
        Hidden::Named(names) => names.is_match(name),
    };
    assert!(named(".github/**/*.yml", ".github"));
    assert!(!named(".github/**/*.yml", ".cache"));
    assert!(named("**/.env*", ".env.local"));
    assert!(named("{.github,.circleci}/**", ".circleci"));
    assert!(named("{src,.github/x}/**", ".github"));
    assert!(named(".env.{local,test}", ".env.local"));
    assert!(!named("./src/*.rs", ".x"));
    assert!(!named("../*.rs", ".x"));
    assert!(!named("*.rs", ".x.rs"));
}

#[test]
fn a_path_is_resolved_without_dots() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = std::fs::canonicalize(directory.path()).expect("it is there");
    std::fs::create_dir(root.join("sub")).expect("a directory");
    let found = |input: &str, cwd: &Path| tree_root(Some(input), cwd).expect("a path");
    assert_eq!(found(".", &root), root);
    assert_eq!(found("", &root), root);
    assert_eq!(found("./sub/", &root), root.join("sub"));
    assert_eq!(found("..", &root.join("sub")), root);
    assert_eq!(found("/etc", &root), Path::new("/etc"));
    assert_eq!(tree_root(None, &root).expect("a path"), root);
}

#[test]
fn a_search_can_start_at_home() {
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    let found = |input| tree_root(Some(input), Path::new("/project")).expect("a path");
    assert_eq!(found("~"), home);
    assert_eq!(found("~/src"), home.join("src"));
    assert_eq!(found("~user"), Path::new("/project/~user"));
}

#[test]
fn unread_entries_are_reported_in_one_line() {
    let mut unread = Unread::default();
    assert_eq!(unread.line(), None);
    let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
    unread.note_file(Path::new("/b"), &denied);
    unread.note_file(Path::new("/gone"), &gone);
    assert_eq!(
        unread.line().as_deref(),
        Some("[Not searched: /b: permission denied]")
    );
    unread.note_file(Path::new("/a"), &denied);
    assert_eq!(
        unread.line().as_deref(),
        Some("[2 files or directories were not searched, for example /a: permission denied]")
    );
}

/// A search that ends only when it is stopped.
fn endless(stop: &Stop) -> &'static str {
    while !stop.is_set() {
        std::thread::yield_now();
    }
    "stopped"
}

#[tokio::test]
async fn a_cancelled_search_is_stopped_and_not_waited_for() {
    let cancel = CancellationToken::new();
    let (ended, has_ended) = std::sync::mpsc::channel();
    cancel.cancel();
    let result = run(&cancel, move |stop| {
        endless(stop);
        ended.send(()).expect("the test waits");
    })
    .await;
    assert_eq!(
        result.map_err(|error| error.kind),
        Err(ToolErrorKind::Cancelled)
    );
    has_ended.recv().expect("the search saw the stop");
}

#[tokio::test(start_paused = true)]
async fn a_search_that_is_out_of_time_returns_what_it_has() {
    let started = tokio::time::Instant::now();
    let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
    // Virtual time stands still while a blocking task runs, so the test advances it.
    let clock = async {
        started_receiver.await.expect("the search has begun");
        tokio::time::advance(super::TIME_LIMIT).await;
    };
    let cancel = CancellationToken::new();
    let search = run(&cancel, move |stop| {
        started_sender.send(()).expect("the test waits");
        endless(stop)
    });
    let (result, ()) = tokio::join!(search, clock);
    assert_eq!(result, Ok("stopped"));
    assert_eq!(started.elapsed(), super::TIME_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn a_search_that_hangs_is_abandoned() {
    let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let clock = async {
        started_receiver.await.expect("the search has begun");
        tokio::time::advance(super::TIME_LIMIT).await;
        tokio::time::advance(super::GRACE).await;
    };
    let cancel = CancellationToken::new();
    let search = run(&cancel, move |_| {
        started_sender.send(()).expect("the test waits");
        released.recv().expect("the test releases it");
    });
    let (result, ()) = tokio::join!(search, clock);
    let error = result.expect_err("it hangs");
    assert!(
        error.message.starts_with("the search hangs"),
        "{}",
        error.message
    );
    release.send(()).expect("it still waits");
}

#[tokio::test]
async fn a_search_that_panics_is_an_error() {
    let result: Result<(), ToolError> =
        run(&CancellationToken::new(), |_| panic!("on purpose")).await;
    let error = result.expect_err("it broke");
    assert!(
        error.message.starts_with("the search failed"),
        "{}",
        error.message
    );
}

use serde_json::{Value, json};

use super::{FileSearch, Input};
use crate::permissions::Grant;
use crate::protocol::{PartOfFile, Shown, Touches};
use crate::tools::files::scratch::{Scratch, change_secretly, text};
use crate::tools::off_limits::OffLimits;
use crate::tools::{Tool, ToolErrorKind};

fn project() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("src")).expect("mkdir");
    scratch.put("a.txt", "one foo\ntwo\nfoo and foo\n");
    scratch.put("src/b.rs", "fn foo() {}\r\nfoo();\r\n");
    scratch.put("none.txt", "nothing here\n");
    scratch
}

fn replacing(extra: &Value) -> Value {
    let mut input = json!({"pattern": "foo", "replace_with": "bar", "preview_only": false});
    for (name, value) in extra.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input
}

async fn output(scratch: &Scratch, input: Value) -> String {
    let output = scratch.run(&FileSearch::default(), input).await;
    text(&output.expect("it runs"))
}

async fn refused(scratch: &Scratch, input: Value) -> String {
    let error = scratch.run(&FileSearch::default(), input).await;
    error.expect_err("refused").message
}

#[tokio::test]
async fn without_a_replacement_matches_are_shown_with_their_lines() {
    let scratch = project();
    assert_eq!(
        output(&scratch, json!({"pattern": "fo+"})).await,
        "Found 5 matches in 2 files:\n\n\
         a.txt:1\n  one foo\n\n\
         a.txt:3\n  foo and foo\n\n\
         src/b.rs:1\n  fn foo() {}\n\n\
         src/b.rs:2\n  foo();"
    );
    assert_eq!(
        output(&scratch, json!({"pattern": "absent"})).await,
        "No matches found"
    );
}

#[tokio::test]
async fn nobody_is_asked_about_a_replacement_without_matches() {
    let scratch = project();
    let output = refused(&scratch, replacing(&json!({"pattern": "absent"}))).await;
    assert!(output.starts_with("No matches found"), "{output}");
}

#[tokio::test]
async fn the_person_reads_how_many_matches_there_are_in_how_many_files() {
    let scratch = project();
    for (pattern, sentence) in [
        ("fo+", "5 matches in 2 files"),
        ("two", "1 match in 1 file"),
        ("absent", "no matches"),
    ] {
        let (tool, input) = (FileSearch::default(), json!({ "pattern": pattern }));
        let output = scratch.run(&tool, input).await.expect("it runs");
        assert_eq!(output.for_person.sentence.as_deref(), Some(sentence));
    }
}

#[tokio::test]
async fn a_preview_shows_the_changed_lines_and_how_to_apply_them_and_writes_nothing() {
    let scratch = project();
    let input = json!({"pattern": r"(\w+) (?<second>foo)", "replace_with": "${second}-$1 $$", "file_glob": "*.txt"});
    assert_eq!(
        output(&scratch, input).await,
        "Found 2 matches in 1 file:\n\n\
         a.txt:1\n  one foo\n→ foo-one $\n\n\
         a.txt:3\n  foo and foo\n→ foo foo-and $\n\n\
         Preview only: nothing was written. To apply it, call FileSearch again with `preview_only: false`."
    );
    assert_eq!(scratch.bytes("a.txt"), b"one foo\ntwo\nfoo and foo\n");
}

#[tokio::test]
async fn all_files_are_changed_as_one_and_keep_their_line_ends() {
    let scratch = project();
    let tool = FileSearch::default();
    let output = scratch
        .run(&tool, replacing(&json!({})))
        .await
        .expect("replaced");
    assert_eq!(
        text(&output),
        "Replaced 5 matches in 2 files:\na.txt: 3\nsrc/b.rs: 2"
    );
    assert_eq!(scratch.bytes("a.txt"), b"one bar\ntwo\nbar and bar\n");
    assert_eq!(scratch.bytes("src/b.rs"), b"fn bar() {}\r\nbar();\r\n");
    let names: Vec<&str> = output
        .shown
        .changes()
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(names, ["a.txt", "src/b.rs"]);
    assert!(matches!(output.shown, Shown::Changes(_)));
    assert_eq!(scratch.announced().len(), 2, "each can be undone");
}

#[tokio::test]
async fn globs_include_and_exclude_files() {
    let scratch = project();
    let only = output(&scratch, json!({"pattern": "foo", "file_glob": "*.rs"})).await;
    assert!(only.starts_with("Found 2 matches in 1 file"), "{only}");
    let not = output(&scratch, json!({"pattern": "foo", "exclude": "src/**"})).await;
    assert!(not.starts_with("Found 3 matches in 1 file"), "{not}");
    let one = output(&scratch, json!({"pattern": "foo", "path": "a.txt"})).await;
    assert!(one.starts_with("Found 3 matches in 1 file"), "{one}");
}

#[tokio::test]
async fn a_pattern_matches_across_lines_only_when_asked_to() {
    let scratch = project();
    assert!(
        refused(&scratch, json!({"pattern": "foo\ntwo"}))
            .await
            .contains("set `multiline`")
    );
    let input = json!({"pattern": "foo\ntwo\n", "multiline": true, "replace_with": "x\n", "preview_only": false});
    output(&scratch, input).await;
    assert_eq!(scratch.bytes("a.txt"), b"one x\nfoo and foo\n");
}

#[tokio::test]
async fn invalid_input_is_refused_before_the_search() {
    let scratch = project();
    for (input, reason) in [
        (
            json!({"pattern": "("}),
            "`pattern` is not a regular expression",
        ),
        (json!({"pattern": "x*"}), "`pattern` matches the empty text"),
        (
            json!({"pattern": "foo", "path": "absent"}),
            "cannot be searched",
        ),
        (
            json!({"pattern": "foo", "file_glob": "["}),
            "`file_glob` is not valid",
        ),
        (
            json!({"pattern": "foo", "replace_with": "$1"}),
            "uses the group `1`",
        ),
        (
            json!({"pattern": "(foo)", "replace_with": "$1x"}),
            "uses the group `1x`",
        ),
    ] {
        let error = refused(&scratch, input).await;
        assert!(error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn one_file_that_changed_after_it_was_shown_stops_the_whole_change() {
    let scratch = project();
    let tool = FileSearch::default();
    let input: Input = serde_json::from_value(replacing(&json!({}))).expect("an input");
    let diffs = tool.preview(&input, &scratch.cx).await;
    assert_eq!(diffs.len(), 2);
    assert_eq!(&*diffs[0].after, "one bar\ntwo\nbar and bar\n");
    change_secretly(&scratch.path("src/b.rs"), b"fn foo() {}\r\nfoo()!\r\n");
    let error = tool
        .call(input, Grant::by_person(), scratch.cx.clone())
        .await
        .expect_err("it changed");
    assert!(
        error
            .message
            .contains("has changed since the user was shown"),
        "{}",
        error.message
    );
    assert_eq!(scratch.bytes("a.txt"), b"one foo\ntwo\nfoo and foo\n");
}

#[tokio::test]
async fn files_and_parts_can_be_left_out_and_the_model_is_told() {
    let scratch = project();
    let tool = FileSearch::default();
    let input: Input = serde_json::from_value(replacing(&json!({}))).expect("an input");
    tool.preview(&input, &scratch.cx).await;
    let part = PartOfFile {
        path: "a.txt".into(),
        after: "one bar\ntwo\nfoo and foo\n".into(),
    };
    let output = tool
        .call_in_part(input, vec![part], Grant::by_person(), scratch.cx.clone())
        .await
        .expect("done in part");
    assert_eq!(scratch.bytes("a.txt"), b"one bar\ntwo\nfoo and foo\n");
    assert_eq!(scratch.bytes("src/b.rs"), b"fn foo() {}\r\nfoo();\r\n");
    let message = text(&output);
    assert!(
        message.starts_with("Replaced 1 match in 1 file:\na.txt: 1\n"),
        "{message}"
    );
    assert!(
        message.contains("allowed only a part") && message.contains("src/b.rs:"),
        "{message}"
    );
}

#[tokio::test]
async fn a_failure_in_the_middle_restores_all_files() {
    let scratch = project();
    // The last file in order cannot be replaced: no new files can be created in its directory.
    let source = scratch.path("src");
    let was = std::fs::metadata(&source).expect("there").permissions();
    let mut closed = was.clone();
    std::os::unix::fs::PermissionsExt::set_mode(&mut closed, 0o555);
    std::fs::set_permissions(&source, closed).expect("closed");
    let writable = std::fs::write(source.join("probe"), "").is_ok();
    let tool = FileSearch::default();
    let result = scratch.run(&tool, replacing(&json!({}))).await;
    std::fs::set_permissions(&source, was).expect("open again");
    if writable {
        // Root may write everywhere; then the change succeeds.
        result.expect("root may write everywhere");
        return;
    }
    let error = result.expect_err("it cannot be written").message;
    assert!(error.ends_with("No file was changed"), "{error}");
    assert_eq!(scratch.bytes("a.txt"), b"one foo\ntwo\nfoo and foo\n");
}

#[tokio::test]
async fn a_cancelled_change_restores_all_files() {
    let scratch = project();
    let tool = FileSearch::default();
    let input: Input = serde_json::from_value(replacing(&json!({}))).expect("an input");
    let plan = super::planned(&input, &scratch.cx, crate::permissions::Places::default());
    let plan = plan.await.expect("planned");
    let mut cx = scratch.cx.clone();
    let cancel = cx.cancel.clone();
    let announced = scratch.cx.journal.clone();
    // Cancelled while the first file is being written.
    cx.journal = crate::tools::Journal::new(move |change| {
        cancel.cancel();
        announced.announce(change)
    });
    let done = tokio::task::spawn_blocking(move || super::apply::whole(&plan, &cx).map(drop));
    let error = done.await.expect("no panic").expect_err("cancelled");
    assert!(
        matches!(error, crate::tools::files::FileError::Cancelled),
        "{error}"
    );
    assert_eq!(scratch.bytes("a.txt"), b"one foo\ntwo\nfoo and foo\n");
    assert_eq!(scratch.bytes("src/b.rs"), b"fn foo() {}\r\nfoo();\r\n");
    assert_eq!(scratch.announced().len(), 2, "the change, and its end");
    let error = tool
        .call(input, Grant::by_person(), scratch.cx.clone())
        .await;
    assert_eq!(error.expect_err("cancelled").kind, ToolErrorKind::Cancelled);
}

/// More files than are written together.
fn many_files() -> (Scratch, Vec<String>) {
    let scratch = Scratch::new();
    let count = crate::tools::files::document::batch::SIZE + 6;
    let names: Vec<String> = (0..count)
        .map(|number| format!("{number:03}.txt"))
        .collect();
    for name in &names {
        scratch.put(name, format!("foo in {name}\r\n"));
    }
    (scratch, names)
}

/// Applies the change, with `before_last` called when the last file is announced.
async fn apply_watched(
    scratch: &Scratch,
    last: &str,
    before_last: impl Fn(&crate::tools::ToolCx) + Send + Sync + 'static,
) -> Result<(), crate::tools::files::FileError> {
    let input: Input = serde_json::from_value(replacing(&json!({}))).expect("an input");
    let plan = super::planned(&input, &scratch.cx, crate::permissions::Places::default());
    let plan = plan.await.expect("planned");
    let (mut cx, outer, last) = (scratch.cx.clone(), scratch.cx.clone(), scratch.path(last));
    cx.journal = crate::tools::Journal::new(move |change| {
        if change.path == last {
            before_last(&outer);
        }
        outer.journal.announce(change)
    });
    let done = tokio::task::spawn_blocking(move || super::apply::whole(&plan, &cx).map(drop));
    done.await.expect("no panic")
}

fn names_in(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.path("")).expect("readable");
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Whether the last announced change of the file ends with the content that it has.
fn journal_agrees(scratch: &Scratch, name: &str) -> bool {
    let now = crate::tools::files::ContentHash::of(&scratch.bytes(name));
    let announced = scratch.announced();
    let last = announced
        .iter()
        .rfind(|change| change.path == scratch.path(name));
    last.is_none_or(|change| change.after == now)
}

#[tokio::test]
async fn many_files_are_changed_and_no_temporary_file_stays() {
    let (scratch, names) = many_files();
    apply_watched(&scratch, "none", |_| ()).await.expect("done");
    for name in &names {
        assert_eq!(scratch.bytes(name), format!("bar in {name}\r\n").as_bytes());
        assert!(journal_agrees(&scratch, name), "{name}");
    }
    assert_eq!(names_in(&scratch), names);
    assert_eq!(scratch.announced().len(), names.len());
}

#[tokio::test]
async fn a_change_cancelled_among_many_files_restores_all_of_them() {
    let (scratch, names) = many_files();
    let last = names.last().expect("many");
    let error = apply_watched(&scratch, last, |cx| cx.cancel.cancel()).await;
    let error = error.expect_err("cancelled");
    assert!(
        matches!(error, crate::tools::files::FileError::Cancelled),
        "{error}"
    );
    for name in &names {
        assert_eq!(scratch.bytes(name), format!("foo in {name}\r\n").as_bytes());
        assert!(journal_agrees(&scratch, name), "{name}");
    }
    assert_eq!(names_in(&scratch), names);
}

#[tokio::test]
async fn another_program_that_saves_one_of_many_files_stops_the_whole_change() {
    let (scratch, names) = many_files();
    let last = names.last().expect("many").clone();
    let path = scratch.path(&last);
    let error = apply_watched(&scratch, &last, move |_| {
        change_secretly(&path, b"foo of another!\n");
    });
    let error = error.await.expect_err("it changed").to_string();
    assert!(error.ends_with("No file was changed"), "{error}");
    assert_eq!(scratch.bytes(&last), b"foo of another!\n");
    for name in names.iter().filter(|name| **name != last) {
        assert_eq!(scratch.bytes(name), format!("foo in {name}\r\n").as_bytes());
        assert!(journal_agrees(&scratch, name), "{name}");
    }
    assert_eq!(names_in(&scratch), names);
}

#[tokio::test]
async fn files_that_must_not_be_changed_are_left_out_and_named() {
    let mut scratch = project();
    scratch.cx.off_limits = OffLimits::default().with_writing(|path| path.ends_with("src/b.rs"));
    let output = output(&scratch, replacing(&json!({}))).await;
    assert!(
        output.starts_with(
            "Replaced 3 matches in 1 file:\na.txt: 3\n[1 file with matches may not be changed"
        ),
        "{output}"
    );
    assert_eq!(scratch.bytes("src/b.rs"), b"fn foo() {}\r\nfoo();\r\n");
}

#[tokio::test]
async fn a_change_does_not_count_as_having_read_the_file() {
    let scratch = project();
    output(&scratch, replacing(&json!({}))).await;
    let error = scratch
        .write("a.txt", "all new\n")
        .await
        .expect_err("not read");
    assert!(error.starts_with("Only a part of"), "{error}");
    scratch.read("src/b.rs").await.expect("readable");
    output(
        &scratch,
        replacing(&json!({"pattern": "bar", "replace_with": "baz"})),
    )
    .await;
    scratch
        .edit("src/b.rs", "baz();", "qux();")
        .await
        .expect("what was read is still known");
}

#[test]
fn a_preview_declares_no_writes() {
    let tool = FileSearch::default();
    for (input, writes) in [
        (json!({"pattern": "a"}), false),
        (json!({"pattern": "a", "replace_with": "b"}), false),
        (
            json!({"pattern": "a", "replace_with": "b", "preview_only": true}),
            false,
        ),
        (
            json!({"pattern": "a", "replace_with": "b", "preview_only": false}),
            true,
        ),
        (
            json!({"pattern": "a", "replace_with": "b", "preview_only": "no"}),
            true,
        ),
        (
            json!({"pattern": "a", "replace_with": null, "preview_only": false}),
            false,
        ),
    ] {
        let touches = tool.touches(&input);
        assert_eq!(matches!(touches, Touches::Writes(_)), writes, "{input}");
        if let Ok(input) = serde_json::from_value::<Input>(input) {
            assert_eq!(tool.is_read_only(&input), !writes);
            assert_eq!(tool.is_concurrency_safe(&input), !writes);
        }
    }
}

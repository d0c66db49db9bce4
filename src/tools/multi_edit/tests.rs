use serde_json::{Value, json};

use super::{Input, MultiEdit};
use crate::permissions::Grant;
use crate::protocol::{FileDiff, PartOfFile, Shown};
use crate::tools::files::scratch::{Scratch, text};
use crate::tools::{Tool, input_schema};

fn edits(name: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits
        .iter()
        .map(|(old, new)| json!({"old_string": old, "new_string": new}))
        .collect();
    json!({"file_path": name, "edits": edits})
}

async fn refused(scratch: &Scratch, input: Value) -> String {
    let before = scratch.bytes("a");
    let error = scratch.run(&MultiEdit, input).await.expect_err("refused");
    assert_eq!(scratch.bytes("a"), before, "nothing was written");
    assert!(scratch.announced().is_empty());
    error.message
}

async fn with_file(content: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.put("a", content);
    scratch.read("a").await.expect("readable");
    scratch
}

#[tokio::test]
async fn edits_are_applied_in_order_each_to_the_result_of_the_previous_one() {
    let scratch = with_file("one\ntwo\nthree\n").await;
    let input = edits("a", &[("one", "1"), ("1\ntwo", "1\n2"), ("three\n", "")]);
    let output = scratch.run(&MultiEdit, input).await.expect("edited");
    assert_eq!(scratch.bytes("a"), b"1\n2\n");
    assert_eq!(
        text(&output),
        format!(
            "Applied 3 edits to {}:\n\
             1. Replaced \"one\" with \"1\"\n\
             2. Replaced \"1\\ntwo\" with \"1\\n2\"\n\
             3. Deleted \"three\\n\"\n\
             Here's the result of running `cat -n` on a snippet of the edited file:\n     1\t1\n     2\t2",
            scratch.path("a").display()
        )
    );
    assert_eq!(
        output.shown,
        Shown::from(FileDiff {
            path: "a".into(),
            before: Some("one\ntwo\nthree\n".into()),
            after: "1\n2\n".into(),
        })
    );
    assert_eq!(scratch.announced().len(), 1, "one change to undo");
}

#[tokio::test]
async fn replace_all_replaces_and_counts_every_occurrence() {
    let scratch = with_file("x y x\n").await;
    let input = json!({"file_path": "a", "edits": [
        {"old_string": "x", "new_string": "z", "replace_all": true},
        {"old_string": "y", "new_string": "w"},
    ]});
    let output = scratch.run(&MultiEdit, input).await.expect("edited");
    assert_eq!(scratch.bytes("a"), b"z w z\n");
    assert!(text(&output).contains("1. Replaced \"x\" with \"z\", at 2 places"));
}

#[tokio::test]
async fn one_edit_that_fails_prevents_all_and_is_named() {
    let scratch = with_file("one\ntwo\ntwo\n").await;
    for (second, reason) in [
        (
            ("absent", "x"),
            "String to replace not found in file (0 matches).",
        ),
        (("two", "2"), "Found 2 matches of the string to replace"),
        (("two", "two"), "`old_string` and `new_string` are the same"),
        (("", "x"), "`old_string` is empty"),
    ] {
        let input = edits("a", &[("one", "1"), second]);
        let error = refused(&scratch, input).await;
        let expected = format!("Edit 2 of 2 cannot be made, so none was: {reason}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn edits_that_undo_each_other_are_refused() {
    let scratch = with_file("one\n").await;
    let error = refused(&scratch, edits("a", &[("one", "1"), ("1", "one")])).await;
    assert!(error.starts_with("The edits undo each other"), "{error}");
}

#[tokio::test]
async fn a_file_must_have_been_read_and_be_unchanged() {
    let scratch = Scratch::new();
    scratch.put("a", "one\n");
    let error = refused(&scratch, edits("a", &[("one", "1")])).await;
    assert!(error.starts_with("File has not been read yet"), "{error}");
    scratch.read("a").await.expect("readable");
    scratch.put("a", "one and more\n");
    let error = refused(&scratch, edits("a", &[("one", "1")])).await;
    assert!(error.contains("has changed since it was read"), "{error}");
}

#[tokio::test]
async fn an_empty_old_string_in_the_first_edit_creates_the_file() {
    let scratch = Scratch::new();
    let input = edits("new/a", &[("", "one\ntwo\n"), ("two", "2")]);
    let output = scratch.run(&MultiEdit, input).await.expect("created");
    assert_eq!(scratch.bytes("new/a"), b"one\n2\n");
    assert!(text(&output).contains("1. Wrote \"one\\ntwo\\n\""));
    let error = scratch
        .run(&MultiEdit, edits("b", &[("x", "y")]))
        .await
        .expect_err("there is none");
    assert!(
        error.message.starts_with("File does not exist"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn a_part_of_the_change_can_be_allowed() {
    let scratch = with_file("one\nkeep\nkeep\nkeep\ntwo\n").await;
    let input: Input =
        serde_json::from_value(edits("a", &[("one", "1"), ("two", "2")])).expect("an input");
    let diffs = MultiEdit.preview(&input, &scratch.cx).await;
    assert_eq!(diffs.len(), 1);
    assert_eq!(&*diffs[0].after, "1\nkeep\nkeep\nkeep\n2\n");
    let part = PartOfFile {
        path: "a".into(),
        after: "1\nkeep\nkeep\nkeep\ntwo\n".into(),
    };
    let output = MultiEdit
        .call_in_part(input, vec![part], Grant::by_person(), scratch.cx.clone())
        .await
        .expect("done in part");
    assert_eq!(scratch.bytes("a"), b"1\nkeep\nkeep\nkeep\ntwo\n");
    let message = text(&output);
    assert!(
        message.contains("allowed only a part") && message.contains("+2"),
        "{message}"
    );
}

#[test]
fn at_least_one_edit_is_required() {
    let schema = input_schema::<Input>();
    assert_eq!(schema["properties"]["edits"]["minItems"], 1);
    assert_eq!(schema["required"], json!(["file_path", "edits"]));
}

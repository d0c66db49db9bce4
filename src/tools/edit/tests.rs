use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::json;

use super::{Edit, Input};
use crate::permissions::Grant;
use crate::protocol::{FileDiff, PartOfFile, Shown};
use crate::tools::files::scratch::{Scratch, change_secretly, set_modified, text};
use crate::tools::{Tool, input_schema};

#[tokio::test]
async fn the_text_is_replaced_and_its_surroundings_shown() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\nthree\n");
    scratch.read("a").await.expect("readable");
    let input = json!({"file_path": "a", "old_string": "two", "new_string": "2\n2.5"});
    let output = scratch.run(&Edit, input).await.expect("edited");
    assert_eq!(
        text(&output),
        format!(
            "The file {} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n     1\tone\n     2\t2\n     3\t2.5\n     4\tthree",
            scratch.path("a").display()
        )
    );
    assert_eq!(
        output.shown,
        Shown::from(FileDiff {
            path: "a".into(),
            before: Some("one\ntwo\nthree\n".into()),
            after: "one\n2\n2.5\nthree\n".into(),
        })
    );
    assert_eq!(scratch.bytes("a"), b"one\n2\n2.5\nthree\n");
    assert_eq!(scratch.names(), ["a"]);
}

#[tokio::test]
async fn edits_follow_each_other_without_reading_again() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\nthree\n");
    scratch.read("a").await.expect("readable");
    scratch
        .edit("a", "one", "a longer first line\nand another")
        .await
        .expect("edited");
    scratch.edit("a", "three", "3").await.expect("edited");
    scratch.write("a", "all new\n").await.expect("known whole");
}

#[tokio::test]
async fn replace_all_replaces_every_occurrence() {
    let scratch = Scratch::new();
    scratch.put("a", "x y x\nx\n");
    scratch.read("a").await.expect("readable");
    let error = scratch.edit("a", "x", "z").await.expect_err("ambiguous");
    assert!(
        error.starts_with("Found 3 matches of the string to replace, at lines 1, 1, 2,"),
        "{error}"
    );
    let input =
        json!({"file_path": "a", "old_string": "x", "new_string": "z", "replace_all": true});
    let output = scratch.run(&Edit, input).await.expect("edited");
    assert!(
        text(&output).ends_with(
            "All 3 occurrences were successfully replaced (lines 1, 1, 2). Here's the result of running `cat -n` on a snippet around the first of them:\n     1\tz y z\n     2\tz"
        ),
        "{}",
        text(&output)
    );
    assert_eq!(scratch.bytes("a"), b"z y z\nz\n");
}

#[tokio::test]
async fn a_file_that_is_unread_or_missing_or_changed_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.put("a", "one\n");
    let error = scratch.edit("a", "one", "1").await.expect_err("not read");
    assert!(error.starts_with("File has not been read yet"), "{error}");

    scratch.read("a").await.expect("readable");
    change_secretly(&path, b"One\n");
    let error = scratch.edit("a", "One", "1").await.expect_err("changed");
    assert!(error.contains("has changed since it was read"), "{error}");

    scratch.read("a").await.expect("readable");
    set_modified(&path, SystemTime::UNIX_EPOCH);
    let error = scratch.edit("a", "One", "1").await.expect_err("touched");
    assert!(error.contains("has changed since it was read"), "{error}");
    assert_eq!(scratch.bytes("a"), b"One\n");

    std::fs::remove_file(&path).expect("remove");
    let error = scratch.edit("a", "One", "1").await.expect_err("gone");
    assert!(error.starts_with("File does not exist"), "{error}");
    assert_eq!(scratch.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_partial_read_allows_edits_of_what_it_showed() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\nthree\nfour\n");
    scratch
        .read_lines("a", json!({"offset": 2, "limit": 2}))
        .await
        .expect("readable");
    for (old, line) in [("one", 1), ("four", 4), ("three\nfour", 3)] {
        let error = scratch.edit("a", old, "x").await.expect_err("not seen");
        assert!(
            error.contains(&format!("at line {line} of ")) && error.contains("has not been read"),
            "{error}"
        );
    }
    scratch
        .edit("a", "two\nthree\n", "2\n2½\n3\n")
        .await
        .expect("seen");
    scratch
        .edit("a", "3", "III")
        .await
        .expect("seen, and moved");
    assert!(scratch.edit("a", "four", "x").await.is_err());
    assert_eq!(scratch.bytes("a"), "one\n2\n2½\nIII\nfour\n".as_bytes());
    let error = scratch.write("a", "all\n").await.expect_err("read in part");
    assert!(error.starts_with("Only a part of"), "{error}");
}

#[tokio::test]
async fn a_change_in_lines_that_were_not_shown_is_detected_by_the_modification_time() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\n");
    scratch
        .read_lines("a", json!({"limit": 1}))
        .await
        .expect("readable");
    let path = scratch.put("a", "one\nTWO\n");
    set_modified(&path, SystemTime::UNIX_EPOCH);
    let error = scratch.edit("a", "one", "1").await.expect_err("changed");
    assert!(error.contains("has changed since it was read"), "{error}");
}

#[tokio::test]
async fn reading_again_always_makes_the_edit_possible() {
    let scratch = Scratch::new();
    let path = scratch.put("a", "one\ntwo\nthree\n");
    scratch
        .read_lines("a", json!({"limit": 1}))
        .await
        .expect("readable");
    scratch.read("a").await.expect("readable");
    change_secretly(&path, b"ONE\ntwo\nthree\n");
    let again = scratch.read("a").await.expect("readable");
    assert!(again.contains("\tONE"), "{again}");
    scratch.edit("a", "ONE", "1").await.expect("just read");
    assert_eq!(scratch.bytes("a"), b"1\ntwo\nthree\n");
}

#[tokio::test]
async fn an_empty_old_string_creates_and_never_overwrites() {
    let scratch = Scratch::new();
    scratch.put("empty", "");
    scratch.put("full", "text\n");
    for name in ["new", "empty"] {
        let result = scratch.edit(name, "", "content\n").await.expect("created");
        assert!(
            result.starts_with("File created successfully at: "),
            "{result}"
        );
        assert_eq!(scratch.bytes(name), b"content\n");
    }
    scratch.read("full").await.expect("readable");
    let error = scratch
        .edit("full", "", "content\n")
        .await
        .expect_err("has content");
    assert!(error.starts_with("`old_string` is empty"), "{error}");
    let error = scratch
        .edit("full", "text", "text")
        .await
        .expect_err("the same");
    assert!(error.contains("are the same"), "{error}");
    assert_eq!(scratch.bytes("full"), b"text\n");
    let error = scratch.edit("none", "", "").await.expect_err("the same");
    assert!(error.contains("are the same"), "{error}");
    assert_eq!(scratch.names(), ["empty", "full", "new"]);
}

#[tokio::test]
async fn a_near_miss_is_shown_with_its_whitespace() {
    let scratch = Scratch::new();
    scratch.put("a", "fn a() {\n\treturn 1;\n}\n");
    scratch.read("a").await.expect("readable");
    let error = scratch
        .edit("a", "    return 1;", "x")
        .await
        .expect_err("not found");
    assert!(
        error.starts_with(
            "String to replace not found in file (0 matches). Line 2 differs from it only in whitespace"
        ),
        "{error}"
    );
    assert!(
        error.contains("→return·1;") && error.contains("····return·1;"),
        "{error}"
    );
}

#[tokio::test]
async fn the_quotes_of_the_file_are_kept_and_the_result_says_so() {
    let scratch = Scratch::new();
    scratch.put("a", "it’s “fine”\n");
    scratch.read("a").await.expect("readable");
    let result = scratch
        .edit("a", "it's \"fine\"", "it's \"very fine\"")
        .await
        .expect("edited");
    assert!(
        result.contains("They were kept where the text did not change"),
        "{result}"
    );
    assert_eq!(scratch.bytes("a"), "it’s “very fine”\n".as_bytes());
}

#[tokio::test]
async fn text_that_could_not_be_written_back_is_refused() {
    let scratch = Scratch::new();
    scratch.put("latin", b"caf\xe9\nline\n");
    scratch.read("latin").await.expect("readable");
    let error = scratch
        .edit("latin", "line", "x")
        .await
        .expect_err("not UTF-8");
    assert!(
        error.contains("could not be written back unchanged"),
        "{error}"
    );
    scratch.put(
        "n.ipynb",
        r#"{"cells":[{"cell_type":"code","source":"x"}]}"#,
    );
    scratch.read("n.ipynb").await.expect("readable");
    let error = scratch
        .edit("n.ipynb", "x", "y")
        .await
        .expect_err("a notebook");
    assert!(
        error.contains("Change its cells with NotebookEdit"),
        "{error}"
    );
    assert!(scratch.edit("n.ipynb", "", "y").await.is_err());
}

#[tokio::test]
async fn a_text_file_with_the_name_of_a_notebook_is_edited_as_text() {
    let scratch = Scratch::new();
    scratch.put("broken.ipynb", "{\n  \"cells\": [\n");
    scratch.read("broken.ipynb").await.expect("readable");
    scratch
        .edit("broken.ipynb", "[\n", "[]}\n")
        .await
        .expect("text");
    assert_eq!(scratch.bytes("broken.ipynb"), b"{\n  \"cells\": []}\n");
}

#[tokio::test]
async fn utf16_is_edited_in_place_even_after_a_partial_read() {
    let scratch = Scratch::new();
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    scratch.put("a", utf16("\u{feff}ä𝄞\r\nzwei\r\ndrei\r\n"));
    scratch
        .read_lines("a", json!({"offset": 2, "limit": 1}))
        .await
        .expect("readable");
    assert!(scratch.edit("a", "drei", "3").await.is_err());
    scratch.edit("a", "zwei", "2\n2").await.expect("seen");
    assert_eq!(
        scratch.bytes("a"),
        utf16("\u{feff}ä𝄞\r\n2\r\n2\r\ndrei\r\n")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_in_the_same_tick_do_not_lose_each_other() {
    let scratch = Scratch::new();
    let lines = |word: &str| -> String {
        let lines: Vec<String> = (0..20).map(|line| format!("{word} {line}.\n")).collect();
        lines.concat()
    };
    scratch.put("a", lines("line"));
    scratch.read("a").await.expect("readable");
    let edits = (0..20).map(|line| {
        let input = json!({"file_path": "a", "old_string": format!("line {line}."), "new_string": format!("done {line}.")});
        scratch.call(&Edit, input)
    });
    for result in futures_util::future::join_all(edits).await {
        result.expect("each edit starts from the result of the previous one");
    }
    assert_eq!(scratch.bytes("a"), lines("done").as_bytes());
    assert_eq!(scratch.names(), ["a"]);
}

#[test]
fn the_schema_asks_for_both_strings() {
    let schema = input_schema::<Input>();
    assert_eq!(
        schema["required"],
        json!(["file_path", "old_string", "new_string"])
    );
    assert!(
        serde_json::from_value::<Input>(
            json!({"file_path": "a", "old_string": "", "new_string": "", "x": 1})
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exactly_the_replaced_bytes_of_a_file_change(
        mark in prop::bool::ANY,
        before in prop::collection::vec(("[a-cé“ ]{0,5}", "\n|\r\n|\r"), 0..6),
        after in prop::collection::vec(("[a-cé“ ]{0,5}", "\n|\r\n|\r"), 0..6),
        old in "[x-z]{1,5}",
        new in "[p-r]{0,5}",
    ) {
        let text = |lines: &[(String, String)]| -> String {
            let lines: Vec<String> = lines.iter().map(|(line, ending)| line.clone() + ending).collect();
            lines.concat()
        };
        let start = if mark { "\u{feff}" } else { "" }.to_owned() + &text(&before);
        let scratch = Scratch::new();
        scratch.put("a", format!("{start}{old}{}", text(&after)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            scratch.read("a").await.expect("readable");
            scratch.edit("a", &old, &new).await.expect("edited");
        });
        let expected = format!("{start}{new}{}", text(&after));
        prop_assert_eq!(String::from_utf8(scratch.bytes("a")), Ok(expected));
    }
}

/// Calls Edit such that the file contains `after` in the end.
async fn in_part(
    scratch: &Scratch,
    input: serde_json::Value,
    after: &str,
) -> Result<String, String> {
    let input = serde_json::from_value(input).expect("an input of Edit");
    let part = PartOfFile {
        path: "a".to_owned(),
        after: after.to_owned(),
    };
    let called = Edit.call_in_part(input, vec![part], Grant::by_person(), scratch.cx.clone());
    let called = called.await;
    called
        .map(|output| text(&output))
        .map_err(|error| error.message)
}

#[tokio::test]
async fn a_part_of_an_edit_is_made_in_a_file_that_was_read_in_part() {
    let scratch = Scratch::new();
    let lines: Vec<String> = (1..=9)
        .map(|number| format!("line {number} x\r\n"))
        .collect();
    scratch.put("a", lines.concat());
    let seen = scratch
        .read_lines("a", json!({"offset": 2, "limit": 4}))
        .await;
    seen.expect("readable");
    let input = json!({"file_path": "a", "old_string": "2 x\nline 3 x\nline 4 x", "new_string": "2 y\nline 3 x\nline 4 y"});
    let after = lines.concat().replace("4 x", "4 y");
    let output = in_part(&scratch, input.clone(), &after)
        .await
        .expect("edited");
    assert_eq!(scratch.bytes("a"), after.as_bytes());
    assert!(output.contains("-line 2 x\r\n+line 2 y\r\n"), "{output}");
    let unseen = lines.concat().replace("9 x", "9 y");
    let output = in_part(&scratch, input, &unseen).await;
    assert!(output.is_err(), "{output:?}");
    assert_eq!(scratch.bytes("a"), after.as_bytes());
}

#[tokio::test]
async fn an_edit_with_no_accepted_part_writes_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "one\n");
    scratch.read("a").await.expect("readable");
    let input = json!({"file_path": "a", "old_string": "one", "new_string": "two"});
    let output = in_part(&scratch, input, "one\n").await.expect("no error");
    assert!(output.contains("nothing was written"), "{output}");
    assert_eq!(scratch.announced(), []);
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_shown_is_not_edited_in_part() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\n");
    scratch.read("a").await.expect("readable");
    scratch.put("a", "one\ntwo\nthree\n");
    let input = json!({"file_path": "a", "old_string": "one", "new_string": "1"});
    let output = in_part(&scratch, input, "1\ntwo\n").await;
    assert!(output.is_err(), "{output:?}");
    assert_eq!(scratch.bytes("a"), b"one\ntwo\nthree\n");
}

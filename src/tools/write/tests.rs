use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use super::Write;
use crate::protocol::{FileDiff, Shown};
use crate::tools::files::scratch::{Scratch, change_secretly, text};
use crate::tools::files::{ContentHash, FileChange};

#[tokio::test]
async fn a_new_file_is_created_with_its_directories() {
    let scratch = Scratch::new();
    let path = scratch.path("a/b/c.txt");
    let input = json!({"file_path": "a/b/c.txt", "content": "new\n"});
    let output = scratch.run(&Write, input).await.expect("created");
    assert_eq!(
        text(&output),
        format!("File created successfully at: {}", path.display())
    );
    assert_eq!(
        output.shown,
        Shown::from(FileDiff {
            path: "a/b/c.txt".into(),
            before: None,
            after: "new\n".into()
        })
    );
    assert_eq!(
        scratch.announced(),
        [FileChange {
            path,
            before: None,
            after: ContentHash::of(b"new\n"),
        }]
    );
    assert_eq!(scratch.bytes("a/b/c.txt"), b"new\n");
}

#[tokio::test]
async fn an_existing_file_has_to_be_read_first_and_whole() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\nthree\n");
    let unread = scratch.write("a", "new\n").await.expect_err("not read");
    assert!(unread.starts_with("File has not been read yet"), "{unread}");
    scratch
        .read_lines("a", json!({"limit": 1}))
        .await
        .expect("readable");
    let partly = scratch.write("a", "new\n").await.expect_err("read in part");
    assert!(partly.starts_with("Only a part of"), "{partly}");
    scratch
        .read_lines("a", json!({"offset": 2}))
        .await
        .expect("readable");
    assert_eq!(
        scratch.write("a", "one\n2\nthree\n").await,
        Ok(format!(
            "The file {} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n     1\tone\n     2\t2\n     3\tthree",
            scratch.path("a").display()
        ))
    );
    assert_eq!(scratch.bytes("a"), b"one\n2\nthree\n");
    assert_eq!(scratch.names(), ["a"]);
}

#[tokio::test]
async fn the_old_content_is_kept_as_a_checkpoint() {
    let scratch = Scratch::new();
    scratch.put("a", "old\n");
    scratch.read("a").await.expect("readable");
    let input = json!({"file_path": "a", "content": "new\n"});
    scratch.run(&Write, input).await.expect("written");
    let [change] = scratch.announced().try_into().expect("one change");
    let FileChange { before, .. } = change;
    let hash = before.expect("there was a file");
    let kept = scratch.cx.env.checkpoints.get(&hash).expect("kept");
    assert_eq!(kept, b"old\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let scratch = Scratch::new();
    let path = scratch.put("a", "old\n");
    scratch.read("a").await.expect("readable");
    change_secretly(&path, b"OLD\n");
    let error = scratch.write("a", "new\n").await.expect_err("changed");
    assert!(error.contains("has changed since it was read"), "{error}");
    let input = json!({"file_path": "a", "content": "new\n"});
    let error = scratch.call(&Write, input).await.expect_err("changed");
    assert!(error.message.contains("has changed since it was read"));
    assert_eq!(scratch.bytes("a"), b"OLD\n");
}

#[tokio::test]
async fn a_written_file_may_be_written_again_without_reading() {
    let scratch = Scratch::new();
    scratch.write("a", "one\n").await.expect("created");
    scratch.write("a", "two\n").await.expect("its own content");
    let same = scratch.write("a", "two\n").await.expect("nothing to do");
    assert!(same.contains("nothing was written"), "{same}");
    scratch
        .edit("a", "two", "three")
        .await
        .expect("its own content");
    assert_eq!(scratch.bytes("a"), b"three\n");
}

#[tokio::test]
async fn mode_and_byte_order_mark_and_line_endings_stay() {
    let scratch = Scratch::new();
    let path = scratch.put("a", "\u{feff}one\r\ntwo\r\n");
    fs::set_permissions(&path, Permissions::from_mode(0o750)).expect("chmod");
    scratch.read("a").await.expect("readable");
    scratch.write("a", "uno\ndos\n").await.expect("written");
    assert_eq!(scratch.bytes("a"), "\u{feff}uno\r\ndos\r\n".as_bytes());
    assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o750);
    scratch
        .write("a", "\u{feff}uno\r\ntres\n")
        .await
        .expect("written");
    assert_eq!(scratch.bytes("a"), "\u{feff}uno\r\ntres\r\n".as_bytes());
}

#[tokio::test]
async fn new_content_gets_the_line_endings_of_the_file() {
    let scratch = Scratch::new();
    for (old, content, expected) in [
        ("one\ntwo\n", "uno\r\ndos\r\n", "uno\ndos\n"),
        ("one\r\ntwo\r\n", "uno\ndos\r\n", "uno\r\ndos\r\n"),
        ("one\r\ntwo\n", "uno\r\ndos\n", "uno\r\ndos\n"),
        ("one line", "uno\r\ndos\r\n", "uno\r\ndos\r\n"),
    ] {
        scratch.put("a", old);
        scratch.read("a").await.expect("readable");
        scratch.write("a", content).await.expect("written");
        assert_eq!(scratch.bytes("a"), expected.as_bytes(), "{old:?}");
    }
    scratch.write("new", "uno\r\n").await.expect("created");
    assert_eq!(scratch.bytes("new"), b"uno\r\n");
}

#[tokio::test]
async fn utf16_stays_utf16() {
    let scratch = Scratch::new();
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    scratch.put("a", utf16("\u{feff}ä\r\n"));
    scratch.read("a").await.expect("readable");
    scratch.write("a", "ö\nü\n").await.expect("written");
    assert_eq!(scratch.bytes("a"), utf16("\u{feff}ö\r\nü\r\n"));
}

#[tokio::test]
async fn a_binary_file_is_not_overwritten() {
    let scratch = Scratch::new();
    scratch.put("latin", b"caf\xe9\n");
    scratch.read("latin").await.expect("readable");
    let error = scratch.write("latin", "x").await.expect_err("not UTF-8");
    assert!(
        error.contains("not valid UTF-8 (first invalid byte at offset 3)"),
        "{error}"
    );
    scratch.put("image", crate::tools::files::image::tests::png(1, 1));
    scratch
        .run(&crate::tools::read::Read, json!({"file_path": "image"}))
        .await
        .expect("shown");
    let error = scratch.write("image", "x").await.expect_err("binary");
    assert!(error.contains("is a binary file"), "{error}");
}

#[tokio::test]
async fn an_empty_file_needs_no_reading() {
    let scratch = Scratch::new();
    scratch.put("empty", "");
    scratch
        .write("empty", "x\n")
        .await
        .expect("an empty file has nothing to lose");
    assert_eq!(scratch.bytes("empty"), b"x\n");
}

#[tokio::test]
async fn a_file_that_was_emptied_since_it_was_read_has_changed() {
    let scratch = Scratch::new();
    scratch.put("a", "old\n");
    scratch.read("a").await.expect("readable");
    scratch.put("a", "");
    for result in [
        scratch.write("a", "new\n").await,
        scratch.edit("a", "", "new\n").await,
    ] {
        let error = result.expect_err("somebody emptied it");
        assert!(error.contains("has changed since it was read"), "{error}");
    }
    assert_eq!(scratch.bytes("a"), b"");
    scratch.read("a").await.expect("readable");
    scratch
        .write("a", "new\n")
        .await
        .expect("known to be empty");
}

#[tokio::test]
async fn directories_are_created_inside_the_workspace_only() {
    let scratch = Scratch::new();
    let outside = scratch.root.with_file_name("outside");
    let error = scratch
        .write(&format!("{}/a.txt", outside.display()), "x")
        .await
        .expect_err("outside");
    assert!(
        error.contains("outside the workspace none are created"),
        "{error}"
    );
    assert!(!outside.exists());
    symlink(
        scratch.root.with_file_name("other"),
        scratch.path("dangling"),
    )
    .expect("link");
    let error = scratch.write("dangling", "x").await.expect_err("dangling");
    assert!(error.contains("is a symbolic link to"), "{error}");
    scratch.put("file", "");
    let error = scratch
        .write("file/a", "x")
        .await
        .expect_err("a file in the way");
    assert!(error.contains("is a file, not a directory"), "{error}");
}

#[tokio::test]
async fn through_a_link_the_target_is_written_and_the_link_stays() {
    let scratch = Scratch::new();
    scratch.put("target", "old\n");
    symlink("target", scratch.path("link")).expect("link");
    scratch.read("target").await.expect("readable");
    scratch.write("link", "new\n").await.expect("the same file");
    assert!(scratch.path("link").is_symlink());
    assert_eq!(scratch.bytes("target"), b"new\n");
}

#[tokio::test]
async fn hard_links_are_reported() {
    let scratch = Scratch::new();
    let path = scratch.put("a", "old\n");
    fs::hard_link(&path, scratch.path("b")).expect("link");
    scratch.read("a").await.expect("readable");
    let result = scratch.write("a", "new\n").await.expect("written");
    assert!(
        result.contains("another name (hard links), which keep the old content"),
        "{result}"
    );
    assert_eq!(scratch.bytes("b"), b"old\n");
}

#[tokio::test]
async fn strange_names_work_and_are_shown_escaped() {
    let scratch = Scratch::new();
    for name in [
        "-rf",
        " leading",
        "new\nline",
        "esc\u{1b}[31m",
        "rtl\u{202e}txt",
        &"x".repeat(255),
    ] {
        let result = scratch.write(name, "x").await.expect("created");
        assert!(
            !result.contains('\n') && !result.contains('\u{1b}'),
            "{result:?}"
        );
        assert_eq!(scratch.bytes(name), b"x");
    }
    let deep = "d/".repeat(200) + "file";
    scratch.write(&deep, "x").await.expect("created");
    for (name, expected) in [
        ("x/".repeat(3000) + "x", "longer than 4095 bytes"),
        ("x".repeat(256), "name too long"),
        ("dir/".into(), "names a directory"),
    ] {
        let error = scratch
            .write(&name, "x")
            .await
            .expect_err("no name for a file");
        assert!(error.contains(expected), "{error}");
    }
}

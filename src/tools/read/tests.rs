use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::show::show;
use super::{Input, Read};
use crate::permissions::Grant;
use crate::permissions::Places;
use crate::protocol::{Image, ResultBlock};
use crate::tools::files::image::tests::png;
use crate::tools::files::scratch::Scratch;
use crate::tools::{Tool, ToolErrorKind, input_schema};

/// The peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}

#[tokio::test]
async fn lines_are_numbered_like_cat_n() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n\ttwo\n\nfour");
    assert_eq!(
        scratch.read("a.txt").await,
        Ok("     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour".into())
    );
}

#[tokio::test]
async fn a_long_file_says_where_to_continue() {
    let scratch = Scratch::new();
    let lines: Vec<String> = (1..=2500).map(|line| format!("{line}\n")).collect();
    scratch.put("long", lines.concat());
    let first = scratch.read("long").await.expect("readable");
    assert!(first.ends_with(
        "  2000\t2000\n<system-reminder>Lines 1-2000 of 2500 are shown; use offset=2001 to continue.</system-reminder>"
    ));
    let second = scratch.read_lines("long", json!({"offset": 2001})).await;
    assert!(
        second.is_ok_and(|text| text.starts_with("  2001\t2001\n") && text.ends_with("\t2500"))
    );
    assert_eq!(
        scratch.read_lines("long", json!({"offset": 7, "limit": 1})).await,
        Ok("     7\t7\n<system-reminder>Lines 7-7 of 2500 are shown; use offset=8 to continue.</system-reminder>".into())
    );
}

#[tokio::test]
async fn an_empty_file_and_an_offset_after_the_end_give_a_warning() {
    let scratch = Scratch::new();
    scratch.put("empty", "");
    scratch.put("short", "a\nb\n");
    assert_eq!(
        scratch.read("empty").await,
        Ok("<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>".into())
    );
    let behind = scratch.read_lines("short", json!({"offset": 5})).await;
    assert!(behind.is_ok_and(|text| {
        text.contains("shorter than the provided offset (5). The file has 2 lines")
    }));
}

#[tokio::test]
async fn an_unchanged_file_is_not_shown_twice() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\n");
    let first = scratch.read("a").await.expect("readable");
    let again = scratch.read("a").await.expect("readable");
    assert!(
        again.starts_with("File unchanged since last read"),
        "{again}"
    );
    assert!(
        scratch
            .read_lines("a", json!({"limit": 1}))
            .await
            .is_ok_and(|text| text.contains("\tone"))
    );
    scratch.put("a", "one\nTWO\n");
    assert!(
        scratch
            .read("a")
            .await
            .is_ok_and(|text| text.contains("TWO"))
    );
    scratch.put("a", "one\ntwo\n");
    assert_eq!(scratch.read("a").await, Ok(first.clone()));
    scratch.cx.ledger.forget_shown();
    assert_eq!(scratch.read("a").await, Ok(first));
}

#[tokio::test]
async fn encodings_are_decoded_and_wrong_bytes_marked() {
    let scratch = Scratch::new();
    scratch.put("bom", "\u{feff}a\r\nb\r\n");
    assert_eq!(scratch.read("bom").await, Ok("     1\ta\n     2\tb".into()));
    let utf16: Vec<u8> = "\u{feff}ä\nb\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    scratch.put("utf16", utf16);
    assert_eq!(
        scratch.read("utf16").await,
        Ok("     1\tä\n     2\tb".into())
    );
    scratch.put("mac", "a\rb\r");
    assert_eq!(scratch.read("mac").await, Ok("     1\ta\n     2\tb".into()));
    scratch.put("latin", b"caf\xe9\n");
    let latin = scratch.read("latin").await.expect("readable");
    assert!(
        latin.starts_with("     1\tcaf\u{fffd}\n<system-reminder>The file is not valid UTF-8"),
        "{latin}"
    );
    scratch.put("binary", b"\x7fELF\x02\x01\0\0\0");
    assert!(
        scratch
            .read("binary")
            .await
            .is_err_and(|error| error.contains("is a binary file (9 bytes)"))
    );
}

#[tokio::test]
async fn a_path_that_is_not_a_file_is_refused_before_the_person_is_asked() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("dir")).expect("mkdir");
    for (name, kind) in [("dir", "a directory"), ("/dev/zero", "a character device")] {
        let input: Input = serde_json::from_value(json!({"file_path": name})).expect("an input");
        let error = Read
            .validate(&input, &scratch.cx)
            .await
            .expect_err("no file");
        assert!(error.message.contains(kind), "{}", error.message);
    }
    scratch.put("config.toml", "");
    let error = scratch.read("confg.toml").await.expect_err("missing");
    assert!(
        error.starts_with("File does not exist: ") && error.contains("config.toml?"),
        "{error}"
    );
}

#[tokio::test]
async fn kernel_files_are_read_to_their_end() {
    let status = Scratch::new()
        .read("/proc/self/status")
        .await
        .expect("readable");
    assert!(
        status.starts_with("     1\tName:") && status.contains("VmRSS"),
        "{status}"
    );
}

#[tokio::test]
async fn links_are_followed() {
    let scratch = Scratch::new();
    scratch.put("file", "content\n");
    symlink("file", scratch.path("link")).expect("link");
    assert_eq!(scratch.read("link").await, Ok("     1\tcontent".into()));
}

#[test]
fn huge_files_cost_no_memory() {
    // In its own process, because the memory of other tests would count here.
    let test = "tools::read::tests::huge_files_are_read_in_a_separate_process";
    let status = std::process::Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", test, "--ignored"])
        .output()
        .expect("it runs");
    let output = String::from_utf8_lossy(&status.stdout);
    assert!(
        status.status.success() && output.contains("1 passed"),
        "{output}"
    );
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn huge_files_are_read_in_a_separate_process() {
    let scratch = Scratch::new();
    // Text first, then a sparse gigabyte of zeros: one endless line.
    let mut sparse = File::create(scratch.path("sparse")).expect("create");
    for line in 0..5000 {
        writeln!(sparse, "line {line}").expect("write");
    }
    sparse.set_len(1 << 30).expect("set the size");
    let mut wide = File::create(scratch.path("wide")).expect("create");
    for _ in 0..80 {
        wide.write_all(&vec![b'x'; 1 << 20]).expect("write");
    }
    let zeros = File::create(scratch.path("zeros")).expect("create");
    zeros.set_len(10 << 30).expect("set the size");

    let before = peak_memory();
    let first = scratch
        .read_lines("sparse", json!({"limit": 3}))
        .await
        .expect("readable");
    assert!(
        first.contains("Lines 1-3 of a file of 1.0 GB are shown; use offset=4"),
        "{first}"
    );
    let line = scratch.read("wide").await.expect("readable");
    assert!(line.contains("x… [line cut]\n<system-reminder>Line 1 is so long"));
    assert!(line.chars().count() < 2300);
    let binary = scratch.read("zeros").await;
    assert!(binary.is_err_and(|error| error.contains("binary file (10.0 GB)")));
    // A file that has to be read as a whole is refused before reading if it is too large.
    let mut document = File::create(scratch.path("document.pdf")).expect("create");
    document.write_all(b"%PDF-1.7\n").expect("write");
    document.set_len(1 << 30).expect("set the size");
    let document = scratch.read("document.pdf").await;
    assert!(document.is_err_and(|error| error.contains("too large for this tool (1.0 GB")));
    scratch
        .read_lines("sparse", json!({"limit": 1}))
        .await
        .expect("readable");
    let edited = scratch.edit("sparse", "line 0", "x").await;
    assert!(edited.is_err_and(|error| error.contains("too large for this tool (1.0 GB")));
    assert!(peak_memory() - before < 30 << 20);
}

#[tokio::test]
async fn images_are_shown_as_images_whatever_their_name() {
    let scratch = Scratch::new();
    let picture = png(16, 16);
    scratch.put("picture.txt", &picture);
    let output = scratch
        .run(&Read, json!({"file_path": "picture.txt"}))
        .await
        .expect("shown");
    let [ResultBlock::Image(Image { source })] = output.for_model.as_slice() else {
        panic!("not an image: {:?}", output.for_model);
    };
    let shown = serde_json::to_value(source).expect("serializable");
    assert_eq!(shown["media_type"], "image/png");
    assert!(
        shown["data"]
            .as_str()
            .is_some_and(|data| data.starts_with("iVBOR"))
    );
    assert!(
        scratch
            .read("picture.txt")
            .await
            .is_ok_and(|text| text.starts_with("File unchanged since last read"))
    );

    scratch.put("cut.png", &picture[..picture.len() - 4]);
    assert!(
        scratch
            .read("cut.png")
            .await
            .is_err_and(|error| error.contains("damaged or incomplete"))
    );
    scratch.put("bomb.png", png(60_000, 60_000));
    assert!(
        scratch
            .read("bomb.png")
            .await
            .is_err_and(|error| error.contains("60000×60000 pixels"))
    );
    scratch.put("text.png", "not a picture\n");
    assert_eq!(
        scratch.read("text.png").await,
        Ok("     1\tnot a picture".into())
    );
}

#[tokio::test]
async fn notebooks_are_shown_as_cells_and_broken_ones_as_text() {
    let scratch = Scratch::new();
    scratch.put(
        "n.ipynb",
        r#"{"cells":[{"cell_type":"markdown","source":"hello"}]}"#,
    );
    assert!(
        scratch
            .read("n.ipynb")
            .await
            .is_ok_and(|text| text.starts_with("<cell id=\"cell-0\">"))
    );
    scratch.put("broken.ipynb", "{\n");
    assert_eq!(scratch.read("broken.ipynb").await, Ok("     1\t{".into()));
}

#[tokio::test]
async fn the_result_says_if_offset_and_limit_do_not_apply() {
    let scratch = Scratch::new();
    scratch.put(
        "n.ipynb",
        r#"{"cells":[{"cell_type":"markdown","source":"hello"}]}"#,
    );
    scratch.put("a.pdf", "%PDF-1.7 and nothing else");
    for (name, content) in [("n.ipynb", "hello"), ("a.pdf", "PDF file: ")] {
        for expected in [content, "File unchanged since last read"] {
            let text = scratch.read_lines(name, json!({"offset": 3})).await;
            let text = text.expect("readable");
            assert!(
                text.contains(expected) && text.contains("`offset` and `limit` do not apply"),
                "{text}"
            );
        }
        let plain = scratch.read(name).await.expect("readable");
        assert!(!plain.contains("do not apply"), "{plain}");
    }
}

#[tokio::test]
async fn a_cancelled_read_ends_as_cancelled() {
    let scratch = Scratch::new();
    scratch.put("a", "text\n");
    scratch.cx.cancel.cancel();
    let input = serde_json::from_value(json!({"file_path": "a"})).expect("an input");
    let result = Read
        .call(input, Grant::by_person(), scratch.cx.clone())
        .await;
    assert_eq!(
        result.map_err(|error| error.kind),
        Err(ToolErrorKind::Cancelled)
    );
}

#[tokio::test]
async fn the_result_of_a_cancelled_read_does_not_count_as_shown() {
    const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"markdown","source":"hello"}]}"#;
    let mut scratch = Scratch::new();
    scratch.put("a", "text\n");
    scratch.put("n.ipynb", NOTEBOOK);
    let input: Input = serde_json::from_value(json!({"file_path": "a"})).expect("an input");
    for name in ["a", "n.ipynb"] {
        // The thread of a cancelled call gets this far, and its result is dropped.
        let found = show(
            &scratch.path(name),
            input.view(),
            &scratch.root,
            &Places::default(),
            &|| false,
        );
        drop(found.expect("readable"));
        scratch.cx.cancel.cancel();
        let cancelled = scratch.call(&Read, json!({"file_path": name})).await;
        assert!(cancelled.is_err_and(|error| error.kind == ToolErrorKind::Cancelled));
        scratch.cx.cancel = CancellationToken::new();
        if name == "a" {
            let edited = scratch.edit(name, "text", "x").await;
            assert!(edited.is_err_and(|error| error.starts_with("File has not been read yet")));
        }
        let written = scratch.write(name, "x").await;
        assert!(written.is_err_and(|error| error.starts_with("File has not been read yet")));
        let content = scratch.read(name).await.expect("readable");
        assert!(!content.starts_with("File unchanged"), "{content}");
    }
}

#[test]
fn the_schema_says_what_the_fields_mean() {
    let schema = input_schema::<Input>();
    assert_eq!(schema["required"], json!(["file_path"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["limit"]["minimum"], json!(1));
    assert_eq!(schema["properties"]["offset"]["minimum"], json!(0));
    assert!(schema["properties"]["offset"]["description"].is_string());
}

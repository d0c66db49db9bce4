//! C: single files that the file tools can't handle normally.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::invariants::{Played, play};
use crate::support::Program;

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    ("Edit", input)
}

fn assert_refused(result: &str, words: &str) {
    assert!(result.contains("tool_use_error"), "{result}");
    assert!(result.contains(words), "{words}: {result}");
}

#[test]
fn c1_anything_but_a_regular_file_is_refused_at_once() {
    let program = Program::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, program.path("pipe"), FileType::Fifo, mode, 0).expect("a pipe");
    let _socket = UnixListener::bind(program.path("socket")).expect("a socket");
    fs::create_dir(program.path("folder")).expect("a folder");
    symlink("/dev/zero", program.path("endless")).expect("a link");
    symlink("loop", program.path("loop")).expect("a link");
    let paths = [
        "pipe",
        "socket",
        "folder",
        "endless",
        "/dev/zero",
        "/dev/stdin",
        "loop",
        "nothing",
    ];
    let words = [
        "pipe",
        "socket",
        "directory",
        "device",
        "device",
        "/dev/stdin",
        "loop",
        "nothing",
    ];
    let played = play(program, &paths.map(read));
    for (result, words) in played.results.iter().zip(words) {
        assert_refused(result, words);
        assert!(result.len() < 1_000, "{result}");
    }
    assert!(played.program.path("pipe").exists());
}

#[test]
fn c2_files_of_the_kernel_are_read_to_their_end() {
    let played = play(
        Program::new(),
        &[read("/proc/self/status"), read("/proc/version")],
    );
    assert!(played.results[1].contains("ersion"), "{:?}", played.results);
    assert!(!played.results[0].is_empty());
}

#[test]
fn c3_files_too_large_for_memory_are_read_in_part_or_refused_with_advice() {
    let program = Program::new();
    let sparse = File::create(program.path("sparse")).expect("made");
    sparse.set_len(10 << 30).expect("grown");
    program.put("line", "x".repeat(40 << 20));
    program.put("lines", "a line of words\n".repeat(1_000_000));
    let ranged = json!({"file_path": "lines", "offset": 999_990, "limit": 3});
    let calls = [
        read("sparse"),
        read("line"),
        read("lines"),
        ("Read", ranged),
        edit("sparse", "a", "b"),
    ];
    let played = play(program, &calls);
    for result in &played.results {
        assert!(result.len() < 120_000, "{}", result.len());
    }
    assert!(
        played.results[3].contains("999990"),
        "{}",
        played.results[3]
    );
    assert_refused(&played.results[4], "sparse");
    assert_eq!(
        fs::metadata(played.program.path("sparse"))
            .expect("there")
            .len(),
        10 << 30
    );
}

#[test]
fn c4_binary_content_is_reported_and_never_changed() {
    let cases: [(&str, &[u8]); 5] = [
        ("binary", b"\x7fELF\x02\x01\x00\x00needle\x00"),
        ("utf16", b"\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00"),
        ("latin1", b"na\xefve needle\n"),
        ("broken", b"needle \xf0\x9f\x98 needle\n"),
        ("nul", b"a needle\0 here\n"),
    ];
    for (name, bytes) in cases {
        let program = Program::new();
        program.put(name, bytes);
        let Played { program, results } =
            play(program, &[read(name), edit(name, "needle", "thread")]);
        let after = fs::read(program.path(name)).expect("there");
        // Either it is refused, or every other byte is unchanged.
        let edited = match name {
            "utf16" => b"\xff\xfet\x00h\x00r\x00e\x00a\x00d\x00".to_vec(),
            _ => [&b"a thread"[..], b"\0 here\n"].concat(),
        };
        let refused = results[1].contains("tool_use_error");
        let expected = if refused { bytes.to_vec() } else { edited };
        assert_eq!(after, expected, "{name}: {results:?}");
    }
}

#[test]
fn c5_an_edit_changes_its_own_line_and_no_other_byte() {
    for (before, after) in [
        ("one\r\ntwo\r\nthree\r\n", "one\r\nTWO\r\nthree\r\n"),
        ("one\ntwo\r\nthree\n", "one\nTWO\r\nthree\n"),
        ("one\rtwo\rthree\r", "one\rTWO\rthree\r"),
        ("\u{feff}one\ntwo\n", "\u{feff}one\nTWO\n"),
        ("one\ntwo", "one\nTWO"),
        ("\n\n\ntwo\n\n\n", "\n\n\nTWO\n\n\n"),
    ] {
        let program = Program::new();
        program.put("file", before);
        let played = play(program, &[read("file"), edit("file", "two", "TWO")]);
        assert_eq!(played.program.read("file"), after, "{:?}", played.results);
    }
}

#[test]
fn c6_mode_links_and_owner_stay() {
    let program = Program::new();
    for (name, mode) in [("run.sh", 0o755), ("private", 0o600), ("odd", 0o4751)] {
        let path = program.put(name, "two\n");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }
    program.put("real/file", "two\n");
    symlink("real/file", program.path("link")).expect("a link");
    let owned = program.put("owned", "two\n");
    let is_root = rustix::process::getuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&owned, Some(61_999), Some(61_999)).expect("given away");
    }
    let names = ["run.sh", "private", "odd", "link", "owned"];
    let calls: Vec<_> = names
        .iter()
        .flat_map(|name| [read(name), edit(name, "two", "TWO")])
        .collect();
    let Played { program, results } = play(program, &calls);
    for name in names {
        assert_eq!(program.read(name), "TWO\n", "{name}: {results:?}");
    }
    let mode = |name: &str| fs::metadata(program.path(name)).expect("there").mode() & 0o7777;
    assert_eq!([mode("run.sh"), mode("private")], [0o755, 0o600]);
    assert_eq!(mode("odd") & 0o777, 0o751);
    assert!(program.path("link").is_symlink());
    assert_eq!(program.read("real/file"), "TWO\n");
    if is_root {
        let kept = fs::metadata(program.path("owned")).expect("there");
        assert_eq!((kept.uid(), kept.gid()), (61_999, 61_999));
    }
}

#[test]
fn c8_a_file_that_changed_since_it_was_read_is_not_written_over() {
    let program = Program::new();
    program.put("file", "one two\n");
    let bash = |command: &str| ("Bash", json!({ "command": command }));
    // Same length, same time, other content.
    let sneaky =
        "printf 'ten two\\n' >new; touch -r file new; cat new >file; touch -r new file; rm new";
    let calls = [
        read("file"),
        bash("echo 'theirs two' >file"),
        edit("file", "two", "TWO"),
        read("file"),
        bash("printf 'theirs two\\n' >x && mv x file; sleep 0"),
        read("file"),
        bash(sneaky),
        edit("file", "one", "ONE"),
        read("file"),
        edit("file", "two", "TWO"),
    ];
    let Played { program, results } = play(program, &calls);
    assert_refused(&results[2], "changed");
    assert_refused(&results[7], "");
    assert!(!program.read("file").contains("theirs TWO"));
    assert_eq!(program.read("file"), "ten TWO\n", "{results:?}");
}

#[test]
fn c12_impossible_edits_are_reported_precisely_and_write_nothing() {
    let program = Program::new();
    let before = format!("{}aaa\n  indented\n", "many\n".repeat(1_000));
    program.put("file", &before);
    let calls = [
        read("file"),
        edit("file", "", "x"),
        edit("file", "nowhere", "x"),
        edit("file", "many", "x"),
        edit("file", "aa", "x"),
        edit("file", "aaa", "aaa"),
        edit("file", "many\r\nmany\r\nnever", "x"),
        edit("nothing", "a", "b"),
        edit("", "a", "b"),
    ];
    let Played { program, results } = play(program, &calls);
    assert_eq!(program.read("file"), before, "{results:?}");
    for result in &results[1..] {
        assert_refused(result, "");
    }
    assert_refused(&results[3], "1000");
    assert_refused(&results[2], "not");
}

#[test]
fn c16_invalid_pictures_and_bombs_are_refused() {
    let program = Program::new();
    let mut bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bomb.extend(60_000_u32.to_be_bytes());
    bomb.extend(60_000_u32.to_be_bytes());
    bomb.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
    program.put("bomb.png", &bomb);
    program.put("cut.png", &bomb[..12]);
    program.put("words.png", "these are words\n");
    program.put("empty.jpg", "");
    program.put("page.gif", "<html></html>");
    let large = File::create(program.path("large.png")).expect("made");
    large.set_len(1 << 30).expect("grown");
    program.put(
        "broken.pdf",
        "%PDF-1.7\n1 0 obj\n<< /Length 99999999999 >>\nstream\n",
    );
    let names = [
        "bomb.png",
        "cut.png",
        "words.png",
        "empty.jpg",
        "page.gif",
        "large.png",
        "broken.pdf",
    ];
    let played = play(program, &names.map(read));
    for (name, result) in names.iter().zip(&played.results) {
        assert!(
            !result.is_empty() && result.len() < 2_000,
            "{name}: {result}"
        );
    }
    for at in [0, 1, 5] {
        assert_refused(&played.results[at], "");
    }
}

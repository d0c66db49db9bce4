//! C: writes that fail, unusual names and trees, and other programs that change them meanwhile.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::{Value, json};

use super::invariants::{Played, assert_invariants, play, play_with};
use crate::support::Program;
use crate::support::program::finish;
use crate::support::pty::script;

fn write(path: &str, content: &str) -> (&'static str, Value) {
    let input = json!({"file_path": path, "content": content});
    ("Write", input)
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

/// A limit on the length of files plays a full disk; the file system itself refuses the other writes.
#[test]
fn c7_a_write_that_fails_leaves_the_old_file_and_names_the_step() {
    let program = Program::new();
    program.put("file", "old\n");
    let content = "x".repeat(64 << 10);
    let too_long = "n".repeat(300);
    let calls = [
        read("file"),
        write("file", &content),
        write(&too_long, "x"),
        write("/proc/none", "x"),
        write("/dev/full", "x"),
        write("file/below", "x"),
    ];
    let toml = calls.iter().map(|(tool, input)| {
        let input = match input["content"].as_str() {
            Some(content) => format!(
                "file_path = {}, content = \"{content}\"",
                input["file_path"]
            ),
            None => format!("file_path = {}", input["file_path"]),
        };
        format!("[[turn]]\nstep = [{{ call = \"{tool}\", input = {{ {input} }} }}]\n")
    });
    let toml: String = toml.collect();
    let model = script(&program, &(toml + "[[turn]]\ntext = \"done\"\n"));
    let limited = "trap '' XFSZ; ulimit -S -f 32; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    let arguments = [
        "-p",
        "go",
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
        "--output-format",
        "stream-json",
    ];
    let plain = program.command(&arguments);
    command
        .args(["-c", limited])
        .arg(plain.get_program())
        .args(plain.get_args());
    command.env_clear().envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
        .current_dir(program.workspace())
        .stdin(std::process::Stdio::null());
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let output = finish(command.spawn().expect("it starts"));
    assert_invariants(&program, &output);
    assert_eq!(output.result()["result"], "done", "{output:?}");
    assert_eq!(program.read("file"), "old\n");
    for (at, (_, input)) in calls.iter().enumerate().skip(1) {
        let id = format!("script_{}_1", at + 1);
        let outcome = output
            .lines()
            .into_iter()
            .find(|line| line["tool_use_id"] == id.as_str() && line["state"] == "completed");
        let outcome = outcome.unwrap_or_else(|| panic!("{id}: {output:?}"));
        assert_eq!(outcome["is_error"], true, "{}", input["file_path"]);
    }
}

#[test]
fn c9_two_programs_that_edit_one_file_lose_nothing_that_they_report() {
    const EDITS: usize = 12;
    let program = Program::new();
    program.put("file", "END\n");
    let edits = |who: &str| {
        let turns = (0..EDITS).map(|number| {
            format!(
                "[[turn]]\nstep = [{{ call = \"Read\", input = {{ file_path = \"file\" }} }}]\n[[turn]]\nstep = [{{ call = \"Edit\", input = {{ file_path = \"file\", old_string = \"END\", new_string = \"{who}-{number}-\\nEND\" }} }}]\n"
            )
        });
        turns.collect::<String>() + "[[turn]]\ntext = \"done\"\n"
    };
    let runs: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|who| {
            let path = program.workspace().with_file_name(format!("{who}.toml"));
            fs::write(&path, edits(who)).expect("written");
            let model = format!("script:{}", path.display());
            let arguments = [
                "-p",
                "go",
                "--provider",
                &model,
                "--permission-mode",
                "acceptEdits",
                "--output-format",
                "stream-json",
            ];
            program.command(&arguments).spawn().expect("it starts")
        })
        .collect();
    let outputs: Vec<_> = runs.into_iter().map(finish).collect();
    let file = program.read("file");
    let mut done = 0;
    for (who, output) in ["a", "b", "c"].into_iter().zip(&outputs) {
        assert_invariants(&program, output);
        for number in 0..EDITS {
            let line = format!("{who}-{number}-");
            let times = file.matches(&line).count();
            let id = format!("script_{}_1", 2 * number + 2);
            let reported = output
                .lines()
                .iter()
                .any(|line| line["tool_use_id"] == id.as_str() && line["outcome"] == "succeeded");
            assert_eq!(times, usize::from(reported), "{line}: {file}");
            done += times;
        }
    }
    assert!(done >= EDITS, "hardly anything got through: {file}");
    assert!(file.ends_with("END\n"), "{file}");
}

#[test]
fn c10_a_directory_replaced_by_a_link_does_not_lead_outside() {
    let program = Program::new();
    let outside = program.workspace().with_file_name("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("file"), "secret\n").expect("written");
    fs::create_dir(program.path("inside")).expect("made");
    program.put("inside/file", "harmless\n");
    symlink(&outside, program.path("link")).expect("a link");
    let over = Arc::new(AtomicBool::new(false));
    let (root, stop) = (program.workspace(), over.clone());
    let (sender, swaps) = mpsc::channel();
    let swapper = std::thread::spawn(move || {
        let [inside, link, aside] = ["inside", "link", "aside"].map(|name| root.join(name));
        let mut count = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            for (from, to) in [
                (&inside, &aside),
                (&link, &inside),
                (&inside, &link),
                (&aside, &inside),
            ] {
                let _ = fs::rename(from, to);
            }
            count += 1;
        }
        sender.send(count).expect("awaited");
    });
    let mut calls = Vec::new();
    for number in 0..40 {
        calls.push(read("inside/file"));
        calls.push(write(&format!("inside/new-{number}"), "x"));
    }
    let Played { program, results } =
        play_with(program, &calls, &["--permission-mode", "acceptEdits"]);
    over.store(true, Ordering::Relaxed);
    swapper.join().expect("it ends");
    assert!(swaps.recv().expect("counted") > 10);
    assert!(!results.concat().contains("secret"));
    let names: Vec<_> = fs::read_dir(&outside)
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["file"], "{results:?}");
    drop(program);
}

#[test]
fn c11_unusual_names_work_and_are_shown_safely() {
    let program = Program::new();
    let long = "n".repeat(255);
    let deep = vec!["d"; 200].join("/") + "/file";
    let names = [
        "new\nline",
        "esc\u{1b}[2Jape",
        "-rf",
        " leading",
        "trailing ",
        "\u{202e}txt.exe",
        "日本語 👩‍👩‍👧",
        "$(touch made)",
        "`x`",
        "a;b&c|d",
        "*?[",
        "~",
        &long,
        &deep,
    ];
    let mut calls: Vec<_> = names.iter().map(|name| write(name, "content\n")).collect();
    calls.extend(names.iter().map(|name| read(name)));
    // A model can't name a file whose name is not text, but a search can find it.
    program.put("plain", "content\n");
    fs::write(
        program.workspace().join(OsStr::from_bytes(b"bad\xff\xfe")),
        "content\n",
    )
    .expect("written");
    calls.push(("Glob", json!({"pattern": "*"})));
    calls.push(("Grep", json!({"pattern": "content"})));
    calls.push(read(&"p/".repeat(2_100)));
    calls.push(("Bash", json!({"command": "ls -la"})));
    let Played { program, results } = play(program, &calls);
    for (at, name) in names.iter().enumerate() {
        let path = if *name == "~" {
            continue;
        } else {
            program.path(name)
        };
        assert_eq!(
            fs::read_to_string(&path).unwrap_or_default(),
            "content\n",
            "{name:?}: {}",
            results[at]
        );
        assert!(
            results[names.len() + at].contains("content"),
            "{name:?}: {}",
            results[names.len() + at]
        );
    }
    assert!(!program.path("made").exists());
    let [glob, grep, long, _] = &results[2 * names.len()..] else {
        panic!("four")
    };
    assert!(
        glob.contains("plain") && grep.contains("plain"),
        "{glob} {grep}"
    );
    for found in [glob, grep, long] {
        assert!(!found.contains('\u{1b}'), "{found}");
    }
    assert!(long.contains("tool_use_error"), "{long}");
}

#[test]
fn c13_searches_through_hostile_trees_end_and_say_what_they_left_out() {
    let program = Program::new();
    program.put("a/b/file.txt", "needle\n");
    for name in ["a/up", "a/b/loop"] {
        symlink("../..", program.path(name)).expect("a link");
    }
    symlink("/", program.path("root")).expect("a link");
    let locked = program.path("locked");
    fs::create_dir(&locked).expect("made");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    program.put("minified.js", "x".repeat(20 << 20) + "needle");
    program.put(
        "many.txt",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n".repeat(2_000),
    );
    let calls = [
        ("Glob", json!({"pattern": "**/*.txt"})),
        ("Grep", json!({"pattern": "needle"})),
        (
            "Grep",
            json!({"pattern": "(a+)+$", "output_mode": "content"}),
        ),
        (
            "Grep",
            json!({"pattern": "(((((a{1,100}){1,100}){1,100}){1,100}){1,100})"}),
        ),
        ("Grep", json!({"pattern": "("})),
        ("Glob", json!({"pattern": "[".repeat(5_000)})),
        ("Glob", json!({"pattern": "{a,b}".repeat(40)})),
        ("Glob", json!({"pattern": "**/*", "path": "nowhere"})),
    ];
    let Played { program, results } = play(program, &calls);
    assert!(results[0].contains("file.txt"), "{}", results[0]);
    assert!(results[1].contains("file.txt"), "{}", results[1]);
    for result in &results {
        assert!(
            !result.is_empty() && result.len() < 60_000,
            "{}",
            result.len()
        );
    }
    for at in [3, 4, 5, 7] {
        assert!(
            results[at].contains("tool_use_error"),
            "{at}: {}",
            results[at]
        );
    }
    fs::set_permissions(program.path("locked"), fs::Permissions::from_mode(0o700))
        .expect("unlocked");
}

#[test]
fn c14_missing_parent_directories_are_created_only_inside_the_workspace() {
    let program = Program::new();
    program.put("file", "a file\n");
    symlink("nowhere", program.path("dangling")).expect("a link");
    let outside = program.workspace().with_file_name("outside");
    symlink(&outside, program.path("away")).expect("a link");
    let outside_file = outside.join("deep/file").display().to_string();
    let calls = [
        write("new/deep/file", "x"),
        write("file/below", "x"),
        write("dangling/below", "x"),
        write("away/below", "x"),
        write(&outside_file, "x"),
        write("../outside/file", "x"),
    ];
    let Played { program, results } =
        play_with(program, &calls, &["--permission-mode", "acceptEdits"]);
    assert_eq!(program.read("new/deep/file"), "x");
    assert_eq!(program.read("file"), "a file\n");
    assert!(!outside.exists(), "{results:?}");
    for result in &results[1..] {
        assert!(result.contains("tool_use_error"), "{result}");
    }
}

//! F: sessions and settings that are killed, shared, old, broken or readable by others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::invariants::{assert_invariants, assert_nothing_left, assert_whole};
use crate::support::program::{files_below, finish};
use crate::support::server::wait_for_some;
use crate::support::wire::{bash, text};
use crate::support::{Output, Piece, Program, Reply, Server, Wire};

const WIRE: Wire = Wire::Anthropic;
const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

fn ask(program: &Program, server: &Server, arguments: &[&str]) -> Output {
    let output = program.ask(server, WIRE, &[arguments, &BYPASS].concat());
    assert_invariants(program, &output);
    output
}

fn log(program: &Program) -> PathBuf {
    let logs = files_below(&program.data().join("sessions"));
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs[0].clone()
}

/// The moments of a run: before the answer, in its text, while a command runs, after it.
#[test]
fn f1_whenever_it_is_killed_the_session_loads_and_nothing_runs_twice() {
    let call = bash("c1", "echo ran >>count; echo >started; sleep 600");
    let quick = bash("c1", "echo ran >>count; echo >started");
    let half = WIRE.stream(&[text("Half an answer")]);
    let half = half
        .split("event: content_block_stop")
        .next()
        .unwrap_or_default()
        .to_owned();
    let moments: [(&str, Vec<Reply>, bool); 4] = [
        ("before", vec![Reply::pieces(vec![Piece::Silence])], false),
        (
            "in the text",
            vec![Reply::pieces(vec![
                Piece::Bytes(half.into_bytes()),
                Piece::Silence,
            ])],
            false,
        ),
        ("in the command", vec![WIRE.reply(&[call])], true),
        (
            "after it",
            vec![WIRE.reply(&[quick]), Reply::pieces(vec![Piece::Silence])],
            true,
        ),
    ];
    for (about, replies, runs) in moments {
        let program = Program::new();
        let requests = replies.len();
        let mut replies = replies;
        replies.push(WIRE.reply(&[text("Gone on.")]));
        let server = Server::start(replies);
        let mut child = program.start(&server, WIRE, &[&["-p", "begin"], &BYPASS[..]].concat());
        server.wait_for(requests);
        if runs {
            wait_for_some(|| program.path("started").exists().then_some(()));
        }
        kill_process(Pid::from_child(&child), Signal::KILL).expect("it runs");
        child.wait().expect("it ends");
        let output = ask(&program, &server, &["-p", "go on", "-c"]);
        assert_eq!(output.stdout, "Gone on.\n", "{about}: {output:?}");
        let bodies = server.bodies();
        let sent = bodies.last().expect("a request").to_string();
        assert!(
            sent.contains("begin") && sent.contains("go on"),
            "{about}: {sent}"
        );
        if runs {
            assert_eq!(program.read("count"), "ran\n", "{about}");
            assert_eq!(
                WIRE.results(bodies.last().expect("one")).len(),
                1,
                "{about}"
            );
        }
    }
}

#[test]
fn f2_anything_in_place_of_a_session_is_reported() {
    let harms: [fn(&PathBuf); 4] = [
        |path| fs::create_dir(path).expect("made"),
        |path| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe"),
        |path| symlink("/dev/zero", path).expect("a link"),
        |path| fs::write(path, [0xff; 4096]).expect("written"),
    ];
    for harm in harms {
        let program = Program::new();
        let server = Server::start([WIRE.reply(&[text("One.")]), WIRE.reply(&[text("Two.")])]);
        ask(&program, &server, &["-p", "begin"]);
        let path = log(&program);
        let id = path
            .file_stem()
            .expect("an id")
            .to_string_lossy()
            .into_owned();
        fs::remove_file(&path).expect("removed");
        harm(&path);
        let output = program.ask(&server, WIRE, &["-p", "go on", "--resume", &id]);
        assert_invariants(&program, &output);
        assert!(output.stderr.contains("session"), "{output:?}");
    }
}

#[test]
fn f4_a_session_in_use_is_not_written_to_by_two() {
    let program = Program::new();
    let server = Server::start([
        WIRE.reply(&[bash(
            "c1",
            "echo >started; until [ -e go ]; do sleep 0.01; done",
        )]),
        WIRE.reply(&[text("First done.")]),
    ]);
    let busy = program.start(&server, WIRE, &[&["-p", "wait"], &BYPASS[..]].concat());
    wait_for_some(|| program.path("started").exists().then_some(()));
    let refused = program.ask(&server, WIRE, &["-p", "me too", "-c"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--fork"), "{refused:?}");
    program.put("go", "");
    let output = finish(busy);
    assert_invariants(&program, &output);
    assert_eq!(output.stdout, "First done.\n");
    assert!(!program.session_log().contains("me too"));
}

/// Settings that cannot be read may have denied anything.
#[test]
fn f5_broken_settings_let_nothing_run_and_are_not_changed() {
    let long = format!("{{\"model\": \"{}\"}}", "x".repeat(5 << 20));
    let texts: [&[u8]; 8] = [
        b"{\"permissions\": {\"deny\": [\"Bash\"",
        b"{\"permissions\": {\"deny\": {\"Bash\": true}}}",
        b"{\"permissions\": []}",
        b"[]",
        b"\xff\xfe{\x00}\x00",
        b"{\"permissions\": {\"deny\": [7]}}",
        b"\0\0\0\0",
        long.as_bytes(),
    ];
    for text in texts {
        let program = Program::new();
        let file = program.put(".agent-tui/settings.json", text);
        let about = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        let output = program.run(&[
            "-p",
            "run touch made",
            "--provider",
            "builtin",
            "--allow",
            "Bash",
        ]);
        assert_invariants(&program, &output);
        assert_eq!(output.code, Some(2), "{about}: {output:?}");
        assert!(
            output.stderr.contains("settings.json"),
            "{about}: {output:?}"
        );
        assert!(!program.path("made").exists(), "{about}");
        assert_eq!(fs::read(&file).expect("there"), text, "{about}");
    }
    // With a byte order mark it is still a settings file.
    let program = Program::new();
    program.put(
        ".agent-tui/settings.json",
        "\u{feff}{\"permissions\": {\"deny\": [\"Bash\"]}}",
    );
    let output = program.run(&[
        "-p",
        "run touch made",
        "--provider",
        "builtin",
        "--allow",
        "Bash",
    ]);
    assert_invariants(&program, &output);
    assert!(!program.path("made").exists(), "{output:?}");
}

#[test]
fn f5_things_in_the_place_of_settings_let_nothing_run() {
    let plants: [fn(&PathBuf); 4] = [
        |path| fs::create_dir(path).expect("made"),
        |path| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe"),
        |path| symlink(path, path).expect("a link"),
        |path| symlink("/dev/zero", path).expect("a link"),
    ];
    for plant in plants {
        for name in [
            ".agent-tui/settings.json",
            ".claude/settings.json",
            ".agent-tui/settings.local.json",
        ] {
            let program = Program::new();
            let path = program.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            plant(&path);
            let output = program.run(&[
                "-p",
                "run touch made",
                "--provider",
                "builtin",
                "--allow",
                "Bash",
            ]);
            assert_invariants(&program, &output);
            assert_eq!(output.code, Some(2), "{name}: {output:?}");
            assert!(output.stderr.contains(name), "{name}: {output:?}");
            assert!(!program.path("made").exists(), "{name}");
        }
    }
}

#[test]
fn f6_invalid_rules_are_named_and_an_invalid_deny_rule_is_an_error() {
    for rule in ["Bash(", "Bash(a", "(x)", "Read(/[)", "", "Bash()x", "\u{0}"] {
        for (list, runs) in [("deny", false), ("ask", false), ("allow", true)] {
            let program = Program::new();
            let settings = json!({"permissions": {list: [rule]}}).to_string();
            program.put(".agent-tui/settings.json", settings);
            let arguments = [
                "-p",
                "run touch made",
                "--provider",
                "builtin",
                "--allow",
                "Bash",
            ];
            let output = program.run(&arguments);
            assert_invariants(&program, &output);
            let about = format!("{list} {rule:?}: {output:?}");
            assert!(output.stderr.contains("settings.json"), "{about}");
            assert_eq!(program.path("made").exists(), runs, "{about}");
        }
    }
    let program = Program::new();
    let mut many: Vec<Value> = (0..10_000)
        .map(|number| json!(format!("Bash(never-{number}:*)")))
        .collect();
    many.push(json!(format!("Bash({})", "x".repeat(1 << 20))));
    many.push(json!("Bash(touch made)"));
    program.put(
        ".agent-tui/settings.json",
        json!({"permissions": {"deny": many}}).to_string(),
    );
    let output = program.run(&[
        "-p",
        "run touch made",
        "--provider",
        "builtin",
        "--allow",
        "Bash",
    ]);
    assert_invariants(&program, &output);
    assert!(!program.path("made").exists(), "{output:?}");
}

#[test]
fn f8_many_programs_at_once_do_not_disturb_each_other() {
    let program = Program::new();
    program.put("a.txt", "");
    let start = |number: usize| {
        let prompt = format!("find *.txt # {number}");
        program
            .command(&["-p", &prompt, "--provider", "builtin"])
            .spawn()
            .expect("it starts")
    };
    let runs: Vec<_> = (0..20).map(start).collect();
    let outputs: Vec<_> = runs.into_iter().map(finish).collect();
    for output in &outputs {
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
    assert_nothing_left(&program);
    assert_whole(&program);
    assert_eq!(files_below(&program.data().join("sessions")).len(), 20);
    let log = program.session_log();
    for number in 0..20 {
        let asked = format!("find *.txt # {number}\"");
        assert_eq!(log.matches(&asked).count(), 1, "{number}");
    }
}

#[test]
fn f10_a_log_of_another_version_with_missing_files_can_be_resumed() {
    let program = Program::new();
    program.put("file", "content\n");
    let read = crate::support::wire::call("c1", "Read", json!({"file_path": "file"}));
    let server = Server::start([
        WIRE.reply(&[read]),
        WIRE.reply(&[text("One.")]),
        WIRE.reply(&[text("Two.")]),
    ]);
    ask(&program, &server, &["-p", "begin"]);
    let path = log(&program);
    let mut text = fs::read_to_string(&path).expect("text");
    for (number, extra) in [
        "\"kind\":\"from_the_future\",\"x\":[1]",
        "\"kind\":\"call\",\"call\":7",
        "\"kind\":null",
    ]
    .iter()
    .enumerate()
    {
        let line = format!("{{\"seq\":{},\"at_ms\":1,{extra}}}\n", 500 + number);
        text.push_str(&line);
    }
    fs::write(&path, text).expect("written");
    fs::remove_file(program.path("file")).expect("removed");
    let output = ask(&program, &server, &["-p", "go on", "-c"]);
    assert_eq!(output.stdout, "Two.\n", "{output:?}");
    assert!(
        output.stderr.contains("skipped unreadable lines"),
        "{output:?}"
    );
    let sent = server.bodies()[2].to_string();
    assert!(sent.contains("One.") && sent.contains("content"), "{sent}");
}

#[test]
fn f11_readable_logs_become_private_and_files_of_others_are_not_used_silently() {
    let program = Program::new();
    fs::create_dir_all(program.data().join("sessions")).expect("made");
    for folder in [program.data(), program.data().join("sessions")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("opened");
    }
    let server = Server::start([WIRE.reply(&[text("One.")])]);
    ask(&program, &server, &["-p", "begin"]);
    let mode = |path: &PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&program.data()), 0o700);
    assert_eq!(mode(&log(&program)), 0o600);
}

#[test]
fn f12_no_key_is_saved_or_printed() {
    let program = Program::new();
    let body = r#"{"error": {"message": "wrong key: sk-secret-a"}}"#;
    let server = Server::start([
        WIRE.reply(&[bash("c1", "env; echo sk-secret-a; cat /proc/$PPID/environ")]),
        Reply::error(400, body),
    ]);
    let output = ask(
        &program,
        &server,
        &["-p", "go", "--debug", "--output-format", "stream-json"],
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let kept = files_below(&program.data());
    let kept = kept
        .iter()
        .map(|file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned());
    let everything = kept.collect::<String>() + &output.stdout + &output.stderr;
    // The command itself contains it, as the model wrote it.
    let own = "echo sk-secret-a";
    assert!(
        !everything.replace(own, "").contains("sk-secret-a"),
        "{everything}"
    );
    let logged = WIRE.results(&server.bodies()[1]);
    assert!(!logged[0].1.contains("sk-secret"), "{logged:?}");
}

//! Tools start while the model is still writing.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::program::finish;
use crate::support::wire::{bash, call, text};
use crate::support::{Piece, Program, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

fn bytes(text: String) -> Piece {
    Piece::Bytes(text.into_bytes())
}

#[test]
fn a_command_runs_before_the_stream_has_ended_in_every_wire_format() {
    for wire in Wire::ALL {
        let program = Program::new();
        let mark = program.path("mark");
        let parts = [bash("c1", "touch mark")];
        // The stream does not end before the command has run: a program that waits for the end of the stream never
        // finishes.
        let server = Server::start([
            Reply::pieces(vec![
                bytes(wire.head() + &wire.part(0, &parts[0])),
                Piece::until(move || mark.exists()),
                bytes(wire.tail(&parts)),
            ]),
            wire.reply(&[text("done")]),
        ]);
        let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
        assert_eq!(output.code, Some(0), "{wire:?}: {output:?}");
        assert_eq!(
            output.states("c1"),
            ["queued", "executing", "completed", "yielded"]
        );
    }
}

#[test]
fn a_turn_takes_as_long_as_the_longer_of_stream_and_tool() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let parts = [bash("c1", "sleep 0.7")];
    let server = Server::start([
        Reply::pieces(vec![
            bytes(wire.head() + &wire.part(0, &parts[0])),
            Piece::Pause(Duration::from_millis(700)),
            bytes(wire.tail(&parts)),
        ]),
        wire.reply(&[text("done")]),
    ]);
    let since = Instant::now();
    let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
    let took = since.elapsed();
    assert!(took < Duration::from_millis(1300), "{took:?} is the sum");
    let saved = output
        .lines()
        .into_iter()
        .find(|line| line["subtype"] == "overlap")
        .expect("the time saved");
    assert!(
        saved["saved_ms"].as_u64().expect("a number") >= 600,
        "{saved}"
    );
}

#[test]
fn without_streaming_execution_calls_wait_for_the_end() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let settings = program.put("settings.json", r#"{"streamingExecution": false}"#);
    let mark = program.path("mark");
    let parts = [bash("c1", "touch mark")];
    let server = Server::start([
        Reply::pieces(vec![
            bytes(wire.head() + &wire.part(0, &parts[0])),
            Piece::Pause(Duration::from_millis(300)),
            Piece::until(move || {
                assert!(!mark.exists(), "the call has started too early");
                true
            }),
            bytes(wire.tail(&parts)),
        ]),
        wire.reply(&[text("done")]),
    ]);
    let settings = settings.display().to_string();
    let output = program.ask(
        &server,
        wire,
        &[&["-p", "go", "--settings", &settings], &BYPASS[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(program.path("mark").exists());
}

#[test]
fn reading_calls_run_side_by_side_and_a_writing_one_alone() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    // Each read waits: in parallel they take as long as one.
    let server = Server::start([
        wire.reply(&[
            bash("r1", "sleep 0.4"),
            bash("r2", "sleep 0.4; ls"),
            bash("w", "touch made"),
            bash("r3", "ls"),
        ]),
        wire.reply(&[text("done")]),
    ]);
    let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
    let at = |call: &str, state: &str| {
        let line = output
            .lines()
            .into_iter()
            .find(|line| line["tool_use_id"] == call && line["state"] == state);
        line.unwrap_or_else(|| panic!("{call} {state}"))["at_ms"]
            .as_u64()
            .expect("a number")
    };
    assert!(
        at("r2", "executing") < at("r1", "completed"),
        "readers overlap"
    );
    assert!(
        at("w", "executing") >= at("r1", "completed").max(at("r2", "completed")),
        "the writer waits"
    );
    assert!(
        at("r3", "executing") >= at("w", "completed"),
        "nothing overtakes the writer"
    );
    assert!(wire.results(&server.bodies()[1])[3].1.contains("made"));
}

#[test]
fn an_interrupt_stops_a_command_skips_queued_calls_and_leaves_a_valid_history() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let started = program.path("started");
    let parts = [
        bash("c1", "touch started; sleep 100"),
        call("c2", "Write", json!({"file_path": "w", "content": "x"})),
    ];
    let server = Server::start([
        Reply::pieces(vec![
            bytes(wire.head() + &wire.part(0, &parts[0]) + &wire.part(1, &parts[1])),
            Piece::Silence,
        ]),
        wire.reply(&[text("after")]),
    ]);
    let child = program.start(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
    let since = Instant::now();
    while !started.exists() {
        assert!(since.elapsed() < crate::support::server::MAX_WAIT);
        std::thread::sleep(Duration::from_millis(2));
    }
    interrupt(&child);
    let output = finish(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    assert_eq!(output.result()["subtype"], "interrupted");
    assert!(!program.path("w").exists(), "a queued call does not start");
    assert!(no_process_with("sleep 100"), "the command's group is gone");

    let output = program.ask(
        &server,
        wire,
        &[&["-p", "go on", "--continue"], &BYPASS[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let results = wire.results(&server.bodies()[1]);
    assert!(
        results[0]
            .1
            .contains("Interrupted by the user: Bash(touch started; sleep 100)"),
        "{results:?}"
    );
    assert!(results[1].1.contains("was not started"), "{results:?}");
}

fn interrupt(child: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the program runs");
}

/// Checks the command lines of all processes.
fn no_process_with(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    !processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(words) && !line.contains("agent-tui")
        })
}

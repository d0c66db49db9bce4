//! The tools from outside, where the whole program matters: processes, memory, time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::program::finish;
use crate::support::server::MAX_WAIT;
use crate::support::wire::{Part, bash, call, text};
use crate::support::{Output, Piece, Program, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];
const WIRE: Wire = Wire::Anthropic;

/// Runs the calls in one response, and returns their results.
fn results_of(program: &Program, parts: &[Part]) -> (Vec<String>, Output) {
    let server = Server::start([WIRE.reply(parts), WIRE.reply(&[text("ok")])]);
    let output = program.ask(&server, WIRE, &[&["-p", "go"], &BYPASS[..]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let results = WIRE.results(&server.bodies()[1]);
    (results.into_iter().map(|(_, text)| text).collect(), output)
}

#[test]
fn the_working_directory_carries_over_and_variables_do_not() {
    let program = Program::new();
    std::fs::create_dir(program.path("sub")).expect("a directory");
    program.put("sub/inside.txt", "here\n");
    let (results, _) = results_of(
        &program,
        &[
            bash("c1", "cd sub && X=1"),
            bash("c2", "pwd; echo \"[$X]\""),
            call("c3", "Read", json!({"file_path": "inside.txt"})),
            bash("c4", "cd .. && exit 0"),
            bash("c5", "pwd"),
        ],
    );
    assert_eq!(results[1], format!("{}\n[]", program.path("sub").display()));
    assert!(results[2].contains("here"), "{}", results[2]);
    assert_eq!(results[4], program.workspace().display().to_string());
}

#[test]
fn a_background_child_does_not_keep_the_call_open_and_is_ended_with_the_program() {
    let program = Program::new();
    let since = Instant::now();
    let (results, _) = results_of(&program, &[bash("c1", "sleep 86.5 & echo started")]);
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(
        results[0].starts_with("started\n(The command left processes running"),
        "{}",
        results[0]
    );
    wait_until_gone("sleep 86.5");
}

#[test]
fn run_in_background_writes_to_a_file_and_ends_with_the_program() {
    let program = Program::new();
    let call = call(
        "c1",
        "Bash",
        json!({"command": "echo early; sleep 87.5", "run_in_background": true}),
    );
    let (results, _) = results_of(&program, &[call]);
    let path = results[0]
        .split("written to: ")
        .nth(1)
        .and_then(|rest| rest.split(". Look").next())
        .expect("a path");
    assert!(results[0].contains("ID: bash_1"), "{}", results[0]);
    assert!(std::path::Path::new(path).exists(), "{path}");
    wait_until_gone("sleep 87.5");
}

#[test]
fn an_interrupt_kills_grandchildren_even_those_that_ignore_it() {
    let program = Program::new();
    let ready = program.path("ready");
    let command =
        "(trap '' TERM; bash -c 'sleep 88.5' & wait) & (sleep 88.25 & wait) & touch ready; wait";
    let parts = [bash("c1", command)];
    let server = Server::start([Reply::pieces(vec![
        Piece::Bytes((WIRE.head() + &WIRE.part(0, &parts[0])).into_bytes()),
        Piece::Silence,
    ])]);
    let child = program.start(&server, WIRE, &[&["-p", "go"], &BYPASS[..]].concat());
    wait_for(|| ready.exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let output = finish(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    wait_until_gone("sleep 88.5");
    wait_until_gone("sleep 88.25");
}

#[test]
fn a_process_that_left_the_group_is_found_and_ended() {
    let program = Program::new();
    let slow = call(
        "c1",
        "Bash",
        json!({"command": "setsid sleep 85.5 & setsid -f sleep 85.25; sleep 85.75", "timeout": 300}),
    );
    let (results, _) = results_of(&program, &[slow]);
    assert!(
        results[0].contains("still running after 300 ms"),
        "{}",
        results[0]
    );
    for words in ["sleep 85.5", "sleep 85.25", "sleep 85.75"] {
        wait_until_gone(words);
    }
    let (results, _) = results_of(&program, &[bash("c1", "setsid -f sleep 84.5; echo left")]);
    assert!(
        results[0].starts_with("left\n(The command left processes running"),
        "{}",
        results[0]
    );
    wait_until_gone("sleep 84.5");
}

#[test]
fn endless_output_neither_fills_memory_nor_stalls() {
    for (command, tail) in [("yes", "y"), ("cat /dev/zero", "")] {
        let program = Program::new();
        let parts = [bash("c1", command)];
        let server = Server::start([WIRE.reply(&parts), WIRE.reply(&[text("ok")])]);
        let mut child = program.start(&server, WIRE, &[&["-p", "go"], &BYPASS[..]].concat());
        server.wait_for(2);
        let peak = peak_memory(child.id());
        let output = finish({
            // The result has arrived; only a short answer follows.
            child.stdin.take();
            child
        });
        assert_eq!(output.code, Some(0), "{command}");
        assert!(peak < 200 << 20, "{command}: {} MiB", peak >> 20);
        let result = &WIRE.results(&server.bodies()[1])[0].1;
        assert!(
            result.contains("printed more than 64 MiB"),
            "{command}: {}",
            &result[..200.min(result.len())]
        );
        assert!(result.len() < 40_000 && result.contains(tail));
    }
}

#[test]
fn a_command_past_its_timeout_is_stopped_and_says_so() {
    let program = Program::new();
    let slow = call(
        "c1",
        "Bash",
        json!({"command": "echo before; sleep 89.5", "timeout": 300}),
    );
    let (results, _) = results_of(&program, &[slow]);
    assert_eq!(
        results[0],
        "<tool_use_error>The command was stopped: it was still running after 300 ms\nbefore</tool_use_error>"
    );
    wait_until_gone("sleep 89.5");
}

#[test]
fn commands_have_no_terminal_and_no_input() {
    let program = Program::new();
    let (results, _) = results_of(
        &program,
        &[bash(
            "c1",
            "cat; test -t 0 || echo no-tty; (echo hi > /dev/tty) 2>/dev/null || echo no-dev-tty",
        )],
    );
    assert_eq!(results[0], "no-tty\nno-dev-tty");
}

#[test]
fn reading_a_gigabyte_costs_neither_time_nor_memory() {
    let program = Program::new();
    let file = std::fs::File::create(program.path("huge.log")).expect("a file");
    std::io::Write::write_all(&mut &file, "line\n".repeat(3000).as_bytes()).expect("written");
    file.set_len(1 << 30).expect("a sparse file");
    let parts = [call(
        "c1",
        "Read",
        json!({"file_path": "huge.log", "limit": 5}),
    )];
    let server = Server::start([
        WIRE.reply(&parts),
        Reply::pieces(vec![Piece::Bytes(WIRE.head().into_bytes()), Piece::Silence]),
    ]);
    let mut child = program.start(&server, WIRE, &[&["-p", "go"], &BYPASS[..]].concat());
    server.wait_for(2);
    let peak = peak_memory(child.id());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(peak < 100 << 20, "{} MiB", peak >> 20);
    assert!(WIRE.results(&server.bodies()[1])[0].1.contains("5\tline"));
}

fn wait_for(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < MAX_WAIT, "it has not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn wait_until_gone(words: &str) {
    wait_for(|| !is_running(words));
}

fn is_running(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.trim() == words
        })
}

/// The peak memory of a process, in bytes.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a line about it");
    let kilobytes: u64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect("a number");
    kilobytes << 10
}

#[test]
fn an_added_directory_is_part_of_the_workspace() {
    let program = Program::new();
    let added = program.config().with_file_name("added");
    std::fs::create_dir(&added).expect("a directory");
    let new = added.join("new/dir/file.txt");
    let parts = [call(
        "c1",
        "Write",
        json!({"file_path": new, "content": "x"}),
    )];
    let server = Server::start([WIRE.reply(&parts), WIRE.reply(&[text("ok")])]);
    let add = added.display().to_string();
    let arguments = [
        "-p",
        "go",
        "--permission-mode",
        "acceptEdits",
        "--add-dir",
        &add,
    ];
    let output = program.ask(&server, WIRE, &arguments);
    assert!(
        new.exists(),
        "{output:?} {:?}",
        WIRE.results(&server.bodies()[1])
    );
}

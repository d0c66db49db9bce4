//! What holds after every fault: no panic, the terminal restored, no process and no temporary file left, nothing lost
//! or duplicated in the session, and a message about it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Pid;
use serde_json::Value;

use crate::support::program::files_below;
use crate::support::pty::End;
use crate::support::server::MAX_WAIT;
use crate::support::wire::{Part, call, text};
use crate::support::{Output, Program, Pty, Server, Wire};

/// Asserts it for a run without a screen that ended by itself.
pub fn assert_invariants(program: &Program, output: &Output) {
    assert!(output.code.is_some(), "a signal has ended it: {output:?}");
    for text in [&output.stdout, &output.stderr] {
        for words in ["panicked", "error: internal error", "RUST_BACKTRACE"] {
            assert!(!text.contains(words), "{words}: {output:?}");
        }
    }
    assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
    let printed = output.stdout.contains("\"is_error\":true")
        || ["error: ", "interrupted"]
            .iter()
            .any(|words| output.stderr.contains(words));
    assert!(output.code == Some(0) || printed, "no word: {output:?}");
    assert_nothing_left(program);
    assert_whole(program);
}

/// Asserts it for a screen, however it ended.
pub fn assert_screen_invariants(tui: &Pty, end: &End) {
    let shown = end.screen.contents();
    let written = String::from_utf8_lossy(&end.bytes);
    assert!(!written.contains("panicked at"), "{shown}");
    assert!(end.is_released, "nobody has the terminal open any more");
    end.assert_terminal_restored();
    assert_nothing_left(tui.program());
    assert_whole(tui.program());
}

/// Ends a screen with an empty draft normally, and asserts it.
pub fn leave(tui: &mut Pty) -> End {
    // While a turn runs, the key applies to the turn.
    let end = tui.wait_gone("Esc interrupt").send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(tui, &end);
    end
}

/// The records of every session are numbered without gaps, and no call has two results.
pub fn assert_whole(program: &Program) {
    let logs = files_below(&program.data().join("sessions"));
    // A fault may have put something else there that never ends.
    for file in logs.iter().filter(|file| is_plain(file)) {
        let log = std::fs::read_to_string(file).unwrap_or_default();
        let mut last = None;
        let mut calls: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for line in log.lines() {
            // The program also skips what a fault has put there.
            let Ok(record) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let seq = record["seq"].as_u64();
            assert!(seq > last, "after {last:?}: {line}");
            last = seq;
            let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match record["kind"].as_str() {
                Some("call") => calls.entry(id(&record["call"]["id"])).or_default()[0] += 1,
                Some("result") => {
                    let id = id(&record["result"]["tool_use_id"]);
                    let [made, answered] = calls.entry(id).or_default();
                    *answered += 1;
                    // A call whose input cannot be read gets a result without being made.
                    assert!(*answered <= (*made).max(1), "a second result: {line}");
                }
                _ => {}
            }
        }
    }
}

fn is_plain(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|file| file.is_file())
}

/// No process that was started in the program's home, and no temporary file in its workspace.
pub fn assert_nothing_left(program: &Program) {
    // A killed process disappears a moment later.
    let since = Instant::now();
    loop {
        let left = processes_of(program);
        if left.is_empty() {
            break;
        }
        assert!(since.elapsed() < MAX_WAIT, "left: {left:?}");
        std::thread::yield_now();
    }
    let is_draft = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(".agent-tui-")
    };
    let entries = std::fs::read_dir(program.workspace()).into_iter().flatten();
    let drafts: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_draft)
        .collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

/// The processes started in the program's home, found by their environment.
fn processes_of(program: &Program) -> Vec<String> {
    let home = program.workspace().parent().expect("a home").to_owned();
    let home = format!("HOME={}", home.display());
    let numbers = processes().into_iter().filter(|process| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == home.as_bytes())
    });
    let names = numbers.map(|process| std::fs::read_to_string(process.join("cmdline")));
    names.map(Result::unwrap_or_default).collect()
}

pub fn processes() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").expect("a /proc").flatten();
    let is_process = |path: &Path| path.join("environ").exists();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| is_process(path)).collect()
}

/// The peak memory of a process, in kB.
pub fn peak_memory(pid: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let status = status.expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.split_whitespace().next());
    peak.and_then(|peak| peak.parse().ok()).expect("a number")
}

/// A run whose model made some calls, one per answer.
pub struct Played {
    pub program: Program,
    /// The results that the model got.
    pub results: Vec<String>,
}

/// Plays calls on a program that never asks, and asserts that everything held.
pub fn play(program: Program, calls: &[(&'static str, Value)]) -> Played {
    play_with(program, calls, &["--permission-mode", "bypassPermissions"])
}

pub fn play_with(program: Program, calls: &[(&'static str, Value)], more: &[&str]) -> Played {
    let wire = Wire::Anthropic;
    let parts = calls.iter().enumerate();
    let parts: Vec<Part> = parts
        .map(|(at, (name, input))| call(&format!("c{at}"), name, input.clone()))
        .collect();
    let mut replies: Vec<_> = parts
        .iter()
        .map(|part| wire.reply(std::slice::from_ref(part)))
        .collect();
    replies.push(wire.reply(&[text("done")]));
    let server = Server::start(replies);
    let output = program.ask(&server, wire, &[&["-p", "go"], more].concat());
    assert_invariants(&program, &output);
    let bodies = server.bodies();
    let last = bodies.last().unwrap_or_else(|| panic!("{output:?}"));
    let results = wire.results(last).into_iter().map(|(_, text)| text);
    let results: Vec<String> = results.collect();
    assert_eq!(results.len(), calls.len(), "{output:?}: {results:?}");
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "done\n"),
        "{output:?}"
    );
    Played { program, results }
}

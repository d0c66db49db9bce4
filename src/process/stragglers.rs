//! Processes that left their command's process group (`setsid`, double forks), found by a mark in their environment.
//!
//! Only where there is a `/proc` to look into; elsewhere there are none to be found.

use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that carries the mark.
pub const VARIABLE: &str = "AGENT_TUI_COMMAND";

/// A mark that no other command has. It begins with the program's own.
pub fn new_mark() -> String {
    format!("{}{}", mark_of_program(), random(20))
}

/// What all marks of this run of the program begin with.
pub fn mark_of_program() -> String {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("{}-", random(12))).clone()
}

fn random(length: usize) -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(length)
        .collect()
}

/// The processes that carry `mark`, whatever group they are in now.
pub fn with_mark(mark: &str) -> Vec<Pid> {
    let wanted = format!("{VARIABLE}={mark}");
    carrying(|variable| variable == wanted.as_bytes())
}

fn carrying(wanted: impl Fn(&[u8]) -> bool) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let number: i32 = process.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(process.path().join("environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(&wanted);
            Pid::from_raw(number).filter(|_| marked)
        })
        .collect()
}

pub fn kill(mark: &str) {
    kill_these(with_mark(mark));
}

/// Kills those of a command that may just have been starting one: while a process starts a program its mark cannot be
/// read, so one look is not enough.
pub fn kill_busy(mark: &str) {
    kill(mark);
    kill(mark);
}

/// Kills everything whose mark begins like this.
pub fn kill_all(beginning: &str) {
    let wanted = format!("{VARIABLE}={beginning}");
    for _ in 0..2 {
        kill_these(carrying(|variable| variable.starts_with(wanted.as_bytes())));
    }
}

fn kill_these(processes: Vec<Pid>) {
    for process in processes {
        // One that has ended meanwhile needs no signal.
        let _ = kill_process(process, Signal::KILL);
    }
}

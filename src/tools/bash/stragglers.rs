//! Processes that left their command's process group (`setsid`, double forks), found by a mark in their environment.
//!
//! Only where there is a `/proc` to look into; elsewhere there are none to be found.

use rustix::process::{Pid, Signal, kill_process};

/// The variable that carries the mark.
pub const VARIABLE: &str = "AGENT_TUI_COMMAND";

/// A mark that no other command has.
pub fn new_mark() -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(20)
        .collect()
}

/// The processes that carry `mark`, whatever group they are in now.
pub fn with_mark(mark: &str) -> Vec<Pid> {
    let wanted = format!("{VARIABLE}={mark}");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let number: i32 = process.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(process.path().join("environ")).ok()?;
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes());
            Pid::from_raw(number).filter(|_| marked)
        })
        .collect()
}

pub fn kill(mark: &str) {
    for process in with_mark(mark) {
        // One that has ended meanwhile needs no signal.
        let _ = kill_process(process, Signal::KILL);
    }
}

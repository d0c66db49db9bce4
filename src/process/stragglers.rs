//! Finds processes that left their command's process group (`setsid`, double forks) by a mark in their environment.
//!
//! This needs `/proc`; without it none are found.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The parent of the kernel's own threads.
const KERNEL: &str = "2";
const MOST_LOOKS: u32 = 4;
/// About as long as a program takes to start.
const PAUSE: Duration = Duration::from_millis(3);

/// The variable that carries the mark.
pub const VARIABLE: &str = "AGENT_TUI_COMMAND";

/// A unique mark for a command. It begins with the mark of the program.
pub fn new_mark() -> String {
    format!("{}{}", mark_of_program(), random(20))
}

/// The common beginning of all marks of this run of the program.
pub fn mark_of_program() -> String {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("{}-", random(12))).clone()
}

fn random(length: usize) -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(length)
        .collect()
}

/// The processes with `mark`, whatever group they are in.
pub fn with_mark(mark: &str) -> Vec<Pid> {
    let wanted = format!("{VARIABLE}={mark}");
    scan(|variable| variable == wanted.as_bytes()).found
}

pub fn kill(mark: &str) {
    kill_these(&with_mark(mark));
}

/// Kills the processes of a command that may be starting another one.
pub fn kill_busy(mark: &str) {
    let wanted = format!("{VARIABLE}={mark}");
    kill_until_clear(|variable| variable == wanted.as_bytes());
}

/// Kills all processes whose mark begins like this.
pub fn kill_all(beginning: &str) {
    let wanted = format!("{VARIABLE}={beginning}");
    kill_until_clear(|variable| variable.starts_with(wanted.as_bytes()));
}

struct Seen {
    found: Vec<Pid>,
    /// There is a process with an empty environment: while a process starts a program, its environment cannot be
    /// read.
    unclear: bool,
}

fn scan(wanted: impl Fn(&[u8]) -> bool) -> Seen {
    let mut seen = Seen {
        found: Vec::new(),
        unclear: false,
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.and_then(Pid::from_raw) else {
            continue;
        };
        let Ok(environment) = std::fs::read(process.path().join("environ")) else {
            continue;
        };
        if environment.split(|byte| *byte == 0).any(&wanted) {
            seen.found.push(number);
        }
        seen.unclear |= environment.is_empty() && is_program(&process.path());
    }
    seen
}

/// Neither a kernel thread nor an ended process, because these have no environment.
fn is_program(process: &Path) -> bool {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    // The name before it may contain anything.
    let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
    let mut fields = rest.split(' ');
    let (state, parent) = (fields.next(), fields.next());
    !matches!(state, None | Some("Z" | "X")) && parent != Some(KERNEL)
}

/// Repeats a few times while a process may have been missed.
fn kill_until_clear(wanted: impl Fn(&[u8]) -> bool) {
    for _ in 0..MOST_LOOKS {
        let Seen { found, unclear } = scan(&wanted);
        kill_these(&found);
        if found.is_empty() && !unclear {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

fn kill_these(processes: &[Pid]) {
    for process in processes {
        // A process that has ended needs no signal.
        let _ = kill_process(*process, Signal::KILL);
    }
}

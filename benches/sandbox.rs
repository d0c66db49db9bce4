//! What the kernel sandbox costs per command, against its limit: `cargo bench --bench sandbox`. Exits with 1 if it is
//! missed. Without a sandbox there is nothing to measure, and the bench says so.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_tui::process::sandbox::{BaseAccess, ExtraAccess, Policy, SandboxMode, start, state};

const ROUNDS: usize = 400;
/// How much longer a sandboxed command may take.
const BAR: Duration = Duration::from_micros(300);

fn main() -> ExitCode {
    println!("held by: {}", state());
    if !state().sandboxes() {
        return ExitCode::SUCCESS;
    }
    let workspace = std::env::current_dir().expect("there is one");
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let base = Arc::new(BaseAccess::new(
        vec![workspace],
        &path,
        &home.unwrap_or_default(),
    ));
    let (mut free, mut held) = (Vec::new(), Vec::new());
    // Alternating, so that both see the same machine.
    for _ in 0..ROUNDS {
        free.push(timed(run));
        held.push(timed(|| {
            let extra = ExtraAccess {
                temporary: None,
                reads: &[],
                processes: false,
            };
            let policy = Policy::new(base.clone(), SandboxMode::Reading, &extra);
            let started = start(&policy, || {
                run();
                Ok(())
            });
            started.expect("it starts");
        }));
    }
    let (free, held) = (median(free), median(held));
    let cost = held.saturating_sub(free);
    println!(
        "`bash -c true`: free {free:.1?}, held {held:.1?}: {cost:.1?} more, at most {BAR:.1?}"
    );
    if cost <= BAR {
        ExitCode::SUCCESS
    } else {
        println!("missed");
        ExitCode::FAILURE
    }
}

fn run() {
    let status = Command::new("bash").args(["-c", "true"]).status();
    assert!(status.expect("bash is there").success());
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

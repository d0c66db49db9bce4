//! No more processes or threads are available, as with `ulimit -u`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Pid;

use super::invariants::{assert_screen_invariants, leave};
use super::terminal::guard_of;
use crate::support::pty::script;
use crate::support::server::wait_for_some;
use crate::support::{Program, Pty};

const PROMPT: &str = "❯";
const BINARY: &str = env!("CARGO_BIN_EXE_agent-tui");

/// The limit applies per user, and root has none: then the program runs as a user without other processes.
fn as_limited_user(program: &Program) -> Vec<String> {
    if !rustix::process::getuid().is_root() {
        return Vec::new();
    }
    let home = program.workspace().parent().expect("a home").to_owned();
    open_to_all(&home);
    open_to_all(&program.workspace());
    let id = 61_000 + std::process::id() % 1_000 * 4 + next();
    let words = ["setpriv", "--clear-groups"].map(str::to_owned);
    let ids = [format!("--reuid={id}"), format!("--regid={id}")];
    words.into_iter().chain(ids).collect()
}

fn next() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn open_to_all(folder: &Path) {
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder, all).expect("it is ours");
}

fn spawn(program: Program, who: &[String], rest: &[&str]) -> Pty {
    let mut command = who.to_vec();
    command.extend(rest.iter().map(|word| (*word).to_owned()));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    Pty::run(program, &command, &[], 120, 30)
}

/// From now on the program can't start any more of them. Only the same user may set this.
fn take_threads_away(who: &[String], program: Pid) {
    let pid = format!("--pid={}", program.as_raw_nonzero());
    let words = ["prlimit".to_owned(), pid, "--nproc=1:1".to_owned()];
    let mut words = who.iter().chain(&words);
    let mut command = std::process::Command::new(words.next().expect("a program"));
    let done = command.args(words).status().expect("it runs");
    assert!(done.success());
}

#[test]
fn b7_without_threads_it_says_what_could_not_start_and_how_to_continue() {
    for arguments in ["--provider builtin", "-p hi --provider builtin"] {
        let shell = format!("ulimit -u 1; exec \"$0\" {arguments}");
        let program = Program::new();
        let who = as_limited_user(&program);
        let mut tui = spawn(program, &who, &["bash", "-c", &shell, BINARY]);
        let end = tui.exit();
        let output = end.screen.contents().replace('\n', "");
        assert_eq!(end.code, 2, "{output}");
        assert!(output.contains("can't start threads"), "{output}");
        assert!(output.contains("`ulimit -u`"), "{output}");
        assert!(!output.contains("internal error"), "{output}");
        assert_screen_invariants(&tui, &end);
    }
}

#[test]
fn b7_calls_without_a_process_tell_the_model_why_and_the_program_continues() {
    let program = Program::new();
    program.put("file.txt", "needle\n");
    let calls = [
        r#"{ call = "Bash", input = { command = "true" } }"#,
        r#"{ call = "Grep", input = { pattern = "needle" } }"#,
        r#"{ call = "Glob", input = { pattern = "*.txt" } }"#,
        r#"{ call = "Read", input = { file_path = "file.txt" } }"#,
    ];
    let turns = calls.map(|call| format!("[[turn]]\nstep = [{call}]\n"));
    let turns = turns.concat();
    let model = script(
        &program,
        &format!("{turns}[[turn]]\ntext = \"All done.\"\n"),
    );
    let arguments = [
        BINARY,
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
    ];
    let who = as_limited_user(&program);
    let mut tui = spawn(program, &who, &arguments);
    tui.wait_for(PROMPT).wait_for("script");
    wait_for_some(|| guard_of(tui.pid()));
    take_threads_away(&who, tui.pid());
    tui.send("go\r").wait_for("All done.");
    leave(&mut tui);
    let log = tui.program().session_log();
    let count = log.matches("no more").count();
    assert!(count >= 2, "{log}");
    for word in ["panicked", "internal error", "WouldBlock", "os error"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
    assert!(log.contains("needle"), "reading still works: {log}");
}

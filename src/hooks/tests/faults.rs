//! Faults of hooks, with real processes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::hooks::process::{Ended, Place, Ran, run};
use crate::process::{Programs, Variables, child};
use crate::tools::files::scratch::Scratch;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(150);

fn exited(code: i32) -> Ended {
    Ended::Process(child::Ended::Exited(code))
}

async fn ran(command: &str, limit: Duration, input: &[u8]) -> Ran {
    let scratch = Scratch::new();
    run_in(&scratch.root, command, limit, input).await
}

async fn run_in(project: &Path, command: &str, limit: Duration, input: &[u8]) -> Ran {
    let place = Place {
        programs: &Programs::find([project]),
        project,
        variables: &Variables::default(),
    };
    run(command, limit, place, input, &CancellationToken::new()).await
}

fn place(scratch: &Scratch) -> Place<'_> {
    Place {
        programs: &scratch.cx.env.programs,
        project: &scratch.root,
        variables: &scratch.cx.env.variables,
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Waits until the process whose id a hook wrote to a file has ended: a signal takes a moment.
async fn gone(pid_file: &Path) {
    let pid = std::fs::read_to_string(pid_file).expect("written by the hook");
    let lives = || {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // A zombie counts as ended.
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    let since = Instant::now();
    while lives() {
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "it is still running"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_hook_reads_its_input_and_its_stdout_and_stderr_are_kept_apart() {
    let ran = ran("cat; echo oh >&2; exit 3", LONG, b"{\"a\":1}\n").await;
    assert_eq!(ran.ended, exited(3));
    assert_eq!(
        (text(&ran.stdout), text(&ran.stderr)),
        ("{\"a\":1}\n", "oh\n")
    );
}

#[tokio::test]
async fn a_hook_runs_in_the_project_directory_without_a_terminal() {
    let scratch = Scratch::new();
    let command = "pwd -P; echo $CLAUDE_PROJECT_DIR; echo $AGENT_TUI_PROJECT_DIR; (: < /dev/tty) 2>/dev/null || echo none; \
        [ $(ps -o sid= -p $$) = $$ ] && echo own session";
    let ran = run_in(&scratch.root, command, LONG, b"").await;
    let root = scratch.root.display();
    assert_eq!(
        text(&ran.stdout),
        format!("{root}\n{root}\n{root}\nnone\nown session\n")
    );
}

#[tokio::test]
async fn a_hook_that_never_ends_is_cut_off_with_its_group() {
    let scratch = Scratch::new();
    let command = "sleep 321 & echo $! > child; wait";
    let begun = Instant::now();
    let ran = run_in(&scratch.root, command, SHORT, b"").await;
    assert_eq!(ran.ended, Ended::TimedOut(SHORT));
    assert!(begun.elapsed() < Duration::from_secs(10));
    gone(&scratch.root.join("child")).await;
}

#[tokio::test]
async fn a_hook_that_ignores_term_is_killed() {
    let scratch = Scratch::new();
    let command = "trap '' TERM; echo $$ > self; while :; do sleep 1; done";
    let ran = run_in(&scratch.root, command, SHORT, b"").await;
    assert_eq!(ran.ended, Ended::TimedOut(SHORT));
    gone(&scratch.root.join("self")).await;
}

#[tokio::test]
async fn a_hook_that_prints_too_much_is_killed_and_its_output_is_bounded() {
    for to in ["", " >&2"] {
        let ran = ran(&format!("yes 0123456789{to}"), LONG, b"").await;
        assert_eq!(ran.ended, Ended::Flooded);
        assert!(ran.stdout.len() <= 4 << 20 && ran.stderr.len() <= 256 << 10);
    }
}

#[tokio::test]
async fn exit_codes_signals_and_missing_scripts_are_told_apart() {
    let scratch = Scratch::new();
    let script = |name: &str, text: &str, mode: u32| {
        let path = scratch.root.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("mode");
    };
    script("not-executable.sh", "#!/bin/sh\n", 0o644);
    script("no-shebang.sh", "echo ran\n", 0o755);
    let cases = [
        ("exit 0", exited(0), ""),
        ("exit 77", exited(77), ""),
        ("kill -9 $$", Ended::Process(child::Ended::Signalled(9)), ""),
        ("./missing.sh", exited(127), "No such file"),
        ("./not-executable.sh", exited(126), "ermission denied"),
        ("./no-shebang.sh", exited(0), ""),
    ];
    for (command, ended, stderr) in cases {
        let ran = run_in(&scratch.root, command, LONG, b"").await;
        assert_eq!(ran.ended, ended, "{command}");
        assert!(
            text(&ran.stderr).contains(stderr),
            "{command}: {}",
            text(&ran.stderr)
        );
    }
}

#[tokio::test]
async fn a_hook_that_cannot_be_started_says_why() {
    let ran = run_in(Path::new("/nonexistent/place"), "true", LONG, b"").await;
    let Ended::NotStarted(why) = ran.ended else {
        panic!("{ran:?}");
    };
    assert!(why.contains("no longer exists"), "{why}");
}

#[tokio::test]
async fn a_hook_that_never_reads_its_input_does_not_block() {
    let large = vec![b'x'; 10 << 20];
    let ran = ran("echo done", LONG, &large).await;
    assert_eq!((ran.ended, text(&ran.stdout)), (exited(0), "done\n"));
}

#[tokio::test]
async fn a_hook_that_closes_its_input_at_once_does_not_fail() {
    let large = vec![b'x'; 10 << 20];
    let ran = ran("exec <&-; echo done", LONG, &large).await;
    assert_eq!((ran.ended, text(&ran.stdout)), (exited(0), "done\n"));
}

#[tokio::test]
async fn children_left_in_the_background_are_killed_and_not_waited_for() {
    let scratch = Scratch::new();
    let command =
        "sleep 321 & echo $! > one; setsid sleep 321 >/dev/null 2>&1 & echo $! > two; echo done";
    let begun = Instant::now();
    let ran = run_in(&scratch.root, command, LONG, b"").await;
    assert_eq!((ran.ended, text(&ran.stdout)), (exited(0), "done\n"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    gone(&scratch.root.join("one")).await;
    gone(&scratch.root.join("two")).await;
}

#[tokio::test]
async fn a_hook_is_cancelled_with_its_call() {
    let scratch = Scratch::new();
    let cancel = CancellationToken::new();
    let ready = scratch.root.join("ready");
    let command = "echo $$ > ready.new; mv ready.new ready; sleep 321";
    let running = run(command, LONG, place(&scratch), b"", &cancel);
    let stopping = async {
        while !ready.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(running, stopping);
    assert_eq!(ran.ended, Ended::Cancelled);
    gone(&ready).await;
}

#[tokio::test]
async fn a_hook_that_is_already_cancelled_is_not_started() {
    let scratch = Scratch::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ran = run("touch started", LONG, place(&scratch), b"", &cancel).await;
    assert_eq!(ran.ended, Ended::Cancelled);
    assert!(!scratch.root.join("started").exists());
}

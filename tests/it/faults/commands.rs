//! B: commands that misbehave.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::invariants::{assert_invariants, leave, peak_memory, play};
use crate::support::program::finish;
use crate::support::pty::script;
use crate::support::server::wait_for_some;
use crate::support::wire::{bash, text};
use crate::support::{Piece, Program, Pty, Reply, Server, Wire};

fn run(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

/// Runs commands, and returns the program's home and the results that the model got.
fn commands(commands: &[&str]) -> (Program, Vec<String>) {
    let calls: Vec<_> = commands.iter().map(|command| run(command)).collect();
    let played = play(Program::new(), &calls);
    (played.program, played.results)
}

#[test]
fn b1_a_flood_of_output_is_cut_and_fills_no_memory() {
    for flood in ["yes", "cat /dev/urandom", "tr '\\0' x </dev/zero"] {
        let wire = Wire::Anthropic;
        let program = Program::new();
        let pid = std::sync::Arc::new(std::sync::OnceLock::new());
        let known = pid.clone();
        // While it waits for the second answer, its memory can be measured.
        let small = Piece::until(move || {
            let memory = known.get().map(|pid| peak_memory(*pid));
            memory.is_some_and(|memory| memory < 200_000)
        });
        let done = Piece::Bytes(wire.stream(&[text("done")]).into_bytes());
        let server = Server::start([
            wire.reply(&[bash("c1", flood)]),
            Reply::pieces(vec![small, done]),
        ]);
        let arguments = ["-p", "go", "--permission-mode", "bypassPermissions"];
        let child = program.start(&server, wire, &arguments);
        let number = i32::try_from(child.id()).ok();
        let number = number.and_then(rustix::process::Pid::from_raw);
        pid.set(number.expect("a number")).expect("set once");
        let output = finish(child);
        assert_invariants(&program, &output);
        assert_eq!(output.stdout, "done\n", "{flood}: {output:?}");
        let result = &wire.results(&server.bodies()[1])[0].1;
        assert!(result.len() < 100_000, "{flood}: {}", result.len());
        let words = "stopped";
        assert!(
            result.contains(words),
            "{flood}: {}",
            &result[result.len() - 500..]
        );
    }
}

#[test]
fn b2_command_output_controls_neither_the_terminal_nor_the_model() {
    let escapes = "\\033]52;c;ZXZpbA==\\007\\033]0;evil\\007\\033]8;;http://evil\\007x\\033]8;;\\007\\033[2J\\033P+q544e\\033\\\\\\233H\\u202e";
    let program = Program::new();
    let print = format!("for n in $(seq 3000); do printf \"{escapes}line $n\\n\"; done; echo over");
    program.put("print.sh", print);
    let model = script(
        &program,
        "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"bash print.sh\" } }]\n[[turn]]\ntext = \"It is printed.\"\n",
    );
    let arguments = [
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
        "go",
    ];
    let mut tui = Pty::spawn_in(program, &arguments, 100, 30);
    tui.wait_for("It is printed.").wait_gone("interrupt");
    let end = leave(&mut tui);
    let written = String::from_utf8_lossy(&end.bytes);
    for evil in ["]52;", "evil\x07", "]8;;http", "\x1bP", "\u{202e}"] {
        assert!(!written.contains(evil), "{evil:?}");
    }
    let log = tui.program().session_log();
    let result = log
        .lines()
        .find(|line| line.contains("\"kind\":\"result\""));
    let result = result.expect("a result");
    assert!(
        !result.contains("\\u001b") && result.len() < 100_000,
        "{}",
        result.len()
    );
}

#[test]
fn b3_an_interrupt_ends_processes_that_ignore_signals() {
    for stubborn in [
        "trap '' TERM INT HUP; sleep 600 & sleep 600",
        "setsid sleep 600 & sleep 600",
        "(setsid bash -c 'trap \"\" TERM HUP; sleep 600; sleep 600' &) ; sleep 600",
        "nohup sleep 600 >/dev/null 2>&1 & exec sleep 600",
    ] {
        let program = Program::new();
        program.put("stubborn.sh", format!("echo >started\n{stubborn}\n"));
        let model = script(
            &program,
            "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"bash stubborn.sh\" } }]\n[[turn]]\ntext = \"I go on.\"\n",
        );
        let arguments = [
            "--provider",
            &model,
            "--permission-mode",
            "bypassPermissions",
            "go",
        ];
        let mut tui = Pty::spawn_in(program, &arguments, 100, 30);
        wait_for_some(|| tui.program().path("started").exists().then_some(()));
        tui.send("\x1b")
            .wait_for("interrupted")
            .wait_gone("Esc interrupt");
        tui.send("and now?\r").wait_for("I go on.");
        leave(&mut tui);
    }
}

#[test]
fn b4_a_child_that_keeps_the_output_open_does_not_hold_up_the_result() {
    let (_, results) = commands(&["sleep 600 & echo said", "echo next"]);
    assert!(results[0].contains("said"), "{results:?}");
    assert!(results[0].contains("in the background"), "{results:?}");
    assert!(results[1].contains("next"), "{results:?}");
}

#[test]
fn b5_time_limits_that_make_no_sense_are_reported_or_bounded() {
    let timed = |timeout: Value| {
        (
            "Bash",
            json!({"command": "echo early; sleep 600", "timeout": timeout}),
        )
    };
    let quick = |timeout: Value| ("Bash", json!({"command": "echo quick", "timeout": timeout}));
    let calls = [
        timed(json!(300)),
        quick(json!(0)),
        quick(json!(-5)),
        quick(json!(1_000_000_000_000_u64)),
        quick(json!("soon")),
        quick(json!(1e300)),
    ];
    let played = play(Program::new(), &calls);
    assert!(played.results[0].contains("early"), "{:?}", played.results);
    assert!(
        played.results[0].contains("still running after 300 ms"),
        "{:?}",
        played.results
    );
    for result in &played.results[1..] {
        let helps =
            result.contains("quick") || result.contains("timeout") || result.contains("timed out");
        assert!(helps, "{result}");
    }
}

#[test]
fn b6_commands_that_want_a_terminal_get_none_and_the_screen_is_untouched() {
    let wants =
        "cat; read -r line; cat </dev/tty; stty raw; sudo -S -k true; ssh-keygen -f key; echo over";
    let program = Program::new();
    program.put("wants.sh", wants);
    let model = script(
        &program,
        "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"bash wants.sh\", timeout = 15000 } }]\n[[turn]]\ntext = \"Nobody was there.\"\n",
    );
    let arguments = [
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
        "go",
    ];
    let mut tui = Pty::spawn_in(program, &arguments, 100, 30);
    tui.wait_for("Nobody was there.").wait_gone("interrupt");
    tui.send("my own words").wait_for("my own words");
    tui.send("\x03").wait_gone("my own words");
    leave(&mut tui);
    assert!(tui.program().session_log().contains("over"));
}

#[test]
fn b8_a_missing_working_directory_is_reported_and_left() {
    let (program, results) = commands(&[
        "mkdir -p a/b && cd a/b && pwd",
        "pwd; (cd ../..; find a -delete); true",
        "pwd",
        "echo here >mark; pwd",
    ]);
    assert!(results[0].contains("a/b"), "{results:?}");
    let logged = results[2].contains("no longer") || results[2].contains("gone");
    let back = results[2].trim_end().ends_with("work");
    assert!(logged || back, "{results:?}");
    assert_eq!(program.read("mark"), "here\n", "{results:?}");
}

#[test]
fn b9_signals_to_its_group_and_its_parent_do_not_reach_the_program() {
    let (_, results) = commands(&[
        "kill -TSTP 0; kill -CONT 0; echo one",
        "kill -HUP 0; echo never",
        "trap '' INT TERM; kill -INT 0; kill -TERM 0; echo two",
        "kill -PIPE $$; echo never",
        "echo three",
    ]);
    assert!(results[2].contains("two"), "{results:?}");
    assert!(results[4].contains("three"), "{results:?}");
    assert!(!results.concat().contains("never"), "{results:?}");
}

#[test]
fn b10_every_end_of_a_command_is_reported() {
    let (_, results) = commands(&[
        "exit 255",
        "kill -9 $$",
        "kill -SEGV $$",
        "no-such-program-at-all",
        "touch plain; ./plain",
        "mkdir folder; ./folder",
    ]);
    for (result, words) in results
        .iter()
        .zip(["255", "signal 9", "signal 11", "127", "126", "126"])
    {
        assert!(result.contains(words), "{words}: {result}");
    }
}

#[test]
fn b11_long_and_odd_commands_run_exactly_or_not_at_all() {
    let long = "x".repeat(300_000);
    let odd = "printf '%s' 'naïve 日本 \u{1b}[0m \\ \"quoted\" $HOME `no`' >odd";
    let (program, results) = commands(&[
        &format!("printf %s {long} | wc -c"),
        odd,
        "touch made\u{0}",
        "",
        "   \n\t",
        "echo 'unfinished",
        "if true; then",
    ]);
    assert!(results[0].contains("300000"), "{}", results[0]);
    assert_eq!(
        program.read("odd"),
        "naïve 日本 \u{1b}[0m \\ \"quoted\" $HOME `no`"
    );
    assert!(!program.path("made").exists());
    for result in &results[2..] {
        assert!(result.len() > 10, "a word about it: {results:?}");
    }
}

#[test]
fn b12_commands_in_the_background_end_with_the_program() {
    let background = |number: usize| {
        let command = format!("trap '' TERM; echo {number} >>started; sleep 600; sleep 600");
        (
            "Bash",
            json!({"command": command, "run_in_background": true}),
        )
    };
    let calls: Vec<_> = (0..20).map(background).collect();
    let played = play(Program::new(), &calls);
    assert_eq!(played.program.read("started").lines().count(), 20);
}

/// The guard also ends commands of a run without a screen.
#[test]
fn d6_b9_commands_of_a_headless_run_end_when_it_is_killed_or_crashes() {
    for signal in [Signal::KILL, Signal::ABORT, Signal::SEGV] {
        let program = Program::new();
        let command = "setsid sleep 600 & echo >started; exec sleep 600";
        let server = Server::start([Wire::Anthropic.reply(&[bash("c1", command)])]);
        let arguments = ["-p", "go", "--permission-mode", "bypassPermissions"];
        let mut child = program.start(&server, Wire::Anthropic, &arguments);
        wait_for_some(|| program.path("started").exists().then_some(()));
        let pid = rustix::process::Pid::from_child(&child);
        // For some signals the first one is only recorded, because a fault would raise it again at once.
        wait_for_some(|| {
            let _ = rustix::process::kill_process(pid, signal);
            child.try_wait().expect("a child")
        });
        super::invariants::assert_nothing_left(&program);
        super::invariants::assert_whole(&program);
    }
}

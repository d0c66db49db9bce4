//! Faults of the terminal and the processes around it.

use rustix::process::{Pid, Signal};
use serde_json::json;

use super::invariants::{assert_nothing_left, assert_screen_invariants, peak_memory, processes};
use crate::support::pty::{End, script};
use crate::support::server::wait_for_some;
use crate::support::{Program, Pty};

const BUILTIN: &[&str] = &["--provider", "builtin"];
const PROMPT: &str = "❯";
const GUARD: &str = "terminal-guard";

/// The guard of a running program.
pub fn guard_of(program: Pid) -> Option<Pid> {
    let parent = format!(" {} ", program.as_raw_nonzero());
    processes().into_iter().find_map(|process| {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let command = std::fs::read_to_string(process.join("cmdline")).ok()?;
        let ours = command.contains(GUARD) && rest[2..].starts_with(&parent);
        let number = process.file_name()?.to_str()?.parse().ok()?;
        Pid::from_raw(number).filter(|_| ours)
    })
}

/// A guarded program whose model runs a command that never ends and leaves its process group.
fn working(environment: &[(&str, &str)]) -> Pty {
    let program = Program::new();
    let command = "setsid sleep 600 & echo > started; exec sleep 600";
    let model = script(
        &program,
        &format!(
            "[[turn]]\nstep = [{{ call = \"Bash\", input = {{ command = \"{command}\" }} }}]\n"
        ),
    );
    let arguments = [
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
        "go",
    ];
    let tui = Pty::spawn_with(program, &arguments, environment, 100, 24);
    wait_for_some(|| tui.program().path("started").exists().then_some(()));
    wait_for_some(|| guard_of(tui.pid()));
    tui
}

#[test]
fn d6_every_terminating_signal_ends_it_cleanly() {
    for (signal, code) in [
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
        (Signal::USR1, 138),
        (Signal::USR2, 140),
        (Signal::ALARM, 142),
        (Signal::TERM, 143),
        (Signal::STKFLT, 144),
        (Signal::XCPU, 152),
        (Signal::VTALARM, 154),
        (Signal::PROF, 155),
        (Signal::IO, 157),
        (Signal::POWER, 158),
    ] {
        let mut tui = working(&[]);
        let end = tui.signal(signal).exit();
        assert_eq!(end.code, code, "{signal:?}");
        assert_screen_invariants(&tui, &end);
        let left = end.screen.contents();
        assert!(left.contains("Resume with: agent-tui --resume"), "{left}");
    }
}

#[test]
fn d6_the_terminal_is_repaired_after_a_crash_or_a_kill() {
    for signal in [
        Signal::KILL,
        Signal::ABORT,
        Signal::SEGV,
        Signal::BUS,
        Signal::FPE,
        Signal::ILL,
        Signal::TRAP,
        Signal::SYS,
    ] {
        let mut tui = working(&[]);
        // For some signals the first one is only recorded, because a fault would raise it again at once.
        wait_for_some(|| {
            tui.signal(signal);
            is_dead(tui.pid()).then_some(())
        });
        let end = tui.exit();
        assert_repaired(&tui, &end);
    }
}

#[test]
fn d7_the_terminal_is_repaired_after_a_failed_allocation() {
    let mut tui = working(&[("AGENT_TUI_PANIC", "memory")]);
    let end = tui.send("x").exit();
    assert_repaired(&tui, &end);
}

#[test]
fn d7_a_panic_on_top_of_a_panic_restores_the_terminal_once() {
    let mut tui = working(&[("AGENT_TUI_PANIC", "twice")]);
    let end = tui.send("x").exit();
    end.assert_terminal_restored();
    assert_nothing_left(tui.program());
    let output = end.screen.contents().replace('\n', "");
    assert!(
        output.contains("resume with `agent-tui --resume 2"),
        "{output}"
    );
    assert!(output.contains("panic.log"), "{output}");
}

/// Whether a process is a zombie.
fn is_dead(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

fn assert_repaired(tui: &Pty, end: &End) {
    assert_screen_invariants(tui, end);
    let output = end.screen.contents().replace('\n', "");
    assert!(
        output.contains("error: agent-tui crashed or was killed"),
        "{output}"
    );
    assert!(
        output.contains("resume with `agent-tui --resume 2"),
        "{output}"
    );
}

#[test]
fn d6_an_editor_keeps_the_terminal_when_the_program_behind_it_is_killed() {
    let editor = "printf editing; read line; printf edited; echo > done; :";
    // In a shell, because when a session leader ends, all others lose the terminal.
    let shell = "bash -c 'echo $$ > pid; exec \"$0\" --provider builtin' \"$0\"; until [ -e done ]; do sleep 0.05; done";
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let command = ["bash", "-c", shell, binary];
    let mut tui = Pty::run(Program::new(), &command, &[("VISUAL", editor)], 80, 24);
    tui.wait_for(PROMPT);
    let pid = wait_for_some(|| Pid::from_raw(tui.program().read("pid").trim().parse().ok()?));
    wait_for_some(|| guard_of(pid));
    tui.send("\x07").wait_for("editing");
    rustix::process::kill_process(pid, Signal::KILL).expect("it runs");
    let end = tui.send("\n").wait_for("edited").exit();
    end.assert_terminal_restored();
    assert!(!end.screen.contents().contains("agent-tui was ended"));
}

#[test]
fn d6_the_program_works_without_its_guard() {
    let mut tui = Pty::spawn(BUILTIN, 80, 24);
    tui.wait_for(PROMPT);
    let guard = wait_for_some(|| guard_of(tui.pid()));
    rustix::process::kill_process(guard, Signal::KILL).expect("it runs");
    let end = tui.send("still here").wait_for("still here").send("\x03");
    let end = end.wait_gone("still here").send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(&tui, &end);
}

#[test]
fn d1_a_terminal_that_claims_a_monstrous_size_is_used_in_part() {
    let program = Program::new();
    let shell = "stty rows 65535 cols 65535; exec \"$0\" --provider builtin";
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let mut tui = Pty::run(program, &["sh", "-c", shell, binary], &[], 80, 24);
    tui.wait_for_bytes(PROMPT.as_bytes());
    tui.resize(80, 24).wait_for(PROMPT);
    let before = tui.bytes();
    tui.claim_size(65535, 65535);
    wait_for_some(|| (tui.bytes() > before).then_some(()));
    let memory = peak_memory(tui.pid());
    assert!(memory < 300_000, "{memory} kB");
    let end = tui.resize(80, 24).wait_for(PROMPT).send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(&tui, &end);
}

#[test]
fn d4_it_is_drawn_again_after_the_background() {
    let program = Program::new();
    let shell = "set -m; \"$0\" --provider builtin; echo stopped; read line; bg; echo sent; read line; fg; echo ended $?";
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let mut tui = Pty::run(program, &["bash", "-c", shell, binary], &[], 80, 24);
    tui.wait_for(PROMPT).send("a draft").wait_for("a draft");
    tui.send("\x1a").wait_for("stopped");
    tui.send("\n").wait_for("sent");
    assert!(
        !tui.screen().contains("a draft"),
        "the shell has the screen"
    );
    tui.send("\n").wait_for("a draft");
    tui.wait_until(vt100::Screen::alternate_screen);
    let end = tui.send("\x03").wait_gone("a draft").send("\x03\x03");
    let end = end.wait_for("ended 0").exit();
    assert_screen_invariants(&tui, &end);
}

#[test]
fn x3_a_terminal_that_an_editor_left_raw_is_restored_in_the_end() {
    let environment = [("VISUAL", "stty raw -echo; :")];
    let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &environment, 80, 24);
    tui.wait_for(PROMPT).send("a draft").wait_for("a draft");
    let entered = b"\x1b[?1049h";
    tui.send("\x07").wait_for_count(entered, 2);
    let end = tui.wait_for("a draft").send("\x03").wait_gone("a draft");
    let end = end.send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(&tui, &end);
}

#[test]
fn x3_a_terminal_that_a_command_left_raw_is_restored_in_the_end() {
    for how in ["", "-p"] {
        let program = Program::new();
        let command = "stty -F $(cat terminal) raw -echo";
        let model = script(
            &program,
            &format!(
                "[[turn]]\nstep = [{{ call = \"Bash\", input = {{ command = \"{command}\" }} }}]\n[[turn]]\ntext = \"It is raw.\"\n"
            ),
        );
        let shell = format!(
            "tty > terminal; exec \"$0\" {how} go --provider {model} --permission-mode bypassPermissions"
        );
        let binary = env!("CARGO_BIN_EXE_agent-tui");
        let mut tui = Pty::run(program, &["sh", "-c", &shell, binary], &[], 80, 24);
        tui.wait_for("It is raw.");
        let code = if how.is_empty() {
            tui.signal(Signal::TERM);
            143
        } else {
            0
        };
        let end = tui.exit();
        assert_eq!(end.code, code);
        assert_screen_invariants(&tui, &end);
    }
}

#[test]
fn g1_a_signal_during_a_hook_at_the_start_leaves_nothing() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT, Signal::ALARM] {
        let program = Program::new();
        let hook = "trap '' TERM HUP; setsid sleep 600 & echo > started; sleep 600; sleep 600";
        let settings =
            json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": hook}]}]}});
        std::fs::create_dir_all(program.config()).expect("a directory");
        let file = program.config().join("settings.json");
        std::fs::write(file, settings.to_string()).expect("written");
        let mut tui = Pty::spawn_in(program, BUILTIN, 80, 24);
        wait_for_some(|| tui.program().path("started").exists().then_some(()));
        let end = tui.signal(signal).exit();
        assert!(end.code > 128, "{signal:?}");
        assert_screen_invariants(&tui, &end);
    }
}

#[test]
fn f9_a_git_that_hangs_is_ended_with_the_program() {
    let program = Program::new();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        let done = git
            .args(arguments)
            .current_dir(program.workspace())
            .status();
        assert!(done.expect("git").success());
    };
    git(&["init", "-q"]);
    // git waits for a writer of the FIFO.
    let ignore = program.path(".gitignore");
    let fifo = std::process::Command::new("mkfifo").arg(&ignore).status();
    assert!(fifo.expect("mkfifo").success());
    // It ends before git has answered.
    let mut child = program.command(&["-p", "hi", "--provider", "no-such-provider"]);
    let output = child.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert_nothing_left(&program);
    let mut tui = Pty::spawn_in(program, BUILTIN, 80, 24);
    let end = tui.wait_for(PROMPT).send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(&tui, &end);
}

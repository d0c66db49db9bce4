//! The terminal: set up and restored, whatever happens in between.

use std::time::Duration;

use rustix::process::{Signal, test_kill_process};

use crate::support::pty::{End, script};
use crate::support::server::wait_for_some;
use crate::support::{Program, Pty};

const BUILTIN: &[&str] = &["--provider", "builtin"];
/// The program's prompt mark.
const PROMPT: &str = "❯";
/// Shorter than a person waits for a terminal to close.
const SOON: Duration = Duration::from_secs(2);

fn ready() -> Pty {
    let mut tui = Pty::spawn(BUILTIN, 80, 24);
    tui.wait_for(PROMPT);
    tui
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let mut tui = ready();
    let end = tui.send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    end.assert_terminal_restored();
    assert_eq!(end.screen.contents().trim(), "", "nothing was said");
}

fn asked_and_quit(environment: &[(&str, &str)]) -> End {
    let program = Program::new();
    let model = script(&program, "[[turn]]\ntext = \"# All is well.\"\n");
    let mut tui = Pty::spawn_with(program, &["--provider", &model], environment, 80, 24);
    tui.wait_for(PROMPT)
        .send("how is it?\r")
        .wait_for("All is well.")
        .wait_gone("interrupt");
    tui.send("\x03\x03").exit()
}

#[test]
fn the_end_of_the_conversation_stays_in_colour_unless_colours_are_off() {
    let printed = |environment: &[(&str, &str)]| {
        let bytes = asked_and_quit(environment).bytes;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (_, printed) = text.rsplit_once("\x1b[?1049l").expect("it has left");
        let (_, printed) = printed.split_once("\x1b[23;0t").expect("the title is back");
        printed.to_owned()
    };
    let coloured = printed(&[]);
    assert!(
        coloured.contains(";48;5;") && coloured.contains("\x1b[K"),
        "{coloured:?}"
    );
    let (_, after) = coloured.split_once("All is well.").expect("it is there");
    assert!(after.starts_with("\x1b[0m"), "{coloured:?}");
    let plain = printed(&[("NO_COLOR", "1")]);
    assert!(
        plain.contains("All is well.") && !plain.contains('\x1b'),
        "{plain:?}"
    );
}

#[test]
fn the_end_of_the_conversation_and_the_resume_command_stay_on_the_screen() {
    let end = asked_and_quit(&[]);
    end.assert_terminal_restored();
    let left = end.screen.contents();
    assert!(
        left.contains("how is it?") && left.contains("All is well."),
        "{left}"
    );
    assert!(left.contains("Resume with: agent-tui --resume 2"), "{left}");
}

#[test]
fn a_prompt_of_the_command_line_is_asked_at_once() {
    let program = Program::new();
    let model = script(&program, "[[turn]]\ntext = \"Here I am.\"\n");
    let mut tui = Pty::spawn_in(program, &["--provider", &model, "are you there?"], 80, 24);
    tui.wait_for("Here I am.");
    assert!(tui.screen().contains("are you there?"));
}

#[test]
fn signals_from_outside_end_it_cleanly() {
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
        (Signal::INT, 130),
        (Signal::USR1, 138),
    ] {
        let mut tui = ready();
        let end = tui.signal(signal).exit();
        assert_eq!(end.code, code, "{signal:?}");
        assert!(end.took < SOON, "{signal:?} took {:?}", end.took);
        end.assert_terminal_restored();
    }
}

#[test]
fn a_signal_stops_running_calls_and_the_session_can_be_resumed() {
    let program = Program::new();
    let model = script(
        &program,
        "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"echo $$ > pid; exec sleep 600\" } }]\n",
    );
    let arguments = [
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
        "go",
    ];
    let mut tui = Pty::spawn_in(program, &arguments, 80, 24);
    let command = wait_for_some(|| tui.program().read("pid").trim().parse().ok());
    let command = rustix::process::Pid::from_raw(command).expect("a process");
    let end = tui.signal(Signal::TERM).exit();
    assert!(
        end.code == 143 && end.took < SOON,
        "{} after {:?}",
        end.code,
        end.took
    );
    assert!(test_kill_process(command).is_err(), "the command has ended");
    let resumed = tui
        .program()
        .run(&["-p", "--continue", "go on", "--provider", &model]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let mut tui = ready();
    let end = tui.close().exit();
    assert!(end.took < SOON, "{:?}", end.took);
    assert_eq!(end.code, 129);
}

#[test]
fn a_panic_of_the_screen_restores_the_terminal_and_says_what_happened() {
    let environment = [("AGENT_TUI_PANIC", "ui")];
    let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &environment, 100, 24);
    let end = tui.wait_for("builtin").send("x").exit();
    assert_eq!(end.code, 1);
    end.assert_terminal_restored();
    let output = end.screen.contents().replace('\n', "");
    assert!(
        output.contains("error: internal error: a rehearsal"),
        "{output}"
    );
    assert!(
        output.contains("resume with `agent-tui --resume 2"),
        "{output}"
    );
    assert!(output.contains("panic.log"), "{output}");
    let log = std::fs::read_to_string(tui.program().data().join("logs/panic.log"));
    assert!(log.expect("a log").contains("a rehearsal"));
}

#[test]
fn a_panic_of_a_task_leaves_the_screen_alone() {
    let environment = [("AGENT_TUI_PANIC", "task")];
    let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &environment, 80, 24);
    tui.wait_for(PROMPT)
        .send("still here")
        .wait_for("still here");
    assert_eq!(
        tui.send("\x15")
            .wait_gone("still here")
            .send("\x03\x03")
            .exit()
            .code,
        0
    );
}

#[test]
fn a_storm_of_resizes_ends_with_the_last_size() {
    let mut tui = ready();
    for step in 0..200_u16 {
        tui.resize(1 + step * 37 % 300, 1 + step * 17 % 100);
    }
    tui.resize(60, 20).wait_until(|screen| {
        let (row, column) = screen.cursor_position();
        screen.contents().contains(PROMPT) && row < 20 && column < 60
    });
    assert_eq!(tui.send("\x03\x03").exit().code, 0);
}

#[test]
fn it_is_suspended_and_continued_like_other_programs() {
    let program = Program::new();
    let shell = "set -m; \"$0\" --provider builtin; echo status $?; read line; fg; echo ended $?";
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let mut tui = Pty::run(program, &["bash", "-c", shell, binary], &[], 80, 24);
    tui.wait_for(PROMPT).send("a draft").wait_for("a draft");
    tui.send("\x1a").wait_for("status 1");
    tui.wait_until(|screen| !screen.alternate_screen() && !screen.bracketed_paste());
    tui.send("\n").wait_for("a draft");
    tui.wait_until(vt100::Screen::alternate_screen);
    let end = tui
        .send("\x03")
        .wait_gone("a draft")
        .send("\x03\x03")
        .wait_for("ended 0")
        .exit();
    end.assert_terminal_restored();
}

#[test]
fn late_replies_of_the_terminal_are_not_typed() {
    let mut tui = ready();
    tui.send("ab").wait_for("ab");
    tui.send("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c\x1bP>|xterm(1)\x1b\\\x1b[?1u\x1b[3;3R");
    tui.send("cd").wait_for("abcd");
}

#[test]
fn a_light_terminal_is_detected_and_remembered() {
    let mut tui = ready();
    tui.wait_for_bytes(b"\x1b]11;?");
    let before = tui.bytes();
    tui.send("\x1b]11;rgb:ffff/ffff/ffff\x07");
    let background = tui.program().data().join("ground");
    wait_for_some(|| {
        std::fs::read_to_string(&background)
            .ok()
            .filter(|background| background == "light")
    });
    tui.send("x").wait_for("x");
    assert!(tui.bytes() > before);
}

#[test]
fn a_paste_is_one_block_and_never_sends() {
    let mut tui = ready();
    tui.paste("first\r\n/quit\r\nthird").wait_for("third");
    let shown = tui.screen();
    assert!(
        shown.contains("first") && shown.contains("/quit"),
        "{shown}"
    );
    assert_eq!(
        tui.send("\x03")
            .wait_gone("third")
            .send("\x03\x03")
            .exit()
            .code,
        0
    );
}

#[test]
fn keys_of_every_terminal_and_noise_leave_it_usable() {
    let mut tui = ready();
    let mut noise = Vec::new();
    for step in 0..20_000_u32 {
        let byte = (step.wrapping_mul(2_654_435_761) >> 24) as u8;
        // Ctrl+C, Ctrl+D and Ctrl+Z have their usual effects.
        if !matches!(byte, 0x03 | 0x04 | 0x1a) {
            noise.push(byte);
        }
    }
    tui.send(&noise);
    tui.send("\x1b[201~\x1b\\").signal(Signal::TERM);
    assert_eq!(tui.exit().code, 143);
}

#[test]
fn nothing_is_written_and_nothing_runs_while_nothing_happens() {
    let mut tui = ready();
    tui.wait_for("builtin");
    wait_for_some(|| {
        let before = ticks(tui.pid());
        let quiet = tui.is_quiet_for(Duration::from_millis(300));
        (quiet && before == ticks(tui.pid())).then_some(())
    });
}

#[test]
fn a_terminal_that_does_not_read_blocks_nothing_and_catches_up() {
    let program = Program::new();
    let words = "word ".repeat(1_500);
    let model = script(
        &program,
        &format!(
            "[[turn]]\ntext = \"{words}\"\nword_ms = 1\n[[turn.step]]\ncall = \"Bash\"\ninput = {{ command = \"echo > done\" }}\n[[turn]]\ntext = \"Caught up.\"\n"
        ),
    );
    let arguments = [
        "--provider",
        &model,
        "--permission-mode",
        "bypassPermissions",
    ];
    let mut tui = Pty::spawn_in(program, &arguments, 80, 24);
    tui.wait_for(PROMPT).hold().send("go\r");
    wait_for_some(|| tui.program().path("done").exists().then_some(()));
    tui.is_released().wait_for("Caught up.");
}

/// The processor time that a process has used.
fn ticks(pid: rustix::process::Pid) -> String {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.split_whitespace()
        .skip(13)
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn without_a_terminal_it_explains_headless_mode() {
    let program = Program::new();
    let output = program.run(BUILTIN);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("error: the input is not a terminal"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("hint: without a terminal, use -p"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains('\x1b'));
}

#[test]
fn a_dumb_terminal_gets_an_explanation() {
    let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &[("TERM", "dumb")], 80, 24);
    let end = tui.exit();
    assert_eq!(end.code, 2);
    assert!(end.screen.contents().contains("can only print lines"));
    assert!(!end.bytes.contains(&0x1b), "no escapes");
}

#[test]
fn an_unknown_theme_is_refused_before_the_screen() {
    let mut tui = Pty::spawn(&["--theme", "drak"], 80, 24);
    let end = tui.exit();
    assert_eq!(end.code, 2);
    let output = end.screen.contents();
    assert!(
        output.contains("no theme named `drak`") && output.contains("dark"),
        "{output}"
    );
    assert!(!end.bytes.contains(&0x1b), "no escapes");
}

#[test]
fn an_agent_that_cannot_start_is_an_error_like_in_a_headless_run() {
    let mut tui = Pty::spawn(&["--resume", "nothing-like-this"], 80, 24);
    let end = tui.exit();
    assert_eq!(end.code, 2);
    end.assert_terminal_restored();
    assert!(
        end.screen
            .contents()
            .contains("no session with the ID `nothing-like-this`")
    );
}

#[test]
fn the_draft_is_edited_in_the_persons_own_editor() {
    let program = Program::new();
    let environment = [("VISUAL", "sed -i s/old/new/")];
    let mut tui = Pty::spawn_with(program, BUILTIN, &environment, 80, 24);
    tui.wait_for(PROMPT)
        .send("an old draft")
        .wait_for("an old draft");
    tui.send("\x07").wait_for("an new draft");
    assert_eq!(
        tui.send("\x03")
            .wait_gone("draft")
            .send("\x03\x03")
            .exit()
            .code,
        0
    );
}

//! D: unusual terminals and input.

use std::time::Duration;

use rustix::process::Signal;

use super::invariants::{assert_invariants, assert_screen_invariants, leave, peak_memory};
use crate::screen::armed;
use crate::support::program::finish;
use crate::support::pty::script;
use crate::support::server::wait_for_some;
use crate::support::{Program, Pty};

const BUILTIN: &[&str] = &["--provider", "builtin"];
const PROMPT: &str = "❯";
const BINARY: &str = env!("CARGO_BIN_EXE_agent-tui");

/// The model wants to create a file, and asks.
const TOUCH: &str = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "touch made.txt" } }]
[[turn]]
text = "Done with that."
"#;

fn play(toml: &str, more: &[&str], columns: u16, rows: u16) -> Pty {
    let program = Program::new();
    let model = script(&program, toml);
    let mut arguments = vec!["--theme", "ansi16", "--provider", &model];
    arguments.extend(more);
    let mut tui = Pty::spawn_in(program, &arguments, columns, rows);
    tui.wait_for(PROMPT);
    tui
}

#[test]
fn d1_a_storm_of_sizes_while_an_answer_comes_ends_with_the_last() {
    let words = "word ".repeat(600);
    let toml = format!("[[turn]]\ntext = \"{words} OVER\"\nword_ms = 1\n");
    let mut tui = play(&toml, &[], 80, 24);
    tui.send("go\r");
    for step in 0..500_u16 {
        tui.claim_size(1 + step * 37 % 500, 1 + step * 17 % 200);
    }
    tui.resize(70, 22).wait_for("OVER").wait_until(|screen| {
        let (row, column) = screen.cursor_position();
        screen.contents().contains(PROMPT) && row < 22 && column < 70
    });
    leave(&mut tui);
}

#[test]
fn d2_what_cannot_be_read_cannot_be_allowed() {
    for (columns, rows) in [(1, 1), (2, 1), (10, 3)] {
        let mut tui = play(TOUCH, &[], 100, 30);
        tui.send("go\r").wait_for("touch made.txt");
        armed(&mut tui, "y yes");
        // It says that there is more than can be shown.
        tui.resize(columns, rows).wait_for("…");
        // Keys are handled in order: if the yes had an effect, it would come before the no. The screen grows only
        // once both were handled, since the same yes would count on a screen that shows the command.
        tui.send("y").send("\x1b");
        wait_for_some(|| {
            let log = tui.program().session_log();
            log.contains("\"kind\":\"end\"").then_some(())
        });
        tui.resize(100, 30).wait_for("interrupted");
        assert!(!tui.program().path("made.txt").exists(), "{columns}×{rows}");
        leave(&mut tui);
    }
    // Here there is room for it.
    let mut tui = play(TOUCH, &[], 20, 5);
    tui.send("go\r").wait_for("touch made.txt");
    armed(&mut tui, "n no").send("n").resize(100, 30);
    tui.wait_for("Done with that.");
    assert!(!tui.program().path("made.txt").exists());
    leave(&mut tui);
}

#[test]
fn d3_a_huge_screen_with_a_long_transcript_stays_quick_and_small() {
    let lines = "a line of words\\n\\n".repeat(8_000);
    let toml = format!("[[turn]]\ntext = \"{lines} OVER\"\n");
    let mut tui = play(&toml, &[], 500, 200);
    tui.send("go\r").wait_for("OVER");
    for _ in 0..20 {
        tui.send("\x1b[5~");
    }
    tui.wait_gone("OVER").send("typed").wait_for("typed");
    let memory = peak_memory(tui.pid());
    assert!(memory < 400_000, "{memory} kB");
    tui.send("\x03").wait_gone("typed");
    leave(&mut tui);
}

#[test]
fn d5_a_closed_terminal_stops_running_calls_and_the_session_is_saved() {
    let toml = "[[turn]]\nstep = [{ text = \"I begin.\" }, { call = \"Bash\", input = { command = \"echo >started; setsid sleep 600 & sleep 600\" } }]\n[[turn]]\ntext = \"It went on.\"\n";
    let mut tui = play(toml, &["--permission-mode", "bypassPermissions"], 80, 24);
    tui.send("go\r");
    wait_for_some(|| tui.program().path("started").exists().then_some(()));
    let end = tui.close().exit();
    assert_eq!(end.code, 129);
    assert!(end.took < Duration::from_secs(10), "{:?}", end.took);
    super::invariants::assert_nothing_left(tui.program());
    let program = tui.into_program();
    super::invariants::assert_whole(&program);
    let model = format!(
        "script:{}",
        program.workspace().with_file_name("script.toml").display()
    );
    let output = program.run(&["-c", "-p", "and?", "--provider", &model]);
    assert_invariants(&program, &output);
    assert!(program.session_log().contains("I begin."));
}

#[test]
fn d5_a_closed_pipe_ends_a_headless_run() {
    let program = Program::new();
    program.put("a.txt", "");
    // The pipe is closed before anything is written.
    let mut child = program
        .command(&["-p", "find *.txt", "--provider", "builtin"])
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = finish(child);
    assert_invariants(&program, &output);
    // The input ends before it contains anything.
    let output = program.run_with_input(&["-p", "--provider", "builtin"], b"");
    assert_invariants(&program, &output);
    assert_eq!(output.code, Some(2));
}

#[test]
fn d8_a_terminal_that_did_not_read_catches_up() {
    let words = "word ".repeat(3_000);
    let toml = format!(
        "[[turn]]\nstep = [{{ text = \"{words}\" }}, {{ call = \"Bash\", input = {{ command = \"seq 20000; echo >done\" }} }}]\n[[turn]]\ntext = \"Caught up.\"\n"
    );
    let mut tui = play(&toml, &["--permission-mode", "bypassPermissions"], 80, 24);
    tui.hold().send("go\r");
    wait_for_some(|| tui.program().path("done").exists().then_some(()));
    tui.send("typed meanwhile");
    let memory = peak_memory(tui.pid());
    assert!(memory < 300_000, "{memory} kB");
    tui.is_released()
        .wait_for("Caught up.")
        .wait_for("typed meanwhile")
        // The turn is over: the key applies to the draft.
        .wait_for("Ctrl+C clear");
    tui.send("\x03").wait_gone("typed meanwhile");
    leave(&mut tui);
}

#[test]
fn d9_without_a_usable_terminal_it_explains_headless_mode() {
    for kind in ["dumb", ""] {
        let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &[("TERM", kind)], 80, 24);
        let end = tui.exit();
        assert_eq!(end.code, 2, "{kind}");
        assert!(
            end.screen.contents().contains("-p"),
            "{}",
            end.screen.contents()
        );
        assert!(!end.bytes.contains(&0x1b), "no escapes: {kind}");
        assert_screen_invariants(&tui, &end);
    }
    for kind in ["vt100", "xterm", "nonsense-terminal", "linux"] {
        let odd = [("TERM", kind), ("LC_ALL", "C"), ("NO_COLOR", "1")];
        let mut tui = Pty::spawn_with(Program::new(), BUILTIN, &odd, 80, 24);
        tui.wait_until(|screen| screen.contents().contains("builtin"));
        leave(&mut tui);
    }
    let program = Program::new();
    let output = program.run(BUILTIN);
    assert_invariants(&program, &output);
    assert!(
        output.stderr.contains("hint: without a terminal, use -p"),
        "{output:?}"
    );
}

#[test]
fn d10_a_paste_is_text_whatever_is_in_it() {
    let mut tui = Pty::spawn(BUILTIN, 100, 30);
    tui.wait_for(PROMPT);
    let evil = "first\r/quit\r\x03\x1b[2J\x1b]52;c;eA==\x07\u{202e}last words";
    tui.paste(evil).wait_for("last words");
    tui.send("\x03").wait_gone("last words");
    // The end of the paste is inside it: what follows is typed, but nothing was sent before.
    tui.send("\x1b[200~one\x1b[201~two\x1b[201~")
        .wait_for("onetwo");
    tui.send("\x03").wait_gone("onetwo");
    tui.send("\x1b[200~")
        .send("long words ".repeat(200_000))
        .send("\x1b[201~");
    tui.send("AFTER").wait_for("AFTER");
    tui.send("\x03").wait_gone("AFTER");
    assert!(!tui.program().session_log().contains("\"kind\":\"user\""));
    leave(&mut tui);
}

#[test]
fn d11_keys_typed_ahead_answer_no_question() {
    for keys in ["y", "\r", "yyyyyyyy", "a", "1", " ", "\x1b[13u"] {
        let toml = TOUCH.replace(
            "step = [",
            "step = [{ text = \"Wait for it.\" }, { delay_ms = 200 }, ",
        );
        let mut tui = play(&toml, &[], 100, 30);
        tui.send("go\r").wait_for("Wait for it.");
        // A held key: it comes before the question, with it and right after it.
        for _ in 0..5 {
            tui.send(keys);
        }
        tui.wait_for("y yes").send(keys);
        armed(&mut tui, "n no");
        assert!(!tui.program().path("made.txt").exists(), "{keys:?}");
        tui.send("n").wait_for("Done with that.");
        assert!(!tui.program().path("made.txt").exists(), "{keys:?}");
        let end = tui.signal(Signal::TERM).exit();
        assert_eq!(end.code, 143);
        assert_screen_invariants(&tui, &end);
    }
}

#[test]
fn d12_noise_from_the_keyboard_leaves_it_usable() {
    let mut tui = Pty::spawn(BUILTIN, 80, 24);
    tui.wait_for(PROMPT);
    let mut noise = Vec::new();
    for step in 0..30_000_u32 {
        let [_, byte, ..] = step.wrapping_mul(2_246_822_519).to_be_bytes();
        // Ctrl+C, Ctrl+D and Ctrl+Z have their usual effects; Ctrl+G would open an editor.
        if !matches!(byte, 0x03 | 0x04 | 0x07 | 0x1a) {
            noise.push(byte);
        }
    }
    tui.send(&noise);
    for half in [
        "\x1b[",
        "\x1b[<0;9999;9999M",
        "\x1b[I\x1b[O",
        "\x1b[97;5:3u",
        "\x1b[200~never ended",
        "\u{7f}\x1b[1;99999~",
        "\x1bO",
        "\x1b[M\x7f\x7f\x7f",
    ] {
        tui.send(half);
    }
    let end = tui.send("\x1b[201~\x1b\\").signal(Signal::TERM).exit();
    assert_eq!(end.code, 143);
    assert_screen_invariants(&tui, &end);
}

/// Trailing blanks don't matter.
fn trimmed(screen: &str) -> Vec<String> {
    let rows = screen.lines().map(str::trim_end);
    rows.map(str::to_owned).collect()
}

#[test]
fn d13_wide_and_joined_characters_leave_no_smear() {
    let odd = "👩‍👩‍👧‍👦 👍🏽 e\u{301}\u{302} 日本語 \u{200b}\u{feff} שלום \\t tab 🇩🇪 ｆｕｌｌ";
    let lines: Vec<String> = (0..60).map(|number| format!("{number} {odd}")).collect();
    let lines = lines.join("\\n\\n") + "\\n\\n";
    let mut tui = play(&format!("[[turn]]\ntext = \"{lines} OVER\"\n"), &[], 61, 20);
    tui.send("go\r").wait_for("OVER").wait_gone("interrupt");
    tui.send("\x1b[5~\x1b[5~\x1b[5~").wait_gone("OVER");
    tui.send("\x1b[6~\x1b[5~\x1b[6~\x1b[6~\x1b[6~\x1b[6~")
        .wait_for("OVER");
    tui.send("x").wait_for("❯ x").send("\x7f").wait_gone("❯ x");
    let scrolled = trimmed(&tui.screen());
    // Another size and back again draws everything again.
    let before = tui.bytes();
    tui.resize(61, 19);
    wait_for_some(|| (tui.bytes() > before).then_some(()));
    tui.resize(61, 20);
    tui.wait_until(|screen| trimmed(&screen.contents()) == scrolled);
    leave(&mut tui);
}

#[test]
fn d14_late_or_missing_replies_of_the_terminal_are_not_typed() {
    // This terminal never replies, and the first frame appears.
    let mut tui = Pty::spawn(BUILTIN, 80, 24);
    tui.wait_for(PROMPT).send("before").wait_for("before");
    tui.send("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c\x1bP>|xterm(1)\x1b\\\x1b[?1u\x1b[3;3R\x1b[?2026;2$y");
    tui.send("after").wait_for("beforeafter");
    tui.send("\x03").wait_gone("beforeafter");
    leave(&mut tui);
}

#[test]
fn h4_a_program_that_gets_hardly_any_time_works() {
    let program = Program::new();
    program.put("a.txt", "");
    let shell = "exec nice -n 19 \"$0\" --provider builtin";
    let mut tui = Pty::run(program, &["sh", "-c", shell, BINARY], &[], 80, 24);
    tui.wait_for("builtin")
        .send("find *.txt\r")
        .wait_for("a.txt");
    tui.wait_gone("interrupt");
    leave(&mut tui);
}

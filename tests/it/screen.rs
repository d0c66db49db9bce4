//! The screen as a person uses it: the built program in a terminal, answered with keys.

use crate::support::program::Program;
use crate::support::pty::{Pty, script};

/// A scripted model in a terminal of 100×30; with 256 colours, so that a test can see whether a key is active yet.
pub fn play(program: Program, toml: &str, more: &[&str]) -> Pty {
    let provider = script(&program, toml);
    let mut arguments = vec!["--theme", "ansi16", "--provider", &provider];
    arguments.extend(more);
    let mut tui = Pty::spawn_in(program, &arguments, 100, 30);
    tui.wait_for("❯").send("go\r");
    tui
}

/// The row and the column of a text on the screen.
pub fn place(screen: &vt100::Screen, text: &str) -> Option<(u16, u16)> {
    let mut rows = (0..).zip(screen.rows(0, screen.size().1));
    rows.find_map(|(row, line)| {
        let at = line.find(text)?;
        let column = u16::try_from(line[..at].chars().count()).ok()?;
        Some((row, column))
    })
}

/// The colour in which a text is on the screen.
fn colour(screen: &vt100::Screen, text: &str) -> Option<vt100::Color> {
    let (row, column) = place(screen, text)?;
    screen.cell(row, column).map(vt100::Cell::fgcolor)
}

/// Waits until the question accepts keys: its hints are no longer faint.
pub fn armed<'a>(tui: &'a mut Pty, hint: &str) -> &'a mut Pty {
    tui.wait_until(|screen| {
        colour(screen, hint).is_some_and(|colour| colour != vt100::Color::Idx(8))
    })
}

const TOUCH: &str = r#"
[[turn]]
step = [{ text = "I will make a file." }, { call = "Bash", input = { command = "touch made.txt" } }]
[[turn]]
text = "Done with that."
"#;

const EDIT: &str = r#"
[[turn]]
step = [{ call = "Read", input = { file_path = "poem.txt" } }]
[[turn]]
step = [{ call = "Write", input = { file_path = "poem.txt", content = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n" } }]
[[turn]]
text = "Done with that."
"#;

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

#[test]
fn a_command_runs_once_it_is_allowed() {
    let mut tui = play(Program::new(), TOUCH, &[]);
    tui.wait_for("touch made.txt");
    armed(&mut tui, "y yes")
        .send("y")
        .wait_for("Done with that.");
    assert!(tui.program().path("made.txt").exists());
}

#[test]
fn a_denied_command_does_not_run_and_the_turn_continues() {
    let mut tui = play(Program::new(), TOUCH, &[]);
    armed(&mut tui, "n no")
        .send("n")
        .wait_for("Done with that.")
        .wait_for("denied by you");
    assert!(!tui.program().path("made.txt").exists());
}

#[test]
fn the_reason_of_a_denial_reaches_the_model() {
    let mut tui = play(Program::new(), TOUCH, &[]);
    armed(&mut tui, "e no, tell").send("e");
    armed(&mut tui, "Enter send").send("use mkdir instead\r");
    tui.wait_for("Done with that.");
    let log = tui.program().session_log();
    assert!(log.contains("use mkdir instead"), "{log}");
    assert!(!tui.program().path("made.txt").exists());
}

#[test]
fn always_saves_the_rule_for_the_next_session_and_says_so() {
    let mut tui = play(Program::new(), TOUCH, &[]);
    armed(&mut tui, "a always").send("a");
    armed(&mut tui, "Enter save").send("\r");
    tui.wait_for("Done with that.");
    let settings = tui.program().read(".agent-tui/settings.local.json");
    assert!(settings.contains("Bash(touch made.txt)"), "{settings}");
    // A turn that has not quite ended would be interrupted first.
    tui.wait_gone("interrupt").send("\x03\x03").exit();
    let program = tui.into_program();
    std::fs::remove_file(program.path("made.txt")).expect("it was made");
    let mut again = play(program, TOUCH, &[]);
    again.wait_for("Done with that.");
    assert!(again.program().path("made.txt").exists());
    again
        .send("/why\r")
        .wait_for("allowed by rule Bash(touch made.txt) in .agent-tui/settings.local.json");
}

#[test]
fn only_the_chosen_hunks_of_a_change_are_applied() {
    let program = Program::new();
    program.put("poem.txt", POEM);
    let mut tui = play(program, EDIT, &[]);
    armed(&mut tui, "Tab hunks").send("\t");
    armed(&mut tui, "y accept").send("n");
    tui.wait_for("change 2 of 2");
    armed(&mut tui, "y accept").send("y");
    armed(&mut tui, "Enter apply").send("\r");
    tui.wait_for("Done with that.");
    let poem = tui.program().read("poem.txt");
    assert_eq!(poem, POEM.replace("nine", "NINE"));
}

#[test]
fn typing_ahead_answers_nothing() {
    let slow = r#"
[[turn]]
step = [{ text = "Wait for it." }, { delay_ms = 300 }, { call = "Bash", input = { command = "touch made.txt" } }]
[[turn]]
text = "Done with that."
"#;
    let mut tui = play(Program::new(), slow, &[]);
    tui.wait_for("Wait for it.");
    // A person in the middle of a word when the question appears.
    tui.send("yyyy").wait_for("y yes");
    assert!(!tui.program().path("made.txt").exists());
    armed(&mut tui, "n no")
        .send("n")
        .wait_for("Done with that.");
    assert!(!tui.program().path("made.txt").exists());
    assert!(tui.screen().contains("❯ yyyy"), "the draft is untouched");
}

#[test]
fn an_interrupt_stops_a_command_and_lets_a_change_finish() {
    let running = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "echo be''gun; sleep 600" } }]
"#;
    let mut tui = play(
        Program::new(),
        running,
        &["--permission-mode", "bypassPermissions"],
    );
    tui.wait_for("begun")
        .send("\x03")
        .wait_for("interrupted")
        .wait_for("stopped · ");
    tui.send("\x03\x03");
    assert_eq!(tui.exit().code, 0);
}

#[test]
fn a_call_that_an_interrupt_lets_finish_is_stopped_by_a_second_one() {
    let program = Program::new();
    let settings = program.config().join("settings.json");
    std::fs::create_dir_all(program.config()).expect("a directory");
    std::fs::write(settings, r#"{"interruptBehavior": {"Bash": "block"}}"#).expect("written");
    let running = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "echo be''gun; sleep 600" } }]
"#;
    let mut tui = play(
        program,
        running,
        &["--permission-mode", "bypassPermissions"],
    );
    tui.wait_for("begun")
        .send("\x03")
        .wait_for("letting Bash finish")
        .wait_for("finishing")
        .wait_for("kill it");
    tui.send("\x03").wait_for("interrupted after");
}

#[test]
fn a_command_that_takes_a_while_to_stop_shows_that_it_is_stopping() {
    let stubborn = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "trap '' TERM; echo be''gun; sleep 600" } }]
[[turn]]
text = "Done with that."
"#;
    let mut tui = play(
        Program::new(),
        stubborn,
        &["--permission-mode", "bypassPermissions"],
    );
    tui.wait_for("begun").send("\x14").wait_for("TOOLS");
    tui.send("x").wait_for("stopping Bash");
    // No key of the list: it is typed.
    tui.send("why").wait_for("❯ why");
    tui.wait_for("stopped · ").wait_for("Done with that.");
}

#[test]
fn one_call_of_three_is_stopped_and_the_others_continue() {
    let three = r#"
[[turn]]
step = [
  { call = "Bash", input = { command = "sleep 600; true" } },
  { call = "Bash", input = { command = "sleep 601; true" } },
  { call = "Bash", input = { command = "sleep 602; true" } },
]
[[turn]]
text = "Done with that."
"#;
    let mut tui = play(
        Program::new(),
        three,
        &["--permission-mode", "bypassPermissions"],
    );
    for command in ["sleep 600", "sleep 601", "sleep 602"] {
        tui.wait_for(&format!("● Bash {command}"));
    }
    tui.send("\x14k").send("x").wait_for("■ Bash sleep 601");
    let screen = tui.screen();
    for goes_on in ["● Bash sleep 600", "● Bash sleep 602"] {
        assert!(screen.contains(goes_on), "{screen}");
    }
}

#[test]
fn a_paste_is_one_block_and_sends_nothing() {
    let mut tui = Pty::spawn(&["--provider", "builtin"], 100, 30);
    tui.wait_for("❯")
        .paste("find *.zig\nrun touch pasted.txt\n");
    tui.wait_for("run touch pasted.txt");
    assert!(!tui.screen().contains("waiting for the model"));
    tui.send("\x03")
        .wait_gone("run touch pasted.txt")
        .send("\x03\x03")
        .exit();
}

#[test]
fn the_size_may_change_while_text_arrives() {
    let long = format!(
        "[[turn]]\nword_ms = 2\ntext = \"{} the end of it.\"\n",
        "word ".repeat(300)
    );
    let mut tui = play(Program::new(), &long, &[]);
    for (columns, rows) in [(40, 12), (160, 50), (20, 5), (1, 1), (110, 30), (80, 24)] {
        tui.resize(columns, rows);
    }
    tui.wait_for("the end of it.").wait_for("twice to quit");
    let screen = tui.screen();
    assert!(screen.contains('❯'), "{screen}");
}

#[test]
fn the_built_in_model_works_with_no_key_and_says_how_to_connect_a_real_one() {
    let program = Program::new();
    program.put("notes.txt", "teh cat\n");
    let mut tui = Pty::spawn_in(program, &["--theme", "ansi16"], 100, 30);
    tui.wait_for("ANTHROPIC_API_KEY")
        .send("edit notes.txt: teh => the\r");
    tui.wait_for("+ the cat");
    armed(&mut tui, "y yes").send("y").wait_gone("y yes");
    tui.wait_for("twice to quit");
    assert_eq!(tui.program().read("notes.txt"), "the cat\n");
}

#[test]
fn a_message_at_the_bottom_has_the_colour_of_success_or_failure() {
    let script = "[[turn]]\ntext = \"Hello there.\"\n";
    let mut tui = play(Program::new(), script, &[]);
    tui.wait_for("Hello there.").wait_for("twice to quit");
    let green = Some(vt100::Color::Idx(2));
    let red = Some(vt100::Color::Idx(1));
    tui.send("/rename a greeting\r")
        .wait_until(|screen| colour(screen, "session renamed") == green);
    tui.send("/rename\r")
        .wait_until(|screen| colour(screen, "type a title after /rename") == red);
}

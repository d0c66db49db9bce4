//! A resumed session looks as it did when it was left, cell by cell.

use std::time::Duration;

use crate::screen::armed;
use crate::support::program::Program;
use crate::support::pty::{Pty, script};

/// Too narrow for the panel, which closes by itself after a while.
const WIDTH: u16 = 130;
const HEIGHT: u16 = 100;

/// Thinking, a call that fails and one that is skipped because of it, an allowed change, a denied command, a failed
/// request, and a command that an interrupt stops.
const SCRIPT: &str = r#"
[[turn]]
step = [
  { thinking = "Let me see what there is." },
  { delay_ms = 120 },
  { text = "I look around.\n\n- first the **poem**" },
  { call = "Read", input = { file_path = "poem.txt" } },
  { call = "Bash", input = { command = "mkdir poem.txt" } },
  { call = "Bash", input = { command = "touch skipped.txt" } },
]
[[turn]]
step = [
  { call = "Edit", input = { file_path = "poem.txt", old_string = "two", new_string = "2\n2.5" } },
  { call = "Bash", input = { command = "touch made.txt" } },
]
[[turn]]
step = [
  { text = "This is cut " },
  { error = "overloaded_error" },
  { text = "Done with that." },
]
[[turn]]
step = [
  { text = "Now I wait for it." },
  { call = "Bash", input = { command = "sleep 1000" } },
]
"#;

fn start(program: Program, more: &[&str]) -> Pty {
    let provider = script(&program, SCRIPT);
    let mut arguments = vec!["--theme", "ansi16", "--provider", &provider];
    arguments.extend(["--allow", "Bash(mkdir:*)"]);
    arguments.extend(more);
    Pty::spawn_in(program, &arguments, WIDTH, HEIGHT)
}

/// The cells of the screen, a text per row: the content and style of each. The foreground of a blank is ignored.
fn cells(tui: &Pty) -> Vec<String> {
    let screen = tui.vt();
    let cell = |row: u16, column: u16| {
        let cell = screen.cell(row, column).expect("a cell");
        let lines = (cell.bgcolor(), cell.underline(), cell.inverse());
        match cell.contents().trim() {
            "" => format!("blank {lines:?}"),
            letter => {
                let look = (cell.fgcolor(), cell.bold(), cell.italic());
                format!("{letter} {look:?} {lines:?}")
            }
        }
    };
    let row = |row: u16| {
        let cells: Vec<String> = (0..WIDTH).map(|column| cell(row, column)).collect();
        cells.join("\n")
    };
    (0..HEIGHT).map(row).collect()
}

/// Waits until the screen stops changing.
fn settled(tui: &mut Pty) {
    while !tui.is_quiet_for(Duration::from_millis(600)) {}
}

fn assert_same(before: &[String], texts: (&str, &str), after: &[String]) {
    let differs: Vec<usize> = (0..before.len())
        .filter(|row| before[*row] != after[*row])
        .collect();
    assert!(
        differs.is_empty(),
        "rows {differs:?}\n--- before\n{}\n--- after\n{}",
        texts.0,
        texts.1
    );
}

fn full_session() -> Pty {
    let program = Program::new();
    program.put("poem.txt", "one\ntwo\nthree\n");
    let mut tui = start(program, &[]);
    tui.wait_for("❯").send("go\r");
    tui.wait_for("skipped: ").wait_for("+ 2.5");
    armed(&mut tui, "y yes").send("y");
    tui.wait_for("$ touch made.txt");
    armed(&mut tui, "n no").send("n");
    tui.wait_for("Done with that.").wait_gone("interrupt");
    tui.send("!echo by myself\r").wait_for("by myself  1 line");
    tui.send("again\r").wait_for("$ sleep 1000");
    armed(&mut tui, "y yes").send("y");
    tui.wait_for("running")
        .send("\x1b")
        .wait_for("interrupted after");
    settled(&mut tui);
    tui
}

#[test]
fn a_resumed_session_looks_as_it_was_left() {
    let mut tui = full_session();
    let (before, text) = (cells(&tui), tui.screen());
    tui.send("\x03\x03").exit();
    let mut again = start(tui.into_program(), &["--continue"]);
    again.wait_for("interrupted after");
    settled(&mut again);
    assert_same(&before, (&text, &again.screen()), &cells(&again));
}

#[test]
fn after_switching_the_model_the_screen_looks_the_same() {
    let mut tui = full_session();
    let (before, text) = (cells(&tui), tui.screen());
    tui.send("/model other\r")
        .wait_for("no model named other; still using script")
        .wait_for("interrupted after")
        .wait_gone("no model named other");
    settled(&mut tui);
    assert_same(&before, (&text, &tui.screen()), &cells(&tui));
}

#[test]
fn calls_of_the_resumed_session_are_known() {
    let mut tui = full_session();
    tui.send("\x03\x03").exit();
    let mut again = start(tui.into_program(), &["--continue"]);
    again.wait_for("interrupted after");
    again
        .send("/why mkdir\r")
        .wait_for("allowed by rule Bash(mkdir:*) in --allow");
    again
        .send("/why made\r")
        .wait_for("asked, because `touch` can change files");
    again.send("\x1b").wait_gone("╭─ Why");
    again.send("/diff\r").wait_for("1 change");
    again.wait_until(|screen| screen.contents().matches("3 + 2.5").count() == 2);
    again.send("\x1b").wait_gone("1 change");
    again.send("/cost\r").wait_for("tokens in");
}

//! Calls on the screen of the built program: what commands print while they run, in front and in the background.

use crate::support::program::Program;
use crate::support::pty::{Pty, script};

fn play(toml: &str, columns: u16, rows: u16) -> Pty {
    let program = Program::new();
    let provider = script(&program, toml);
    let arguments = [
        "--permission-mode",
        "bypassPermissions",
        "--provider",
        &provider,
    ];
    let mut tui = Pty::spawn_in(program, &arguments, columns, rows);
    tui.wait_for("❯").send("go\r");
    tui
}

const SLOW: &str = r#"
[[turn]]
step = [{ text = "I will count." }, { call = "Bash", input = { command = "seq 20; until [ -e goes-on ]; do sleep 0.05; done; echo over; exit 3" } }]
[[turn]]
text = "Done with that."
"#;

#[test]
fn a_running_command_shows_its_last_lines_at_80_columns() {
    let mut tui = play(SLOW, 80, 24);
    tui.wait_for("│ … 12 lines")
        .wait_for("│ 13")
        .wait_for("│ 20");
    tui.program().put("goes-on", "");
    tui.wait_for("Done with that.")
        .wait_for("exit 3 · 21 lines")
        .wait_for("│ … 16 more lines")
        .wait_for("│ over");
}

const SERVER: &str = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "echo listening; sleep 600", run_in_background = true } }]
[[turn]]
text = "It runs."
[[turn]]
text = "Something else."
"#;

#[test]
fn a_background_command_stays_visible_after_the_next_message() {
    let mut tui = play(SERVER, 80, 24);
    tui.wait_for("It runs.")
        .send("more\r")
        .wait_for("Something else.")
        .wait_for("& echo listening")
        .wait_for("1 in background");
    tui.send("\x14").wait_for("TOOLS").send("\r");
    tui.wait_for("Sent to the model").wait_for("listening");
}

#[test]
fn the_list_of_background_commands_shows_the_last_line_of_each() {
    let mut tui = play(SERVER, 120, 40);
    tui.wait_for("It runs.").send("/tasks\r");
    tui.wait_for("Background commands").wait_until(|screen| {
        let mut rows = screen.rows(0, 120);
        rows.any(|row| {
            let words = row.split_once("› ● echo listening").map(|(_, rest)| rest);
            words.is_some_and(|rest| rest.contains("  listening ") && rest.contains("running "))
        })
    });
    tui.send("\x18").wait_gone("● echo listening; sleep 600");
}

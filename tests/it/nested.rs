//! Subagents on the screen: three at once, one opened, one ended, and the same after resuming.

use std::time::Duration;

use crate::support::program::Program;
use crate::support::pty::{Pty, script};

/// Three subagents: one looks and waits, one only waits, one is done at once.
const THREE: &str = r#"
[[turn]]
text = "I split this in three."
[[turn.step]]
call = "Task"
input = { description = "find the callers", prompt = "Find all callers." }
[[turn.step]]
call = "Task"
input = { description = "write the tests", prompt = "Write tests." }
[[turn.step]]
call = "Task"
input = { description = "check the docs", prompt = "Check the docs." }

[[turn]]
text = "All three are over."

[[turn]]
agent = "callers"
step = [{ text = "I look first." }, { call = "Glob", input = { pattern = "*.rs" } }]
[[turn]]
agent = "callers"
step = [{ text = "Now I wait." }, { call = "Bash", input = { command = "sleep 1000" } }]
[[turn]]
agent = "callers"
text = "There is one caller."

[[turn]]
agent = "Write tests"
step = [{ call = "Bash", input = { command = "sleep 2000" } }]
[[turn]]
agent = "Write tests"
text = "Not written."

[[turn]]
agent = "docs"
text = "The docs are fine."
"#;

fn start(program: Program, more: &[&str], width: u16, height: u16) -> Pty {
    let provider = script(&program, THREE);
    let mut arguments = vec!["--theme", "ansi16", "--provider", &provider];
    arguments.extend(["--allow", "Bash(sleep:*)"]);
    arguments.extend(more);
    Pty::spawn_in(program, &arguments, width, height)
}

/// The three were started; two of them wait.
fn at_work(width: u16, height: u16) -> Pty {
    let program = Program::new();
    program.put("a.rs", "");
    let mut tui = start(program, &[], width, height);
    tui.wait_for("❯").send("go\r");
    tui.wait_for("Bash sleep 1000")
        .wait_for("Bash sleep 2000")
        .wait_for("The docs are fine.");
    tui
}

fn settled(tui: &mut Pty) {
    while !tui.is_quiet_for(Duration::from_millis(600)) {}
}

/// The screen's text, without blanks at the ends of its rows.
fn shown(tui: &Pty) -> Vec<String> {
    let screen = tui.screen();
    screen
        .lines()
        .map(|row| row.trim_end().to_owned())
        .collect()
}

/// Opens the first subagent's conversation from the panel.
fn open_first(tui: &mut Pty) {
    tui.send("\x14").wait_for("TOOLS");
    tui.send("\x1b[H\r").wait_for("◂ find the callers");
}

/// Ends the call of the one that is in view, leaves it, and ends the second one.
fn end_two(tui: &mut Pty) {
    tui.send("\x14").wait_for("TOOLS");
    tui.send("\x1b[Fx").wait_for("There is one caller.");
    tui.send("\x1b").wait_for("SCROLL");
    tui.send("\x1b").wait_gone("◂ find the callers");
    tui.wait_for("1 agent");
    tui.send("\x1b[Bx").wait_for("All three are over.");
    tui.wait_gone("interrupt");
}

#[test]
fn one_of_three_is_opened_and_left_and_another_is_ended() {
    for (width, height) in [(80, 24), (120, 40), (160, 40)] {
        let mut tui = at_work(width, height);
        tui.wait_for("2 agents");
        open_first(&mut tui);
        tui.wait_for("Find all callers.").wait_for("I look first.");
        tui.wait_gone("The docs are fine.");
        end_two(&mut tui);
        tui.send("\x1b").wait_gone("TOOLS");
        tui.send("\x03\x03").exit();
    }
}

#[test]
fn a_resumed_session_shows_its_subagents_as_they_were() {
    let (width, height) = (130, 60);
    let mut tui = at_work(width, height);
    open_first(&mut tui);
    end_two(&mut tui);
    tui.send("\x1b").wait_gone("TOOLS");
    settled(&mut tui);
    let main = shown(&tui);
    open_first(&mut tui);
    settled(&mut tui);
    let view = shown(&tui);
    tui.send("\x1b").wait_gone("◂ find the callers");
    tui.send("\x1b").wait_gone("TOOLS");
    tui.send("\x03\x03").exit();

    let mut again = start(tui.into_program(), &["--continue"], width, height);
    again.wait_for("All three are over.");
    settled(&mut again);
    assert_eq!(shown(&again), main);
    open_first(&mut again);
    settled(&mut again);
    assert_eq!(shown(&again), view);
}

#[test]
fn the_built_in_demo_shows_three_subagents() {
    let program = Program::new();
    program.put("a.rs", "// TODO: one\n");
    program.put("b.md", "TODO two\n");
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 100, 60);
    tui.wait_for("❯").send("agents\r");
    tui.wait_for("a.rs:1:// TODO: one")
        .wait_for("b.md:1:TODO two");
    tui.wait_for("Task search the settings").wait_for("3 calls");
}

//! Questions of the model on the screen of the built program: after a kill, with an edited plan, and below a long answer.

use rustix::process::Signal;
use serde_json::json;

use crate::screen::{armed, place, play};
use crate::support::program::Program;
use crate::support::pty::{Pty, script};
use crate::support::wire::{call, text};
use crate::support::{Server, Wire};

#[test]
fn a_question_that_was_open_when_the_program_was_killed_is_asked_again_and_its_answer_reaches_the_model()
 {
    let wire = Wire::Anthropic;
    let question = json!({ "questions": [{
        "question": "Where should the counter live?", "header": "Counter",
        "options": [
            { "label": "In memory", "description": "resets on restart" },
            { "label": "Redis", "description": "shared by all processes" },
        ],
    }] });
    let server = Server::start([
        wire.reply(&[text("One thing."), call("q1", "AskUserQuestion", question)]),
        wire.reply(&[text("As you wish.")]),
    ]);
    let url = wire.base_url(&server.url());
    let spawn = |program: Program, more: &[&str]| {
        let mut arguments = vec!["--theme", "ansi16", "--provider", wire.provider()];
        arguments.extend(["--base-url", &url, "--model", "m"]);
        arguments.extend(more);
        Pty::spawn_with(program, &arguments, &[("ANTHROPIC_API_KEY", "k")], 100, 30)
    };
    let mut tui = spawn(Program::new(), &[]);
    tui.wait_for("❯").send("count\r");
    tui.wait_for("Enter choose");
    tui.signal(Signal::KILL).exit();

    let mut again = spawn(tui.into_program(), &["--continue"]);
    armed(&mut again, "Enter choose").wait_for("Where should the counter live?");
    assert_eq!(server.received().len(), 1, "the model was not asked again");
    again.send("2").wait_for("As you wish.");
    let results = wire.results(&server.bodies()[1]);
    let [(id, answer)] = results.as_slice() else {
        panic!("{results:?}");
    };
    assert_eq!(id, "q1");
    assert!(
        answer.contains("Redis") && !answer.contains("In memory"),
        "{answer}"
    );
}

#[test]
fn answers_that_were_given_reach_the_model_when_the_other_questions_are_skipped() {
    let toml = r#"
[[turn]]
[[turn.step]]
call = "AskUserQuestion"
[turn.step.input]
questions = [
  { question = "Where should it live?", header = "Place", options = [{ label = "In memory", description = "a" }, { label = "Redis", description = "b" }] },
  { question = "Which tests should run?", header = "Tests", options = [{ label = "All", description = "a" }, { label = "None", description = "b" }] },
]
[[turn]]
text = "As you wish."
"#;
    let mut tui = play(Program::new(), toml, &[]);
    armed(&mut tui, "Esc skip all").send("2");
    armed(&mut tui, "Esc skip the rest").wait_for("Which tests should run?");
    tui.send("\x1b").wait_for("As you wish.");
    tui.wait_for("Place: Redis · Tests: skipped");
    let log = tui.program().session_log();
    let logged = r#"User has answered your questions: \"Where should it live?\"=\"Redis\". The user skipped \"Which tests should run?\""#;
    assert!(log.contains(logged), "{log}");
}

#[test]
fn a_question_of_a_subagent_that_was_open_when_the_program_was_killed_is_asked_again() {
    let toml = r#"
[[turn]]
step = [{ call = "Task", input = { description = "touch a file", prompt = "touch it" } }]
[[turn]]
step = [{ call = "Bash", input = { command = "touch made" } }]
[[turn]]
text = "Touched."
[[turn]]
text = "All is done."
"#;
    let mut tui = play(Program::new(), toml, &[]);
    armed(&mut tui, "y yes").wait_for("touch a file");
    tui.signal(Signal::KILL).exit();
    // The script continues where it was.
    let (_, rest) = toml.split_once("touch made\" } }]").expect("the call");
    let program = tui.into_program();
    let provider = script(&program, rest);
    let arguments = ["--theme", "ansi16", "--provider", &provider, "--continue"];
    let mut again = Pty::spawn_in(program, &arguments, 100, 30);
    armed(&mut again, "y yes")
        .wait_for("asked by     touch a file")
        .send("y");
    again.wait_for("All is done.");
    assert!(again.program().path("made").exists());
}

#[test]
fn a_plan_that_was_edited_and_approved_is_the_plan_that_the_model_gets() {
    let program = Program::new();
    let plan = r#"
[[turn]]
step = [{ call = "ExitPlanMode", input = { plan = "1. Paint it green" } }]
[[turn]]
text = "Painted."
"#;
    let provider = script(&program, plan);
    let mut tui = Pty::spawn_with(
        program,
        &[
            "--theme",
            "ansi16",
            "--permission-mode",
            "plan",
            "--provider",
            &provider,
        ],
        &[("EDITOR", "sed -i s/green/violet/")],
        100,
        30,
    );
    tui.wait_for("❯").send("go\r");
    tui.wait_for("Paint it green");
    armed(&mut tui, "Ctrl+G editor").send("\x07");
    tui.wait_for("Paint it violet");
    armed(&mut tui, "Enter choose").send("\r");
    tui.wait_for("Painted.").wait_for("approved with changes");
    let log = tui.program().session_log();
    let approved = "The user has approved the plan with changes. Carry it out now, as it stands here:\\n\\n1. Paint it violet";
    assert!(log.contains(approved), "{log}");
}

/// What the terminal reports about the mouse at this text: `0` is the left button, `64` the wheel turned up.
fn mouse(tui: &Pty, button: u8, text: &str) -> String {
    let (row, column) = place(&tui.vt(), text).expect("the text is on the screen");
    format!("\x1b[<{button};{};{}M", column + 1, row + 1)
}

#[test]
fn a_long_explanation_stays_readable_above_a_question_that_a_click_answers() {
    let program = Program::new();
    program.put("poem.txt", "one\ntwo\n");
    let reasons: Vec<String> = (1..=40).map(|it| format!("- Reason {it}.")).collect();
    let reasons = reasons.join("\\n");
    let toml = format!(
        r#"
[[turn]]
step = [{{ call = "Read", input = {{ file_path = "poem.txt" }} }}]
[[turn]]
text = "{reasons}"
[[turn.step]]
call = "Edit"
input = {{ file_path = "poem.txt", old_string = "two", new_string = "TWO" }}
[[turn]]
text = "Done with that."
"#
    );
    let mut tui = play(program, &toml, &[]);
    armed(&mut tui, "y yes").wait_for("Reason 40.");
    let wheel = mouse(&tui, 64, "Reason 40.");
    tui.send(wheel.repeat(4))
        .wait_gone("Reason 40.")
        .wait_for("Reason 20.")
        .wait_for("y yes");
    assert_eq!(tui.program().read("poem.txt"), "one\ntwo\n");
    let down = mouse(&tui, 0, "y yes");
    let up = down.replace('M', "m");
    tui.send(down + &up);
    tui.wait_gone("y yes").wait_for("twice to quit");
    assert_eq!(tui.program().read("poem.txt"), "one\nTWO\n");
}

#[test]
fn what_you_asked_stays_at_the_top_while_a_long_answer_arrives() {
    let lines: Vec<String> = (1..=60).map(|it| format!("- Step {it}.")).collect();
    let toml = format!(
        "[[turn]]\nword_ms = 5\nstep = [{{ text = \"{}\" }}, {{ delay_ms = 600000 }}]\n",
        lines.join("\\n")
    );
    let mut tui = play(Program::new(), &toml, &[]);
    for step in ["Step 40.", "Step 50.", "Step 60."] {
        tui.wait_for(step);
        let top = tui.vt().rows(0, 100).next().unwrap_or_default();
        assert!(top.starts_with("▌ go"), "{step}\n{}", tui.screen());
    }
    tui.send("\x03").wait_for("interrupted");
}

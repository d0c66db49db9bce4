//! Calls in the conversation: a running one shows its output, a finished one its outcome.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use crate::app::rig::{App, numbered};
use crate::protocol::{CallOutcome, ForPerson, ToolResult};
use crate::ui::rig::Screen;

fn running(commands: &[&str]) -> App {
    let mut app = App::working();
    for command in commands {
        app.tool(*command, "Bash")
            .queued(json!({"command": command}))
            .running();
    }
    app
}

/// The rows below a command's row in the conversation.
fn under(screen: &mut Screen, command: &str) -> Vec<String> {
    let text = screen.text();
    let mut lines = text.lines().map(str::trim_end);
    lines.find(|line| line.contains(&format!("Bash {command}")));
    let under = lines.take_while(|line| line.starts_with("  │"));
    under.map(str::to_owned).collect()
}

#[test]
fn a_command_that_runs_alone_shows_its_last_eight_lines() {
    let mut app = running(&["make"]);
    app.tool("make", "Bash")
        .prints(&numbered("step", 1..50, "\n"));
    let mut screen = app.on(60, 30);
    let under = under(&mut screen, "make");
    assert_eq!(under.len(), 9, "{under:?}");
    assert_eq!(under[0], "  │ … 41 lines");
    assert_eq!(under[1], "  │ step 42");
    assert!(under[8].starts_with("  │ step 49"), "{under:?}");
}

#[test]
fn several_running_commands_show_five_lines_each() {
    let mut app = running(&["make", "test"]);
    app.tool("make", "Bash")
        .prints(&numbered("step", 1..50, "\n"));
    app.tool("test", "Bash").prints("one\ntwo");
    let mut screen = app.on(60, 30);
    assert_eq!(under(&mut screen, "make").len(), 6);
    assert_eq!(under(&mut screen, "test").len(), 2);
    screen.tool("test", "Bash").exits(0, "one\ntwo");
    assert_eq!(under(&mut screen, "make").len(), 9);
}

#[test]
fn the_time_advances_although_nothing_is_printed() {
    let mut screen = running(&["sleep 100"]).on(80, 24);
    screen.after(Duration::from_secs(12));
    let times = |screen: &mut Screen| -> Vec<String> {
        let lines = screen.lines_with("● Bash sleep 100").into_iter();
        let time = |line: String| line.rsplit("  ").next().unwrap_or_default().to_owned();
        lines.map(time).collect()
    };
    assert_eq!(times(&mut screen), ["12s", "12s"], "row and strip agree");
    screen.after(Duration::from_secs(60));
    assert_eq!(times(&mut screen), ["1m 12s", "1m 12s"]);
    screen.press("ctrl+t x");
    assert_eq!(times(&mut screen), ["stopping", "stopping"]);
    assert!(screen.text().contains(" stopping Bash · 1m 12s "));
}

#[test]
fn a_finished_call_says_how_it_ended() {
    let ended = |code, output: &str| {
        let mut app = running(&["make"]);
        app.tool("make", "Bash").prints(output).exits(code, output);
        let mut screen = app.on(80, 30);
        let head = screen.lines_with("Bash make").remove(0);
        (head, under(&mut screen, "make"))
    };
    let (head, below) = ended(0, "one\ntwo\n");
    assert_eq!(head, "✓ Bash make  2 lines · 0.12s");
    assert_eq!(below, [] as [&str; 0]);
    assert_eq!(ended(0, "").0, "✓ Bash make  no output · 0.12s");
    let (head, below) = ended(2, &numbered("line", 1..59, "\n"));
    assert_eq!(head, "✗ Bash make  exit 2 · 58 lines · 0.12s");
    assert!(below[0].starts_with("  │ … 53 more lines"), "{below:?}");
    assert!(below[0].ends_with("Ctrl+O"), "{below:?}");
    assert_eq!(below[1], "  │ line 54");
    assert_eq!(below.len(), 6);
    assert_eq!(ended(1, "no\n").1, ["  │ no"]);
}

#[test]
fn the_output_of_a_stopped_command_stays() {
    let mut app = running(&["make"]);
    let text = "Cancelled by the user: Bash(make) was stopped. Its output so far:\nhalf";
    let side = ForPerson {
        output: Some(text.len() - 4..text.len()),
        ..ForPerson::default()
    };
    let result = ToolResult::error("wire".into(), text);
    app.tool("make", "Bash")
        .ends_for_person(result, CallOutcome::Cancelled, side);
    let mut screen = app.on(80, 24);
    assert_eq!(
        screen.lines_with("Bash make"),
        ["■ Bash make  stopped · 1 line · 0.12s"]
    );
    assert_eq!(under(&mut screen, "make"), ["  │ half"]);
    assert!(!screen.text().contains("Cancelled by the user"));
}

#[test]
fn the_person_reads_a_sentence_and_the_detail_view_has_the_models_text() {
    let mut app = App::working();
    app.tool("a", "Edit")
        .queued(json!({"file_path": "notes.txt"}))
        .running()
        .ends_with_sentence(
            CallOutcome::Failed,
            "2 matches: which one is unclear",
            "Found 2 matches, but `replace_all` is false",
        );
    app.tool("b", "Bash")
        .queued(json!({"command": "rm -rf build"}))
        .waits()
        .ends_with_sentence(
            CallOutcome::Denied,
            "you said no",
            "The user did not allow it",
        );
    let mut screen = app.on(80, 24);
    assert_eq!(screen.lines_with("which one is unclear").len(), 1);
    assert_eq!(screen.lines_with("rm -rf build  you said no").len(), 1);
    screen.press("ctrl+o");
    assert!(!screen.text().contains("replace_all"), "{}", screen.text());
    assert!(
        !screen.text().contains("did not allow"),
        "{}",
        screen.text()
    );
    screen.press("ctrl+t enter");
    let text = screen.text();
    let (_, for_model) = text.split_once("Sent to the model").expect("a heading");
    assert!(for_model.contains("The user did not allow it"), "{text}");
}

#[test]
fn commands_at_work_and_done() {
    let mut app = running(&["pytest -q"]);
    app.tool("pytest -q", "Bash")
        .prints(&numbered("tests/test_total.py", 1..45, " . ..\n"))
        .takes(12_000)
        .exits(1, &numbered("E  assert", 1..59, "\n"));
    app.tool("other", "Bash")
        .queued(json!({"command": "cargo test"}))
        .running()
        .prints(&numbered("test", 1..30, " ... ok\n"))
        .takes(3_000);
    assert_snapshot!(app.draw(80, 30));
}

#[test]
fn the_detail_view_of_a_file_has_line_numbers_and_what_is_below_them() {
    let mut app = App::working();
    app.tool("a", "Read")
        .queued(json!({"file_path": "src/main.rs"}))
        .running()
        .completes("     9\tfn main() {\n    10\t}\n\n[2 more lines]");
    let mut screen = app.on(80, 24);
    screen.press("ctrl+t enter");
    let text = screen.text();
    let (_, output) = text.split_once("Output").expect("a heading");
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    assert_eq!(
        lines[1..5],
        [" 9 fn main() {", "10 }", "", "[2 more lines]"]
    );
}

#[test]
fn a_call_that_went_well_says_what_it_found() {
    let mut app = App::working();
    let side = ForPerson {
        sentence: Some("Rust · 12.0 KB".into()),
        ..ForPerson::default()
    };
    app.tool("a", "WebFetch")
        .queued(json!({"url": "https://rust-lang.org/"}))
        .running()
        .ends_for_person(
            ToolResult::text("wire".into(), "a page\nof two lines"),
            CallOutcome::Succeeded,
            side,
        );
    let mut screen = app.on(80, 24);
    assert_eq!(
        screen.lines_with("WebFetch"),
        ["✓ WebFetch https://rust-lang.org/  Rust · 12.0 KB · 0.12s"]
    );
    screen.resize(40, 24);
    assert_eq!(
        screen.lines_with("WebFetch"),
        ["✓ WebFetch https://r…  Rust · 12.0 KB …"]
    );
}

#[test]
fn an_outcome_that_does_not_fit_is_cut_and_not_left_out() {
    let mut app = running(&["curl https://example.org/a/long/address"]);
    let command = "curl https://example.org/a/long/address";
    let why = "denied by hook ~/.config/agent-tui/hooks/only-known-hosts.sh --strict";
    app.tool(command, "Bash").ends_with_sentence(
        CallOutcome::Denied,
        why,
        "Permission has been denied",
    );
    let mut screen = app.on(80, 24);
    let lines = screen.lines_with("⊘ Bash curl");
    assert!(lines[0].contains("  denied by hook ~/.config"), "{lines:?}");
    assert!(
        lines[0].trim_end_matches(['┃', ' ']).ends_with('…'),
        "{lines:?}"
    );
}

#[test]
fn tools_that_only_models_know_by_name_have_other_names_in_their_rows() {
    let mut app = App::working();
    let todos = json!({"todos": [{"content": "Run it", "status": "completed", "activeForm": "Running it"}]});
    app.tool("a", "TodoWrite").queued(todos).running();
    app.tool("b", "EnterPlanMode").queued(json!({})).running();
    app.tool("c", "ExitPlanMode")
        .queued(json!({"plan": "# Skip bad rows"}))
        .running();
    let mut screen = app.on(80, 24);
    for row in ["● Todos 1 of 1", "● Plan mode", "● Plan Skip bad rows"] {
        assert!(!screen.lines_with(row).is_empty(), "{}", screen.text());
    }
}

/// The detail view of a call that has completed, from its input on.
fn detail(tool: &str, input: serde_json::Value, sentence: &str, text: &str) -> String {
    let mut app = App::working();
    let mut call = app.tool("a", tool);
    call.queued(input).running();
    call.ends_with_sentence(CallOutcome::Succeeded, sentence, text);
    app.press("ctrl+t enter");
    let text = app.on(60, 40).text();
    let rows = text.lines().map(str::trim_end);
    let rows = rows.skip_while(|row| *row != "Input");
    let rows: Vec<&str> = rows.take_while(|row| *row != "Sent to the model").collect();
    rows.join("\n").trim_end().to_owned()
}

#[test]
fn the_detail_view_shows_todos_questions_and_plans_as_such() {
    let todos = json!({ "todos": [
        { "content": "Read", "status": "completed", "activeForm": "Reading" },
        { "content": "Write", "status": "in_progress", "activeForm": "Writing" },
    ]});
    assert_eq!(
        detail("TodoWrite", todos, "1 of 2", "[x] Read"),
        "Input\n✓ Read\n● Write\n\nOutcome\n1 of 2"
    );
    let questions = json!({ "questions": [{ "question": "Where?", "header": "Place", "options": [
        { "label": "Here", "description": "near" },
        { "label": "Elsewhere", "description": "far" },
    ]}]});
    assert_eq!(
        detail("AskUserQuestion", questions, "Here", "\"Where?\"=\"Here\""),
        "Input\n? Where?\n  Here       near\n  Elsewhere  far\n\nOutcome\nHere"
    );
    let plan = json!({ "plan": "# Skip **bad** rows\n\n1. look" });
    assert_eq!(
        detail("ExitPlanMode", plan, "approved", "User has approved"),
        "Input\nSkip bad rows\n\n1. look\n\nOutcome\napproved"
    );
}

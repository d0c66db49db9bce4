//! Subagents from outside: their lines in stream-json, their types, and a session that can be resumed after a kill.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::support::{Output, Program};

const STREAM: [&str; 2] = ["--output-format", "stream-json"];
const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// Two tasks at once; each makes a call with the same id.
const TWO: &str = r#"
[[turn]]
text = "I split this in two."
[[turn.step]]
call = "Task"
id = "first"
input = { description = "find the callers", prompt = "Find all callers.", subagent_type = "explore" }
[[turn.step]]
call = "Task"
id = "second"
input = { description = "check the docs", prompt = "Check the docs." }

[[turn]]
text = "Both are done."

[[turn]]
agent = "callers"
step = [{ call = "Glob", id = "same", input = { pattern = "*.rs" } }]
[[turn]]
agent = "callers"
text = "There is one caller."

[[turn]]
agent = "docs"
step = [{ call = "Glob", id = "same", input = { pattern = "*.md" } }]
[[turn]]
agent = "docs"
text = "The docs are fine."
"#;

fn run(program: &Program, script: &str, more: &[&str]) -> Output {
    let path = program.put("script.toml", script);
    let provider = format!("script:{}", path.display());
    program.run(&[&["--provider", &provider, "-p", "go"], more].concat())
}

fn of<'l>(lines: &'l [Value], parent: &str) -> Vec<&'l Value> {
    let of_parent = |line: &&Value| line["parent_tool_use_id"] == parent;
    lines.iter().filter(of_parent).collect()
}

#[test]
fn their_lines_name_the_call_that_started_them() {
    let program = Program::new();
    program.put("a.rs", "");
    program.put("b.md", "");
    let output = run(&program, TWO, &STREAM);
    assert_eq!(output.code, Some(0), "{output:?}");
    let lines = output.lines();
    for (parent, file, text) in [
        ("first", "a.rs", "There is one caller."),
        ("second", "b.md", "The docs are fine."),
    ] {
        let lines = of(&lines, parent);
        let kinds = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
        assert_eq!((kinds("assistant"), kinds("user")), (2, 1), "{lines:#?}");
        let found = &lines
            .iter()
            .find(|line| line["type"] == "user")
            .expect("a result")["message"];
        let found = found["content"][0]["content"].to_string();
        assert!(found.contains(file), "{found}");
        let states: Vec<&str> = lines
            .iter()
            .filter(|line| line["type"] == "tool" && line["tool_use_id"] == "same")
            .filter_map(|line| line["state"].as_str())
            .filter(|state| *state != "progress")
            .collect();
        assert_eq!(states, ["queued", "executing", "completed", "yielded"]);
        let delivered = lines.len();
        assert!(delivered > 0);
        let result = lines_of_main(&output)
            .into_iter()
            .find(|line| line["type"] == "user")
            .expect("the results");
        assert!(result.to_string().contains(text), "{result}");
    }
    // The main conversation's lines have no parent, and the run ends when it ends.
    assert_eq!(output.result()["result"], "Both are done.");
    let main = lines_of_main(&output);
    let answers = main.iter().filter(|line| line["type"] == "assistant");
    assert_eq!(answers.count(), 2);
}

fn lines_of_main(output: &Output) -> Vec<Value> {
    let lines = output.lines().into_iter();
    lines
        .filter(|line| line.get("parent_tool_use_id").is_none())
        .collect()
}

#[test]
fn after_a_kill_the_session_can_be_resumed() {
    let program = Program::new();
    let script = r#"
[[turn]]
step = [{ call = "Task", id = "t", input = { description = "wait", prompt = "Wait long." } }]
[[turn]]
text = "I go on."
[[turn]]
agent = "Wait long"
step = [{ text = "waiting" }, { call = "Bash", input = { command = "sleep 1000" } }]
"#;
    let path = program.put("script.toml", script);
    let provider = format!("script:{}", path.display());
    let base = ["--provider", &provider, "-p"];
    let arguments = [&base[..], &["go"], &STREAM, &BYPASS].concat();
    let mut child = program.command(&arguments).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let runs = |line: &String| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["name"] == "Bash" && line["phase"] == "running"
    };
    assert!(lines.any(|line| runs(&line.expect("a line"))));
    child.kill().expect("killed");
    child.wait().expect("gone");

    let again = [&base[..], &["and now?", "--continue"], &STREAM].concat();
    let output = program.run(&again);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.result()["result"], "I go on.");
    let log = program.session_log();
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(
        records
            .iter()
            .any(|it| it["kind"] == "started" && it["agent"] == 2),
        "{log}"
    );
}

#[test]
fn types_of_the_person_and_of_a_trusted_project_are_offered() {
    let program = Program::new();
    let kind = |name: &str| {
        format!("---\nname: {name}\ndescription: Reviews {name}\ntools: Read\n---\nYou review.\n")
    };
    let own = program.config().join("agents");
    std::fs::create_dir_all(&own).expect("a folder");
    std::fs::write(own.join("own.md"), kind("own")).expect("written");
    std::fs::write(own.join("broken.md"), "---\nname: broken\n---\nx").expect("written");
    program.put(".claude/agents/theirs.md", kind("theirs"));
    let described = |more: &[&str]| {
        let output = program.run(&[&["tools", "--json"], more].concat());
        let tools: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let tools = tools.as_array().expect("a list").clone();
        let task = tools
            .into_iter()
            .find(|tool| tool["name"] == "Task")
            .expect("Task");
        task["description"].as_str().expect("text").to_owned()
    };
    let text = described(&[]);
    assert!(text.contains("- own: Reviews own (Read)"), "{text}");
    assert!(!text.contains("theirs"), "{text}");
    let text = described(&["--trust"]);
    assert!(text.contains("- theirs: Reviews theirs (Read)"), "{text}");

    let script = r#"
[[turn]]
step = [{ call = "Task", id = "t", input = { description = "review", prompt = "Look.", subagent_type = "own" } }]
[[turn]]
text = "done"
[[turn]]
agent = "Look."
step = [{ call = "Bash", input = { command = "echo no" } }]
[[turn]]
agent = "Look."
text = "reviewed"
"#;
    let output = run(&program, script, &[&STREAM[..], &BYPASS].concat());
    let lines = output.lines();
    let refused = of(&lines, "t")
        .into_iter()
        .find(|line| line["type"] == "user")
        .cloned();
    let refused = refused.expect("a result").to_string();
    assert!(
        refused.contains("No such tool available: Bash"),
        "{refused}"
    );
    assert!(
        output
            .stderr
            .contains("broken.md`, line 1: `description` is missing"),
        "{output:?}"
    );
    assert_eq!(output.result()["usage"]["input_tokens"], json!(null));
}

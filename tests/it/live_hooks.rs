//! Hooks that change while the program runs, what they find in their environment, and hooks around subagents.

use serde_json::{Value, json};

use crate::support::{Output, Program};

fn config(program: &Program, settings: &Value) {
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, settings.to_string()).expect("written");
}

fn hook(event: &str, matcher: &str, command: &str) -> Value {
    let command = json!({"type": "command", "command": command});
    json!({ event: [{"matcher": matcher, "hooks": [command]}] })
}

/// Runs a scripted model whose turns are these, and returns the results as the model got them.
fn run(program: &Program, turns: &[Value]) -> (Output, String) {
    let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
    let file = program.workspace().with_file_name("script.jsonl");
    std::fs::write(&file, turns.join("\n")).expect("written");
    let provider = format!("script:{}", file.display());
    let output = program.run(&[
        "-p",
        "go",
        "--provider",
        &provider,
        "--output-format",
        "stream-json",
        "--permission-mode",
        "bypassPermissions",
    ]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let lines = output.lines();
    let users = lines.iter().filter(|line| line["type"] == "user");
    let results = users.map(|line| line["message"]["content"].to_string());
    let results = results.collect();
    (output, results)
}

fn bash(command: &str) -> Value {
    json!({"steps": [{"call": "Bash", "input": {"command": command}}]})
}

#[test]
fn a_hook_that_the_person_adds_or_removes_counts_for_the_next_call() {
    let program = Program::new();
    let deny = hook("PreToolUse", "Bash", "echo not today >&2; exit 2");
    let file = program.config().join("settings.json");
    let settings = json!({ "hooks": deny }).to_string();
    let write = format!(
        "printf '%s' '{settings}' > '{}'; echo wrote",
        file.display()
    );
    config(&program, &json!({}));
    let turns = [
        bash(&write),
        bash("echo second"),
        json!({"steps": [{"call": "Write", "input": {"file_path": file, "content": "{}"}}]}),
        json!({"text": "done"}),
    ];
    let (_, results) = run(&program, &turns);
    assert!(results.contains("wrote"), "{results}");
    assert!(results.contains("not today"), "{results}");
    assert!(!results.contains("second\\n"), "{results}");
}

#[test]
fn hooks_get_the_variables_of_the_settings_and_no_keys() {
    let program = Program::new();
    let command = "echo \"$GREETING $ANTHROPIC_API_KEY $AGENT_TUI_PROJECT_DIR\" > seen";
    let settings = json!({
        "env": {"GREETING": "hello", "ANTHROPIC_API_KEY": "sk-x", "AGENT_TUI_PROJECT_DIR": "/elsewhere"},
        "hooks": hook("PreToolUse", "Bash", command),
    });
    config(&program, &settings);
    run(&program, &[bash("true"), json!({"text": "done"})]);
    let seen = program.read("seen");
    let project = program.workspace().display().to_string();
    assert_eq!(seen.trim(), format!("hello  {project}"));
}

#[test]
fn a_subagent_passes_the_hooks_before_and_after_a_call_and_at_its_end() {
    let program = Program::new();
    let mut hooks = hook("PreToolUse", "Task", "cat >> before");
    hooks["PostToolUse"] = hook("PostToolUse", "Task", "cat >> after")["PostToolUse"].clone();
    hooks["SubagentStop"] = hook("SubagentStop", "*", "cat >> stopped")["SubagentStop"].clone();
    config(&program, &json!({ "hooks": hooks }));
    let input = json!({"description": "look", "prompt": "Look around."});
    let turns = [
        json!({"steps": [{"call": "Task", "input": input}]}),
        json!({"text": "done"}),
        json!({"agent": "around", "text": "Nothing here."}),
    ];
    run(&program, &turns);
    let event = |file: &str| -> Value {
        let text = program.read(file);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let before = event("before");
    assert_eq!(before["hook_event_name"], "PreToolUse");
    assert_eq!(before["tool_name"], "Task");
    assert_eq!(before["tool_input"]["description"], "look");
    let after = event("after");
    assert_eq!(after["hook_event_name"], "PostToolUse");
    assert!(
        after["tool_response"].to_string().contains("Nothing here."),
        "{after}"
    );
    assert_eq!(event("stopped")["hook_event_name"], "SubagentStop");
}

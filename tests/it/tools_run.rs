//! `agent-tui tools run`: one tool through all steps of a call.

use serde_json::{Value, json};

use crate::support::pty::Pty;
use crate::support::{Output, Program};

fn run(program: &Program, tool: &str, input: &str, more: &[&str]) -> Output {
    program.run(&[&["tools", "run", tool, input], more].concat())
}

#[test]
fn the_result_is_printed_as_the_model_gets_it() {
    let program = Program::new();
    program.put("a.txt", "first\nsecond\n");
    let read = run(&program, "Read", r#"{"file_path": "a.txt"}"#, &[]);
    assert_eq!(read.code, Some(0), "{read:?}");
    assert!(read.stdout.contains("2\tsecond"), "{read:?}");
    let piped = program.run_with_input(
        &["tools", "run", "Read", "-"],
        br#"{"file_path": "a.txt", "limit": 1}"#,
    );
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert!(piped.stdout.contains("first"), "{piped:?}");
    assert!(!piped.stdout.contains("second"), "{piped:?}");
    let missing = run(&program, "Read", r#"{"file_path": "b.txt"}"#, &["--json"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let missing: Value = serde_json::from_str(&missing.stdout).expect("JSON");
    assert_eq!(missing["is_error"], true);
    assert_eq!(missing["outcome"], "failed");
    assert_eq!(missing["tool"], "Read");
    assert_eq!(missing["content"][0]["type"], "text");
}

#[test]
fn wrong_usage_says_what_is_wrong_and_where() {
    let program = Program::new();
    for (tool, input, text) in [
        ("Read", "{\"file_path\":\n 7 7}", "line 2, column 4"),
        ("Read", "[1]", "must be a JSON object"),
        ("Raed", "{}", "did you mean `Read`?"),
    ] {
        let output = run(&program, tool, input, &[]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains(text), "{output:?}");
    }
    // The input is judged like that of any call.
    let output = run(&program, "Read", r#"{"path": 1}"#, &[]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stdout.contains("does not match its schema"),
        "{output:?}"
    );
}

#[test]
fn rules_and_hooks_decide_and_without_a_person_what_asks_is_denied() {
    let program = Program::new();
    let touch = r#"{"command": "touch made"}"#;
    let unasked = run(&program, "Bash", touch, &["--json"]);
    assert_eq!(unasked.code, Some(1), "{unasked:?}");
    let unasked: Value = serde_json::from_str(&unasked.stdout).expect("JSON");
    assert_eq!(unasked["outcome"], "denied");
    assert_eq!(unasked["decisions"][0]["decision"], "ask", "{unasked}");
    let denied = run(&program, "Bash", touch, &["--deny", "Bash(touch:*)"]);
    assert_eq!(denied.code, Some(1), "{denied:?}");
    assert!(denied.stdout.contains("Bash(touch:*)"), "{denied:?}");
    let off = run(&program, "Bash", touch, &["--deny", "Bash"]);
    assert_eq!(off.code, Some(1), "{off:?}");
    assert!(off.stderr.contains("`Bash` is denied"), "{off:?}");
    assert!(!program.path("made").exists());
    let allowed = run(&program, "Bash", touch, &["--allow", "Bash(touch:*)"]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    assert!(program.path("made").exists());
    let hook = json!({"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [
        {"type": "command", "command": "echo not today >&2; exit 2"}
    ]}]}});
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, hook.to_string()).expect("written");
    let blocked = run(&program, "Read", r#"{"file_path": "made"}"#, &[]);
    assert_eq!(blocked.code, Some(1), "{blocked:?}");
    assert!(blocked.stdout.contains("not today"), "{blocked:?}");
}

#[test]
fn a_deferred_tool_runs_without_being_loaded_first() {
    let program = Program::new();
    program.put("a.txt", "");
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, r#"{"toolSearch": "always"}"#).expect("written");
    let listed = run(&program, "LS", "{}", &[]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("a.txt"), "{listed:?}");
}

#[test]
fn a_person_is_asked_on_the_terminal() {
    let arguments = ["tools", "run", "Bash", r#"{"command": "touch made"}"#];
    for (answer, code) in [("y\r", 0), ("n\r", 1), ("\r", 1)] {
        let mut pty = Pty::spawn_in(Program::new(), &arguments, 80, 24);
        pty.wait_for("Allow? [y/N]").wait_for("touch made");
        pty.send(answer);
        let end = pty.exit();
        assert_eq!(end.code, code, "{answer:?}: {}", end.screen.contents());
        assert_eq!(pty.program().path("made").exists(), code == 0, "{answer:?}");
    }
}

#[test]
fn the_change_of_a_file_is_shown_before_it_is_asked_about() {
    let input = r#"{"file_path": "new.txt", "content": "hello\n"}"#;
    let mut pty = Pty::spawn_in(Program::new(), &["tools", "run", "Write", input], 80, 24);
    pty.wait_for("+hello").wait_for("Allow? [y/N]").send("y\r");
    assert_eq!(pty.exit().code, 0);
    assert_eq!(pty.program().read("new.txt"), "hello\n");
}

#[test]
fn ctrl_c_stops_the_call_and_the_exit_code_says_so() {
    let arguments = [
        "tools",
        "run",
        "Bash",
        r#"{"command": "echo > started; sleep 89.5"}"#,
        "--permission-mode",
        "bypassPermissions",
    ];
    let mut pty = Pty::spawn_in(Program::new(), &arguments, 80, 24);
    let started = pty.program().path("started");
    crate::support::server::wait_for_some(|| started.exists().then_some(()));
    pty.send("\x03");
    assert_eq!(pty.exit().code, 130);
}

#[test]
fn a_person_changes_a_file_without_reading_it_first() {
    let program = Program::new();
    program.put("a.txt", "first\nsecond\n");
    let input = r#"{"file_path": "a.txt", "old_string": "second", "new_string": "2nd"}"#;
    let edit = run(&program, "Edit", input, &["--allow", "Edit"]);
    assert_eq!(edit.code, Some(0), "{edit:?}");
    assert_eq!(program.read("a.txt"), "first\n2nd\n");
    let input = r#"{"file_path": "a.txt", "content": "all new\n"}"#;
    let write = run(&program, "Write", input, &["--allow", "Write"]);
    assert_eq!(write.code, Some(0), "{write:?}");
    assert_eq!(program.read("a.txt"), "all new\n");
}

#[test]
fn a_subagent_says_why_it_does_not_start_and_what_to_do() {
    let program = Program::new();
    let input = r#"{"description": "look", "prompt": "look around"}"#;
    let task = run(&program, "Task", input, &[]);
    assert_eq!(task.code, Some(1), "{task:?}");
    assert!(
        task.stdout.contains("Ask for it with `agent-tui -p`"),
        "{task:?}"
    );
}

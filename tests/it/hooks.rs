//! Hooks, from settings files to their effects: every event, with a scripted model.

use std::path::Path;

use serde_json::{Value, json};

use crate::screen::armed;
use crate::support::pty::{Pty, script as toml_script};
use crate::support::{Output, Program};

const HALT: &str = r#"{"continue": false, "stopReason": "enough"}"#;

/// Writes hooks of one event into the person's settings, with the matcher `*`.
fn hook(program: &Program, event: &str, command: &str) {
    hooks(
        &program.config().join("settings.json"),
        &[(event, "*", command)],
    );
}

fn hooks(file: &Path, all: &[(&str, &str, &str)]) {
    let mut events = json!({});
    for (event, matcher, command) in all {
        let group = json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
        match events[*event].as_array_mut() {
            Some(groups) => groups.push(group),
            None => events[*event] = json!([group]),
        }
    }
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
    std::fs::write(file, json!({ "hooks": events }).to_string()).expect("written");
}

/// A model that calls Bash once with each command, and then says that it is done.
fn script(program: &Program, commands: &[&str]) -> String {
    let calls = commands.iter().map(|command| {
        let call = json!({"call": "Bash", "input": { "command": command }});
        json!({ "steps": [call] })
    });
    let answers = std::iter::repeat_n(json!({"text": "done"}), 3);
    let turns: Vec<String> = calls.chain(answers).map(|turn| turn.to_string()).collect();
    let file = program.workspace().with_file_name("script.jsonl");
    std::fs::write(&file, turns.join("\n")).expect("written");
    format!("script:{}", file.display())
}

fn run(program: &Program, commands: &[&str], more: &[&str]) -> Output {
    let provider = script(program, commands);
    let base = [
        "-p",
        "go",
        "--provider",
        &provider,
        "--output-format",
        "stream-json",
    ];
    program.run(&[&base[..], more].concat())
}

/// The results as the model got them.
fn results(output: &Output) -> String {
    let users = output
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "user");
    users
        .map(|line| line["message"]["content"].to_string())
        .collect()
}

fn seen(program: &Program, name: &str) -> Value {
    let text = program.read(name);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn exit_2_before_a_call_denies_it_and_says_why_to_the_model() {
    let program = Program::new();
    hook(
        &program,
        "PreToolUse",
        "cat > seen.json; echo not here >&2; exit 2",
    );
    let output = run(
        &program,
        &["touch made"],
        &["--permission-mode", "bypassPermissions"],
    );
    assert!(
        results(&output).contains("not here (the hook"),
        "{output:?}"
    );
    assert!(!program.path("made").exists());
    let denial = &output.result()["permission_denials"][0];
    assert_eq!(
        (&denial["tool_name"], &denial["tool_input"]["command"]),
        (&json!("Bash"), &json!("touch made"))
    );
    let input = seen(&program, "seen.json");
    assert_eq!(input["session_id"], output.result()["session_id"]);
    assert_eq!(input["permission_mode"], "bypassPermissions");
    let log = input["transcript_path"]
        .as_str()
        .expect("a path")
        .to_owned();
    let log = std::fs::read_to_string(log).expect("the session's log");
    assert!(
        log.contains("\"cause\":\"hook `cat > seen.json; echo not here >&2; exit 2`"),
        "{log}"
    );
    assert!(
        output.stdout.contains("\"phase\":\"in_hooks\""),
        "{output:?}"
    );
}

#[test]
fn a_rewritten_command_is_checked_against_the_rules_again() {
    let program = Program::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "touch made"}}});
    hook(&program, "PreToolUse", &format!("echo '{answer}'"));
    let output = run(&program, &["echo hello"], &["--deny", "Bash(touch:*)"]);
    assert!(
        results(&output).contains("the rule `Bash(touch:*)`"),
        "{output:?}"
    );
    assert!(!program.path("made").exists());
    let output = run(&program, &["echo hello"], &[]);
    assert!(program.path("made").exists(), "{output:?}");
    assert!(
        output.stderr.contains("changed the input of Bash"),
        "{output:?}"
    );
}

#[test]
fn a_hooks_allow_replaces_the_default_and_overrides_no_rule() {
    let program = Program::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    hook(&program, "PreToolUse", &format!("echo '{answer}'"));
    run(&program, &["touch made"], &[]);
    assert!(program.path("made").exists());
    for rule in [
        ["--deny", "Bash(touch:*)"],
        ["--ask", "Bash(touch:*)"],
        ["--permission-mode", "plan"],
    ] {
        let output = run(&program, &["touch more"], &rule);
        assert_eq!(
            output.result()["permission_denials"][0]["tool_input"]["command"],
            "touch more",
            "{rule:?}"
        );
    }
    run(&program, &["touch .git/more"], &[]);
    assert!(!program.path("more").exists() && !program.path(".git/more").exists());
}

#[test]
fn g8_hooks_of_a_project_that_is_not_trusted_are_never_started() {
    let program = Program::new();
    let all: Vec<(&str, &str, &str)> = [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "PermissionRequest",
        "Notification",
        "Stop",
        "SessionStart",
        "SessionEnd",
    ]
    .map(|event| (event, "*", "touch started"))
    .to_vec();
    for folder in [".claude", ".agent-tui"] {
        for name in ["settings.json", "settings.local.json"] {
            hooks(&program.path(folder).join(name), &all);
        }
    }
    let output = run(&program, &["echo hello", "touch x"], &[]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!program.path("started").exists());
    assert_eq!(
        output
            .stderr
            .matches("its hooks are ignored: the project is not trusted")
            .count(),
        4
    );
    let tested = program.run(&["hooks", "test", "PreToolUse"]);
    assert_eq!(tested.stdout, "no hooks configured\n");
    assert!(!program.path("started").exists());
    run(&program, &["echo hello"], &["--trust"]);
    assert!(program.path("started").exists());
}

#[test]
fn a_permission_request_is_answered_by_a_hook() {
    let program = Program::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    hook(
        &program,
        "PermissionRequest",
        &format!("cat > seen.json; echo '{answer}'"),
    );
    let output = run(&program, &["touch made"], &[]);
    assert_eq!(output.result()["permission_denials"], json!([]));
    assert!(program.path("made").exists());
    assert_eq!(
        seen(&program, "seen.json")["tool_input"],
        json!({"command": "touch made"})
    );
}

#[test]
fn hooks_after_a_call_speak_to_the_model() {
    let program = Program::new();
    let settings = program.config().join("settings.json");
    hooks(
        &settings,
        &[
            (
                "PostToolUse",
                "Bash",
                "cat > after.json; echo format it >&2; exit 2",
            ),
            (
                "PostToolUseFailure",
                "Bash",
                "cat > failed.json; echo '{\"systemMessage\": \"it failed\"}'",
            ),
            ("PostToolUse", "Edit", "touch not-this-one"),
        ],
    );
    let output = run(&program, &["echo hello", "exit 3"], &["--allow", "Bash"]);
    assert!(
        results(&output).contains("objects: format it"),
        "{output:?}"
    );
    assert_eq!(
        seen(&program, "after.json")["tool_response"]["stdout"],
        "hello"
    );
    assert_eq!(seen(&program, "failed.json")["error"], "Exit code 3");
    assert!(output.stderr.contains("says: it failed"), "{output:?}");
    assert!(!program.path("not-this-one").exists());
}

#[test]
fn a_prompt_can_be_refused_or_added_to() {
    let program = Program::new();
    hook(
        &program,
        "UserPromptSubmit",
        "cat > seen.json; echo not that >&2; exit 2",
    );
    let output = run(&program, &[], &[]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.result()["result"]
            .as_str()
            .expect("text")
            .contains("blocked by the hook"),
        "{output:?}"
    );
    assert_eq!(seen(&program, "seen.json")["prompt"], "go");
    assert!(!program.session_log().contains("\"go\""));
    hook(&program, "UserPromptSubmit", "echo the moon is full");
    let output = run(&program, &[], &[]);
    assert_eq!(output.code, Some(0));
    assert!(program.session_log().contains("<hook>\\nthe moon is full"));
}

#[test]
fn a_stop_hook_makes_the_model_continue_once() {
    let program = Program::new();
    let once = "cat >> stops.jsonl; [ $(wc -l < stops.jsonl) = 1 ] && { echo test it >&2; exit 2; }; exit 0";
    hook(&program, "Stop", once);
    let output = run(&program, &[], &[]);
    assert_eq!(
        (output.code, &output.result()["num_turns"]),
        (Some(0), &json!(2)),
        "{output:?}"
    );
    let stops: Vec<Value> = program
        .read("stops.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let active: Vec<&Value> = stops.iter().map(|stop| &stop["stop_hook_active"]).collect();
    assert_eq!(active, [&json!(false), &json!(true)]);
    assert!(
        results(&output).contains("A hook of the user says: test it"),
        "{output:?}"
    );
}

#[test]
fn a_stop_hook_that_always_blocks_still_ends() {
    let program = Program::new();
    hook(&program, "Stop", "echo more >&2; exit 2");
    let output = run(&program, &[], &[]);
    assert_eq!(
        (output.code, &output.result()["num_turns"]),
        (Some(0), &json!(9)),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("hooks kept the model working 8 times"),
        "{output:?}"
    );
}

#[test]
fn a_session_begins_and_ends_with_its_hooks() {
    let program = Program::new();
    let settings = program.config().join("settings.json");
    hooks(
        &settings,
        &[
            (
                "SessionStart",
                "startup",
                "cat > start.json; echo the branch is main",
            ),
            ("SessionStart", "resume", "cat > resumed.json"),
            ("SessionEnd", "*", "cat > end.json"),
        ],
    );
    run(&program, &[], &[]);
    assert_eq!(seen(&program, "start.json")["source"], "startup");
    assert!(program.session_log().contains("the branch is main"));
    assert_eq!(seen(&program, "end.json")["reason"], "other");
    assert!(!program.path("resumed.json").exists());
    run(&program, &[], &["--continue"]);
    assert_eq!(seen(&program, "resumed.json")["source"], "resume");
}

#[test]
fn a_hook_can_end_the_turn() {
    let program = Program::new();
    hook(
        &program,
        "PostToolUse",
        &format!("cat > /dev/null; echo '{HALT}'"),
    );
    let output = run(&program, &["echo hello"], &[]);
    assert_eq!(
        (output.code, &output.result()["num_turns"]),
        (Some(1), &json!(1)),
        "{output:?}"
    );
    assert!(
        output.result()["result"]
            .as_str()
            .expect("text")
            .ends_with(" stopped the turn: enough")
    );
}

#[test]
fn keys_reach_no_hook() {
    let program = Program::new();
    hook(&program, "PreToolUse", "cat > seen.json; env > seen.env");
    let provider = script(&program, &["echo sk-secret-key-1"]);
    let mut command = program.command(&["-p", "go", "--provider", &provider]);
    command.env("ANTHROPIC_API_KEY", "sk-secret-key-1");
    let output = crate::support::program::finish(command.spawn().expect("the program starts"));
    assert_eq!(output.code, Some(0), "{output:?}");
    let seen = format!("{}{}", program.read("seen.json"), program.read("seen.env"));
    assert!(
        seen.contains("CLAUDE_PROJECT_DIR") && seen.contains("tool_name"),
        "{seen}"
    );
    assert!(!seen.contains("sk-secret-key-1"), "{seen}");
}

#[test]
fn g5_hook_output_cannot_control_the_terminal() {
    let program = Program::new();
    hook(
        &program,
        "PreToolUse",
        r"printf '\033]52;c;aGk=\007\033[2Joh\n' >&2; exit 1",
    );
    let output = run(&program, &["echo hello"], &[]);
    assert!(output.stderr.contains("exit code 1"), "{output:?}");
    assert!(!output.stderr.contains(['\u{1b}', '\u{7}']), "{output:?}");
    let lines = "i=0; while [ $i -lt 5000 ]; do echo line; i=$((i+1)); done >&2; exit 1";
    hook(&program, "PreToolUse", lines);
    let output = run(&program, &["echo hello"], &[]);
    assert!(output.stderr.lines().count() < 20, "{output:?}");
}

#[test]
fn hooks_test_shows_what_each_hook_got_and_answered() {
    let program = Program::new();
    let settings = program.config().join("settings.json");
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not today"}});
    hooks(
        &settings,
        &[
            ("PreToolUse", "Edit|Write", &format!("echo '{answer}'")),
            ("PreToolUse", "*", "echo oh >&2; exit 7"),
            ("PreToolUse", "Bash", "touch not-this-one"),
        ],
    );
    let output = program.run(&["hooks", "test", "PreToolUse", "--tool", "Write"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in [
        "matcher  Edit|Write",
        "settings.json",
        "stdin    {\"session_id\":\"example\"",
        "\"tool_name\":\"Write\"",
        "ended    exit code 7, after",
        "stdout   {\"hookSpecificOutput\"",
        "stderr   oh",
        "means    denies: not today",
        "means    failed: exit code 7: oh",
        "together\n  denies: not today (`echo",
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    assert!(!program.path("not-this-one").exists());
    let input = json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}});
    program.put("input.json", input.to_string());
    let output = program.run(&["hooks", "test", "PreToolUse", "--input", "input.json"]);
    assert!(
        output.stdout.contains("\"command\":\"rm x\"") && program.path("not-this-one").exists(),
        "{output:?}"
    );
    let output = program.run_with_input(&["hooks", "test", "Stop", "--input", "-"], b"{}");
    assert_eq!(output.stdout, "no hook matches Stop\n");
}

#[test]
fn hooks_test_knows_every_event_and_says_which_one_was_meant() {
    let program = Program::new();
    for event in ["SubagentStop", "PreCompact", "Notification", "SessionEnd"] {
        hook(&program, event, "cat");
        let output = program.run(&["hooks", "test", event]);
        assert!(
            output
                .stdout
                .contains(&format!("\"hook_event_name\":\"{event}\"")),
            "{output:?}"
        );
    }
    let output = program.run(&["hooks", "test", "pretooluse"]);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (
            Some(2),
            "error: no event named `pretooluse`\nhint: did you mean `PreToolUse`?\n"
        )
    );
    program.put("bad.json", "[1]");
    let output = program.run(&["hooks", "test", "Stop", "--input", "bad.json"]);
    assert_eq!(output.stderr, "error: `bad.json` is not a JSON object\n");
}

#[test]
fn a_wrong_matcher_is_an_error_that_names_its_place() {
    let program = Program::new();
    hook(&program, "PreToolUse", "true");
    let file = program.config().join("settings.json");
    let text = std::fs::read_to_string(&file)
        .expect("there")
        .replace("\"*\"", "\n\"Edit(\"");
    std::fs::write(&file, text).expect("written");
    let output = program.run(&["-p", "x", "--provider", "builtin"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("line 2, column") && output.stderr.contains("`hooks.PreToolUse`"),
        "{output:?}"
    );
}

#[test]
fn the_person_is_asked_about_the_call_as_a_hook_rewrote_it() {
    let program = Program::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
        "permissionDecisionReason": "look closely", "updatedInput": {"command": "touch rewritten.txt"}}});
    hooks(
        &program.config().join("settings.json"),
        &[
            ("PreToolUse", "Bash", &format!("echo '{answer}'")),
            ("Notification", "permission_prompt", "cat > asked.json"),
        ],
    );
    let toml = "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"touch made.txt\" } }]\n[[turn]]\ntext = \"Done.\"\n";
    let provider = toml_script(&program, toml);
    let arguments = ["--theme", "ansi16", "--provider", &provider];
    let mut tui = Pty::spawn_in(program, &arguments, 100, 30);
    tui.wait_for("❯").send("go\r");
    tui.wait_for("touch rewritten.txt").wait_for("look closely");
    armed(&mut tui, "y yes").send("y").wait_for("Done.");
    let program = tui.program();
    assert!(program.path("rewritten.txt").exists() && !program.path("made.txt").exists());
    assert_eq!(
        seen(program, "asked.json")["notification_type"],
        "permission_prompt"
    );
    tui.send("/hooks\r").wait_for("─ Hooks ");
    tui.wait_for("PreToolUse").wait_for("echo '{");
}

#[test]
fn a_new_conversation_ends_the_old_session_and_begins_another() {
    let program = Program::new();
    hooks(
        &program.config().join("settings.json"),
        &[
            ("SessionStart", "startup", "cat > started.json; touch begun"),
            (
                "SessionStart",
                "clear",
                "cat > cleared.json; echo '{\"systemMessage\": \"a fresh start\"}'",
            ),
            ("SessionEnd", "*", "cat >> ended.jsonl"),
        ],
    );
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 100, 30);
    tui.wait_for("❯").send("/clear\r").wait_for("a fresh start");
    assert_eq!(seen(tui.program(), "cleared.json")["source"], "clear");
    let ended = tui.program().path("ended.jsonl");
    let end = tui.send("\x03\x03").exit();
    assert_eq!(end.code, 0);
    let text = std::fs::read_to_string(ended).expect("written");
    let reasons: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["reason"].to_string())
        .collect();
    assert_eq!(reasons, ["\"clear\"", "\"prompt_input_exit\""]);
}

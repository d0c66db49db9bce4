//! `-p` as scripts use it: formats, exit codes, pipes, invalid input.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::wire::{bash, text};
use crate::support::{Program, Server, Wire};

#[test]
fn text_is_the_answer_and_nothing_else() {
    let program = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("Just this.")])]);
    let output = program.ask(&server, Wire::Anthropic, &["-p", "hi"]);
    assert_eq!(
        (output.code, output.stdout.as_str(), output.stderr.as_str()),
        (Some(0), "Just this.\n", "")
    );
}

#[test]
fn json_is_one_object() {
    let program = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("Just this.")])]);
    let output = program.ask(
        &server,
        Wire::Anthropic,
        &["-p", "hi", "--output-format", "json"],
    );
    assert_eq!(output.stdout.lines().count(), 1);
    let mut result = output.result();
    assert!(result["duration_ms"].take().is_u64() && result["session_id"].take().is_string());
    let expected = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "Just this.", "num_turns": 1,
        "duration_ms": null,
        "usage": {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": null,
            "cache_creation_input_tokens": null, "reasoning_tokens": null},
        "permission_denials": [], "session_id": null,
    });
    assert_eq!(result, expected);
}

#[test]
fn piped_input_is_appended_to_the_prompt() {
    let program = Program::new();
    let server = Server::start([
        Wire::OpenAi.reply(&[text("read")]),
        Wire::OpenAi.reply(&[text("read")]),
    ]);
    let url = Wire::OpenAi.base_url(&server.url());
    let base = ["--provider", "openai", "--base-url", &url, "-p"];
    let output = program.run_with_input(&[&base[..], &["explain"]].concat(), b"the error");
    assert_eq!(output.code, Some(0), "{output:?}");
    program.run_with_input(&base, b"only this");
    let prompts: Vec<String> = server.bodies().iter().map(last_text).collect();
    assert_eq!(prompts, ["explain\n\nthe error", "only this"]);
}

fn last_text(body: &Value) -> String {
    let messages = body["messages"].as_array().expect("messages");
    let content = &messages.last().expect("one")["content"];
    content
        .as_str()
        .or(content[0]["text"].as_str())
        .expect("text")
        .to_owned()
}

#[test]
fn a_prompt_of_five_megabytes_arrives_whole() {
    let program = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("long")])]);
    let url = server.url();
    let long = "0123456789abcdef".repeat(5 * 65_536);
    let arguments = ["-p", "--provider", "anthropic", "--base-url", &url];
    let output = program.run_with_input(&arguments, long.as_bytes());
    assert_eq!(output.stdout, "long\n", "{}", output.stderr);
    assert_eq!(last_text(&server.bodies()[0]), long);
}

#[test]
fn without_a_key_the_vendor_is_not_asked_at_all() {
    let program = Program::new();
    for (provider, variable) in [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
    ] {
        let mut command = program.command(&["-p", "hi", "--provider", provider]);
        let output = command.output().expect("it runs");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        let problem = format!("error: no API key for {provider}\n");
        assert!(printed.starts_with(&problem), "{printed}");
        assert!(printed.contains(&format!("set {variable}")), "{printed}");
    }
}

#[test]
fn a_mistyped_subcommand_is_not_sent_as_a_message() {
    let output = Program::new().run(&["doctr"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    let meant = "did you mean `agent-tui doctor`?";
    assert!(output.stderr.contains(meant), "{output:?}");
}

#[test]
fn a_closed_stdout_ends_the_run_quietly() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let replies: Vec<_> = (0..50)
        .map(|at| wire.reply(&[bash(&format!("c{at}"), &format!("echo {at}"))]))
        .collect();
    let server = Server::start(replies);
    let arguments = [
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--permission-mode",
        "bypassPermissions",
    ];
    let mut child = program.start(&server, wire, &arguments);
    {
        let mut first = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut first)
            .expect("a line");
        assert!(first.contains("init"));
    }
    let status = child.wait().expect("it ends");
    let mut output = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut output)
        .expect("text");
    assert_eq!((status.code(), output.as_str()), (Some(0), ""));
    assert!(
        server.bodies().len() < 50,
        "the run has ended before its script"
    );
}

#[test]
fn wrong_usage_is_explained_and_exits_with_2() {
    let program = Program::new();
    let bad_settings = program
        .put("bad.json", "{\n  \"model\": 7\n}")
        .display()
        .to_string();
    let broken_settings = program
        .put("broken.json", "{\n  \"model\" \"x\"\n}")
        .display()
        .to_string();
    let bad_script = program
        .put("bad.toml", "[[turn]]\ntxet = 'x'\n")
        .display()
        .to_string();
    let bad_script = format!("script:{bad_script}");
    let cases: &[(&[&str], &[&str])] = &[
        (&["-p"], &["no prompt given", "hint:"]),
        (
            &["-p", "x", "--provider", "nobody"],
            &["unknown provider `nobody`", "anthropic, openai"],
        ),
        (
            &["-p", "x", "--output-format", "xml"],
            &["xml", "stream-json"],
        ),
        (
            &["-p", "x", "--permission-mode", "yolo"],
            &["yolo", "acceptEdits"],
        ),
        (
            &["-p", "x", "--settings", "missing.json"],
            &["missing.json", "can't read"],
        ),
        (
            &["-p", "x", "--settings", &bad_settings],
            &["bad.json", "line 2", "column"],
        ),
        (
            &["-p", "x", "--settings", &broken_settings],
            &["broken.json", "line 2, column 11"],
        ),
        (
            &["-p", "x", "--add-dir", "nowhere"],
            &["nowhere", "not a directory"],
        ),
        (&["-p", "x", "--allow", "Bash("], &["Bash(", "rule"]),
        (&["-p", "x", "--continue"], &["no session"]),
        (
            &["-p", "x", "--resume", "nothing"],
            &["no session with the ID `nothing`"],
        ),
        (&["-p", "x", "--fork"], &["--fork needs"]),
        (&["-p", "x", "--max-turns", "0"], &["--max-turns"]),
        (
            &["-p", "x", "--provider", "openai", "--base-url", "ftp://x"],
            &["`ftp://x` is not a URL"],
        ),
        (
            &["-p", "x", "--provider", &bad_script],
            &["bad.toml:2:1", "txet"],
        ),
        (&["--no-such-flag"], &["--no-such-flag"]),
    ];
    for (arguments, words) in cases {
        let output = program.run(arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}: {output:?}");
        assert_eq!(output.stdout, "", "{arguments:?}");
        for word in *words {
            assert!(
                output.stderr.contains(word),
                "{arguments:?} lacks {word:?}: {}",
                output.stderr
            );
        }
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    }
}

#[test]
fn the_built_in_model_works_without_key_and_network() {
    let program = Program::new();
    program.put("src/a.rs", "fn main() {} // TODO: one\n");
    program.put("src/b.txt", "TODO: not here\n");
    let output = program.run(&["-p", "search TODO in *.rs", "--provider", "builtin"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.stdout.contains("a.rs") && output.stdout.contains("TODO: one"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("not here"), "{}", output.stdout);
}

#[test]
fn the_built_in_model_edits_files_through_the_same_pipeline() {
    let program = Program::new();
    program.put("a.txt", "one two\n");
    let edit = ["-p", "edit a.txt: one => three", "--provider", "builtin"];
    let output = program.run(&edit);
    assert_eq!(
        program.read("a.txt"),
        "one two\n",
        "nobody has allowed it: {output:?}"
    );
    let output = program.run(&[&edit[..], &["--permission-mode", "acceptEdits"]].concat());
    assert_eq!(program.read("a.txt"), "three two\n", "{output:?}");
    let output = program.run(&[
        "-p",
        "replace two with four in *.txt then run cat a.txt",
        "--provider",
        "builtin",
        "--permission-mode",
        "bypassPermissions",
    ]);
    assert!(output.stdout.contains("three four"), "{output:?}");
}

#[test]
fn tools_json_is_the_array_that_is_sent() {
    let program = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("ok")])]);
    program.ask(&server, Wire::Anthropic, &["-p", "hi"]);
    let output = program.run(&["tools", "--json"]);
    let listed: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let mut sent = server.bodies()[0]["tools"].clone();
    for tool in sent.as_array_mut().expect("tools") {
        tool.as_object_mut()
            .expect("an object")
            .remove("cache_control");
    }
    assert_eq!(listed, sent);
    for tool in listed.as_array().expect("tools") {
        let schema = &tool["input_schema"];
        assert_eq!(schema["type"], "object", "{tool}");
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        assert!(!tool["description"].as_str().expect("text").is_empty());
    }
}

#[test]
fn tools_are_listed_with_their_state_and_size() {
    let program = Program::new();
    let output = program.run(&["tools", "--deny", "Grep"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let line = |name: &str| -> Vec<String> {
        let mut lines = output.stdout.lines();
        let line = lines.find(|line| line.split_whitespace().next() == Some(name));
        let words = line.expect("it is listed").split_whitespace();
        words.take(6).map(str::to_owned).collect()
    };
    for (name, state) in [("Read", "offered"), ("Grep", "denied")] {
        let words = line(name);
        assert_eq!(words[1..4], ["built", "in", state], "{words:?}");
        assert!(
            words[4].parse::<usize>().is_ok_and(|size| size > 50),
            "{words:?}"
        );
        assert_eq!(words[5], "tokens");
    }
}

#[test]
fn keys_do_not_reach_commands_logs_or_sessions() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[bash("c1", "env")]), wire.reply(&[text("ok")])]);
    program.ask(
        &server,
        wire,
        &[
            "-p",
            "go",
            "--debug",
            "--permission-mode",
            "bypassPermissions",
        ],
    );
    assert!(wire.results(&server.bodies()[1])[0].1.contains("PATH="));
    for file in crate::support::program::files_below(&program.data()) {
        let content = std::fs::read(&file).expect("readable");
        assert!(
            !String::from_utf8_lossy(&content).contains("sk-secret"),
            "{}",
            file.display()
        );
    }
    let key = server.received()[0].header("x-api-key").map(str::to_owned);
    assert_eq!(key.as_deref(), Some("sk-secret-a"), "the provider has it");
}

/// bash runs exactly the command that was decided: none of the person's variables changes it.
#[test]
fn no_variable_changes_what_a_command_does() {
    let program = Program::new();
    let outside = program.data().join("outside");
    std::fs::create_dir_all(outside.join("src")).expect("made");
    std::fs::write(outside.join("src/said"), "outside").expect("written");
    std::fs::write(outside.join("env"), "echo steered").expect("written");
    program.put("src/said", "inside");
    let toml = r#"
[[turn]]
step = [{ call = "Bash", input = { command = "cd src && cat said" } }, { call = "Bash", input = { command = "ls" } }]
[[turn]]
text = "Done."
"#;
    let provider = crate::support::pty::script(&program, toml);
    let arguments = [
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--provider",
        &provider,
    ];
    let mut command = program.command(&arguments);
    command
        .env("CDPATH", &outside)
        .env("BASH_ENV", outside.join("env"))
        .env("BASH_FUNC_ls%%", "() { echo steered; }");
    let output = crate::support::program::finish(command.spawn().expect("it starts"));
    assert!(output.stdout.contains("inside"), "{output:?}");
    for steered in ["outside", "steered"] {
        let text: Vec<&str> = output
            .stdout
            .lines()
            .filter(|line| line.contains(steered))
            .collect();
        assert_eq!(text, [] as [&str; 0]);
    }
}

#[test]
fn a_settings_file_of_an_untrusted_project_can_only_tighten() {
    let program = Program::new();
    let rules = r#"{"permissions": {"allow": ["Bash(touch made)"], "deny": ["Read(secret.txt)"]}, "model": "other"}"#;
    program.put(".agent-tui/settings.json", rules);
    program.put("secret.txt", "s3cret");
    let wire = Wire::Anthropic;
    let parts = [
        bash("c1", "touch made"),
        crate::support::wire::call("c2", "Read", json!({"file_path": "secret.txt"})),
    ];
    let server = Server::start([wire.reply(&parts), wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &["-p", "go"]);
    assert!(
        !program.path("made").exists(),
        "its allow rule does not count"
    );
    assert!(
        !server.bodies()[1].to_string().contains("s3cret"),
        "its deny rule does"
    );

    let server = Server::start([wire.reply(&parts), wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &["-p", "go", "--trust"]);
    assert!(program.path("made").exists(), "a trusted one's does");
}

#[test]
fn a_saved_rule_applies_in_the_next_run_and_one_that_came_with_the_project_does_not() {
    let decision = |program: &Program| {
        let call = ["permissions", "check", "Bash", r#"{"command": "make all"}"#];
        let answer: serde_json::Value =
            serde_json::from_str(&program.run(&call).stdout).expect("an answer is JSON");
        (answer["decision"].clone(), answer["rule"].clone())
    };
    let program = Program::new();
    let store = agent_tui::permissions::Store::new(&program.data(), &program.workspace());
    store
        .save(agent_tui::permissions::RuleList::Allow, "Bash(make:*)")
        .expect("saved");
    assert_eq!(decision(&program), (json!("allow"), json!("Bash(make:*)")));

    let cloned = Program::new();
    let settings = program.read(".agent-tui/settings.local.json");
    cloned.put(".agent-tui/settings.local.json", settings);
    assert_eq!(decision(&cloned).0, json!("ask"));
}

#[test]
fn it_runs_without_a_home() {
    let program = Program::new();
    let mut command = program.command(&["-p", "find *.none", "--provider", "builtin"]);
    command
        .env_remove("HOME")
        .env_remove("AGENT_TUI_CONFIG_DIR")
        .stdin(Stdio::null());
    let output = crate::support::program::finish(command.spawn().expect("it starts"));
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn a_cd_does_not_bypass_a_deny_rule() {
    let program = Program::new();
    program.put("secrets/key.pem", "s3cret");
    let wire = Wire::Anthropic;
    let parts = [
        bash("c1", "cd secrets"),
        crate::support::wire::call("c2", "Read", json!({"file_path": "key.pem"})),
        crate::support::wire::call(
            "c3",
            "Grep",
            json!({"pattern": "s3", "output_mode": "content"}),
        ),
    ];
    let server = Server::start([wire.reply(&parts), wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &["-p", "go", "--deny", "Read(secrets/**)"]);
    let body = server.bodies()[1].to_string();
    assert!(!body.contains("s3cret"), "{body}");
    assert!(wire.results(&server.bodies()[1])[1].1.contains("denied"));
}

#[test]
fn searches_skip_files_that_rules_deny() {
    let program = Program::new();
    program.put("deep/.env", "KEY=s3cret\n");
    program.put("open.txt", "KEY=public\n");
    let wire = Wire::Anthropic;
    let grep = json!({"pattern": "KEY", "glob": "{.env,*.txt}", "output_mode": "content"});
    let parts = [
        crate::support::wire::call("c1", "Grep", grep),
        crate::support::wire::call("c2", "Glob", json!({"pattern": "**/.env"})),
    ];
    let server = Server::start([wire.reply(&parts), wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &["-p", "go", "--deny", "Read(.env)"]);
    let results = wire.results(&server.bodies()[1]);
    assert!(
        results[0].1.contains("public") && !results[0].1.contains("s3cret"),
        "{results:?}"
    );
    assert!(results[0].1.contains("were left out"), "{results:?}");
    assert!(!results[1].1.contains("deep/.env"), "{results:?}");
}

#[test]
fn a_blocked_reader_does_not_prevent_the_program_from_ending() {
    let program = Program::new();
    let wire = Wire::OpenAi;
    let long: &'static str = Box::leak("0123456789abcdef".repeat(1 << 18).into_boxed_str());
    let server = Server::start([wire.reply(&[text(long)])]);
    let mut child = program.start(&server, wire, &["-p", "go"]);
    server.wait_for(1);
    let pid = rustix::process::Pid::from_child(&child);
    let status = crate::support::server::wait_for_some(|| {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        child.try_wait().expect("a status")
    });
    assert_eq!(status.code(), Some(143));
}

#[test]
fn the_rules_of_claude_code_apply_too() {
    let program = Program::new();
    program.put(
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["Read(x)"]}, "env": {"A": "b"}}"#,
    );
    program.put("x", "s3cret");
    let output = program.run(&["-p", "read x", "--provider", "builtin"]);
    assert!(
        output.stdout.contains("denied") && !output.stdout.contains("s3cret"),
        "{output:?}"
    );
    assert_eq!(output.stderr, "", "what is not ours is no mistake");
}

#[test]
fn text_from_outside_cannot_control_the_terminal() {
    let program = Program::new();
    program.put(
        ".agent-tui/settings.json",
        "{\"\\u001b]0;OWNED\\u0007key\": 1}",
    );
    let output = program.run(&["-p", "find *.none", "--provider", "builtin"]);
    assert!(output.stderr.contains("OWNED"), "{output:?}");
    assert!(
        !output.stderr.contains('\u{1b}') && !output.stderr.contains('\u{7}'),
        "{output:?}"
    );
}

#[test]
fn waiting_for_an_open_pipe_is_announced() {
    let program = Program::new();
    let mut child = program
        .command(&["-p", "help", "--provider", "builtin"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdin = child.stdin.take().expect("a pipe");
    let stderr = child.stderr.take().expect("a pipe");
    let mut line = String::new();
    let mut output = BufReader::new(stderr);
    output.read_line(&mut line).expect("a line");
    assert!(
        line.starts_with("note: waiting for input on stdin"),
        "{line}"
    );
    drop(stdin);
    assert!(child.wait().expect("an end").success());
}

fn priced(program: &Program, settings: &str) -> crate::support::program::Output {
    std::fs::create_dir_all(program.config()).expect("made");
    std::fs::write(program.config().join("settings.json"), settings).expect("written");
    let server = Server::start([Wire::Anthropic.reply(&[text("Just this.")])]);
    let arguments = ["-p", "hi", "--output-format", "json"];
    program.ask(&server, Wire::Anthropic, &arguments)
}

#[test]
fn a_result_says_what_it_cost_where_the_price_is_known() {
    let program = Program::new();
    let output = priced(
        &program,
        r#"{"prices": {"m": {"input": 100000.0, "output": 1000000.0}}}"#,
    );
    assert_eq!(output.result()["total_cost_usd"], json!(8.0));
}

#[test]
fn a_cost_that_cannot_be_limited_is_reported() {
    let program = Program::new();
    let output = priced(&program, r#"{"maxCost": 1.0}"#);
    assert_eq!(output.result().get("total_cost_usd"), None);
    let logged = "note: `maxCost` has no effect: no price known for m; set it under `prices`\n";
    assert_eq!(output.stderr, logged);
}

#[test]
fn a_time_zone_that_is_a_pipe_does_not_prevent_the_start() {
    let program = Program::new();
    let pipe = program.path("zone");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    let mut command = program.command(&["-p", "help", "--provider", "builtin"]);
    let child = command.env("TZ", &pipe).spawn().expect("it starts");
    assert_eq!(crate::support::program::finish(child).code, Some(0));
}

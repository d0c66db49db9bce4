//! `--debug`: the log describes a whole failing turn in order, with causes, and contains no key.

use serde_json::json;

use crate::support::program::finish;
use crate::support::server::wait_for_some;
use crate::support::wire::{bash, call, text};
use crate::support::{Output, Piece, Program, Pty, Reply, Server, Wire};

/// Does not look like a key: only the environment says that it is one.
const KEY: &str = "plain-words-0123456789";
/// Is in no variable: only the words before it say that it is one.
const TOKEN: &str = "somebody-elses-token-42";

fn log(program: &Program) -> String {
    std::fs::read_to_string(program.data().join("logs/debug.log")).unwrap_or_default()
}

/// Each step is some words of one line; the lines have this order, with any others between them.
fn assert_logged(log: &str, steps: &[&[&str]]) {
    let mut lines = log.lines();
    for step in steps {
        let found = lines.any(|line| step.iter().all(|word| line.contains(word)));
        assert!(found, "{step:?} is not told, or not then:\n{log}");
    }
}

fn ask(program: &Program, server: &Server, arguments: &[&str]) -> Output {
    let base_url = server.url();
    let mut all = vec!["--provider", "anthropic", "--base-url", &base_url];
    all.extend(["--model", "m", "-p", "go"]);
    all.extend(arguments);
    let mut command = program.command(&all);
    command.env("ANTHROPIC_API_KEY", KEY);
    finish(command.spawn().expect("the program starts"))
}

/// A 500 that repeats the key, a stream that breaks, then calls: a rule denies one, another one fails.
fn bad_turn() -> Server {
    let wire = Wire::Anthropic;
    let body = json!({"error": {"type": "api_error", "message": format!("who is {KEY}?")}});
    let cut = vec![
        Piece::Bytes((wire.head() + &wire.part(0, &text("half"))).into_bytes()),
        Piece::Cut,
    ];
    let authorised = format!("echo 'authorization: Bearer {TOKEN}' {KEY}; exit 3");
    Server::start([
        Reply::error(500, &body.to_string())
            .header("retry-after", "0")
            .header("request-id", KEY),
        Reply::pieces(cut),
        wire.reply(&[bash("c1", "rm -r precious")]),
        wire.reply(&[bash("c2", &authorised)]),
        wire.reply(&[call("c3", "Reed", json!({"file_path": "x"}))]),
        wire.reply(&[text("done")]),
    ])
}

fn bad_settings(program: &Program) {
    let hook = json!({"type": "command", "command": format!("echo broken {KEY} >&2; exit 1")});
    let settings = json!({
        "permissions": {"deny": ["Bash(rm:*)"]},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]},
    });
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, settings.to_string()).expect("written");
}

#[test]
fn a_failing_turn_is_logged_from_its_first_request_to_its_end_without_a_key() {
    let program = Program::new();
    bad_settings(&program);
    let server = bad_turn();
    let bypass = ["--debug", "--permission-mode", "bypassPermissions"];
    let output = ask(&program, &server, &bypass);
    assert_eq!(output.code, Some(0), "{output:?}");
    let log = log(&program);
    assert_logged(
        &log,
        &[
            &["started", "process="],
            &["session opened", "log=", "mode=\"bypassPermissions\""],
            &["turn begun"],
            &[
                "request{agent=1 attempt=0}",
                "request sent",
                "/v1/messages",
                "messages=1",
            ],
            &["headers came", "status=500"],
            &["request refused", "status=500", "api_error"],
            &["retrying", "attempt=1"],
            &["request{agent=1 attempt=1}", "request sent"],
            &["headers came", "status=200"],
            &["attempt=1}", "connection broke", "causes="],
            &[
                "attempt=1}",
                "response failed",
                "Truncated",
                "retryable=true",
            ],
            &["retrying", "attempt=2"],
            &["request{agent=1 attempt=2}", "request sent"],
            &["call queued", "call=1.1", "tool=Bash", "rm -r precious"],
            &[
                "call{call=1.1 tool=Bash}",
                "hook failed",
                "Exited(1)",
                "broken",
            ],
            &[
                "call decided",
                "call=1.1",
                "decision=\"deny\"",
                "rule `Bash(rm:*)` of ",
            ],
            &["call finished", "call=1.1", "outcome=Denied"],
            &["request sent", "messages=3"],
            &["call queued", "call=1.2", "exit 3"],
            &[
                "call decided",
                "call=1.2",
                "decision=\"allow\"",
                "mode bypassPermissions",
            ],
            &["call reached a phase", "call=1.2", "phase=Running"],
            &[
                "call finished",
                "call=1.2",
                "outcome=Failed",
                "ran=",
                "Exit code 3",
            ],
            &["call finished", "call=1.3", "No such tool available: Reed"],
            &[
                "response ended",
                "reason=Some(EndTurn)",
                "first_byte: Some(",
                "bytes: ",
                "events: ",
            ],
            &["turn ended", "success"],
        ],
    );
    for secret in [KEY, TOKEN] {
        assert!(!log.contains(secret), "{log}");
    }
    assert!(log.contains("[redacted]"), "{log}");
    let log_file = program.data().join("logs/debug.log");
    let note = format!("note: the debug log is `{}`", log_file.display());
    assert!(output.stderr.contains(&note), "{}", output.stderr);
}

#[test]
fn the_log_has_only_the_programs_own_lines() {
    let program = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("hello")])]);
    ask(&program, &server, &["--debug"]);
    let log_text = log(&program);
    for line in log_text.lines() {
        assert!(line.contains(" agent_tui::"), "{line}");
    }
    let quiet = Program::new();
    let server = Server::start([Wire::Anthropic.reply(&[text("hello")])]);
    ask(&quiet, &server, &[]);
    assert_eq!(log(&quiet), "");
}

#[test]
fn a_failed_connection_is_reported_with_its_causes() {
    let program = Program::new();
    let settings = program.put("s.json", r#"{"retries": 0}"#);
    let settings = settings.display().to_string();
    let refused = "http://user:a-password-of-theirs@127.0.0.1:1/v1";
    for url in [refused, "http://no-such-host.invalid/v1"] {
        let output = program.run(&[
            "--debug",
            "-p",
            "go",
            "--provider",
            "openai",
            "--base-url",
            url,
            "--settings",
            &settings,
        ]);
        assert_eq!(output.code, Some(1), "{output:?}");
    }
    let log = log(&program);
    assert_logged(
        &log,
        &[
            &["request sent", "url=http://127.0.0.1:1/v1/chat/completions"],
            &[
                "request failed",
                "causes=",
                "tcp connect error",
                "Connection refused",
            ],
            &["turn failed", "can't reach"],
            &["request failed", "causes=", "dns error"],
        ],
    );
    assert!(!log.contains("a-password-of-theirs"), "{log}");
}

#[test]
fn long_inputs_and_results_are_cut() {
    let program = Program::new();
    let server = Server::start([
        Wire::Anthropic.reply(&[bash("c1", &format!("printf '%s' {}", "x".repeat(50_000)))]),
        Wire::Anthropic.reply(&[text("done")]),
    ]);
    ask(
        &program,
        &server,
        &["--debug", "--permission-mode", "bypassPermissions"],
    );
    let log = log(&program);
    assert_logged(
        &log,
        &[
            &["call queued", "characters in all"],
            &["call finished", "outcome=Succeeded"],
        ],
    );
    assert!(log.lines().all(|line| line.len() < 5_000));
}

/// The program in a terminal, with one of its test faults; waits until the log has it.
fn provoke(trouble: &str, logged: &[&str]) {
    let program = Program::new();
    let arguments = ["--debug", "--provider", "builtin"];
    let environment = [("AGENT_TUI_PANIC", trouble)];
    let mut tui = Pty::spawn_with(program, &arguments, &environment, 80, 24);
    tui.wait_for("❯").send("hello").wait_for("hello");
    wait_for_some(|| {
        let log = log(tui.program());
        let has_it = |line: &str| logged.iter().all(|word| line.contains(word));
        log.lines().any(has_it).then_some(())
    });
}

#[test]
fn a_panic_of_a_task_is_logged() {
    provoke("task", &["ERROR", "panic: ", "a rehearsal"]);
}

#[test]
fn a_slow_round_says_what_took_the_time() {
    provoke("slow", &["WARN", "slow round", "spent=\"Input "]);
}

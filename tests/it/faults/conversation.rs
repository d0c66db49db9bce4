//! Faults of what the program talks to: the provider, its settings, its standard streams.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::invariants::{assert_invariants, leave};
use crate::support::program::finish;
use crate::support::wire::{bash, text};
use crate::support::{Output, Piece, Program, Pty, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

/// A call with exactly these arguments, valid or not.
fn raw_call(wire: Wire, arguments: &[&str]) -> String {
    let event = crate::support::wire::event;
    match wire {
        Wire::Anthropic => {
            let mut all = event(&json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}}));
            for piece in arguments {
                all += &event(&json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece}}));
            }
            all + &event(&json!({"type": "content_block_stop", "index": 0}))
        }
        Wire::OpenAi => {
            let chunk = |call: Value| {
                let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
                format!("data: {delta}\n\n")
            };
            let mut all = chunk(json!({"index": 0, "id": "c1", "function": {"name": "Bash"}}));
            for piece in arguments {
                all += &chunk(json!({"index": 0, "function": {"arguments": piece}}));
            }
            all
        }
        Wire::Responses => {
            let item = |arguments: &str| {
                json!({"id": "fc_0", "type": "function_call", "status": "completed",
                    "call_id": "c1", "name": "Bash", "arguments": arguments})
            };
            let mut all = event(
                &json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
            );
            for piece in arguments {
                all += &event(&json!({"type": "response.function_call_arguments.delta",
                    "output_index": 0, "item_id": "fc_0", "delta": piece}));
            }
            let whole = item(&arguments.concat());
            all + &event(
                &json!({"type": "response.output_item.done", "output_index": 0, "item": whole}),
            )
        }
    }
}

#[test]
fn a4_arguments_followed_by_garbage_are_not_run_and_the_model_is_told() {
    let whole = r#"{"command": "touch made"}"#;
    for wire in Wire::ALL {
        for garbage in [
            &[whole, " trailing"][..],
            &[whole, "</tool_call>"],
            &[whole, whole, "}"],
            &[r#"{"command": "touch made"} trailing"#],
            &[r#"{"command": "touch made"}, {"command": "touch more"}"#],
        ] {
            let program = Program::new();
            let parts = [bash("c1", "")];
            let stream = wire.head() + &raw_call(wire, garbage) + &wire.tail(&parts[..]);
            // The wire format that repeats its items at the end repeats the same.
            let stream = stream.replace(
                r#""arguments":"{\"command\":\"\"}""#,
                &format!("\"arguments\":{}", json!(garbage.concat())),
            );
            let server = Server::start([Reply::stream(stream), wire.reply(&[text("done")])]);
            let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
            assert_invariants(&program, &output);
            assert_eq!(output.code, Some(0), "{wire:?} {garbage:?}: {output:?}");
            assert!(!program.path("made").exists(), "{wire:?} {garbage:?}");
            let results = wire.results(&server.bodies()[1]);
            assert_eq!(results.len(), 1, "{wire:?} {garbage:?}: {results:?}");
            assert!(
                results[0].1.contains("not a JSON object"),
                "{wire:?} {garbage:?}: {results:?}"
            );
        }
    }
}

/// In this wire format nothing marks the end of a call, and the server is slow: the garbage that makes the call invalid
/// comes after everything else.
#[test]
fn a4_garbage_that_arrives_late_in_a_slow_stream_also_invalidates_the_call() {
    let wire = Wire::OpenAi;
    let pieces = ["{\"comm", "and\": \"to", "uch ma", "de\"}", " trailing"];
    let mut slow = vec![Piece::Bytes(wire.head().into_bytes())];
    for piece in raw_call(wire, &pieces).split_inclusive("\n\n") {
        slow.push(Piece::Pause(Duration::from_millis(150)));
        slow.push(Piece::Bytes(piece.into()));
    }
    slow.push(Piece::Bytes(wire.tail(&[bash("c1", "")]).into_bytes()));
    let server = Server::start([Reply::pieces(slow), wire.reply(&[text("done")])]);
    let program = Program::new();
    let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
    assert_invariants(&program, &output);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!program.path("made").exists());
    let results = wire.results(&server.bodies()[1]);
    assert!(results[0].1.contains("not a JSON object"), "{results:?}");
}

/// Runs with another command's output as its standard input.
fn fed(program: &Program, feeder: &[&str], arguments: &[&str]) -> Output {
    let mut feeder = std::process::Command::new(feeder[0])
        .args(&feeder[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let input = feeder.stdout.take().expect("a pipe");
    let mut command = program.command(arguments);
    let output = finish(command.stdin(input).spawn().expect("it starts"));
    drop(command);
    feeder.wait().expect("it has nobody to write to any more");
    output
}

#[test]
fn d5_endless_input_is_refused_with_advice() {
    let program = Program::new();
    for feeder in [&["yes"][..], &["head", "-c", "200000000", "/dev/zero"]] {
        let output = fed(&program, feeder, &["-p", "--provider", "builtin"]);
        assert_invariants(&program, &output);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        for words in ["longer than 10 MB", "hint:", "`maxInputMb`"] {
            assert!(output.stderr.contains(words), "{output:?}");
        }
    }
    let settings = program.put("more.json", r#"{"maxInputMb": 1}"#);
    let settings = settings.display().to_string();
    let arguments = ["-p", "--provider", "builtin", "--settings", &settings];
    for (bytes, code) in [("1048576", 0), ("1048577", 2)] {
        let output = fed(&program, &["head", "-c", bytes, "/dev/zero"], &arguments);
        assert_invariants(&program, &output);
        assert_eq!(output.code, Some(code), "{bytes}: {output:?}");
    }
}

#[test]
fn a14_an_answer_that_is_paused_forever_ends_with_what_arrived() {
    let wire = Wire::Anthropic;
    let paused = wire
        .stream(&[text("still searching")])
        .replace("end_turn", "pause_turn");
    let server = Server::start(vec![Reply::stream(paused); 20]);
    let program = Program::new();
    let output = program.ask(&server, wire, &["-p", "go"]);
    assert_invariants(&program, &output);
    assert_eq!(output.code, Some(1), "{output:?}");
    // The parts of a paused answer are one answer.
    let answer = "still searching".repeat(10);
    assert_eq!(output.stdout, format!("{answer}\n"));
    assert!(
        output
            .stderr
            .contains("error: the provider paused its answer 10 times in a row"),
        "{output:?}"
    );
    assert_eq!(server.bodies().len(), 10);
}

#[test]
fn a14_a_run_without_an_answer_says_so_in_every_format_and_fails() {
    for wire in Wire::ALL {
        for parts in [&[][..], &[text(" \n")]] {
            for format in ["text", "json", "stream-json"] {
                let program = Program::new();
                let server = Server::start([wire.reply(parts)]);
                let output = program.ask(&server, wire, &["-p", "go", "--output-format", format]);
                assert_invariants(&program, &output);
                assert_eq!(output.code, Some(1), "{wire:?} {format}: {output:?}");
                if format == "text" {
                    let printed = "error: the model returned an empty answer\nhint: ";
                    assert!(output.stderr.contains(printed), "{wire:?}: {output:?}");
                    assert_eq!(output.stdout, "");
                } else {
                    let result = output.result();
                    assert_eq!(result["subtype"], "error_during_execution", "{result}");
                    assert_eq!(result["is_error"], true);
                }
                assert_eq!(server.bodies().len(), 1, "it is not asked for again");
            }
        }
    }
}

#[test]
fn a14_a_turn_that_ends_without_text_is_done_and_says_so() {
    let wire = Wire::OpenAi;
    let program = Program::new();
    let server = Server::start([wire.reply(&[bash("c1", "touch made")]), wire.reply(&[])]);
    let output = program.ask(&server, wire, &["-p", "go", "--allow", "Bash"]);
    assert_invariants(&program, &output);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
    assert_eq!(output.stderr, "note: the model returned an empty answer\n");
    assert!(program.path("made").exists());
}

#[test]
fn a14_the_screen_says_that_an_answer_was_empty_and_continues() {
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[]),
        wire.reply(&[text(" \n")]),
        wire.reply(&[text("Here I am.")]),
    ]);
    let url = server.url();
    let arguments = [
        "--theme",
        "ansi16",
        "--provider",
        "anthropic",
        "--base-url",
        &url,
    ];
    let key = [("ANTHROPIC_API_KEY", "k")];
    let mut tui = Pty::spawn_with(Program::new(), &arguments, &key, 80, 24);
    tui.wait_for("Ctrl+P commands").send("one\r");
    tui.wait_for("the model returned an empty answer")
        .send("two\r");
    tui.wait_until(|screen| {
        screen
            .contents()
            .matches("returned an empty answer")
            .count()
            == 2
    })
    .send("three\r")
    .wait_for("Here I am.");
    assert!(!tui.screen().contains("repaired"), "{}", tui.screen());
    let last = &server.bodies()[2]["messages"];
    assert!(!last.to_string().contains("assistant"), "{last}");
    leave(&mut tui);
}

#[test]
fn f5_a_misspelt_list_of_rules_ends_a_headless_run_before_anything_runs() {
    for (file, settings, words) in [
        (
            ".agent-tui/settings.json",
            "{\n \"permissions\": {\"denny\": [\"Bash\"]}}",
            [
                "line 2, column 18",
                "`permissions.denny`",
                "did you mean `deny`?",
            ],
        ),
        (
            ".agent-tui/settings.local.json",
            "{\"permissions\": {\"asks\": [\"Bash\"]}}",
            [
                "line 1, column 18",
                "`permissions.asks`",
                "did you mean `ask`?",
            ],
        ),
        (
            ".claude/settings.json",
            "{\"permissions\": {\"denys\": [\"Bash\"]}}",
            [
                "line 1, column 18",
                "`permissions.denys`",
                "did you mean `deny`?",
            ],
        ),
        (
            ".agent-tui/settings.json",
            "{\"permisions\": {\"deny\": [\"Bash\"]}}",
            [
                "line 1, column 2",
                "`permisions`",
                "did you mean `permissions`?",
            ],
        ),
    ] {
        let program = Program::new();
        program.put(file, settings);
        let run = [
            "-p",
            "run touch made",
            "--provider",
            "builtin",
            "--allow",
            "Bash",
        ];
        let output = program.run(&run);
        assert_invariants(&program, &output);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        for word in words.iter().chain(&[file]) {
            assert!(output.stderr.contains(word), "{word}: {output:?}");
        }
        assert!(!program.path("made").exists(), "{settings}");
    }
    let program = Program::new();
    let known = r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#;
    program.put(".claude/settings.json", known);
    let output = program.run(&["-p", "find *.none", "--provider", "builtin"]);
    assert_invariants(&program, &output);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[test]
fn f7_settings_that_break_while_it_runs_let_nothing_through() {
    let own = "\"$AGENT_TUI_TEST_FILE\"";
    let breakages = [
        // A rule that was just written, with an error in the file.
        format!("echo '{{\"permissions\": {{\"deny\": [\"Bash(touch two)\"],}}}}' >{own}"),
        format!("echo '{{\"permissions\": {{\"denny\": [\"Bash(touch two)\"]}}}}' >{own}"),
        format!("echo '{{\"permissions\": {{\"deny\": [\"Bash(touch two)\"]' >{own}"),
        format!(": >{own}"),
        format!("rm {own}; mkdir {own}"),
        format!("rm {own}; mkfifo {own}"),
        format!("rm {own}; ln -s {own} {own}"),
        format!("printf '\\377' >{own}"),
        // The deny rule disappears with its file.
        "rm .agent-tui/settings.json".to_owned(),
        "mv .agent-tui aside".to_owned(),
        "echo '{' >.claude/settings.json".to_owned(),
    ];
    for breakage in breakages {
        let program = Program::new();
        std::fs::create_dir_all(program.config()).expect("made");
        let file = program.config().join("settings.json");
        std::fs::write(&file, "{}").expect("written");
        let deny = r#"{"permissions": {"deny": ["Bash(touch three)"]}}"#;
        program.put(".agent-tui/settings.json", deny);
        program.put(".claude/settings.json", "{}");
        program.put("break.sh", &breakage);
        let second = if breakage.contains("agent-tui") {
            "three"
        } else {
            "two"
        };
        let wire = Wire::Anthropic;
        let server = Server::start([
            wire.reply(&[bash("c1", "sh break.sh && touch one")]),
            wire.reply(&[bash("c2", &format!("touch {second}"))]),
            wire.reply(&[text("done")]),
        ]);
        let (base_url, mut all) = (wire.base_url(&server.url()), vec!["-p", "go", "--trust"]);
        all.extend(["--provider", "anthropic", "--base-url", &base_url]);
        all.extend(BYPASS);
        let mut command = program.command(&all);
        command
            .env("ANTHROPIC_API_KEY", "k")
            .env("AGENT_TUI_TEST_FILE", &file);
        let output = finish(command.spawn().expect("it starts"));
        assert_invariants(&program, &output);
        assert!(program.path("one").exists(), "{breakage}: {output:?}");
        assert!(!program.path(second).exists(), "{breakage}: {output:?}");
        let results = wire.results(&server.bodies()[2]);
        assert!(results[1].1.contains("denied"), "{breakage}: {results:?}");
        assert!(output.stderr.contains("note: "), "{breakage}: {output:?}");
        assert_eq!(output.code, Some(0), "{breakage}: {output:?}");
    }
}

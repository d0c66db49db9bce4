//! A whole conversation of several turns with tools, in each wire format.

use serde_json::{Value, json};

use crate::support::wire::{bash, call, event, text};
use crate::support::{Piece, Program, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

fn with_bypass<'a>(more: &[&'a str]) -> Vec<&'a str> {
    more.iter().copied().chain(BYPASS).collect()
}

#[test]
fn a_conversation_of_several_turns_works_in_every_wire_format() {
    for wire in Wire::ALL {
        let program = Program::new();
        program.put("notes.txt", "alpha\nbeta\n");
        let server = Server::start([
            wire.reply(&[
                text("I look."),
                call("c1", "Read", json!({"file_path": "notes.txt"})),
                call(
                    "c2",
                    "Grep",
                    json!({"pattern": "beta", "output_mode": "content"}),
                ),
            ]),
            wire.reply(&[call(
                "c3",
                "Edit",
                json!({"file_path": "notes.txt", "old_string": "beta", "new_string": "gamma"}),
            )]),
            wire.reply(&[bash("c4", "cat notes.txt && echo done")]),
            wire.reply(&[text("All done.")]),
        ]);
        let output = program.ask(&server, wire, &with_bypass(&["-p", "change beta to gamma"]));
        assert_eq!(output.code, Some(0), "{wire:?}: {output:?}");
        assert_eq!(program.read("notes.txt"), "alpha\ngamma\n");
        let result = output.result();
        assert_eq!(result["subtype"], "success");
        assert_eq!(result["result"], "All done.");
        assert_eq!(result["num_turns"], 4);
        assert_eq!(result["usage"]["output_tokens"], 28);

        let received = server.received();
        assert_eq!(received.len(), 4, "{wire:?}");
        assert!(received.iter().all(|request| request.path == wire.path()));
        let results = wire.results(&received[3].body);
        let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(
            ids,
            ["c1", "c2", "c3", "c4"],
            "one result a call, in block order"
        );
        assert!(results[0].1.contains("1\talpha"), "{results:?}");
        assert!(results[1].1.contains("beta"), "{results:?}");
        assert_eq!(results[3].1, "alpha\ngamma\ndone");
        for id in ids {
            assert_eq!(
                output.states(id),
                ["queued", "executing", "completed", "yielded"],
                "{wire:?} {id}"
            );
        }
    }
}

#[test]
fn the_lines_of_stream_json_are_those_of_the_contract() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[bash("c1", "echo hi")]),
        wire.reply(&[text("bye")]),
    ]);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    let lines = output.lines();
    let init = &lines[0];
    assert_eq!(init["type"], "system");
    assert_eq!(init["subtype"], "init");
    assert_eq!(init["model"], "m");
    assert_eq!(init["provider"], "anthropic");
    assert_eq!(init["cwd"], json!(program.workspace()));
    let tools: Vec<&str> = init["tools"]
        .as_array()
        .expect("names")
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    assert!(tools.is_sorted(), "{tools:?}");
    for name in ["Bash", "Edit", "Glob", "Grep", "Read", "Write"] {
        assert!(tools.contains(&name), "{name} in {tools:?}");
    }
    assert_eq!(init["permission_mode"], "bypassPermissions");
    let session = init["session_id"].as_str().expect("an id");
    assert!(lines.iter().all(|line| line["session_id"] == session));
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .filter(|kind| *kind != "tool")
        .collect();
    assert_eq!(
        kinds,
        [
            "system",
            "assistant",
            "user",
            "system",
            "assistant",
            "result"
        ]
    );
    let first = lines
        .iter()
        .find(|line| line["type"] == "assistant")
        .expect("an answer");
    assert_eq!(
        first["message"],
        json!({
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo hi"}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": null,
                "cache_creation_input_tokens": null, "reasoning_tokens": null},
        })
    );
    let user = lines
        .iter()
        .find(|line| line["type"] == "user")
        .expect("results");
    assert_eq!(
        user["message"]["content"],
        json!([{"type": "tool_result", "tool_use_id": "c1", "content": "hi", "is_error": false}])
    );
    assert!(output.result()["duration_ms"].is_u64());
}

#[test]
fn thinking_goes_back_to_the_model_that_made_it_unchanged() {
    let program = Program::new();
    let thinking = [
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": [], "usage": {}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm ü."}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln=="}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "AAAA"}}),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    let wire = Wire::Anthropic;
    let parts = [bash("c1", "true")];
    let mut stream: String = thinking.iter().map(event).collect();
    stream.push_str(&wire.part(2, &parts[0]));
    stream.push_str(&wire.tail(&parts));
    let server = Server::start([Reply::stream(stream), wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    let sent = &server.bodies()[1]["messages"][1]["content"];
    assert_eq!(
        sent[0],
        json!({"type": "thinking", "thinking": "Hm ü.", "signature": "c2ln=="})
    );
    assert_eq!(
        sent[1],
        json!({"type": "redacted_thinking", "data": "AAAA"})
    );
    assert_eq!(sent[2]["type"], "tool_use");
}

#[test]
fn unknown_tools_and_bad_inputs_are_answered_and_the_turn_continues() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let server = Server::start([
        wire.reply(&[
            call("c1", "Raed", json!({"file_path": "x"})),
            call("c2", "Read", json!({"file_path": 7, "colour": "red"})),
            call("c3", "Read", json!({"file_path": "missing.txt"})),
        ]),
        wire.reply(&[text("I see.")]),
    ]);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert_eq!(output.code, Some(0));
    let body = &server.bodies()[1];
    let results = wire.results(body);
    assert_eq!(
        results[0].1,
        "<tool_use_error>Error: No such tool available: Raed. Did you mean Read?</tool_use_error>"
    );
    assert!(results[1].1.contains("2 problems"), "{}", results[1].1);
    assert!(results[1].1.contains("/file_path"), "{}", results[1].1);
    assert!(results[1].1.contains("colour"), "{}", results[1].1);
    assert!(results[2].1.contains("missing.txt"), "{}", results[2].1);
    let blocks = body["messages"][2]["content"].as_array().expect("blocks");
    assert!(blocks.iter().all(|block| block["is_error"] == true));
}

#[test]
fn an_input_cut_off_by_max_tokens_is_not_executed_and_the_loop_continues() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let cut = wire.head()
        + &event(&json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}}))
        + &event(&json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": "{\"command\": \"touch never"}}))
        + &event(
            &json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}}),
        )
        + &event(&json!({"type": "message_stop"}));
    let server = Server::start([Reply::stream(cut), wire.reply(&[text("smaller then")])]);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!program.path("never").exists());
    let body = &server.bodies()[1];
    assert!(wire.results(body)[0].1.contains("length limit"), "{body}");
    assert!(body["messages"][1]["content"][0]["input"].is_object());
}

#[test]
fn a_repeated_call_is_reported_the_third_time_and_ends_the_run_the_fifth_time() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let replies: Vec<Reply> = (0..6)
        .map(|number| wire.reply(&[bash(&format!("c{number}"), "echo again >> count")]))
        .collect();
    let server = Server::start(replies);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert_eq!(output.code, Some(1));
    let result = output.result();
    assert_eq!(result["subtype"], "error_during_execution");
    assert!(
        result["result"]
            .as_str()
            .expect("text")
            .contains("same Bash call 5 times"),
        "{result}"
    );
    assert_eq!(
        program.read("count").lines().count(),
        4,
        "the fifth is not run"
    );
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 5);
    let last_of = |body: &Value| {
        let messages = body["messages"].as_array().expect("messages").clone();
        messages.last().expect("one")["content"]
            .as_array()
            .expect("blocks")
            .last()
            .expect("one")["text"]
            .to_string()
    };
    assert!(!last_of(&bodies[2]).contains("same Bash call"));
    assert!(last_of(&bodies[3]).contains("3 times in a row"));
}

#[test]
fn max_turns_ends_the_run_with_a_valid_history() {
    let program = Program::new();
    let wire = Wire::OpenAi;
    let server = Server::start([
        wire.reply(&[bash("c1", "echo 1")]),
        wire.reply(&[text("later")]),
    ]);
    let output = program.ask(
        &server,
        wire,
        &with_bypass(&["-p", "go", "--max-turns", "1"]),
    );
    assert_eq!(output.code, Some(1));
    assert_eq!(output.result()["subtype"], "error_max_turns");
    assert_eq!(server.bodies().len(), 1);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go on", "--continue"]));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(
        wire.results(&server.bodies()[1]),
        [("c1".to_owned(), "1".to_owned())]
    );
}

#[test]
fn headless_denies_what_it_would_have_to_ask() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[
            bash("c1", "touch made"),
            call("c2", "Write", json!({"file_path": "w", "content": "x"})),
        ]),
        wire.reply(&[text("I may not.")]),
    ]);
    let output = program.ask(&server, wire, &["-p", "go", "--output-format", "json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!program.path("made").exists() && !program.path("w").exists());
    let result = output.result();
    let denials = result["permission_denials"].as_array().expect("a list");
    let denied: Vec<&str> = denials
        .iter()
        .filter_map(|denial| denial["tool_use_id"].as_str())
        .collect();
    assert_eq!(denied, ["c1", "c2"]);
    assert_eq!(denials[0]["tool_name"], "Bash");
    assert_eq!(denials[0]["tool_input"], json!({"command": "touch made"}));
    assert!(
        wire.results(&server.bodies()[1])[0]
            .1
            .contains("nobody is there to ask")
    );
}

#[test]
fn rules_of_flags_allow_and_deny() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[
            bash("c1", "touch made"),
            bash("c2", "touch other"),
            bash("c3", "ls"),
        ]),
        wire.reply(&[text("ok")]),
    ]);
    let arguments = [
        "-p",
        "go",
        "--allow",
        "Bash(touch made)",
        "--deny",
        "Bash(ls)",
        "--output-format",
        "stream-json",
    ];
    let output = program.ask(&server, wire, &arguments);
    assert!(program.path("made").exists(), "{output:?}");
    assert!(!program.path("other").exists());
    assert!(wire.results(&server.bodies()[1])[2].1.contains("denied"));
}

#[test]
fn a_failing_command_skips_its_siblings_and_the_turn_continues() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[
            bash("c1", "echo oh; exit 3"),
            bash("c2", "touch never"),
            call("c3", "Glob", json!({"pattern": "*"})),
        ]),
        wire.reply(&[text("I see.")]),
    ]);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert_eq!(output.code, Some(0));
    assert!(!program.path("never").exists());
    let results = wire.results(&server.bodies()[1]);
    assert_eq!(
        results[0].1,
        "<tool_use_error>Exit code 3\noh</tool_use_error>"
    );
    assert!(
        results[1].1.contains("Bash(echo oh; exit 3) failed"),
        "{}",
        results[1].1
    );
    assert_eq!(output.states("c2"), ["queued", "completed", "yielded"]);
}

#[test]
fn grep_without_a_match_is_not_a_failure() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    program.put("a", "x\n");
    let server = Server::start([
        wire.reply(&[
            bash("c1", "grep nothing a > out.txt"),
            bash("c2", "touch made"),
        ]),
        wire.reply(&[text("ok")]),
    ]);
    program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert!(program.path("made").exists());
    assert_eq!(wire.results(&server.bodies()[1])[0].1, "(exit code 1)");
}

#[test]
fn simple_offers_only_three_tools() {
    let program = Program::new();
    let wire = Wire::Responses;
    let server = Server::start([wire.reply(&[text("ok")])]);
    program.ask(&server, wire, &["-p", "go", "--simple"]);
    let body = &server.bodies()[0];
    let tools = body["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"));
    assert_eq!(tools.collect::<Vec<_>>(), ["Bash", "Edit", "Read"]);
}

#[test]
fn a_tool_that_a_rule_denies_is_not_offered() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("ok")])]);
    program.ask(
        &server,
        wire,
        &["-p", "go", "--deny", "Bash", "--deny", "Grep"],
    );
    let body = &server.bodies()[0];
    let tools: Vec<&str> = body["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    assert!(
        tools.contains(&"Edit") && tools.contains(&"Glob"),
        "{tools:?}"
    );
    assert!(
        !tools.contains(&"Bash") && !tools.contains(&"Grep"),
        "{tools:?}"
    );
}

#[test]
fn the_system_prompt_has_environment_and_memory_from_root_to_workspace() {
    let program = Program::new();
    std::fs::create_dir(program.path(".git")).expect("a repository");
    std::fs::create_dir_all(program.config()).expect("config");
    std::fs::write(program.config().join("AGENTS.md"), "USER MEMORY").expect("written");
    program.put("AGENTS.md", "ROOT MEMORY");
    program.put("sub/CLAUDE.md", "SUB MEMORY");
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("ok")])]);
    let url = server.url();
    let mut command = program.command(&["-p", "hi", "--provider", "anthropic", "--base-url", &url]);
    let status = command
        .current_dir(program.path("sub"))
        .status()
        .expect("it runs");
    assert!(status.success());
    let system = server.bodies()[0]["system"].to_string();
    let at = |word: &str| {
        system
            .find(word)
            .unwrap_or_else(|| panic!("{word} in {system}"))
    };
    assert!(at("USER MEMORY") < at("ROOT MEMORY") && at("ROOT MEMORY") < at("SUB MEMORY"));
    assert!(
        at("SUB MEMORY") < at("Workspace:"),
        "what changes comes last"
    );
}

#[test]
fn large_results_go_to_a_file_that_read_may_read() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[bash("c1", "seq 1 20000")]),
        wire.reply(&[text("long")]),
    ]);
    program.ask(&server, wire, &["-p", "go", "--allow", "Bash(seq:*)"]);
    let result = wire.results(&server.bodies()[1])[0].1.clone();
    assert!(result.len() < 32_000, "{}", result.len());
    assert!(result.starts_with("1\n2\n3\n") && result.ends_with("19999\n20000"));
    let kept = result.split('`').nth(1).expect("a path");
    let whole = std::fs::read_to_string(kept).expect("the whole result");
    assert_eq!(whole.lines().count(), 20000);

    let read = call(
        "c2",
        "Read",
        json!({"file_path": kept, "offset": 15000, "limit": 1}),
    );
    let server = Server::start([wire.reply(&[read]), wire.reply(&[text("read")])]);
    program.ask(&server, wire, &["-p", "go on", "--continue"]);
    let results = wire.results(&server.bodies()[1]);
    assert!(results[1].1.contains("15000\t15000"), "{}", results[1].1);
}

#[test]
fn two_hundred_calls_in_one_message_are_answered_in_order() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let calls: Vec<_> = (0..200)
        .map(|at| {
            call(
                &format!("c{at}"),
                "Glob",
                json!({"pattern": format!("*.{at}")}),
            )
        })
        .collect();
    let server = Server::start([wire.reply(&calls), wire.reply(&[text("many")])]);
    let output = program.ask(&server, wire, &with_bypass(&["-p", "go"]));
    assert_eq!(output.code, Some(0));
    let ids: Vec<String> = wire
        .results(&server.bodies()[1])
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let expected: Vec<String> = (0..200).map(|at| format!("c{at}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_slow_stream_of_single_bytes_is_read_correctly() {
    let program = Program::new();
    let wire = Wire::Responses;
    let stream = wire.stream(&[text("drip, drop – ü")]);
    let pieces = stream
        .bytes()
        .map(|byte| Piece::Bytes(vec![byte]))
        .collect();
    let server = Server::start([Reply::pieces(pieces)]);
    let output = program.ask(&server, wire, &["-p", "go"]);
    assert_eq!(output.stdout, "drip, drop – ü\n");
}

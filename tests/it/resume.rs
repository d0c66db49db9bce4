//! Sessions outlive the program, however it ends.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::wire::{bash, text};
use crate::support::{Program, Reply, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

#[test]
fn continue_sends_the_whole_conversation_with_the_new_message() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[text("First."), bash("c1", "echo one")]),
        wire.reply(&[text("Second.")]),
        wire.reply(&[text("Third.")]),
    ]);
    program.ask(&server, wire, &[&["-p", "begin"], &BYPASS[..]].concat());
    let output = program.ask(&server, wire, &["-p", "and now?", "-c"]);
    assert_eq!(output.stdout, "Third.\n", "{output:?}");
    let messages = server.bodies()[2]["messages"].clone();
    assert_valid(&messages);
    let roles: Vec<&str> = messages
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(messages[3]["content"][0]["text"], "Second.");
    assert_eq!(messages[4]["content"][0]["text"], "and now?");
}

#[test]
fn resume_takes_an_id_or_its_beginning_and_fork_leaves_the_original_alone() {
    let program = Program::new();
    let wire = Wire::OpenAi;
    let replies = ["one", "two", "three", "four"].map(|word| wire.reply(&[text(word)]));
    let server = Server::start(replies);
    let first = program
        .ask(&server, wire, &["-p", "1", "--output-format", "json"])
        .result();
    let id = first["session_id"].as_str().expect("an id").to_owned();
    program.ask(&server, wire, &["-p", "unrelated"]);
    let forked = program
        .ask(
            &server,
            wire,
            &[
                "-p",
                "2",
                "--resume",
                &id,
                "--fork",
                "--output-format",
                "json",
            ],
        )
        .result();
    assert_ne!(forked["session_id"], first["session_id"]);
    let resumed = program
        .ask(
            &server,
            wire,
            &[
                "-p",
                "3",
                "-r",
                &id[..id.len() - 2],
                "--output-format",
                "json",
            ],
        )
        .result();
    assert_eq!(resumed["session_id"], first["session_id"]);
    let output = |at: usize| -> Vec<String> {
        let messages = server.bodies()[at]["messages"]
            .as_array()
            .expect("a list")
            .clone();
        messages[1..]
            .iter()
            .filter_map(|message| message["content"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(output(2), ["1", "one", "2"]);
    assert_eq!(output(3), ["1", "one", "3"], "the fork has not touched it");
}

#[test]
fn a_session_in_use_is_not_opened_twice() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([
        Reply::pieces(vec![crate::support::Piece::Silence]),
        wire.reply(&[text("forked")]),
    ]);
    let mut busy = program.start(&server, wire, &["-p", "wait"]);
    server.wait_for(1);
    let refused = program.ask(&server, wire, &["-p", "me too", "-c"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("another agent-tui is using this session")
            && refused.stderr.contains("--fork"),
        "{refused:?}"
    );
    let forked = program.ask(&server, wire, &["-p", "me too", "-c", "--fork"]);
    assert_eq!(forked.stdout, "forked\n", "{forked:?}");
    busy.kill().expect("it runs");
    busy.wait().expect("it ends");
}

#[test]
fn a_damaged_log_loses_only_its_damaged_lines() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("One.")]), wire.reply(&[text("Two.")])]);
    program.ask(&server, wire, &["-p", "begin"]);
    let path = crate::support::program::files_below(&program.data().join("sessions")).remove(0);
    let mut bytes = std::fs::read(&path).expect("readable");
    bytes.extend_from_slice(b"\0\0\0garbage\n{\"seq\":99,\"at_ms\":1,\"kind\":\"from_the_future\",\"x\":1}\n{\"seq\":100,\"at");
    std::fs::write(&path, bytes).expect("written");
    let output = program.ask(&server, wire, &["-p", "go on", "-c"]);
    assert_eq!(output.stdout, "Two.\n", "{output:?}");
    let messages = server.bodies()[1]["messages"].clone();
    assert_eq!(messages[1]["content"][0]["text"], "One.");
    let text = std::fs::read_to_string(&path);
    assert!(
        text.is_ok_and(|text| text.ends_with("}\n")),
        "the half line is gone"
    );
}

#[test]
fn logs_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::new();
    program.run(&["-p", "find *.x", "--provider", "builtin"]);
    for file in crate::support::program::files_below(&program.data().join("sessions")) {
        let mode = std::fs::metadata(&file)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn killed_at_any_moment_nothing_shown_is_lost_and_nothing_is_run_twice() {
    const RUNS: usize = 100;
    let whole = time_of_a_whole_run();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let runs = || loop {
        let run = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if run >= RUNS {
            break;
        }
        let share = u32::try_from(run).expect("small");
        kill_and_resume(whole * share / u32::try_from(RUNS).expect("small"));
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(runs);
        }
    });
}

/// A slow conversation of eight turns, with a reading and a writing call in each.
fn script(program: &Program) -> String {
    let turns: Vec<String> = (0..8)
        .map(|turn| {
            json!({"steps": [
                {"text": format!("Turn {turn} begins. ")},
                {"delay_ms": 3},
                {"call": "Bash", "id": format!("w{turn}"), "input": {"command": format!("echo effect-{turn} >> effects")}},
                {"text": format!("And turn {turn} reads. ")},
                {"delay_ms": 3},
                {"call": "Bash", "id": format!("r{turn}"), "input": {"command": format!("echo {turn}")}},
            ]})
            .to_string()
        })
        .collect();
    let path = program.put(
        "script.jsonl",
        turns.join("\n") + "\n{\"text\": \"Over.\"}\n",
    );
    format!("script:{}", path.display())
}

fn time_of_a_whole_run() -> Duration {
    let program = Program::new();
    let provider = script(&program);
    let since = std::time::Instant::now();
    let output = program.run(&[&["-p", "begin", "--provider", &provider], &BYPASS[..]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    since.elapsed()
}

fn kill_and_resume(after: Duration) {
    let program = Program::new();
    let provider = script(&program);
    let shown_path = program.path("shown");
    let shown_file = std::fs::File::create(&shown_path).expect("a file");
    let mut child = program
        .command(&[&["-p", "begin", "--provider", &provider], &BYPASS[..]].concat())
        .stdout(shown_file)
        .spawn()
        .expect("the program starts");
    std::thread::sleep(after);
    child.kill().expect("killed, or over already");
    child.wait().expect("it ends");
    let shown = std::fs::read_to_string(&shown_path).expect("text");
    // Before the first message there is nothing to resume.
    if shown.lines().count() <= 1 {
        return;
    }
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("Resumed.")])]);
    let output = program.ask(
        &server,
        wire,
        &[&["-p", "go on", "--continue"], &BYPASS[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "after {after:?}: {output:?}");
    let messages = server.bodies()[0]["messages"].clone();
    assert_valid(&messages);
    let results = results_of(&messages);
    for line in shown
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        assert_is_there(&line, &messages, &results);
    }
    let effects = program.read("effects");
    let mut lines: Vec<&str> = effects.lines().collect();
    lines.sort_unstable();
    let count = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), count, "nothing ran twice: {effects}");
}

/// What was shown before the end is in the resumed conversation.
fn assert_is_there(line: &Value, messages: &Value, results: &HashMap<String, String>) {
    match line["type"].as_str() {
        Some("assistant") => {
            let content = &line["message"]["content"];
            let found = messages.as_array().expect("a list").iter().any(|message| {
                message["role"] == "assistant" && texts(&message["content"]) == texts(content)
            });
            assert!(found, "{line} in {messages}");
        }
        Some("user") => {
            for result in line["message"]["content"].as_array().expect("results") {
                let id = result["tool_use_id"].as_str().expect("an id");
                assert_eq!(
                    results.get(id).map(String::as_str),
                    result["content"].as_str(),
                    "{id}"
                );
            }
        }
        Some("tool") => {
            let id = line["tool_use_id"].as_str().expect("an id");
            let result = results
                .get(id)
                .unwrap_or_else(|| panic!("{id} is lost: {messages}"));
            if line["state"] == "completed" {
                assert!(
                    !result.contains("agent-tui ended"),
                    "{id} had completed: {result}"
                );
            }
        }
        _ => {}
    }
}

fn texts(content: &Value) -> Vec<String> {
    let blocks = content.as_array().cloned().unwrap_or_default();
    blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .map(|text| text.trim().to_owned())
        .collect()
}

fn results_of(messages: &Value) -> HashMap<String, String> {
    let results = Wire::Anthropic.results(&json!({ "messages": messages }));
    let count = results.len();
    let map: HashMap<String, String> = results.into_iter().collect();
    assert_eq!(map.len(), count, "one result a call");
    map
}

/// The rules of the Messages API about roles, calls and results.
fn assert_valid(messages: &Value) {
    let messages = messages.as_array().expect("a list");
    assert_eq!(messages[0]["role"], "user");
    let mut open: Vec<String> = Vec::new();
    for pair in messages.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"], "roles alternate");
    }
    for message in messages {
        let blocks = message["content"].as_array().expect("blocks");
        assert!(!blocks.is_empty(), "no message is empty");
        let ids = |kind: &str, key: &str| -> Vec<String> {
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            of_kind
                .map(|block| block[key].as_str().expect("an id").to_owned())
                .collect()
        };
        assert_eq!(
            ids("tool_result", "tool_use_id"),
            open,
            "the results are those of the calls before"
        );
        let results = open.len();
        assert!(
            blocks[..results]
                .iter()
                .all(|block| block["type"] == "tool_result"),
            "results come first"
        );
        open = ids("tool_use", "id");
    }
    assert!(open.is_empty(), "the last calls are answered");
}

#[test]
fn leftovers_of_an_interrupted_write_are_removed_on_resume() {
    let program = Program::new();
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("One.")]), wire.reply(&[text("Two.")])]);
    program.ask(&server, wire, &["-p", "begin"]);
    let log = crate::support::program::files_below(&program.data().join("sessions")).remove(0);
    let records = [
        json!({"kind": "user", "message": {"role": "user", "content": [{"type": "text", "text": "write"}]}}),
        json!({"kind": "request", "provider": "anthropic", "model": "m", "attempt": 0}),
        json!({"kind": "call", "call": {"call": "1.1", "id": "w", "name": "Write", "input": {"file_path": "a", "content": "x"}}}),
        json!({"kind": "begun", "call": "1.1"}),
        json!({"kind": "change", "call": "1.1", "path": program.path("a"), "before": null, "after": "00"}),
    ];
    let mut bytes = std::fs::read(&log).expect("readable");
    for (number, record) in records.into_iter().enumerate() {
        let mut line = record;
        line["seq"] = json!(100 + number);
        line["at_ms"] = json!(1);
        bytes.extend(format!("{line}\n").bytes());
    }
    std::fs::write(&log, bytes).expect("written");
    let half = program.put(".agent-tui-0123456789abcdef.tmp", "half");
    let other = program.put(".agent-tui-notes.tmp", "mine");
    let output = program.ask(&server, wire, &["-p", "go on", "-c"]);
    assert!(
        output.stderr.contains("interrupted by the last exit"),
        "{output:?}"
    );
    assert!(!half.exists() && other.exists());
}

/// A log in the first format: calls with the provider's ids, no marks, errors inside their tag, and no records of what
/// was only shown.
fn in_first_format(log: &str) -> String {
    let mut ids = HashMap::new();
    let lines = log.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("a record");
        let fields = line.as_object_mut().expect("an object");
        match fields["kind"].as_str().expect("a kind") {
            "session" => fields["version"] = json!(1),
            "run" => drop(fields.shift_remove("version")),
            "call" => {
                let call = fields["call"].as_object_mut().expect("a call");
                let name = call.shift_remove("call").expect("a name");
                ids.insert(name.to_string(), call["id"].clone());
            }
            "begun" | "decision" | "change" => {
                fields["call"] = ids[&fields["call"].to_string()].clone();
                fields.shift_remove("by");
                fields.shift_remove("settled");
            }
            "result" => {
                for new in ["call", "ran_ms", "outcome", "changed"] {
                    fields.shift_remove(new);
                }
                if fields["result"]["is_error"] == true {
                    let content = fields["result"]["content"].as_str().expect("a text");
                    let tagged = format!("<tool_use_error>{content}</tool_use_error>");
                    fields["result"]["content"] = json!(tagged);
                }
            }
            "delivered" => {
                let calls = fields["calls"].as_array().expect("a list").iter();
                let calls: Vec<Value> = calls.map(|it| ids[&it.to_string()].clone()).collect();
                fields["calls"] = json!(calls);
            }
            "end" => fields
                .retain(|field, _| ["kind", "seq", "at_ms", "ending"].contains(&field.as_str())),
            "user" | "request" | "text" | "thinking" | "block" | "assistant" | "repaired"
            | "discarded" | "moved" => {}
            _ => return None,
        }
        Some(format!("{line}\n"))
    });
    lines.collect()
}

#[test]
fn a_log_of_the_first_format_sends_the_same_conversation() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let program = Program::new();
        let server = Server::start([
            wire.reply(&[text("First."), bash("c1", "exit 3")]),
            wire.reply(&[text("Second.")]),
            wire.reply(&[text("Third.")]),
            wire.reply(&[text("Fourth.")]),
        ]);
        program.ask(&server, wire, &[&["-p", "begin"], &BYPASS[..]].concat());
        let log = crate::support::program::files_below(&program.data().join("sessions")).remove(0);
        let before = std::fs::read_to_string(&log).expect("readable");
        assert!(!before.contains("tool_use_error"), "{before}");
        let old = in_first_format(&before);
        assert!(old.contains("<tool_use_error>Exit code 3"), "{old}");
        let sent = |log: &std::path::Path, text: &str, request: usize| {
            std::fs::write(log, text).expect("written");
            program.ask(&server, wire, &["-p", "and now?", "-c"]);
            server.bodies()[request]["messages"].clone()
        };
        let (new, old) = (sent(&log, &before, 2), sent(&log, &old, 3));
        assert_eq!(old, new);
        assert_eq!(old.to_string().matches("<tool_use_error>").count(), 1);
    }
}

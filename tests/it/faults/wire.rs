//! Faults of the provider's stream. Whatever arrives: no panic, no call run twice or on a guess, one result per call,
//! and a helpful message.

use serde_json::{Value, json};

use super::invariants::assert_invariants;
use crate::support::wire::{Part, bash, call, event, text};
use crate::support::{Output, Piece, Program, Reply, Server, Wire};

const ONCE: [&str; 8] = [
    "-p",
    "go",
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
    "--settings",
    "once.json",
];

/// Sends a prompt without retries, so that nothing waits.
fn ask_once(program: &Program, server: &Server, wire: Wire) -> Output {
    program.put("once.json", r#"{"retries": 0}"#);
    let output = program.ask(server, wire, &ONCE);
    assert_invariants(program, &output);
    output
}

/// Every call of a request has exactly one result, and every result a call.
fn assert_paired(wire: Wire, body: &Value, about: &str) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = list(&body["messages"]);
    let calls: Vec<String> = match wire {
        Wire::Anthropic => {
            let blocks = messages
                .iter()
                .flat_map(|message| list(&message["content"]));
            let calls = blocks.filter(|block| block["type"] == "tool_use");
            calls.map(|block| word(&block["id"])).collect()
        }
        Wire::OpenAi => {
            let calls = messages
                .iter()
                .flat_map(|message| list(&message["tool_calls"]));
            calls.map(|call| word(&call["id"])).collect()
        }
        Wire::Responses => {
            let items = list(&body["input"]).into_iter();
            let calls = items.filter(|item| item["type"] == "function_call");
            calls.map(|item| word(&item["call_id"])).collect()
        }
    };
    let results = wire.results(body).into_iter();
    let results: Vec<String> = results.map(|(id, _)| id).collect();
    assert_eq!(calls, results, "{wire:?}, {about}");
}

fn events(wire: Wire, parts: &[Part]) -> Vec<String> {
    let stream = wire.stream(parts);
    stream.split_inclusive("\n\n").map(str::to_owned).collect()
}

#[test]
fn a1_a2_a3_wherever_a_stream_is_cut_nothing_runs_twice_and_the_session_continues() {
    for wire in Wire::ALL {
        let parts = [text("I look."), bash("c1", "echo ran >>count")];
        let events = events(wire, &parts);
        for cut in 0..events.len() {
            let program = Program::new();
            let mut head = events[..cut].concat();
            // And half of the next one.
            head += &events[cut][..events[cut].len() / 2];
            let broken = Reply::pieces(vec![Piece::Bytes(head.into_bytes()), Piece::Cut]);
            let done = wire.reply(&[text("done")]);
            let server = Server::start([broken, done.clone(), done]);
            let output = ask_once(&program, &server, wire);
            let about = format!("cut in event {cut}");
            assert!(
                program.read("count").lines().count() <= 1,
                "{wire:?}, {about}"
            );
            assert!(
                output.code.is_some_and(|code| code <= 1),
                "{about}: {output:?}"
            );
            if output.code == Some(1) {
                let problem = output.result()["result"].to_string();
                assert!(
                    problem.contains("connection"),
                    "{wire:?}, {about}: {problem}"
                );
            }
            let more = [&ONCE[..], &["--continue"]].concat();
            let output = program.ask(&server, wire, &more);
            assert_eq!(output.code, Some(0), "{wire:?}, {about}: {output:?}");
            assert!(
                program.read("count").lines().count() <= 1,
                "{wire:?}, {about}"
            );
            for body in server.bodies() {
                assert_paired(wire, &body, &about);
            }
        }
    }
}

#[test]
fn a4_a14_events_that_make_no_sense_are_skipped_or_end_the_answer() {
    let frames = [
        ": a comment\n\n",
        "\n\n\n",
        "data:\n\n",
        "data: null\n\n",
        "data: []\n\n",
        "data: 7\n\n",
        "data: \"word\"\n\n",
        "data: {}\n\n",
        "data: {\"type\": null}\n\n",
        "data: {\"type\": 7, \"choices\": 7}\n\n",
        "data: {\"type\": \"never_heard_of\", \"choices\": []}\n\n",
        "data: {\"choices\": [null]}\n\n",
        "data: {\"choices\": [{\"delta\": []}]}\n\n",
        "data: {\"type\": \"content_block_delta\", \"index\": 99, \"delta\": {\"type\": \"text_delta\", \"text\": \"lost\"}}\n\n",
        "data: {\"type\": \"content_block_stop\", \"index\": 99}\n\n",
        "data: {\"type\": \"response.output_text.delta\", \"output_index\": 99, \"delta\": 7}\n\n",
        "data: {not json\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "id: 1\nretry: 0\n\n",
        "nonsense without a colon\n\n",
        "data: \u{fffd}\u{202e}\n\n",
    ];
    for wire in Wire::ALL {
        for frame in frames {
            let program = Program::new();
            let parts = [bash("c1", "echo ran >>count")];
            let stream =
                wire.head() + frame + &wire.part(0, &parts[0]) + frame + &wire.tail(&parts);
            let server = Server::start([Reply::stream(stream), wire.reply(&[text("fine")])]);
            let output = ask_once(&program, &server, wire);
            let ran = program.read("count").lines().count();
            match output.code {
                Some(0) => assert_eq!(
                    (ran, output.result()["result"].clone()),
                    (1, json!("fine")),
                    "{wire:?} {frame:?}"
                ),
                Some(1) => {
                    let printed = output.result()["result"].to_string();
                    assert!(
                        ran <= 1 && printed.contains("provider"),
                        "{wire:?} {frame:?}: {printed}"
                    );
                }
                _ => panic!("{wire:?} {frame:?}: {output:?}"),
            }
            for body in server.bodies() {
                assert_paired(wire, &body, frame);
            }
        }
    }
}

#[test]
fn a5_a_stream_in_single_bytes_and_with_other_line_endings_reads_the_same() {
    let printed = "naïve – 日本語 👩‍👩‍👧 ok";
    for wire in Wire::ALL {
        let stream = wire.stream(&[text(printed)]);
        let bytes = stream
            .bytes()
            .map(|byte| Piece::Bytes(vec![byte]))
            .collect();
        for reply in [
            Reply::pieces(bytes),
            Reply::stream(stream.replace('\n', "\r\n")),
            Reply::stream(stream.replace('\n', "\r")),
            Reply::stream(format!("\u{feff}{stream}")),
        ] {
            let server = Server::start([reply]);
            let output = ask_once(&Program::new(), &server, wire);
            assert_eq!(output.result()["result"], printed, "{wire:?}: {output:?}");
        }
    }
}

#[test]
fn a14_repeated_and_missing_ids_get_one_result_each() {
    for wire in Wire::ALL {
        for ids in [["c1", "c1"], ["", ""], ["c1", ""]] {
            let program = Program::new();
            let calls = |file: &str| {
                let command = |id: &str| bash(id, &format!("echo {file} >>count"));
                ids.map(command)
            };
            let server = Server::start([
                wire.reply(&calls("one")),
                // The same ids again in the next answer.
                wire.reply(&calls("two")),
                wire.reply(&[text("done")]),
            ]);
            let output = ask_once(&program, &server, wire);
            assert_eq!(output.code, Some(0), "{wire:?} {ids:?}: {output:?}");
            let bodies = server.bodies();
            let count = program.read("count").lines().count();
            assert_eq!(count, wire.results(&bodies[2]).len(), "{wire:?} {ids:?}");
            for body in &bodies {
                assert_paired(wire, body, &format!("{ids:?}"));
            }
        }
    }
}

#[test]
fn a14_a15_impossible_calls_are_reported_to_the_model_and_the_run_continues() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let long = "x".repeat(2 << 20);
    let calls = [
        ("NoSuchTool", json!({"a": 1}).to_string(), "NoSuchTool"),
        ("", json!({"a": 1}).to_string(), ""),
        ("Bash", json!({"command": 7}).to_string(), "command"),
        ("Bash", json!({"command": ["ls"]}).to_string(), "command"),
        ("Bash", json!({}).to_string(), "command"),
        (
            "Bash",
            json!({"command": "touch made", "nonsense": 1}).to_string(),
            "nonsense",
        ),
        ("Bash", format!("{{\"command\": {deep}}}"), "JSON"),
        ("Bash", "[1]".to_owned(), "JSON"),
        ("Bash", "null and void".to_owned(), "JSON"),
        ("Read", json!({"file_path": long}).to_string(), ""),
        ("Read", json!({"file_path": "a\u{0}b"}).to_string(), ""),
        ("Read", json!({"file_path": ""}).to_string(), ""),
        (
            "Bash",
            json!({"command": "touch made\u{0}"}).to_string(),
            "",
        ),
    ];
    let wire = Wire::Anthropic;
    for (name, input, words) in calls {
        let about: String = input.chars().take(60).collect();
        let start = json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": name, "input": {}}});
        let delta = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": input}});
        let stop = json!({"type": "content_block_stop", "index": 0});
        let stream = wire.head()
            + &[start, delta, stop].iter().map(event).collect::<String>()
            + &wire.tail(&[bash("c1", "")]);
        let program = Program::new();
        let server = Server::start([Reply::stream(stream), wire.reply(&[text("done")])]);
        let output = ask_once(&program, &server, wire);
        assert_eq!(output.code, Some(0), "{name} {about}: {output:?}");
        let body = &server.bodies()[1];
        assert_paired(wire, body, &about);
        let result = &wire.results(body)[0].1;
        assert!(
            result.contains("tool_use_error"),
            "{name} {about}: {result}"
        );
        assert!(result.contains(words), "{name} {about}: {result}");
        assert!(result.len() < 10_000, "{name} {about}: {}", result.len());
        assert!(!program.path("made").exists(), "{name} {about}");
    }
}

#[test]
fn a17_two_hundred_calls_in_one_answer_have_their_results_in_order() {
    for wire in Wire::ALL {
        let program = Program::new();
        for number in 0..200 {
            program.put(&format!("f{number}"), format!("content {number}."));
        }
        let read = |number: usize| {
            let input = json!({"file_path": format!("f{number}")});
            call(&format!("c{number}"), "Read", input)
        };
        let parts: Vec<Part> = (0..200).map(read).collect();
        let server = Server::start([wire.reply(&parts), wire.reply(&[text("done")])]);
        let output = ask_once(&program, &server, wire);
        assert_eq!(output.code, Some(0), "{wire:?}: {output:?}");
        let results = wire.results(&server.bodies()[1]);
        assert_eq!(results.len(), 200);
        for (number, (id, text)) in results.iter().enumerate() {
            assert_eq!(*id, format!("c{number}"));
            assert!(
                text.contains(&format!("content {number}.")),
                "{number}: {text}"
            );
        }
    }
}

#[test]
fn a9_repeated_errors_of_any_shape_end_after_the_retries() {
    for (status, body) in [
        (500, "{}"),
        (502, "<html><body>Bad Gateway</body></html>"),
        (503, ""),
        (
            529,
            r#"{"error": {"type": "overloaded_error", "message": "busy"}}"#,
        ),
        (500, r#"{"error": 7}"#),
        (500, "[]"),
    ] {
        let wire = Wire::Anthropic;
        let program = Program::new();
        let error = Reply::error(status, body).header("retry-after", "0");
        let server = Server::start(vec![error; 20]);
        let settings = program.put("retries.json", r#"{"retries": 4}"#);
        let settings = settings.display().to_string();
        let output = program.ask(&server, wire, &["-p", "go", "--settings", &settings]);
        assert_invariants(&program, &output);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(1), ""),
            "{body}"
        );
        assert_eq!(server.bodies().len(), 5, "{status} {body}");
        let error = output
            .stderr
            .lines()
            .find(|line| line.starts_with("error: "));
        let error = error.unwrap_or_else(|| panic!("{output:?}"));
        assert!(
            error.contains(&status.to_string()),
            "{status} {body}: {error}"
        );
    }
}

#[test]
fn a8_waits_that_make_no_sense_are_ignored() {
    for (name, value) in [
        ("retry-after", "soon"),
        ("retry-after", "-5"),
        ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("retry-after-ms", "NaN"),
        ("retry-after", ""),
    ] {
        let wire = Wire::Anthropic;
        let error = Reply::error(429, "{}").header(name, value);
        let server = Server::start([error, wire.reply(&[text("fine")])]);
        let program = Program::new();
        let output = program.ask(&server, wire, &["-p", "go"]);
        assert_invariants(&program, &output);
        assert_eq!(output.stdout, "fine\n", "{name}: {value}: {output:?}");
    }
}

#[test]
fn a13_a16_an_endless_line_and_a_body_that_is_no_stream_are_errors() {
    let long = Piece::Bytes(vec![b'x'; 1 << 20]);
    let mut pieces = vec![Piece::Bytes(b"data: ".to_vec())];
    pieces.extend(vec![long; 40]);
    for (reply, words) in [
        (Reply::pieces(pieces), "line"),
        (
            Reply::stream("garbage").header("content-encoding", "gzip"),
            "provider",
        ),
        (Reply::stream(vec![0; 1000]), "provider"),
        (Reply::stream("HTTP/1.1 200 OK\r\n\r\n"), "provider"),
    ] {
        let server = Server::start([reply]);
        let output = ask_once(&Program::new(), &server, Wire::OpenAi);
        assert_eq!(output.code, Some(1), "{output:?}");
        let text = output.result()["result"].to_string();
        assert!(text.contains(words), "{words}: {text}");
    }
}

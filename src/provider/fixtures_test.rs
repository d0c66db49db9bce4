//! Every captured stream gives exactly its expected result, however its bytes are cut.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::{Decoder, Response, StreamErrorKind, StreamEvent, anthropic, openai, responses, sse};
use crate::protocol::Block;

fn decoder(protocol: &str) -> Box<dyn Decoder> {
    match protocol {
        "anthropic-messages" => Box::new(anthropic::Decoder::default()),
        "openai-chat" => Box::new(openai::Decoder::default()),
        "openai-responses" => Box::new(responses::Decoder::default()),
        other => panic!("no such protocol: {other}"),
    }
}

/// Decodes a stream that arrives in pieces.
pub(super) fn decode<'a>(
    protocol: &str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, Response) {
    let mut decoder = decoder(protocol);
    let mut events = Vec::new();
    let mut reader = sse::Reader::default();
    for piece in pieces {
        let read = reader.push(piece, &mut |frame| decoder.frame(&frame, &mut events));
        read.expect("no line is too long");
    }
    reader.finish(&mut |frame| decoder.frame(&frame, &mut events));
    let response = decoder.finish(&mut events);
    (events, response)
}

/// Events as they come over the wire.
pub(super) fn stream(events: impl Iterator<Item = String>) -> String {
    let mut stream = String::new();
    for event in events {
        stream.push_str("data: ");
        stream.push_str(&event);
        stream.push_str("\n\n");
    }
    stream
}

struct Fixture {
    name: String,
    stream: Vec<u8>,
    expected: Value,
}

impl Fixture {
    fn protocol(&self) -> &str {
        self.expected["protocol"].as_str().expect("a protocol")
    }

    fn check<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>, cut: &str) {
        let (events, response) = decode(self.protocol(), pieces);
        let context = format!("{} {cut}", self.name);
        assert_eq!(
            as_expected(self.protocol(), &response),
            self.expected,
            "{context}"
        );
        check_events(&events, &response, &context);
    }
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire");
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of fixtures");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    let mut fixtures = Vec::new();
    for stream in entries(&root).iter().flat_map(|folder| entries(folder)) {
        if stream
            .extension()
            .is_some_and(|extension| extension == "sse")
        {
            let expected = fs::read(stream.with_extension("expected.json")).expect("a result");
            let mut expected: Value = serde_json::from_slice(&expected).expect("JSON");
            let fields = expected.as_object_mut().expect("an object");
            fields.retain(|name, _| name != "origin" && name != "note");
            fixtures.push(Fixture {
                name: stream
                    .file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                stream: fs::read(&stream).expect("a stream"),
                expected,
            });
        }
    }
    assert_eq!(fixtures.len(), 57);
    fixtures
}

/// A response in the words of the fixtures.
fn as_expected(protocol: &str, response: &Response) -> Value {
    let blocks = response.blocks.iter().map(|block| match block {
        Block::Thinking {
            thinking,
            item: Some(item),
            ..
        } if protocol == "openai-responses" => json!({
            "type": "thinking",
            "thinking": thinking,
            "item_id": item["id"],
            "encrypted_content": item["encrypted_content"],
        }),
        Block::Thinking { .. } => {
            let mut value = json!(block);
            value.as_object_mut().expect("a block").shift_remove("item");
            value
        }
        block => json!(block),
    });
    let error = response.error.as_ref().map(|error| match error.kind {
        StreamErrorKind::Api => json!({
            "kind": "api", "type": error.code, "message": error.message, "retryable": error.retryable,
        }),
        StreamErrorKind::Truncated => json!({
            "kind": "truncated", "type": null, "message": null, "retryable": error.retryable,
        }),
    });
    // The fixtures have the counts as the wire has them.
    let mut usage = response.usage;
    if protocol != "anthropic-messages" {
        let cached = [
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ];
        let cached: u64 = cached.into_iter().flatten().sum();
        usage.input_tokens = usage.input_tokens.map(|input| input + cached);
    }
    let mut value = json!({
        "protocol": protocol,
        "id": response.id,
        "model": response.model,
        "blocks": blocks.collect::<Vec<_>>(),
        "stop_reason": response.stop_reason,
        "stop_reason_raw": response.stop_reason_raw,
        "stop_sequence": response.stop_sequence,
        "usage": usage,
        "complete": response.complete,
        "error": error,
        "ignored_events": response.ignored_events,
    });
    if let Some(details) = &response.stop_details {
        value["stop_details"] = details.clone();
    }
    value
}

/// What streamed adds up to the blocks, and every block that can be used has ended exactly once.
fn check_events(events: &[StreamEvent], response: &Response, context: &str) {
    let mut text = String::new();
    let mut thinking = String::new();
    let mut ended = Vec::new();
    let mut inputs: Vec<(String, String)> = Vec::new();
    for event in events {
        match event {
            StreamEvent::Text(delta) => text.push_str(delta),
            StreamEvent::Thinking(delta) => thinking.push_str(delta),
            StreamEvent::ToolStarted { id, .. } => inputs.push((id.0.clone(), String::new())),
            StreamEvent::ToolInput { id, fragment } => {
                let input = inputs.iter_mut().find(|(known, _)| *known == id.0);
                input
                    .expect("a call starts before its input")
                    .1
                    .push_str(fragment);
            }
            StreamEvent::Serving { .. } => {}
            StreamEvent::BlockEnded(block) => ended.push(block),
        }
    }
    let mut all_text = String::new();
    let mut all_thinking = String::new();
    let mut calls = Vec::new();
    for block in &response.blocks {
        match block {
            Block::Text { text, .. } | Block::Refusal { text } => all_text.push_str(text),
            Block::Thinking { thinking, .. } => all_thinking.push_str(thinking),
            Block::ToolUse(call) => {
                let streamed = inputs.iter().find(|(id, _)| *id == call.id.0);
                let (_, streamed) = streamed.expect("a call was announced");
                if call.input.is_object() {
                    let raw = if streamed.trim().is_empty() || streamed == "null" {
                        "{}"
                    } else {
                        streamed
                    };
                    let input: Value = serde_json::from_str(raw).expect("an input");
                    assert_eq!(call.input, input, "{context}");
                } else {
                    assert_eq!(Some(streamed), call.input_raw.as_ref(), "{context}");
                    assert!(
                        !ended.contains(&block),
                        "{context}: a broken call has ended"
                    );
                }
                calls.push(call.id.0.as_str());
            }
            _ => {}
        }
        let times = ended.iter().filter(|other| **other == block).count();
        let runnable = !matches!(block, Block::ToolUse(call) if !call.input.is_object());
        if response.complete && runnable {
            assert_eq!(times, 1, "{context}: {block:?}");
        }
    }
    assert_eq!(text, all_text, "{context}");
    assert_eq!(thinking, all_thinking, "{context}");
    let announced: Vec<&str> = inputs.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(announced, calls, "{context}");
}

#[test]
fn every_stream_gives_its_expected_result_in_pieces_of_any_size() {
    for fixture in fixtures() {
        fixture.check([fixture.stream.as_slice()], "whole");
        for size in [1, 2, 3, 5, 7, 64] {
            fixture.check(fixture.stream.chunks(size), &format!("in pieces of {size}"));
        }
    }
}

#[test]
fn every_stream_gives_its_expected_result_cut_anywhere() {
    let fixtures = fixtures();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(8));
    let cuts = proptest::collection::vec(any::<proptest::sample::Index>(), 0..24);
    let run = runner.run(&cuts, |cuts| {
        for fixture in &fixtures {
            let length = fixture.stream.len();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(length)).collect();
            at.extend([0, length]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|pair| &fixture.stream[pair[0]..pair[1]]);
            fixture.check(pieces, &format!("cut at {at:?}"));
        }
        Ok(())
    });
    run.expect("the same result for every cut");
}

#[test]
fn a_decoder_knows_when_nothing_more_can_come() {
    let is_over = |fixture: &Fixture| {
        let mut decoder = decoder(fixture.protocol());
        let mut on_frame = |frame: sse::Frame<'_>| decoder.frame(&frame, &mut Vec::new());
        let mut reader = sse::Reader::default();
        reader
            .push(&fixture.stream, &mut on_frame)
            .expect("no line is too long");
        reader.finish(&mut on_frame);
        decoder.is_over()
    };
    let open: Vec<_> = fixtures()
        .into_iter()
        .filter(|fixture| !is_over(fixture))
        .collect();
    let mut open: Vec<_> = open.iter().map(|fixture| fixture.name.as_str()).collect();
    open.sort_unstable();
    assert_eq!(open, ["a14-early-close", "c15-no-done"]);
}

#[test]
fn a_stream_that_ends_anywhere_never_ends_a_call_twice_or_runs_a_broken_one() {
    for fixture in fixtures() {
        for end in (0..fixture.stream.len()).step_by(31) {
            let (events, response) = decode(fixture.protocol(), [&fixture.stream[..end]]);
            let context = format!("{} up to {end}", fixture.name);
            check_events(&events, &response, &context);
            assert!(response.complete == response.error.is_none(), "{context}");
        }
    }
}

/// Every stream that differs from this one in the type of one value of one event.
fn with_wrong_values(stream: &str) -> Vec<(String, String)> {
    let mut changed = Vec::new();
    let lines: Vec<&str> = stream.split_inclusive('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(data) = line.strip_prefix("data:") else {
            continue;
        };
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            continue;
        };
        // The content of an input is up to the model.
        let inside = |path: &String| path.contains("/arguments/") || path.contains("/input/");
        for path in paths(&event).into_iter().filter(|path| !inside(path)) {
            for wrong in [json!(7), json!(true), json!([]), json!({"a": 1})] {
                let mut event = event.clone();
                let Some(place) = event.pointer_mut(&path) else {
                    continue;
                };
                if std::mem::discriminant(place) == std::mem::discriminant(&wrong) {
                    continue;
                }
                *place = wrong.clone();
                let event = format!("data: {event}\n");
                let stream = [&lines[..at], &[event.as_str()], &lines[at + 1..]].concat();
                changed.push((format!("line {at}, {path} = {wrong}"), stream.concat()));
            }
        }
    }
    changed
}

/// The places of all values that hold no others.
fn paths(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| {
        let paths = paths(value).into_iter();
        let paths: Vec<String> = paths.map(|path| format!("/{key}{path}")).collect();
        paths
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter();
            fields
                .flat_map(|(key, value)| below(key.clone(), value))
                .collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(at, value)| below(at.to_string(), value))
                .collect()
        }
        _ => vec![String::new()],
    }
}

#[test]
fn a_value_of_the_wrong_type_makes_no_call_another_one() {
    let runnable = |blocks: &[Block]| -> Vec<Value> {
        let inputs = blocks.iter().filter_map(|block| match block {
            Block::ToolUse(call) if call.input.is_object() => Some(Value::clone(&call.input)),
            _ => None,
        });
        inputs.collect()
    };
    for fixture in fixtures() {
        let Ok(stream) = std::str::from_utf8(&fixture.stream) else {
            continue;
        };
        if stream.len() > 20_000 {
            continue;
        }
        let (_, right) = decode(fixture.protocol(), [fixture.stream.as_slice()]);
        let mut known = runnable(&right.blocks);
        // A call may lose its input as a whole, and some servers send it as an object.
        known.extend([json!({}), json!({"a": 1})]);
        for (change, stream) in with_wrong_values(stream) {
            let (events, _) = decode(fixture.protocol(), [stream.as_bytes()]);
            let context = format!("{}, {change}", fixture.name);
            let mut ids = std::collections::HashSet::new();
            for event in &events {
                if let StreamEvent::BlockEnded(Block::ToolUse(call)) = event {
                    assert!(known.contains(&call.input), "{context}: {}", *call.input);
                    assert!(ids.insert(call.id.clone()), "{context}: twice");
                }
            }
        }
    }
}

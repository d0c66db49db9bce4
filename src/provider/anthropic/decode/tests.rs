use serde_json::{Value, json};

use crate::protocol::{Block, ToolUse};
use crate::provider::fixtures_test::{decode, stream};
use crate::provider::{Response, StreamErrorKind, StreamEvent};

fn play(events: &[Value]) -> (Vec<StreamEvent>, Response) {
    let stream = stream(events.iter().map(Value::to_string));
    decode("anthropic-messages", [stream.as_bytes()])
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn call(index: u64, id: &str) -> Value {
    start(
        index,
        &json!({"type": "tool_use", "id": id, "name": "run", "input": {}}),
    )
}

fn input(index: u64, json: &str) -> Value {
    let delta = json!({"type": "input_json_delta", "partial_json": json});
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end() -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]
}

fn calls(response: &Response) -> Vec<&ToolUse> {
    let calls = response.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

fn ended(events: &[StreamEvent]) -> usize {
    let ended = events
        .iter()
        .filter(|e| matches!(e, StreamEvent::BlockEnded(_)));
    ended.count()
}

#[test]
fn a_call_ends_with_its_block_and_not_with_the_message() {
    let (events, response) = play(&[call(0, "a"), input(0, "{\"x\":1}"), stop(0)]);
    assert_eq!(ended(&events), 1);
    assert!(!response.complete);
    assert_eq!(calls(&response)[0].input, json!({"x": 1}));
}

#[test]
fn a_reused_id_and_a_reused_index_make_two_calls() {
    let mut stream = vec![call(0, "a"), input(0, "{\"x\":1}"), stop(0)];
    stream.extend([call(0, "a"), input(0, "{\"x\":2}"), stop(0), stop(0)]);
    stream.extend(end());
    let (events, response) = play(&stream);
    let calls = calls(&response);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].id.0, "a");
    assert_ne!(calls[1].id.0, "a");
    assert_eq!(
        (&*calls[0].input, &*calls[1].input),
        (&json!({"x": 1}), &json!({"x": 2}))
    );
    assert_eq!(ended(&events), 2);
}

#[test]
fn blocks_are_ordered_by_index_and_stray_events_do_nothing() {
    let text = |text| json!({"type": "text", "text": text});
    let mut stream = vec![
        input(7, "{}"),
        stop(3),
        start(1, &text("b")),
        start(0, &text("a")),
    ];
    stream.extend([input(0, "{}"), stop(1), stop(0)]);
    stream.extend(end());
    let (_, response) = play(&stream);
    assert_eq!(response.blocks, [Block::text("a"), Block::text("b")]);
    assert!(response.complete);
}

#[test]
fn an_input_that_came_whole_with_the_start_is_used() {
    let block = json!({"type": "tool_use", "id": "a", "name": "run", "input": {"x": 1}});
    let (events, response) = play(&[start(0, &block), stop(0)]);
    assert_eq!(calls(&response)[0].input, json!({"x": 1}));
    let fragment = "{\"x\":1}".to_owned();
    assert_eq!(
        events[1],
        StreamEvent::ToolInput {
            id: "a".into(),
            fragment
        }
    );
}

#[test]
fn an_open_call_without_input_is_not_run_when_the_message_ends() {
    let mut stream = vec![call(0, "a")];
    stream.extend(end());
    let (events, response) = play(&stream);
    assert!(response.complete);
    assert_eq!(ended(&events), 0);
    assert_eq!(
        calls(&response)[0].input_error.as_deref(),
        Some("incomplete")
    );
}

#[test]
fn malformed_json_ends_the_response() {
    let stream = "data: {\"type\":\"message_start\",\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let (_, response) = decode("anthropic-messages", [stream.as_bytes()]);
    let error = response.error.expect("an error");
    assert_eq!(
        (error.kind, error.code.as_str()),
        (StreamErrorKind::Api, "malformed_event")
    );
    assert!(error.retryable && !response.complete);
}

#[test]
fn a_known_event_of_the_wrong_shape_is_malformed_too() {
    let (_, response) = play(&[json!({"type": "content_block_start", "index": 0})]);
    assert_eq!(response.error.expect("an error").code, "malformed_event");
}

#[test]
fn llama_cpps_flat_error_is_read_by_the_name_of_the_event() {
    let stream =
        "event: error\ndata: {\"code\":500,\"message\":\"no\",\"type\":\"server_error\"}\n\n";
    let (_, response) = decode("anthropic-messages", [stream.as_bytes()]);
    let error = response.error.expect("an error");
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("server_error", "no")
    );
}

#[test]
fn a_stop_reason_without_the_last_event_is_complete() {
    let (_, response) = play(&end()[..1]);
    assert!(response.complete);
}

#[test]
fn nothing_counts_after_the_last_event() {
    let mut stream = end().to_vec();
    stream.push(json!({"type": "error", "error": {"type": "overloaded_error"}}));
    let (_, response) = play(&stream);
    assert!(response.complete && response.error.is_none());
}

#[test]
fn deep_nesting_is_a_broken_input() {
    let deep = format!("{{\"a\":{}", "[".repeat(10_000));
    let (events, response) = play(&[call(0, "a"), input(0, &deep), stop(0)]);
    assert_eq!(ended(&events), 0);
    assert_eq!(
        calls(&response)[0].input_error.as_deref(),
        Some("invalid_json")
    );
    let nested = format!(
        "data: {{\"type\":\"x\",\"v\":{}{}}}\n\n",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let (_, response) = decode("anthropic-messages", [nested.as_bytes()]);
    assert_eq!(response.error.expect("an error").code, "malformed_event");
}

#[test]
fn what_is_cached_is_counted_beside_the_input() {
    let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 256, "cache_creation_input_tokens": 4});
    let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}})];
    events.extend(end());
    let (_, response) = play(&events);
    assert_eq!(response.usage.input_tokens, Some(40));
    assert_eq!(response.usage.in_context(), 300 + response.usage.output());
}

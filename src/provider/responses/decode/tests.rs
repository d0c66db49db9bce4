use serde_json::{Value, json};

use crate::protocol::{Block, StopReason, Usage, WireId};
use crate::provider::fixtures_test::{decode, stream};
use crate::provider::{Response, StreamEvent};

fn play(events: &[Value]) -> (Vec<StreamEvent>, Response) {
    let stream = stream(events.iter().map(Value::to_string));
    decode("openai-responses", [stream.as_bytes()])
}

fn call(id: &str, call_id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "run", "arguments": arguments})
}

fn added(item: &Value) -> Value {
    json!({"type": "response.output_item.added", "item": item})
}

fn done(item: &Value) -> Value {
    json!({"type": "response.output_item.done", "item": item})
}

fn arguments(item: &str, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "item_id": item, "delta": delta})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
}

fn ended(events: &[StreamEvent]) -> Vec<&Block> {
    let ended = events.iter().filter_map(|event| match event {
        StreamEvent::BlockEnded(block) => Some(block),
        _ => None,
    });
    ended.collect()
}

#[test]
fn a_call_ends_with_its_item_and_not_with_the_response() {
    let item = call("fc", "c", "{\"x\":1}");
    let (events, response) = play(&[
        added(&call("fc", "c", "")),
        arguments("fc", "{\"x\""),
        done(&item),
    ]);
    assert!(!response.complete);
    assert_eq!(ended(&events), [&response.blocks[0]]);
    let fragments = events.iter().filter_map(|event| match event {
        StreamEvent::ToolInput { fragment, .. } => Some(fragment.as_str()),
        _ => None,
    });
    assert_eq!(fragments.collect::<Vec<_>>(), ["{\"x\"", ":1}"]);
}

#[test]
fn an_item_that_is_done_twice_ends_once() {
    let item = call("fc", "c", "{}");
    let (events, response) = play(&[
        added(&item),
        done(&item),
        done(&item),
        completed(&json!([item])),
    ]);
    assert_eq!(ended(&events).len(), 1);
    assert_eq!(response.blocks.len(), 1);
}

#[test]
fn items_that_only_the_last_event_brings_are_read_there() {
    let output = json!([
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "id": "m", "phase": "commentary", "content": [{"type": "output_text", "text": "Hi"}]},
        call("fc", "c", "{\"x\":1}"),
    ]);
    let (events, response) = play(&[completed(&output)]);
    let blocks = [
        Block::Thinking {
            thinking: "hm".into(),
            signature: None,
            item: Some(output[0].clone()),
        },
        Block::Text {
            text: "Hi".into(),
            note: None,
            shown: None,
            citations: Vec::new(),
            phase: Some("commentary".into()),
        },
    ];
    assert_eq!(response.blocks[..2], blocks);
    assert_eq!(ended(&events), response.blocks.iter().collect::<Vec<_>>());
    assert!(events.contains(&StreamEvent::Text("Hi".into())));
    assert_eq!(response.stop_reason, Some(StopReason::ToolUse));
}

#[test]
fn deltas_are_used_when_the_finished_item_never_comes() {
    let text =
        |delta| json!({"type": "response.output_text.delta", "item_id": "m", "delta": delta});
    let stream = [
        text("Hel"),
        text("lo"),
        added(&call("fc", "c", "")),
        arguments("fc", "{\"x\":1}"),
    ];
    let sums_up = json!({"type": "response.function_call_arguments.done", "item_id": "fc", "arguments": "{\"x\":1}"});
    let mut whole = stream.to_vec();
    whole.extend([sums_up, completed(&json!([]))]);
    let (events, response) = play(&whole);
    assert_eq!(response.blocks[0], Block::text("Hello"));
    assert_eq!(ended(&events).len(), 2);

    // Nothing said that its arguments were whole.
    let mut cut = stream.to_vec();
    cut.push(completed(&json!([])));
    let (events, _) = play(&cut);
    assert_eq!(ended(&events).len(), 1);
}

#[test]
fn an_incomplete_call_is_not_run_even_if_its_arguments_look_whole() {
    let mut item = call("fc", "c", "");
    item["status"] = "incomplete".into();
    let (events, response) = play(&[added(&item), done(&item)]);
    assert_eq!(ended(&events).len(), 0);
    let Block::ToolUse(call) = &response.blocks[0] else {
        panic!("a call")
    };
    assert_eq!(call.input_error.as_deref(), Some("incomplete"));
}

#[test]
fn repeated_call_ids_become_different_ones() {
    let (first, second) = (call("1", "c", "{}"), call("2", "c", "{}"));
    let (events, _) = play(&[added(&first), added(&second), done(&second), done(&first)]);
    let ids: Vec<_> = ended(&events)
        .into_iter()
        .map(|block| json!(block)["id"].clone())
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[1], "c");
    assert_ne!(ids[0], "c");
}

#[test]
fn unknown_items_are_kept_and_unknown_events_named() {
    let item = json!({"type": "web_search_call", "id": "ws", "status": "completed"});
    let event = json!({"type": "response.web_search_call.searching", "item_id": "ws"});
    let (events, response) = play(&[
        added(&item),
        event.clone(),
        event,
        done(&item),
        completed(&json!([])),
    ]);
    let block = Block::Other {
        wire_type: "web_search_call".into(),
        start: item,
    };
    let serving = StreamEvent::Serving {
        id: WireId("ws".into()),
        name: "web_search".into(),
    };
    let ended = StreamEvent::BlockEnded(block.clone());
    assert_eq!(events, [serving, ended], "it is shown while it runs");
    assert_eq!(response.blocks, [block]);
    assert_eq!(
        response.ignored_events,
        ["response.web_search_call.searching"]
    );
}

#[test]
fn raw_reasoning_of_open_models_is_thinking() {
    let delta = |text| json!({"type": "response.reasoning_text.delta", "item_id": "rs", "content_index": 0, "delta": text});
    let item = json!({"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm so"}]});
    let (events, response) = play(&[
        added(&json!({"type": "reasoning", "id": "rs"})),
        delta("hm"),
        delta(" so"),
        done(&item),
    ]);
    assert_eq!(
        events[..2],
        [
            StreamEvent::Thinking("hm".into()),
            StreamEvent::Thinking(" so".into())
        ]
    );
    assert!(matches!(&response.blocks[0], Block::Thinking { thinking, .. } if thinking == "hm so"));
}

#[test]
fn a_nested_error_event_is_read_too() {
    let event = json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "long"}});
    let error = play(&[event]).1.error.expect("an error");
    assert_eq!(
        (error.code.as_str(), error.retryable),
        ("context_length_exceeded", false)
    );
}

#[test]
fn an_error_without_a_type_is_one_too() {
    let event = json!({"error": {"code": 500, "message": "no", "type": "server_error"}});
    let error = play(&[event]).1.error.expect("an error");
    assert_eq!((error.code.as_str(), error.retryable), ("500", true));
}

#[test]
fn done_of_another_format_is_skipped_and_malformed_json_is_not() {
    let (_, response) = decode("openai-responses", [&b"data: [DONE]\n\n"[..]]);
    assert_eq!(response.error.expect("cut").code, "truncated");
    let (_, response) = decode("openai-responses", [&b"data: {\"type\"\n\n"[..]]);
    assert_eq!(response.error.expect("broken").code, "malformed_event");
}

#[test]
fn cached_tokens_are_no_input_besides() {
    let usage = json!({
        "input_tokens": 300, "output_tokens": 90,
        "input_tokens_details": {"cached_tokens": 256, "cache_write_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 30},
    });
    let event = json!({"type": "response.completed", "response": {"output": [], "usage": usage}});
    let (_, response) = play(&[event]);
    let expected = Usage {
        input_tokens: Some(40),
        output_tokens: Some(90),
        cache_read_input_tokens: Some(256),
        cache_creation_input_tokens: Some(4),
        reasoning_tokens: Some(30),
    };
    assert_eq!(response.usage, expected);
    assert_eq!(response.usage.in_context(), 390);
}

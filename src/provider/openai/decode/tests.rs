use serde_json::{Value, json};

use crate::protocol::{Block, StopReason, ToolUse, Usage};
use crate::provider::fixtures_test::{decode, stream};
use crate::provider::{Response, StreamEvent};

/// One chunk for each delta, then the raw lines.
fn play(deltas: &[Value], lines: &[&str]) -> (Vec<StreamEvent>, Response) {
    let chunk = |delta| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let chunks = deltas.iter().map(|delta| chunk(delta).to_string());
    let stream = stream(chunks.chain(lines.iter().map(ToString::to_string)));
    decode("openai-chat", [stream.as_bytes()])
}

fn calls(deltas: &Value) -> Value {
    json!({"tool_calls": deltas})
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn started(events: &[StreamEvent]) -> Vec<String> {
    let started = events.iter().filter_map(|event| match event {
        StreamEvent::ToolStarted { id, .. } => Some(id.0.clone()),
        _ => None,
    });
    started.collect()
}

fn ended(events: &[StreamEvent]) -> Vec<&ToolUse> {
    let ended = events.iter().filter_map(|event| match event {
        StreamEvent::BlockEnded(Block::ToolUse(call)) => Some(call),
        _ => None,
    });
    ended.collect()
}

/// The pieces of one call's arguments, and then the raw lines.
fn pieces(pieces: &[&str], lines: &[&str]) -> (Vec<StreamEvent>, Response) {
    let name = json!([{"index": 0, "id": "a", "function": {"name": "run", "arguments": ""}}]);
    let piece = |piece: &&str| calls(&json!([{"index": 0, "function": {"arguments": piece}}]));
    let deltas: Vec<Value> = std::iter::once(calls(&name))
        .chain(pieces.iter().map(piece))
        .collect();
    play(&deltas, lines)
}

#[test]
fn a_call_is_over_once_something_else_comes() {
    let next =
        json!({"choices": [{"index": 0, "delta": calls(&json!([{"index": 1, "id": "b"}]))}]});
    for line in [next.to_string(), finish("tool_calls"), "[DONE]".to_owned()] {
        let (events, _) = pieces(&["{\"x\"", ":1}"], &[&line]);
        assert_eq!(ended(&events).len(), 1, "{line}");
        assert_eq!(ended(&events)[0].input, json!({"x": 1}));
    }
    let (events, response) = pieces(&["{\"x\"", ":1}"], &[]);
    assert_eq!(ended(&events).len(), 0, "a stream that is cut runs nothing");
    let Block::ToolUse(call) = &response.blocks[0] else {
        panic!("a call")
    };
    assert_eq!(call.input_error.as_deref(), Some("incomplete"));
}

#[test]
fn silence_ends_a_call_as_well() {
    use crate::provider::Decoder as _;
    let delta =
        json!([{"index": 0, "id": "a", "function": {"name": "run", "arguments": "{\"x\":1}"}}]);
    let data = json!({"choices": [{"index": 0, "delta": calls(&delta)}]}).to_string();
    let (mut decoder, mut events) = (super::Decoder::default(), Vec::new());
    let frame = crate::provider::sse::Frame {
        event: None,
        data: &data,
        cut: false,
    };
    decoder.frame(&frame, &mut events);
    assert!(decoder.is_waiting() && ended(&events).is_empty());
    decoder.quiet(&mut events);
    assert!(!decoder.is_waiting());
    assert_eq!(ended(&events).len(), 1);
}

#[test]
fn arguments_with_something_behind_them_are_never_run() {
    for garbage in [
        &["{\"x\":1} trailing"][..],
        &["{\"x\":1}", "</tool_call>"],
        &["{\"x\":1}", "}"],
        &["{\"x\":1}", "{\"x\":2}"],
        &["{\"x\":1}{\"x\":2}"],
    ] {
        let (events, response) = pieces(garbage, &[&finish("tool_calls"), "[DONE]"]);
        assert!(response.complete, "{garbage:?}");
        assert_eq!(ended(&events).len(), 0, "{garbage:?}");
        let Block::ToolUse(call) = &response.blocks[0] else {
            panic!("a call")
        };
        assert_eq!(call.input_error.as_deref(), Some("invalid_json"));
        assert_eq!(call.input_raw, Some(garbage.concat()));
    }
}

#[test]
fn a_call_that_comes_twice_is_one() {
    let whole = json!({"name": "run", "arguments": "{\"x\":1}"});
    let deltas = [
        calls(&json!([{"index": 0, "id": "a", "function": whole}])),
        calls(&json!([{"index": 0, "id": "a", "function": whole}])),
        calls(&json!([{"index": 0, "function": {"arguments": " \n"}}])),
    ];
    let (events, response) = play(
        &deltas,
        &[&finish("tool_calls"), &finish("tool_calls"), "[DONE]"],
    );
    assert!(response.complete);
    assert_eq!(ended(&events).len(), 1);
    assert_eq!(response.blocks, [Block::ToolUse(ended(&events)[0].clone())]);
}

#[test]
fn an_empty_object_waits_for_the_end() {
    let deltas = [calls(
        &json!([{"index": 0, "id": "a", "function": {"name": "run", "arguments": "{}"}}]),
    )];
    assert_eq!(ended(&play(&deltas, &[]).0).len(), 0);
    assert_eq!(ended(&play(&deltas, &[&finish("stop")]).0).len(), 1);
    assert_eq!(ended(&play(&deltas, &["[DONE]"]).0).len(), 1);
}

#[test]
fn a_call_that_the_token_limit_left_without_arguments_is_not_run() {
    let call = |id| json!({"id": id, "function": {"name": "run", "arguments": ""}});
    let deltas = [calls(&json!([call("a"), call("b")]))];
    let (events, response) = play(&deltas, &[&finish("length"), "[DONE]"]);
    assert_eq!(ended(&events).len(), 1);
    let Block::ToolUse(last) = &response.blocks[1] else {
        panic!("a call")
    };
    assert_eq!(last.input_error.as_deref(), Some("incomplete"));
}

#[test]
fn one_index_for_all_calls_is_told_apart_by_id() {
    let call = |id, x| json!([{"index": 0, "id": id, "function": {"name": "run", "arguments": format!("{{\"x\":{x}}}")}}]);
    let (events, _) = play(&[calls(&call("a", 1)), calls(&call("b", 2))], &["[DONE]"]);
    let inputs: Vec<_> = ended(&events).iter().map(|call| &call.input).collect();
    assert_eq!(inputs, [&json!({"x": 1}), &json!({"x": 2})]);
}

#[test]
fn missing_and_repeated_ids_become_different_ones() {
    let call = |index, id| json!({"index": index, "id": id, "function": {"name": "run", "arguments": "{\"x\":1}"}});
    let deltas = [calls(&json!([
        call(0, "same"),
        call(1, "same"),
        call(2, ""),
        call(3, "")
    ]))];
    let (events, response) = play(&deltas, &["[DONE]"]);
    let ids = started(&events);
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len()), (4, 4));
    let ends: Vec<_> = ended(&events)
        .iter()
        .map(|call| call.id.0.clone())
        .collect();
    assert_eq!(ends, ids);
    assert_eq!(response.blocks.len(), 4);
}

#[test]
fn interleaved_calls_and_a_late_name_come_out_right() {
    let deltas = [
        calls(&json!([{"index": 0, "id": "a", "function": {"arguments": "{\"x\":"}}])),
        calls(
            &json!([{"index": 1, "id": "b", "function": {"name": "two", "arguments": "{\"y\":"}}]),
        ),
        calls(&json!([{"index": 0, "function": {"name": "one", "arguments": "1}"}}])),
        calls(&json!([{"index": 1, "function": {"arguments": "2}"}}])),
    ];
    let (events, response) = play(&deltas, &["[DONE]"]);
    assert_eq!(started(&events), ["b", "a"]);
    let blocks: Vec<_> = response.blocks.iter().map(|block| json!(block)).collect();
    assert_eq!(
        blocks,
        [
            json!({"type": "tool_use", "id": "a", "name": "one", "input": {"x": 1}}),
            json!({"type": "tool_use", "id": "b", "name": "two", "input": {"y": 2}}),
        ]
    );
}

#[test]
fn empty_deltas_open_no_call() {
    let deltas = [
        calls(
            &json!([{"index": 0}, {}, {"function": {"arguments": "x"}}, {"index": 1, "function": null}]),
        ),
        json!({"tool_calls": null, "content": 7}),
    ];
    let (events, response) = play(&deltas, &["[DONE]"]);
    assert_eq!((events.len(), response.blocks.len()), (0, 0));
    assert_eq!(response.stop_reason, Some(StopReason::EndTurn));
}

#[test]
fn reasoning_under_two_names_is_taken_once_and_details_are_kept() {
    let details = json!([{"type": "reasoning.text", "text": "hm", "index": 0}]);
    let delta = json!({"reasoning_content": "hm", "reasoning": "hm", "reasoning_details": details});
    let (events, response) = play(&[delta], &["[DONE]"]);
    let block = Block::Thinking {
        thinking: "hm".into(),
        signature: None,
        item: Some(details),
    };
    assert_eq!(
        events,
        [
            StreamEvent::Thinking("hm".into()),
            StreamEvent::BlockEnded(block.clone())
        ]
    );
    assert_eq!(response.blocks, [block]);
}

#[test]
fn an_error_in_any_shape_voids_the_response() {
    for (line, code) in [
        ("{\"error\":{\"message\":\"no\",\"code\":502}}", "502"),
        ("{\"error\":\"no\"}", "error"),
        (
            "{\"object\":\"error\",\"message\":\"no\",\"type\":\"t\"}",
            "t",
        ),
        (
            "{\"error\":{\"message\":\"no\",\"type\":\"insufficient_quota\"}}",
            "insufficient_quota",
        ),
    ] {
        let (_, response) = play(
            &[json!({"content": "x"})],
            &[line, &finish("stop"), "[DONE]"],
        );
        let error = response.error.expect("an error");
        assert_eq!((error.code.as_str(), error.message.as_str()), (code, "no"));
        assert!(!response.complete && response.stop_reason.is_none());
    }
}

#[test]
fn a_finish_for_an_error_is_one_even_without_its_message() {
    let (_, response) = play(&[], &[&finish("error"), "[DONE]"]);
    assert!(response.error.is_some_and(|error| error.retryable));
}

#[test]
fn malformed_json_ends_the_response_and_runs_nothing_more() {
    let deltas = [calls(
        &json!([{"index": 0, "id": "a", "function": {"name": "run", "arguments": ""}}]),
    )];
    let (events, response) = play(
        &deltas,
        &["{\"choices\": [", &finish("tool_calls"), "[DONE]"],
    );
    assert_eq!(ended(&events).len(), 0);
    assert_eq!(response.error.expect("an error").code, "malformed_event");
}

#[test]
fn unknown_reasons_are_kept() {
    let (_, response) = play(
        &[json!({"content": "x"})],
        &[&finish("insufficient_system_resource")],
    );
    let reason = StopReason::Unknown("insufficient_system_resource".into());
    assert_eq!(response.stop_reason, Some(reason));
}

#[test]
fn cached_tokens_are_no_input_besides() {
    let usage_chunk = |usage: Value| json!({"choices": [], "usage": usage}).to_string();
    let openai = usage_chunk(json!({
        "prompt_tokens": 100, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 6},
    }));
    let deepseek = usage_chunk(
        json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 70}),
    );
    // Running totals; the last ones leave the details out.
    let shorter = usage_chunk(json!({"prompt_tokens": 100, "completion_tokens": 8}));
    for (lines, expected) in [
        (vec![&openai], (30, Some(64), Some(6), 7)),
        (vec![&deepseek], (30, Some(70), None, 7)),
        (vec![&openai, &shorter], (30, Some(64), Some(6), 8)),
        (vec![&shorter], (100, None, None, 8)),
    ] {
        let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
        let (_, response) = play(&[json!({"content": "x"})], &lines);
        let (input, read, written, output) = expected;
        let usage = Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cache_read_input_tokens: read,
            cache_creation_input_tokens: written,
            reasoning_tokens: None,
        };
        assert_eq!(response.usage, usage);
        assert_eq!(response.usage.in_context(), 100 + output);
    }
}

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Options, body};
use crate::protocol::{Block, Message};
use crate::provider::sample;

const MODEL: &str = "gpt-5.5";

fn reasoning_item() -> Value {
    json!({
        "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "gAAAA", "status": null,
    })
}

#[test]
fn the_whole_body() {
    let thoughts = vec![sample::thinking(None, Some(reasoning_item()))];
    let request = sample::everything("responses", MODEL, thoughts);
    let image = json!({
        "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto",
    });
    let path = json!({"path": {"type": "string"}});
    assert_eq!(
        body(&request, &Options::default()),
        json!({
            "model": MODEL,
            "input": [
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "What is this?"}, image,
                ]},
                {
                    "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "gAAAA",
                },
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
                {
                    "type": "function_call", "call_id": "call_1", "name": "Read",
                    "arguments": "{\"path\":\"a.rs\",\"line\":3}",
                },
                {
                    "type": "function_call", "call_id": "call_2", "name": "Run",
                    "arguments": "{\"INVALID_JSON\":\"{\\\"path\\\": \\\"b\"}",
                },
                {"type": "function_call", "call_id": "call_3", "name": "Look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "fn main() {}"},
                {
                    "type": "function_call_output", "call_id": "call_2",
                    "output": "<tool_use_error>no JSON</tool_use_error>",
                },
                {
                    "type": "function_call_output", "call_id": "call_3",
                    "output": [{"type": "input_text", "text": "A cat:"}, image],
                },
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "Go on."}, {"type": "input_text", "text": "And now?"},
                ]},
            ],
            "stream": true,
            "store": false,
            "max_output_tokens": 1000,
            "prompt_cache_key": "session-1",
            "instructions": "You are agent-tui.\n\nIt is Monday.",
            "tools": [
                {
                    "type": "function", "name": "Read", "description": "Reads a file.",
                    "parameters": {
                        "type": "object", "properties": path, "required": ["path"], "additionalProperties": false,
                    },
                    "strict": true,
                },
                {
                    "type": "function", "name": "Run", "description": "Runs.",
                    "parameters": {"type": "object", "properties": path},
                    "strict": false,
                },
                {
                    "type": "function", "name": "Look", "description": "Looks.",
                    "parameters": {"type": "object"},
                    "strict": false,
                },
            ],
            "include": ["reasoning.encrypted_content"],
        })
    );
}

/// What is sent of an answer of the same model, between two questions.
fn answer(content: Vec<Block>) -> Vec<Value> {
    let messages = vec![
        Message::user("?"),
        sample::from("responses", MODEL, content),
        Message::user("!"),
    ];
    let body = body(&sample::request(MODEL, messages), &Options::default());
    let input = body["input"].as_array().cloned().unwrap_or_default();
    input[1..input.len() - 1].to_vec()
}

#[test]
fn reasoning_that_led_to_nothing_is_dropped() {
    let thought = || sample::thinking(None, Some(reasoning_item()));
    assert_eq!(
        answer(vec![thought(), Block::text("Hi"), thought()]).len(),
        2
    );
}

#[test]
fn reasoning_that_could_only_be_looked_up_is_dropped() {
    let only =
        |item: Value| answer(vec![sample::thinking(None, Some(item)), Block::text("Hi")]).len();
    assert_eq!(
        only(json!({"type": "reasoning", "id": "rs", "summary": []})),
        1
    );
    assert_eq!(
        only(json!({"type": "reasoning", "id": "rs", "summary": [], "content": []})),
        1
    );
    let plain = json!([{"type": "reasoning_text", "text": "Hm."}]);
    assert_eq!(
        only(json!({"type": "reasoning", "id": "rs", "summary": [], "content": plain})),
        2
    );
    assert_eq!(
        answer(vec![sample::thinking(None, None), Block::text("Hi")]).len(),
        1
    );
}

#[test]
fn phases_refusals_and_unknown_items_go_back() {
    let item = json!({"type": "web_search_call", "id": "ws", "status": "completed"});
    let spoken = Block::Text {
        text: "Hi".into(),
        note: None,
        shown: None,
        citations: Vec::new(),
        phase: Some("commentary".into()),
    };
    let other = Block::Other {
        wire_type: "web_search_call".into(),
        start: item.clone(),
    };
    let refusal = Block::Refusal { text: "No.".into() };
    assert_eq!(
        answer(vec![other, spoken, refusal]),
        [
            item,
            json!({
                "type": "message", "role": "assistant", "phase": "commentary",
                "content": [{"type": "output_text", "text": "Hi"}],
            }),
            json!({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}),
        ]
    );
}

#[test]
fn reasoning_is_asked_for_only_as_configured_and_where_there_is_any() {
    let request = |model| sample::request(model, vec![Message::user("Hi")]);
    let options = Options {
        effort: Some("high".into()),
        summary: Some("auto".into()),
    };
    let sent = body(&request("gpt-6-sol"), &options);
    assert_eq!(
        sent["reasoning"],
        json!({"effort": "high", "summary": "auto"})
    );
    let sent = body(&request("gpt-4.1-mini"), &Options::default());
    assert_eq!((sent.get("reasoning"), sent.get("include")), (None, None));
}

#[test]
fn a_note_goes_out_as_the_text_that_it_is() {
    let sent = |block: Block| {
        let messages = vec![Message::from_user(vec![block, Block::text("go on")])];
        body(&sample::request(MODEL, messages), &Options::default())
    };
    let text = "<hook>\nlate\n</hook>";
    assert_eq!(sent(Block::by_hooks("late")), sent(Block::text(text)));
}

#[test]
fn a_search_of_the_server_is_one_of_its_own_tools_and_its_sources_are_asked_for() {
    let mut request = sample::request(MODEL, vec![Message::user("hi")]);
    request.tools = Arc::new(vec![sample::web_search()]);
    let body = body(&request, &Options::default());
    assert_eq!(body["tools"], json!([{"type": "web_search"}]));
    let include = [
        "reasoning.encrypted_content",
        "web_search_call.action.sources",
    ];
    assert_eq!(body["include"], json!(include));
}

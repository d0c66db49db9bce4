use std::sync::Arc;

use serde_json::{Value, json};

use super::{Cache, Options, Thinking, body, thinks_adaptively, wire_id};
use crate::protocol::{Block, Image, Message, ResultBlock, ToolResult, WireId};
use crate::provider::sample;

const MODEL: &str = "claude-opus-5-5";

fn everything() -> Value {
    let thoughts = vec![
        sample::thinking(Some("sig"), None),
        Block::RedactedThinking {
            data: "dark".into(),
        },
        Block::Other {
            wire_type: "fallback".into(),
            start: json!({"type": "fallback", "from": 1}),
        },
    ];
    body(
        &sample::everything("anthropic", MODEL, thoughts),
        &Options::default(),
    )
}

#[test]
fn the_whole_body() {
    let marked = json!({"type": "ephemeral"});
    let image = json!({
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    });
    let mut marked_image = image.clone();
    marked_image["cache_control"] = marked.clone();
    let path = json!({"path": {"type": "string"}});
    assert_eq!(
        everything(),
        json!({
            "model": MODEL,
            "max_tokens": 1000,
            "stream": true,
            "system": [
                {"type": "text", "text": "You are agent-tui."},
                {"type": "text", "text": "It is Monday.", "cache_control": marked},
            ],
            "tools": [
                {
                    "name": "Read",
                    "description": "Reads a file.",
                    "input_schema": {
                        "type": "object", "properties": path, "required": ["path"], "additionalProperties": false,
                    },
                    "strict": true,
                    "input_examples": [{"path": "a.rs"}],
                },
                {
                    "name": "Run",
                    "description": "Runs.",
                    "input_schema": {"type": "object", "properties": path},
                    "strict": true,
                },
                {
                    "name": "Look",
                    "description": "Looks.",
                    "input_schema": {"type": "object"},
                    "cache_control": marked,
                },
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "What is this?"}, marked_image]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "dark"},
                    {"type": "fallback", "from": 1},
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "a.rs", "line": 3}},
                    {"type": "tool_use", "id": "call_2", "name": "Run", "input": {"INVALID_JSON": "{\"path\": \"b"}},
                    {"type": "tool_use", "id": "call_3", "name": "Look", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "fn main() {}"},
                    {
                        "type": "tool_result", "tool_use_id": "call_2", "is_error": true,
                        "content": "<tool_use_error>no JSON</tool_use_error>",
                    },
                    {
                        "type": "tool_result", "tool_use_id": "call_3",
                        "content": [{"type": "text", "text": "A cat:"}, image],
                    },
                    {"type": "text", "text": "Go on."},
                    {"type": "text", "text": "And now?", "cache_control": marked},
                ]},
            ],
            "thinking": {"type": "adaptive", "display": "summarized"},
        })
    );
}

#[test]
fn there_are_four_cache_marks_at_most() {
    let marks = everything().to_string().matches("cache_control").count();
    assert_eq!(marks, 4);
    let options = Options {
        cache: Cache::Unmarked,
        ..Options::default()
    };
    let body = body(
        &sample::everything("anthropic", MODEL, Vec::new()),
        &options,
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 0);
}

#[test]
fn thinking_of_another_model_is_stripped() {
    let message = sample::from(
        "anthropic",
        "claude-opus-5",
        vec![sample::thinking(Some("s"), None), Block::text("Hi")],
    );
    let body = body(
        &sample::request(MODEL, vec![Message::user("?"), message]),
        &Options::default(),
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "Hi"}])
    );
}

/// What is sent of an answer of the same model.
fn answer(model: &str, content: Vec<Block>) -> Value {
    let messages = vec![
        Message::user("?"),
        sample::from("anthropic", model, content),
        Message::user("!"),
    ];
    let body = body(&sample::request(model, messages), &Options::default());
    body["messages"][1]["content"].clone()
}

#[test]
fn thinking_at_the_end_stays_only_beside_calls() {
    let call = || sample::call("call_1", "Read", json!({}));
    let thought = || sample::thinking(Some("s"), None);
    assert_eq!(
        answer(MODEL, vec![Block::text("Hi"), thought()]),
        json!([{"type": "text", "text": "Hi"}])
    );
    let beside = answer(MODEL, vec![call(), thought()]);
    assert_eq!(beside[1]["type"], "thinking");
}

#[test]
fn unsigned_thinking_goes_only_to_servers_that_never_sign() {
    let content = || vec![sample::thinking(None, None), Block::text("Hi")];
    assert_eq!(answer(MODEL, content())[0]["type"], "text");
    assert_eq!(
        answer("deepseek-chat", content())[0],
        json!({"type": "thinking", "thinking": "Hm.", "signature": ""})
    );
}

#[test]
fn citations_and_server_calls_go_back_as_they_came() {
    let cited = Block::Text {
        text: "Hi".into(),
        note: None,
        shown: None,
        citations: vec![json!({"type": "web_search_result_location"})],
        phase: None,
    };
    let result = found("srv");
    let Block::Other { start, .. } = &result else {
        panic!("kept as it came");
    };
    assert_eq!(
        answer(MODEL, vec![search("srv"), result.clone(), cited]),
        json!([
            {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
            start,
            {"type": "text", "text": "Hi", "citations": [{"type": "web_search_result_location"}]},
        ])
    );
}

fn search(id: &str) -> Block {
    Block::ServerToolUse {
        id: id.into(),
        name: "web_search".into(),
        input: Value::Null,
    }
}

fn found(id: &str) -> Block {
    let page = json!({"type": "web_search_result", "title": "T", "url": "https://a", "encrypted_content": "x"});
    Block::Other {
        wire_type: "web_search_tool_result".into(),
        start: json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [page]}),
    }
}

#[test]
fn a_call_of_the_server_without_its_result_goes_back_only_where_the_answer_paused() {
    let blocks = vec![search("a"), found("a"), search("b")];
    assert_eq!(
        answer(MODEL, blocks.clone()).as_array().map(Vec::len),
        Some(2)
    );
    let paused = vec![
        Message::user("hi"),
        sample::from("anthropic", MODEL, blocks),
    ];
    let body = body(&sample::request(MODEL, paused), &Options::default());
    assert_eq!(body["messages"][1]["content"][2]["id"], "b");
}

#[test]
fn a_search_of_the_server_is_one_of_its_own_tools() {
    let mut request = sample::request(MODEL, vec![Message::user("hi")]);
    request.tools = Arc::new(vec![sample::web_search()]);
    let body = body(&request, &Options::default());
    let marked = json!({"type": "ephemeral"});
    let tool =
        json!({"type": "web_search_20250305", "name": "web_search", "cache_control": marked});
    assert_eq!(body["tools"], json!([tool]));
}

#[test]
fn a_result_is_never_empty_where_that_is_refused() {
    let result = |content, is_error| {
        let result = ToolResult {
            tool_use_id: WireId::from("functions.run:0"),
            content,
            is_error,
        };
        super::tool_result(&result)
    };
    let id = "functions_2erun_3a0";
    assert_eq!(
        result(vec![ResultBlock::text("")].into(), false),
        json!({"type": "tool_result", "tool_use_id": id})
    );
    assert_eq!(
        result(vec![ResultBlock::Image(sample::cat())].into(), true),
        json!({
            "type": "tool_result", "tool_use_id": id, "content": "the tool failed without a message", "is_error": true,
        })
    );
    let bitmap = ResultBlock::Image(Image::base64("image/bmp", ""));
    assert_eq!(
        result(vec![bitmap].into(), false)["content"],
        "[an image of the type image/bmp, which cannot be shown]"
    );
}

#[test]
fn ids_that_the_api_refuses_are_spelled_out() {
    assert_eq!(wire_id("toolu_01-x"), "toolu_01-x");
    assert_eq!(wire_id("a.b"), "a_2eb");
    assert_ne!(wire_id("é"), wire_id("è"));
}

#[test]
fn models_from_4_6_on_think_adaptively() {
    for model in [
        "claude-opus-4-6",
        "claude-sonnet-4-6-20260101",
        "claude-opus-5",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "anthropic/claude-opus-4.7",
        "us.anthropic.claude-opus-4-6-v1:0",
        "claude-opus-10",
    ] {
        assert!(thinks_adaptively(model), "{model}");
    }
    for model in [
        "claude-opus-4-5",
        "claude-opus-4-20250514",
        "claude-haiku-4-5-20251001",
        "claude-3-7-sonnet-20250219",
        "claude-3-opus-latest",
        "claude-mythos-preview",
        "qwen3-coder",
        "gpt-5.5",
        "",
    ] {
        assert!(!thinks_adaptively(model), "{model}");
    }
}

#[test]
fn options_and_bare_requests() {
    let mut request = sample::request("claude-opus-4-5", vec![Message::user("Hi")]);
    request.system.clear();
    let options = Options {
        thinking: Thinking::Unset,
        effort: Some("high".into()),
        cache: Cache::Unmarked,
    };
    assert_eq!(
        body(&request, &options),
        json!({
            "model": "claude-opus-4-5",
            "max_tokens": 1000,
            "stream": true,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "output_config": {"effort": "high"},
        })
    );
}

#[test]
fn a_note_goes_out_as_the_text_that_it_is() {
    let sent = |block: Block| {
        let messages = vec![Message::from_user(vec![block, Block::text("go on")])];
        body(&sample::request("m", messages), &Options::default())
    };
    let text = "<hook>\nlate\n</hook>";
    assert_eq!(sent(Block::by_hooks("late")), sent(Block::text(text)));
}

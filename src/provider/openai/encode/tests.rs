use std::sync::Arc;

use serde_json::{Value, json};

use super::{NoText, Options, Server, body};
use crate::protocol::{Block, Message, ResultBlock, ToolResult, WireId};
use crate::provider::sample;

const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

#[test]
fn the_whole_body() {
    let request = sample::everything("openai", "m", vec![sample::thinking(None, None)]);
    let image = json!({"type": "image_url", "image_url": {"url": IMAGE}});
    let path = json!({"path": {"type": "string"}});
    assert_eq!(
        body(&request, &Options::default()),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "You are agent-tui.\n\nIt is Monday."},
                {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        call("call_1", "Read", "{\"path\":\"a.rs\",\"line\":3}"),
                        call("call_2", "Run", "{\"INVALID_JSON\":\"{\\\"path\\\": \\\"b\"}"),
                        call("call_3", "Look", "{}"),
                    ],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "fn main() {}"},
                {"role": "tool", "tool_call_id": "call_2", "content": "<tool_use_error>no JSON</tool_use_error>"},
                {"role": "tool", "tool_call_id": "call_3", "content": "A cat:"},
                {"role": "user", "content": [
                    image,
                    {"type": "text", "text": "Go on."},
                    {"type": "text", "text": "And now?"},
                ]},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_tokens": 1000,
            "tools": [
                {"type": "function", "function": {
                    "name": "Read",
                    "description": "Reads a file.",
                    "parameters": {
                        "type": "object", "properties": path, "required": ["path"], "additionalProperties": false,
                    },
                    "strict": true,
                }},
                {"type": "function", "function": {
                    "name": "Run",
                    "description": "Runs.",
                    "parameters": {"type": "object", "properties": path},
                }},
                {"type": "function", "function": {
                    "name": "Look",
                    "description": "Looks.",
                    "parameters": {"type": "object"},
                }},
            ],
        })
    );
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn messages(messages: Vec<Message>, options: &Options) -> Value {
    let mut request = sample::request("m", messages);
    request.system.clear();
    body(&request, options)["messages"].clone()
}

#[test]
fn openai_itself_gets_its_own_names() {
    let request = sample::request("gpt-5.5", vec![Message::user("Hi")]);
    let options = Options {
        server: Server::at("https://api.openai.com/v1"),
        effort: Some("low".into()),
        ..Options::default()
    };
    assert_eq!(
        body(&request, &options),
        json!({
            "model": "gpt-5.5",
            "messages": [
                {"role": "system", "content": "You are agent-tui.\n\nIt is Monday."},
                {"role": "user", "content": "Hi"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 1000,
            "prompt_cache_key": "session-1",
            "reasoning_effort": "low",
        })
    );
}

#[test]
fn only_the_host_makes_a_server_openai() {
    for url in [
        "https://api.openai.com/v1",
        "https://API.OpenAI.com",
        "https://api.openai.com:443/v1",
    ] {
        assert_eq!(Server::at(url), Server::OpenAi, "{url}");
    }
    for url in [
        "http://localhost:11434/v1",
        "https://x.dev/api.openai.com/v1",
        "https://api.openai.com.x.dev",
        "",
    ] {
        assert_eq!(Server::at(url), Server::Compatible, "{url}");
    }
}

#[test]
fn reasoning_goes_back_beside_every_call_of_its_maker() {
    let details = json!([{"type": "reasoning.text", "text": "Hm.", "index": 0}]);
    let turn = |id: &str, thoughts: Vec<Block>| {
        let mut content = thoughts;
        content.push(sample::call(id, "Run", json!({})));
        let result = ToolResult::text(WireId::from(id), "ok");
        [
            sample::from("openai", "m", content),
            Message::from_user(vec![Block::ToolResult(result)]),
        ]
    };
    let mut history = vec![Message::user("?")];
    history.extend(turn(
        "a",
        vec![sample::thinking(None, Some(details.clone()))],
    ));
    history.extend(turn("b", Vec::new()));
    history.push(sample::from(
        "openai",
        "m",
        vec![sample::thinking(None, None), Block::text("Done.")],
    ));
    let sent = messages(history.clone(), &Options::default());
    assert_eq!(sent[1]["reasoning_content"], "Hm.");
    assert_eq!(sent[1]["reasoning_details"], details);
    assert_eq!(sent[3]["reasoning_content"], "");
    assert_eq!(sent[5], json!({"role": "assistant", "content": "Done."}));

    let strict = Options {
        server: Server::OpenAi,
        ..Options::default()
    };
    let sent = messages(history.clone(), &strict).to_string();
    assert!(!sent.contains("reasoning"), "{sent}");

    for message in &mut history {
        if let Some(origin) = &mut message.origin {
            origin.model = "other".into();
        }
    }
    let sent = messages(history, &Options::default()).to_string();
    assert!(!sent.contains("reasoning"), "{sent}");
}

#[test]
fn calls_without_text_have_null_or_an_empty_string_beside_them() {
    let history = || {
        let calls = vec![sample::call("a", "Run", json!({}))];
        vec![Message::user("?"), sample::from("openai", "m", calls)]
    };
    assert_eq!(
        messages(history(), &Options::default())[1]["content"],
        Value::Null
    );
    let options = Options {
        no_text: NoText::EmptyString,
        ..Options::default()
    };
    assert_eq!(messages(history(), &options)[1]["content"], "");
}

#[test]
fn a_result_that_is_only_an_image_points_to_it() {
    let result = ToolResult {
        tool_use_id: "a".into(),
        content: vec![ResultBlock::Image(sample::cat())].into(),
        is_error: false,
    };
    let sent = messages(
        vec![Message::from_user(vec![Block::ToolResult(result)])],
        &Options::default(),
    );
    assert_eq!(
        sent,
        json!([
            {"role": "tool", "tool_call_id": "a", "content": "[the image follows in the next message]"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]},
        ])
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

#[test]
fn a_tool_that_only_other_servers_have_is_left_out() {
    let mut request = sample::request("m", vec![Message::user("hi")]);
    request.tools = Arc::new(vec![sample::web_search()]);
    assert_eq!(body(&request, &Options::default()).get("tools"), None);
}

//! A conversation with everything in it, for the tests of the encoders.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Request;
use crate::protocol::{
    Block, Image, Message, Origin, ResultBlock, ServerTool, ToolDefinition, ToolResult, ToolUse,
    WireId,
};

pub(super) fn request(model: &str, messages: Vec<Message>) -> Request {
    Request {
        model: model.into(),
        system: vec![
            "You are agent-tui.".into(),
            " ".into(),
            "It is Monday.".into(),
        ],
        messages: Arc::new(messages),
        tools: Arc::new(Vec::new()),
        lasting_tools: 0,
        max_tokens: 1000,
        session: "session-1".into(),
    }
}

pub(super) fn from(provider: &str, model: &str, content: Vec<Block>) -> Message {
    let origin = Origin {
        provider: provider.into(),
        model: model.into(),
    };
    Message::from_assistant(content, origin)
}

/// A tool that the provider runs itself.
pub(super) fn web_search() -> ToolDefinition {
    ToolDefinition {
        name: "WebSearch".into(),
        description: "Searches.".into(),
        input_schema: json!({"type": "object"}),
        strict: false,
        input_examples: Vec::new(),
        server: Some(ServerTool::WebSearch),
    }
}

pub(super) fn tools() -> Vec<ToolDefinition> {
    let properties = json!({"path": {"type": "string"}});
    let strict = json!({
        "type": "object", "properties": properties, "required": ["path"], "additionalProperties": false,
    });
    let loose = json!({"type": "object", "properties": properties});
    vec![
        ToolDefinition {
            name: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: strict,
            strict: true,
            input_examples: vec![json!({"path": "a.rs"})],
            server: None,
        },
        ToolDefinition {
            name: "Run".into(),
            description: "Runs.".into(),
            input_schema: loose,
            strict: true,
            input_examples: Vec::new(),
            server: None,
        },
        ToolDefinition {
            name: "Look".into(),
            description: "Looks.".into(),
            input_schema: json!({"type": "object"}),
            strict: false,
            input_examples: Vec::new(),
            server: None,
        },
    ]
}

/// A question with a picture, two calls of which one is broken, their results with text in between, an empty answer,
/// and one more question. `thoughts` come before the first answer.
pub(super) fn everything(provider: &str, model: &str, thoughts: Vec<Block>) -> Request {
    let mut answer = thoughts;
    answer.extend([
        Block::text("Looking."),
        Block::text("\n"),
        call("call_1", "Read", json!({"path": "a.rs", "line": 3})),
        broken_call("call_2", "Run", "{\"path\": \"b"),
        call("call_3", "Look", json!({})),
    ]);
    let mut request = request(
        model,
        vec![
            Message::from_user(vec![Block::text("What is this?"), picture()]),
            from(provider, model, answer),
            Message::from_user(vec![
                Block::text("Go on."),
                Block::ToolResult(ToolResult::text("call_1".into(), "fn main() {}")),
                Block::ToolResult(ToolResult::error("call_2".into(), "no JSON")),
                Block::ToolResult(ToolResult {
                    tool_use_id: WireId::from("call_3"),
                    content: vec![ResultBlock::text("A cat:"), ResultBlock::Image(cat())].into(),
                    is_error: false,
                }),
            ]),
            from(provider, model, vec![Block::text("")]),
            Message::user("And now?"),
        ],
    );
    request.tools = Arc::new(tools());
    request
}

pub(super) fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: name.into(),
        input: input.into(),
        input_raw: None,
        input_error: None,
    })
}

fn broken_call(id: &str, name: &str, raw: &str) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: name.into(),
        input: Value::Null.into(),
        input_raw: Some(raw.into()),
        input_error: Some("invalid_json".into()),
    })
}

pub(super) fn thinking(signature: Option<&str>, item: Option<Value>) -> Block {
    Block::Thinking {
        thinking: "Hm.".into(),
        signature: signature.map(Into::into),
        item,
    }
}

fn picture() -> Block {
    Block::Image(cat())
}

pub(super) fn cat() -> Image {
    Image::base64("image/png", "iVBORw0KGgo=")
}

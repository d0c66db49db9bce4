//! What the three encoders share: a conversation in the shape that every API accepts.
//!
//! Checking and repairing the history (each call has its result) is done by the agent. Here it is only arranged:
//! nothing empty, nothing that belongs to another model, results first, and alternating roles.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::Request;
use crate::protocol::message::ImageSource;
use crate::protocol::{Block, Image, Message, ResultBlock, Role, ToolResult, ToolUse};

/// The longest name of a function that all APIs accept.
const NAME_LENGTH: usize = 64;

/// All that one side says before the other side speaks again; never empty.
#[derive(Debug, PartialEq)]
pub(super) struct Turn<'a> {
    pub role: Role,
    pub blocks: Vec<Cow<'a, Block>>,
}

/// The messages of a request as turns, for a server that speaks the format named `provider`.
pub(super) fn turns<'a>(request: &'a Request, provider: &str) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in request.messages.iter() {
        let home = is_home(message, provider, &request.model);
        let blocks = message.content.iter();
        let mut blocks: Vec<_> = blocks
            .filter_map(|block| admit(block, message.role, home))
            .collect();
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.blocks.append(&mut blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push(Turn {
                role: message.role,
                blocks,
            }),
        }
    }
    for turn in &mut turns {
        // A stable sort: results come first, everything else keeps its order.
        if turn.role == Role::User {
            let is_result = |block: &Cow<'_, Block>| matches!(**block, Block::ToolResult(_));
            turn.blocks.sort_by_key(|block| !is_result(block));
        }
    }
    turns
}

/// Signatures, encrypted reasoning and blocks of unknown kinds mean something only to the model that made them.
fn is_home(message: &Message, provider: &str, model: &str) -> bool {
    let origin = message.origin.as_ref();
    origin.is_some_and(|origin| origin.provider == provider && origin.model == model)
}

fn admit(block: &Block, role: Role, home: bool) -> Option<Cow<'_, Block>> {
    let keep = match block {
        Block::Text {
            text,
            citations,
            phase,
            note: _,
            shown: _,
        } => {
            let bare = citations.is_empty() && phase.is_none();
            if !home && !bare && !is_blank(text) {
                return Some(Cow::Owned(Block::text(text)));
            }
            !is_blank(text)
        }
        Block::Refusal { text } if !home && !is_blank(text) => {
            return Some(Cow::Owned(Block::text(text)));
        }
        Block::Refusal { text } => !is_blank(text),
        Block::Image(_) | Block::ToolResult(_) => role == Role::User,
        Block::ToolUse(_) => role == Role::Assistant,
        Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ServerToolUse { .. }
        | Block::Other { .. } => role == Role::Assistant && home,
    };
    keep.then_some(Cow::Borrowed(block))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Removes reasoning at the end: APIs refuse reasoning that led to nothing.
pub(super) fn drop_trailing_thinking(blocks: &mut Vec<Cow<'_, Block>>) {
    while let Some(Block::Thinking { .. } | Block::RedactedThinking { .. }) =
        blocks.last().map(AsRef::as_ref)
    {
        blocks.pop();
    }
}

/// The input of a call as an object, which the wire requires even if the model wrote something else.
pub(super) fn call_input(call: &ToolUse) -> Cow<'_, Value> {
    match (&*call.input, &call.input_raw) {
        (Value::Object(_), _) => Cow::Borrowed(&call.input),
        (_, Some(raw)) => Cow::Owned(json!({ "INVALID_JSON": raw })),
        (_, None) => Cow::Owned(json!({})),
    }
}

/// A name that every API accepts, whatever the model wrote: a refused name would make the session unsendable.
pub(super) fn call_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= NAME_LENGTH && name.bytes().all(is_name_byte) {
        return Cow::Borrowed(name);
    }
    let mut clean: String = name
        .chars()
        .take(NAME_LENGTH)
        .map(|c| {
            if u8::try_from(c).is_ok_and(is_name_byte) {
                c
            } else {
                '_'
            }
        })
        .collect();
    if clean.is_empty() {
        clean.push('_');
    }
    Cow::Owned(clean)
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The text of a result, for APIs that cannot mark it as an error. Never empty for an error.
pub(super) fn result_text(result: &ToolResult) -> String {
    let text = result.as_sent().as_text();
    if result.is_error && is_blank(&text) {
        "Error: the tool failed without a message".into()
    } else {
        text
    }
}

pub(super) fn result_images(result: &ToolResult) -> impl Iterator<Item = &Image> {
    result.content.iter().filter_map(|block| match block {
        ResultBlock::Image(image) => Some(image),
        ResultBlock::Text { .. } => None,
    })
}

pub(super) fn data_url(image: &Image) -> String {
    let ImageSource::Base64 { media_type, data } = &image.source;
    format!("data:{media_type};base64,{data}")
}

/// The whole system prompt as one text.
pub(super) fn system(request: &Request) -> Option<String> {
    let parts: Vec<&str> = system_parts(request).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

pub(super) fn system_parts(request: &Request) -> impl Iterator<Item = &str> {
    let parts = request.system.iter().map(String::as_str);
    parts.filter(|part| !is_blank(part))
}

/// Whether OpenAI's strict mode accepts a schema: every object is closed and requires all its properties.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().all(is_strict),
        Value::Object(object) => {
            let is_object = object.get("type").is_some_and(|kind| match kind {
                Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
                kind => kind == "object",
            });
            (!is_object || is_closed(object)) && object.values().all(is_strict)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn is_closed(object: &serde_json::Map<String, Value>) -> bool {
    let required = object.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|list| list.iter().any(|n| n == name));
    let properties = object.get("properties").and_then(Value::as_object);
    object.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_none_or(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::{call_input, call_name, is_strict, result_text, turns};
    use crate::protocol::{Block, Message, Origin, ResultBlock, Role, ToolResult, ToolUse, WireId};
    use crate::provider::Request;

    fn request(messages: Vec<Message>) -> Request {
        Request {
            model: "m".into(),
            system: Vec::new(),
            messages: Arc::new(messages),
            tools: Arc::new(Vec::new()),
            lasting_tools: 0,
            max_tokens: 100,
            session: "s".into(),
        }
    }

    fn origin(model: &str) -> Origin {
        Origin {
            provider: "p".into(),
            model: model.into(),
        }
    }

    fn thinking() -> Block {
        Block::Thinking {
            thinking: "hm".into(),
            signature: Some("sig".into()),
            item: None,
        }
    }

    /// The turns as plain data, to compare whole.
    fn shape(messages: Vec<Message>) -> Vec<(Role, Vec<Block>)> {
        let request = request(messages);
        let turns = turns(&request, "p").into_iter();
        turns
            .map(|turn| {
                (
                    turn.role,
                    turn.blocks.into_iter().map(Cow::into_owned).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn neighbours_are_joined_and_empty_messages_vanish() {
        let messages = vec![
            Message::user("a"),
            Message::from_assistant(vec![Block::text(" \n")], origin("m")),
            Message::from_user(vec![Block::text(""), Block::text("b")]),
            Message::from_assistant(vec![Block::text("c")], origin("m")),
        ];
        assert_eq!(
            shape(messages),
            [
                (Role::User, vec![Block::text("a"), Block::text("b")]),
                (Role::Assistant, vec![Block::text("c")]),
            ]
        );
    }

    #[test]
    fn results_come_first_in_their_order() {
        let result = |id: &str| Block::ToolResult(ToolResult::text(WireId::from(id), id));
        let messages = vec![
            Message::from_user(vec![result("1"), Block::text("x"), result("2")]),
            Message::from_user(vec![Block::text("y"), result("3")]),
        ];
        let expected = vec![
            result("1"),
            result("2"),
            result("3"),
            Block::text("x"),
            Block::text("y"),
        ];
        assert_eq!(shape(messages), [(Role::User, expected)]);
    }

    #[test]
    fn what_only_its_maker_understands_goes_back_to_its_maker_alone() {
        let spoken = Block::Text {
            text: "hi".into(),
            note: None,
            shown: None,
            citations: vec![json!({"type": "x"})],
            phase: Some("commentary".into()),
        };
        let content = vec![
            thinking(),
            Block::RedactedThinking { data: "d".into() },
            Block::Other {
                wire_type: "o".into(),
                start: json!({}),
            },
            Block::Refusal { text: "no".into() },
            spoken,
        ];
        let shape_for = |model| {
            shape(vec![Message::from_assistant(
                content.clone(),
                origin(model),
            )])
        };
        assert_eq!(shape_for("m"), [(Role::Assistant, content.clone())]);
        assert_eq!(
            shape_for("other"),
            [(Role::Assistant, vec![Block::text("no"), Block::text("hi")])]
        );
    }

    #[test]
    fn an_input_is_an_object_on_the_wire_whatever_it_was() {
        let call = |input: Value, raw: Option<&str>| {
            let call = ToolUse {
                id: "1".into(),
                name: "n".into(),
                input: input.into(),
                input_raw: raw.map(Into::into),
                input_error: None,
            };
            call_input(&call).into_owned()
        };
        assert_eq!(call(json!({"a": 1}), None), json!({"a": 1}));
        assert_eq!(
            call(Value::Null, Some("{\"a")),
            json!({"INVALID_JSON": "{\"a"})
        );
        assert_eq!(call(Value::Null, None), json!({}));
    }

    #[test]
    fn names_that_a_model_made_up_become_valid() {
        assert_eq!(call_name("mcp__a-b__C1"), "mcp__a-b__C1");
        assert_eq!(call_name("functions.read:é"), "functions_read__");
        assert_eq!(call_name(""), "_");
        assert_eq!(call_name(&"x".repeat(99)).len(), 64);
    }

    #[test]
    fn an_error_says_so_in_its_text() {
        let mut result = ToolResult::text("1".into(), "no such file");
        assert_eq!(result_text(&result), "no such file");
        result.is_error = true;
        let tagged = "<tool_use_error>no such file</tool_use_error>";
        assert_eq!(result_text(&result), tagged);
        // What hooks have to say to it is not of the error.
        Arc::make_mut(&mut result.content).push(ResultBlock::text("<hook>"));
        assert_eq!(result_text(&result), format!("{tagged}\n<hook>"));
        result.content = Arc::default();
        assert_eq!(
            result_text(&result),
            "Error: the tool failed without a message"
        );
        let quoting = ToolResult::error("1".into(), "<tool_use_error>");
        assert_eq!(
            result_text(&quoting),
            "<tool_use_error><tool_use_error></tool_use_error>"
        );
    }

    #[test]
    fn strict_mode_wants_closed_objects_that_require_everything() {
        let object = |required: Value, more: Value| {
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": required,
                   "additionalProperties": more})
        };
        let closed = object(json!(["a"]), json!(false));
        assert!(is_strict(&closed));
        assert!(!is_strict(&object(json!([]), json!(false))));
        assert!(!is_strict(&object(json!(["a"]), json!(true))));
        assert!(!is_strict(&json!({"type": "object"})));
        let nested = json!({"type": "array", "items": {"type": ["object", "null"]}});
        assert!(!is_strict(&nested));
    }
}

//! Writes the request body of the Messages API.

use serde_json::{Map, Value, json};

use super::PROVIDER;
use crate::protocol::message::ImageSource;
use crate::protocol::{Block, Image, ResultBlock, Role, ServerTool, ToolDefinition, ToolResult};
use crate::provider::Request;
use crate::provider::turns::{self, Turn};

/// The only image types that the API accepts.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// How many user messages from the end are marked: the last one writes the cache, the one before reads it.
const CACHED_TURNS: usize = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub thinking: Thinking,
    /// `low` to `max`; how deep the model thinks and how much it says.
    pub effort: Option<String>,
    pub cache: Cache,
}

/// What the request says about thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Thinking {
    /// Adaptive, with a summary, if the model's name shows support for it; else nothing.
    #[default]
    ByModel,
    /// Nothing: the model's own default.
    Unset,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cache {
    /// The stable parts are marked for the prompt cache.
    #[default]
    Marked,
    /// For servers without cache marks.
    Unmarked,
}

/// The body of `POST /v1/messages`.
pub fn body(request: &Request, options: &Options) -> Value {
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": true,
    });
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut system: Vec<Value> = turns::system_parts(request).map(text).collect();
    let mut turns = turns::turns(request, PROVIDER);
    // An answer at the end was paused: the server continues with its call.
    if let Some((_, before)) = turns.split_last_mut() {
        before.iter_mut().for_each(drop_unanswered);
    }
    let mut messages: Vec<Value> = turns
        .into_iter()
        .filter_map(|turn| message(turn, &request.model))
        .collect();
    match options.cache {
        // Four marks at most, in the order in which the prefix is hashed.
        Cache::Marked => {
            // The tools that were appended come behind the first mark, so what was cached without them is found again.
            let lasting = match request.lasting_tools {
                0 => tools.len(),
                lasting => lasting.min(tools.len()),
            };
            mark(tools[..lasting].last_mut());
            mark(system.last_mut());
            let users = messages.iter_mut().rev().filter(|m| m["role"] == "user");
            for message in users.take(CACHED_TURNS) {
                mark(message["content"].as_array_mut().and_then(|c| c.last_mut()));
            }
        }
        Cache::Unmarked => {}
    }
    if !system.is_empty() {
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    body["messages"] = messages.into();
    match options.thinking {
        Thinking::ByModel if thinks_adaptively(&request.model) => {
            body["thinking"] = json!({"type": "adaptive", "display": "summarized"});
        }
        Thinking::ByModel | Thinking::Unset => {}
    }
    if let Some(effort) = &options.effort {
        body["output_config"] = json!({"effort": effort});
    }
    body
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    match tool.server {
        // The version that every model with web search has, and that needs no other tool of the server.
        Some(ServerTool::WebSearch) => {
            return json!({"type": "web_search_20250305", "name": ServerTool::WebSearch.name()});
        }
        None => {}
    }
    let mut value = json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    });
    if tool.strict {
        value["strict"] = true.into();
    }
    if !tool.input_examples.is_empty() {
        value["input_examples"] = tool.input_examples.clone().into();
    }
    value
}

/// Removes calls of the server that were interrupted before their results came: the API refuses them.
fn drop_unanswered(turn: &mut Turn<'_>) {
    let answered = |id: &str| {
        turn.blocks.iter().any(|block| match &**block {
            Block::Other { start, .. } => start["tool_use_id"] == id,
            _ => false,
        })
    };
    let kept: Vec<bool> = turn
        .blocks
        .iter()
        .map(|block| match &**block {
            Block::ServerToolUse { id, .. } => answered(id),
            _ => true,
        })
        .collect();
    let mut kept = kept.into_iter();
    turn.blocks.retain(|_| kept.next().unwrap_or(true));
}

fn message(mut turn: Turn<'_>, model: &str) -> Option<Value> {
    let has_calls = turn
        .blocks
        .iter()
        .any(|block| matches!(**block, Block::ToolUse(_)));
    // With calls, every thinking block must be sent back. Without one, a message that ends in thinking is refused.
    if turn.role == Role::Assistant && !has_calls {
        turns::drop_trailing_thinking(&mut turn.blocks);
    }
    let blocks = turn.blocks.iter();
    let content: Vec<Value> = blocks.filter_map(|block| content(block, model)).collect();
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn content(block: &Block, model: &str) -> Option<Value> {
    Some(match block {
        Block::Text {
            text: words,
            citations,
            ..
        } => {
            let mut value = text(words);
            if !citations.is_empty() {
                value["citations"] = citations.clone().into();
            }
            value
        }
        Block::Refusal { text: words } => text(words),
        Block::Image(picture) => image(picture),
        Block::Thinking {
            thinking,
            signature: Some(signature),
            ..
        } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        // Cut off before its signature arrived: Claude would refuse it. Other servers do not sign.
        Block::Thinking { .. } if model.contains("claude") => return None,
        Block::Thinking { thinking, .. } => {
            json!({"type": "thinking", "thinking": thinking, "signature": ""})
        }
        Block::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolUse(call) => json!({
            "type": "tool_use",
            "id": wire_id(&call.id.0),
            "name": turns::call_name(&call.name),
            "input": turns::call_input(call),
        }),
        Block::ServerToolUse { id, name, input } => {
            let nothing = Value::Object(Map::new());
            let input = if input.is_object() { input } else { &nothing };
            json!({"type": "server_tool_use", "id": id, "name": name, "input": input})
        }
        Block::ToolResult(result) => tool_result(result),
        Block::Other { start, .. } => start.clone(),
    })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image(image: &Image) -> Value {
    let ImageSource::Base64 { media_type, data } = &image.source;
    if !IMAGE_TYPES.contains(&media_type.as_str()) {
        return text(&format!(
            "[an image of the type {media_type}, which cannot be shown]"
        ));
    }
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

fn tool_result(result: &ToolResult) -> Value {
    let mut value = json!({"type": "tool_result", "tool_use_id": wire_id(&result.tool_use_id.0)});
    let content: Vec<Value> = result
        .as_sent()
        .content
        .iter()
        .filter_map(|block| match block {
            ResultBlock::Text { text } if text.trim().is_empty() => None,
            ResultBlock::Text { text: words } => Some(text(words)),
            // Errors may hold only text.
            ResultBlock::Image(_) if result.is_error => None,
            ResultBlock::Image(picture) => Some(image(picture)),
        })
        .collect();
    match (content.as_slice(), result.is_error) {
        ([], false) => {}
        ([], true) => value["content"] = "the tool failed without a message".into(),
        ([only], _) if only["type"] == "text" => value["content"] = only["text"].clone(),
        _ => value["content"] = content.into(),
    }
    if result.is_error {
        value["is_error"] = true.into();
    }
    value
}

/// Other servers' ids may hold characters that this API refuses. They are escaped, so that ids stay distinct.
fn wire_id(id: &str) -> String {
    let spell = |byte: u8| match byte {
        byte if turns::is_name_byte(byte) => char::from(byte).to_string(),
        byte => format!("_{byte:02x}"),
    };
    id.bytes().map(spell).collect()
}

/// Adaptive thinking came with version 4.6.
fn thinks_adaptively(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (4, 6))
}

/// The version in a Claude model's name, also as gateways spell it: `claude-opus-4-6`, `anthropic/claude-opus-4.6`,
/// `claude-3-7-sonnet-20250219`. The date is not part of it.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude-")?;
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let number = |word: &str| word.parse().ok().filter(|_| word.len() <= 2);
    let major = words.by_ref().take(2).find_map(number)?;
    let minor = words.next().and_then(number).unwrap_or(0);
    Some((major, minor))
}

#[cfg(test)]
mod tests;

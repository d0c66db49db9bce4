//! Writes the request body of Chat Completions.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::PROVIDER;
use crate::protocol::{Block, Image, Role, ToolDefinition, ToolResult, ToolUse};
use crate::provider::Request;
use crate::provider::turns::{self, Turn};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub server: Server,
    /// `minimal` to `max`; only for models that reason.
    pub effort: Option<String>,
    pub no_text: NoText,
}

/// Whose dialect is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Server {
    /// Refuses unknown fields, and has new names for old ones.
    OpenAi,
    #[default]
    Compatible,
}

/// The content of an assistant's message that has calls and no text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoText {
    #[default]
    Null,
    /// A few servers do not accept null.
    EmptyString,
}

impl Server {
    /// By the host of its base URL.
    pub fn at(base_url: &str) -> Self {
        let after_scheme = base_url
            .split_once("://")
            .map_or(base_url, |(_, rest)| rest);
        let host = after_scheme
            .split(['/', ':', '?'])
            .next()
            .unwrap_or_default();
        if host.eq_ignore_ascii_case("api.openai.com") {
            Self::OpenAi
        } else {
            Self::Compatible
        }
    }
}

/// The body of `POST /chat/completions`.
pub fn body(request: &Request, options: &Options) -> Value {
    let mut messages = Vec::new();
    // One system message at the start: chat templates refuse a second one, or a later one.
    if let Some(system) = turns::system(request) {
        messages.push(json!({"role": "system", "content": system}));
    }
    let turns = turns::turns(request, PROVIDER);
    let thought = |block: &Cow<'_, Block>| matches!(**block, Block::Thinking { .. });
    let reasons = match options.server {
        // Never sends its reasoning here, and refuses unknown fields.
        Server::OpenAi => false,
        Server::Compatible => turns.iter().flat_map(|turn| &turn.blocks).any(thought),
    };
    for turn in &turns {
        match turn.role {
            Role::User => push_user(turn, &mut messages),
            Role::Assistant => messages.extend(assistant(turn, reasons, options)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    match options.server {
        Server::OpenAi => {
            body["max_completion_tokens"] = request.max_tokens.into();
            body["prompt_cache_key"] = request.session.as_str().into();
        }
        Server::Compatible => body["max_tokens"] = request.max_tokens.into(),
    }
    // An empty list is refused.
    // This API has no tools of its own.
    let tools = request.tools.iter().filter(|tool| tool.server.is_none());
    let tools: Vec<Value> = tools.map(tool).collect();
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if let Some(effort) = &options.effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    body
}

fn tool(tool: &ToolDefinition) -> Value {
    let mut function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    });
    if tool.strict && turns::is_strict(&tool.input_schema) {
        function["strict"] = true.into();
    }
    json!({"type": "function", "function": function})
}

/// Results become messages of their own, straight after the calls; all else follows in one user message.
fn push_user(turn: &Turn<'_>, messages: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block.as_ref() {
            Block::ToolResult(result) => {
                messages.push(tool_message(result));
                parts.extend(turns::result_images(result).map(image));
            }
            Block::Text { text, .. } | Block::Refusal { text } => {
                parts.push(json!({"type": "text", "text": text}));
            }
            Block::Image(picture) => parts.push(image(picture)),
            Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse(_)
            | Block::ServerToolUse { .. }
            | Block::Other { .. } => {}
        }
    }
    if parts.is_empty() {
        return;
    }
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    // Text alone is sent as a string: not every server supports parts.
    let content = match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => Value::Array(parts),
    };
    messages.push(json!({"role": "user", "content": content}));
}

fn tool_message(result: &ToolResult) -> Value {
    let mut text = turns::result_text(result);
    if text.is_empty() && turns::result_images(result).next().is_some() {
        text.push_str("[the image follows in the next message]");
    }
    json!({"role": "tool", "tool_call_id": result.tool_use_id.0, "content": text})
}

fn image(image: &Image) -> Value {
    json!({"type": "image_url", "image_url": {"url": turns::data_url(image)}})
}

fn assistant(turn: &Turn<'_>, reasons: bool, options: &Options) -> Option<Value> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut thinking = String::new();
    let mut details = Vec::new();
    for block in &turn.blocks {
        match block.as_ref() {
            Block::Text { text, .. } | Block::Refusal { text } => texts.push(text.as_str()),
            Block::ToolUse(call) => calls.push(tool_call(call)),
            Block::Thinking {
                thinking: more,
                item,
                ..
            } => {
                thinking.push_str(more);
                details.extend(item.iter().filter_map(Value::as_array).flatten().cloned());
            }
            Block::Image(_)
            | Block::RedactedThinking { .. }
            | Block::ServerToolUse { .. }
            | Block::ToolResult(_)
            | Block::Other { .. } => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let content = match options.no_text {
        NoText::Null if texts.is_empty() => Value::Null,
        NoText::Null | NoText::EmptyString => texts.join("\n\n").into(),
    };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
        // Models that send their reasoning expect it back with their calls; with every call, even where there was none.
        if reasons {
            message["reasoning_content"] = thinking.into();
            if !details.is_empty() {
                message["reasoning_details"] = details.into();
            }
        }
    }
    Some(message)
}

fn tool_call(call: &ToolUse) -> Value {
    json!({
        "id": call.id.0,
        "type": "function",
        "function": {
            "name": turns::call_name(&call.name),
            "arguments": turns::call_input(call).to_string(),
        },
    })
}

#[cfg(test)]
mod tests;

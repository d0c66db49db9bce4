//! Writes the request body of the Responses API.

use serde_json::{Value, json};

use super::PROVIDER;
use crate::protocol::{Block, Image, Role, ServerTool, ToolDefinition, ToolResult};
use crate::provider::Request;
use crate::provider::turns::{self, Turn};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `none` to `max`; only for models that reason.
    pub effort: Option<String>,
    /// `auto`, `concise` or `detailed`: asks for a summary of the reasoning, which not every account may have.
    pub summary: Option<String>,
}

/// The body of `POST /responses`.
pub fn body(request: &Request, options: &Options) -> Value {
    let mut input = Vec::new();
    for turn in turns::turns(request, PROVIDER) {
        match turn.role {
            Role::User => push_user(&turn, &mut input),
            Role::Assistant => push_assistant(turn, &mut input),
        }
    }
    let mut body = json!({
        "model": request.model,
        "input": input,
        "stream": true,
        "store": false,
        "max_output_tokens": request.max_tokens,
        "prompt_cache_key": request.session,
    });
    if let Some(instructions) = turns::system(request) {
        body["instructions"] = instructions.into();
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let mut include = Vec::new();
    if reasons(&request.model) {
        include.push("reasoning.encrypted_content");
    }
    if request
        .tools
        .iter()
        .any(|tool| tool.server == Some(ServerTool::WebSearch))
    {
        include.push("web_search_call.action.sources");
    }
    if !include.is_empty() {
        body["include"] = include.into();
    }
    for (name, value) in [("effort", &options.effort), ("summary", &options.summary)] {
        if let Some(value) = value {
            body["reasoning"][name] = value.as_str().into();
        }
    }
    body
}

/// The models before GPT-5 answer a request for encrypted reasoning with 400; other servers ignore it at worst.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-4"]
        .iter()
        .any(|old| model.starts_with(old))
}

fn tool(tool: &ToolDefinition) -> Value {
    match tool.server {
        Some(ServerTool::WebSearch) => return json!({"type": "web_search"}),
        None => {}
    }
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        // If left out, it means true here.
        "strict": tool.strict && turns::is_strict(&tool.input_schema),
    })
}

fn push_user(turn: &Turn<'_>, input: &mut Vec<Value>) {
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block.as_ref() {
            Block::ToolResult(result) => input.push(call_output(result)),
            Block::Text { text, .. } | Block::Refusal { text } => parts.push(input_text(text)),
            Block::Image(picture) => parts.push(input_image(picture)),
            Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse(_)
            | Block::ServerToolUse { .. }
            | Block::Other { .. } => {}
        }
    }
    if !parts.is_empty() {
        input.push(json!({"type": "message", "role": "user", "content": parts}));
    }
}

fn call_output(result: &ToolResult) -> Value {
    let text = turns::result_text(result);
    let images: Vec<Value> = turns::result_images(result).map(input_image).collect();
    let output = if images.is_empty() {
        Value::String(text)
    } else {
        let text = (!text.is_empty()).then(|| input_text(&text));
        text.into_iter().chain(images).collect()
    };
    json!({"type": "function_call_output", "call_id": result.tool_use_id.0, "output": output})
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn input_image(image: &Image) -> Value {
    json!({"type": "input_image", "image_url": turns::data_url(image), "detail": "auto"})
}

fn push_assistant(mut turn: Turn<'_>, input: &mut Vec<Value>) {
    // A reasoning item must be followed by the item that it led to.
    turns::drop_trailing_thinking(&mut turn.blocks);
    for block in &turn.blocks {
        input.extend(match block.as_ref() {
            Block::Text { text, phase, .. } => {
                let part = json!({"type": "output_text", "text": text});
                Some(answer(&part, phase.as_deref()))
            }
            Block::Refusal { text } => {
                Some(answer(&json!({"type": "refusal", "refusal": text}), None))
            }
            Block::Thinking { item, .. } => item.as_ref().and_then(reasoning),
            Block::ToolUse(call) => Some(json!({
                "type": "function_call",
                "call_id": call.id.0,
                "name": turns::call_name(&call.name),
                "arguments": turns::call_input(call).to_string(),
            })),
            Block::Other { start, .. } => Some(start.clone()),
            Block::Image(_)
            | Block::RedactedThinking { .. }
            | Block::ServerToolUse { .. }
            | Block::ToolResult(_) => None,
        });
    }
}

/// Without the `id` that it had: nothing is stored under it.
fn answer(part: &Value, phase: Option<&str>) -> Value {
    let mut message = json!({"type": "message", "role": "assistant", "content": [part]});
    if let Some(phase) = phase {
        message["phase"] = phase.into();
    }
    message
}

/// The item as it came. One that is neither encrypted nor in plain text can only be looked up, and nothing was stored.
fn reasoning(item: &Value) -> Option<Value> {
    let mut item = item.as_object()?.clone();
    item.shift_remove("status");
    let is_encrypted = item.get("encrypted_content").is_some_and(Value::is_string);
    let content = item.get("content").and_then(Value::as_array);
    (is_encrypted || content.is_some_and(|parts| !parts.is_empty())).then_some(Value::Object(item))
}

#[cfg(test)]
mod tests;

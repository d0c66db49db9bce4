//! The three wire formats, as servers write them.

use serde_json::{Value, json};

use super::server::Reply;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAi,
    Responses,
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub enum Part {
    Text(&'static str),
    Call {
        id: String,
        name: &'static str,
        input: Value,
    },
}

pub fn text(text: &'static str) -> Part {
    Part::Text(text)
}

pub fn call(id: &str, name: &'static str, input: Value) -> Part {
    Part::Call {
        id: id.into(),
        name,
        input,
    }
}

pub fn bash(id: &str, command: &str) -> Part {
    call(id, "Bash", json!({ "command": command }))
}

impl Wire {
    pub const ALL: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];

    pub fn provider(self) -> &'static str {
        match self {
            Wire::Anthropic => "anthropic",
            Wire::OpenAi => "openai",
            Wire::Responses => "responses",
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Wire::Anthropic => "/v1/messages",
            Wire::OpenAi => "/v1/chat/completions",
            Wire::Responses => "/v1/responses",
        }
    }

    /// The base URL of a server for this provider.
    pub fn base_url(self, server: &str) -> String {
        match self {
            Wire::Anthropic => server.to_owned(),
            Wire::OpenAi | Wire::Responses => format!("{server}/v1"),
        }
    }

    pub fn reply(self, parts: &[Part]) -> Reply {
        Reply::stream(self.stream(parts))
    }

    /// A whole answer.
    pub fn stream(self, parts: &[Part]) -> String {
        let mut whole = self.head();
        for (index, part) in parts.iter().enumerate() {
            whole.push_str(&self.part(index, part));
        }
        whole + &self.tail(parts)
    }

    pub fn head(self) -> String {
        match self {
            Wire::Anthropic => event(&json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                "usage": {"input_tokens": 10, "output_tokens": 1}}})),
            Wire::OpenAi => chunk(&json!({"role": "assistant", "content": ""}), None),
            Wire::Responses => event(&json!({"type": "response.created",
                "response": {"id": "resp_1", "status": "in_progress", "model": "m", "output": []}})),
        }
    }

    pub fn part(self, index: usize, part: &Part) -> String {
        match (self, part) {
            (Wire::Anthropic, Part::Text(text)) => {
                event(
                    &json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
                ) + &event(
                    &json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
                ) + &event(&json!({"type": "content_block_stop", "index": index}))
            }
            (Wire::Anthropic, Part::Call { id, name, input }) => {
                let json = input.to_string();
                let (head, tail) = halves(&json);
                let delta = |text: &str| {
                    event(&json!({"type": "content_block_delta", "index": index,
                        "delta": {"type": "input_json_delta", "partial_json": text}}))
                };
                event(&json!({"type": "content_block_start", "index": index,
                    "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}))
                    + &delta("")
                    + &delta(head)
                    + &delta(tail)
                    + &event(&json!({"type": "content_block_stop", "index": index}))
            }
            (Wire::OpenAi, Part::Text(text)) => chunk(&json!({"content": text}), None),
            (Wire::OpenAi, Part::Call { id, name, input }) => {
                let json = input.to_string();
                let (head, tail) = halves(&json);
                let call = |value: Value| chunk(&json!({"tool_calls": [value]}), None);
                call(
                    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}),
                ) + &call(json!({"index": index, "function": {"arguments": head}}))
                    + &call(json!({"index": index, "function": {"arguments": tail}}))
            }
            (Wire::Responses, part) => {
                let item = item(index, part);
                event(
                    &json!({"type": "response.output_item.added", "output_index": index, "item": item}),
                ) + &event(
                    &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
                )
            }
        }
    }

    pub fn tail(self, parts: &[Part]) -> String {
        let calls = parts.iter().any(|part| matches!(part, Part::Call { .. }));
        match self {
            Wire::Anthropic => {
                let reason = if calls { "tool_use" } else { "end_turn" };
                event(
                    &json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
                    "usage": {"output_tokens": 7}}),
                ) + &event(&json!({"type": "message_stop"}))
            }
            Wire::OpenAi => {
                let usage =
                    json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7}});
                chunk(&json!({}), Some(if calls { "tool_calls" } else { "stop" }))
                    + &format!("data: {usage}\n\ndata: [DONE]\n\n")
            }
            Wire::Responses => {
                let output: Vec<Value> = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| item(index, part))
                    .collect();
                event(
                    &json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
                    "model": "m", "output": output, "usage": {"input_tokens": 10, "output_tokens": 7}}}),
                )
            }
        }
    }

    /// The results in a request: call id and text, in order.
    pub fn results(self, body: &Value) -> Vec<(String, String)> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match self {
            Wire::Anthropic => {
                let blocks = list(&body["messages"])
                    .into_iter()
                    .flat_map(|message| list(&message["content"]));
                let results = blocks.filter(|block| block["type"] == "tool_result");
                results
                    .map(|block| (word(&block["tool_use_id"]), plain(&block["content"])))
                    .collect()
            }
            Wire::OpenAi => {
                let messages = list(&body["messages"])
                    .into_iter()
                    .filter(|message| message["role"] == "tool");
                messages
                    .map(|message| (word(&message["tool_call_id"]), plain(&message["content"])))
                    .collect()
            }
            Wire::Responses => {
                let items = list(&body["input"])
                    .into_iter()
                    .filter(|item| item["type"] == "function_call_output");
                items
                    .map(|item| (word(&item["call_id"]), plain(&item["output"])))
                    .collect()
            }
        }
    }
}

/// In two, between characters.
fn halves(text: &str) -> (&str, &str) {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at));
    text.split_at(middle.unwrap_or_default())
}

/// A result's text, as a string or in blocks.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block["text"].as_str())
                .collect();
            texts.join("\n")
        }
        other => other.to_string(),
    }
}

pub fn event(data: &Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap_or_default()
    )
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let data = json!({"id": "chatcmpl-1", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {data}\n\n")
}

fn item(index: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => {
            json!({"id": format!("msg_{index}"), "type": "message", "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
        Part::Call { id, name, input } => {
            json!({"id": format!("fc_{index}"), "type": "function_call",
            "status": "completed", "call_id": id, "name": name, "arguments": input.to_string()})
        }
    }
}

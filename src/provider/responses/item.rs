//! One output item: a message, a piece of reasoning, a function call, or something we do not know.
//!
//! Deltas are only for display. The finished item is used; if it never arrives, what the deltas gave is used instead.

use serde_json::Value;

use crate::protocol::{Block, ServerTool, ToolUse, WireId};
use crate::provider::StreamEvent;
use crate::provider::wire::{self, WireIds};

/// Between the parts of a reasoning summary.
const PARAGRAPH: &str = "\n\n";

/// An item that is still growing.
#[derive(Debug)]
pub(super) enum Draft {
    Message {
        text: String,
        refusal: String,
    },
    Reasoning {
        text: String,
        part: Option<Part>,
    },
    Call {
        id: WireId,
        name: String,
        raw: String,
        /// All arguments have arrived.
        closed: bool,
    },
    Other(Value),
}

/// The part of a reasoning item that a delta belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Summary(u64),
    Raw(u64),
}

impl Draft {
    pub(super) fn message() -> Self {
        Self::Message {
            text: String::new(),
            refusal: String::new(),
        }
    }

    pub(super) fn reasoning() -> Self {
        Self::Reasoning {
            text: String::new(),
            part: None,
        }
    }

    /// An item as it was first announced.
    pub(super) fn open(item: &Value, ids: &mut WireIds, events: &mut Vec<StreamEvent>) -> Self {
        match word(item, "type") {
            "message" => Self::message(),
            "reasoning" => Self::reasoning(),
            "function_call" => {
                let id = ids.claim(word(item, "call_id"));
                let name = word(item, "name").to_owned();
                events.push(StreamEvent::ToolStarted {
                    id: id.clone(),
                    name: name.clone(),
                });
                Self::Call {
                    id,
                    name,
                    raw: String::new(),
                    closed: false,
                }
            }
            kind => {
                if kind == "web_search_call" {
                    events.push(StreamEvent::Serving {
                        id: WireId(word(item, "id").to_owned()),
                        name: ServerTool::WebSearch.name().to_owned(),
                    });
                }
                Self::Other(item.clone())
            }
        }
    }

    pub(super) fn fits(&self, item: &Value) -> bool {
        match self {
            Self::Message { .. } => word(item, "type") == "message",
            Self::Reasoning { .. } => word(item, "type") == "reasoning",
            Self::Call { .. } => word(item, "type") == "function_call",
            Self::Other(start) => word(item, "type") == word(start, "type"),
        }
    }

    pub(super) fn push_text(&mut self, delta: String, events: &mut Vec<StreamEvent>) {
        if let Self::Message { text, .. } = self {
            text.push_str(&delta);
            events.push(StreamEvent::Text(delta));
        }
    }

    pub(super) fn push_refusal(&mut self, delta: String, events: &mut Vec<StreamEvent>) {
        if let Self::Message { refusal, .. } = self {
            refusal.push_str(&delta);
            events.push(StreamEvent::Text(delta));
        }
    }

    pub(super) fn push_reasoning(&mut self, at: Part, delta: &str, events: &mut Vec<StreamEvent>) {
        if let Self::Reasoning { text, part } = self {
            let before = text.len();
            if part.is_some_and(|part| part != at) {
                text.push_str(PARAGRAPH);
            }
            *part = Some(at);
            text.push_str(delta);
            events.push(StreamEvent::Thinking(text[before..].to_owned()));
        }
    }

    pub(super) fn push_arguments(&mut self, delta: String, events: &mut Vec<StreamEvent>) {
        if let Self::Call { id, raw, .. } = self {
            raw.push_str(&delta);
            events.push(StreamEvent::ToolInput {
                id: id.clone(),
                fragment: delta,
            });
        }
    }

    /// All arguments, as the server sums them up; what the deltas did not contain is shown now.
    pub(super) fn close_arguments(&mut self, whole: &str, events: &mut Vec<StreamEvent>) {
        if let Self::Call { raw, closed, .. } = self {
            *closed = true;
            match whole.strip_prefix(raw.as_str()) {
                Some("") => {}
                Some(rest) => self.push_arguments(rest.to_owned(), events),
                // An empty summary does not discard what arrived.
                None if whole.is_empty() => {}
                None => whole.clone_into(raw),
            }
        }
    }

    /// The blocks of the finished item.
    pub(super) fn done(mut self, item: Value, events: &mut Vec<StreamEvent>) -> Vec<Block> {
        match &mut self {
            Self::Message { text, refusal } => {
                let blocks = message_blocks(&item);
                if blocks.is_empty() {
                    return self.cut();
                }
                if text.is_empty() && refusal.is_empty() {
                    let texts = blocks.iter().filter_map(shown);
                    events.extend(texts.map(|text| StreamEvent::Text(text.to_owned())));
                }
                blocks
            }
            Self::Reasoning { text, .. } => {
                let streamed = std::mem::take(text);
                let thinking = thinking_of(&item);
                if streamed.is_empty() && !thinking.is_empty() {
                    events.push(StreamEvent::Thinking(thinking.clone()));
                }
                vec![Block::Thinking {
                    thinking: if thinking.is_empty() {
                        streamed
                    } else {
                        thinking
                    },
                    signature: None,
                    item: Some(item),
                }]
            }
            Self::Call { .. } => {
                self.close_arguments(word(&item, "arguments"), events);
                let was_cut = word(&item, "status") == "incomplete";
                self.into_call(was_cut).into_iter().collect()
            }
            Self::Other(_) => vec![Block::Other {
                wire_type: word(&item, "type").to_owned(),
                start: item,
            }],
        }
    }

    /// The blocks of an item whose end was never seen. Reasoning is kept without its item, because the item is
    /// incomplete.
    pub(super) fn cut(self) -> Vec<Block> {
        match self {
            Self::Message { text, refusal } => {
                let text = (!text.is_empty()).then(|| Block::text(text));
                let refusal = (!refusal.is_empty()).then_some(Block::Refusal { text: refusal });
                text.into_iter().chain(refusal).collect()
            }
            Self::Reasoning { text, .. } if text.is_empty() => Vec::new(),
            Self::Reasoning { text, .. } => vec![Block::Thinking {
                thinking: text,
                signature: None,
                item: None,
            }],
            Self::Call { closed, .. } => self.into_call(!closed).into_iter().collect(),
            Self::Other(start) => vec![Block::Other {
                wire_type: word(&start, "type").to_owned(),
                start,
            }],
        }
    }

    fn into_call(self, was_cut: bool) -> Option<Block> {
        let Self::Call { id, name, raw, .. } = self else {
            return None;
        };
        let call: ToolUse = if was_cut {
            wire::cut_tool_use(id, name, raw)
        } else {
            wire::tool_use(id, name, raw)
        };
        Some(Block::ToolUse(call))
    }
}

fn message_blocks(item: &Value) -> Vec<Block> {
    let phase = Some(word(item, "phase").to_owned()).filter(|phase| !phase.is_empty());
    let block = |part: &Value| match word(part, "type") {
        "output_text" => Some(Block::Text {
            text: word(part, "text").to_owned(),
            note: None,
            shown: None,
            citations: Vec::new(),
            phase: phase.clone(),
        }),
        "refusal" => Some(Block::Refusal {
            text: word(part, "refusal").to_owned(),
        }),
        _ => None,
    };
    parts(item, "content").filter_map(block).collect()
}

/// The summary; without one, the raw reasoning that open models show.
fn thinking_of(item: &Value) -> String {
    let join = |list| {
        let texts: Vec<&str> = parts(item, list).map(|part| word(part, "text")).collect();
        texts.join(PARAGRAPH)
    };
    let summary = join("summary");
    if summary.is_empty() {
        join("content")
    } else {
        summary
    }
}

fn shown(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, .. } | Block::Refusal { text } if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn parts<'a>(item: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    item.get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

pub(super) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

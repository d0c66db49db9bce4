//! Makes a conversation of a log again. Pure: records in, messages out.
//!
//! Whatever moment the log ends at, the conversation is valid: a call without a result gets one that says what is known
//! of it. Nothing is ever run again.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::record::Record;
use crate::protocol::{Block, CallId, Message, Origin, Spending, ToolCall, ToolResult, ToolUse};

#[derive(Debug, Default, PartialEq)]
pub struct Conversation {
    pub messages: Vec<Message>,
    /// Calls that were under way when the program ended.
    pub cut_off: Vec<CallId>,
    /// The workspace of the session.
    pub workspace: Option<PathBuf>,
    /// Where the shell was.
    pub cwd: Option<PathBuf>,
    /// What the person ran, and the model was not told yet.
    pub asides: Vec<(ToolCall, ToolResult)>,
    /// What it has used; logs of the first versions do not tell.
    pub spending: Option<Spending>,
}

/// The conversation that `records` tell of.
pub fn conversation(records: &[Record]) -> Conversation {
    let mut replay = Replay::default();
    for record in records {
        replay.take(record);
    }
    replay.close();
    replay.done
}

#[derive(Default)]
struct Replay {
    done: Conversation,
    /// The answer that is being given.
    open: Option<Message>,
    begun: HashSet<CallId>,
    results: HashMap<CallId, ToolResult>,
}

impl Replay {
    fn take(&mut self, record: &Record) {
        match record {
            Record::User { message } => {
                self.close();
                self.done.asides.clear();
                self.done.messages.push(message.clone());
            }
            Record::Request {
                provider, model, ..
            } => {
                // An answer of which no call was made was thrown away and is asked for again.
                if self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.tool_uses().next().is_none())
                {
                    self.open = None;
                }
                self.close();
                let origin = Origin {
                    provider: provider.clone(),
                    model: model.clone(),
                };
                self.open = Some(Message::from_assistant(Vec::new(), origin));
            }
            Record::Text { text } => self.add_text(text),
            Record::Block { block } => self.add(block.clone()),
            Record::Call { call } => {
                // An id of an earlier answer may come back; what was begun then says nothing about this call.
                self.begun.remove(&call.id);
                self.add(Block::ToolUse(ToolUse {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    input: call.input.clone(),
                    input_raw: None,
                    input_error: None,
                }));
            }
            Record::Begun { call } => {
                self.begun.insert(call.clone());
            }
            Record::Result { result } => {
                self.results
                    .insert(result.tool_use_id.clone(), result.clone());
            }
            Record::Assistant { message, .. } => {
                self.open = Some(message.clone());
                // With no results to wait for it is complete, also when it paused and a request follows it.
                if message.tool_uses().next().is_none() {
                    self.close();
                }
            }
            Record::Delivered { calls, then } => self.deliver(calls, then),
            Record::End { .. } => self.close(),
            Record::Discarded => {
                self.open = None;
                self.results.clear();
            }
            Record::Aside { call, result } => {
                let over = result.clone().map(|result| (call.clone(), result));
                self.done.asides.extend(over);
            }
            Record::Spent { spending } => self.done.spending = Some(*spending),
            Record::Moved { cwd } => self.done.cwd = Some(cwd.clone()),
            Record::Session { cwd, .. } => self.done.workspace = Some(cwd.clone()),
            Record::Run { .. }
            | Record::Thinking { .. }
            | Record::Decision { .. }
            | Record::Rewritten { .. }
            | Record::Change { .. }
            | Record::Repaired { .. } => {}
        }
    }

    fn add_text(&mut self, more: &str) {
        let Some(open) = &mut self.open else { return };
        match open.content.last_mut() {
            Some(Block::Text { text, .. }) => text.push_str(more),
            _ => open.content.push(Block::text(more)),
        }
    }

    fn add(&mut self, block: Block) {
        if let Some(open) = &mut self.open {
            open.content.push(block);
        }
    }

    fn deliver(&mut self, calls: &[CallId], then: &[Block]) {
        self.done.messages.extend(self.open.take());
        let results = calls
            .iter()
            .filter_map(|call| self.results.remove(call))
            .map(Block::ToolResult);
        let content: Vec<Block> = results.chain(then.iter().cloned()).collect();
        if !content.is_empty() {
            self.done.messages.push(Message::from_user(content));
        }
    }

    /// Ends the open answer as it is, with a result for each of its calls.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.is_blank() {
            return;
        }
        let mut results = Vec::new();
        for call in open.tool_uses() {
            let result = self.results.remove(&call.id).unwrap_or_else(|| {
                self.done.cut_off.push(call.id.clone());
                cut_off(call, self.begun.contains(&call.id))
            });
            results.push(Block::ToolResult(result));
        }
        self.done.messages.push(open);
        if !results.is_empty() {
            self.done.messages.push(Message::from_user(results));
        }
    }
}

fn cut_off(call: &ToolUse, begun: bool) -> ToolResult {
    let name = &call.name;
    let text = if begun {
        format!(
            "Interrupted: agent-tui ended while {name} ran. It may have had effects; it was not run again"
        )
    } else {
        format!("Interrupted: agent-tui ended before {name} was started. It was not run")
    };
    ToolResult::error(call.id.clone(), text)
}

//! Makes a conversation of a log again. Pure: records in, messages out.
//!
//! Whatever moment the log ends at, the conversation is valid: a call without a result gets one that says what is known
//! of it. Nothing is ever run again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::record::Record;
use crate::protocol::{Block, CallId, CallRef, Message, Origin, ToolCall, ToolResult, ToolUse};

#[derive(Debug, Default, PartialEq)]
pub struct Conversation {
    pub messages: Vec<Message>,
    /// The names of the calls in the messages, in their order; `None` where the log does not tell it.
    pub names: Vec<Option<CallRef>>,
    /// Calls that were under way when the program ended.
    pub cut_off: Vec<CallRef>,
    /// The calls of the model.
    pub calls: HashMap<CallRef, ToolCall>,
    /// The number of the last call of the person.
    pub last_aside: u32,
    /// The workspace of the session.
    pub workspace: Option<PathBuf>,
    /// Where the shell was.
    pub cwd: Option<PathBuf>,
    /// What the person ran, and the model was not told yet.
    pub asides: Vec<(ToolCall, ToolResult)>,
}

impl Conversation {
    /// The number of the last call of the model.
    pub fn last_call(&self) -> u32 {
        let numbers = self.calls.keys().map(|call| call.number);
        numbers.max().unwrap_or_default()
    }
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
    /// The calls of that answer, by what they are called on the wire. Two may share an id: their numbers are in the order of
    /// their blocks.
    names: HashMap<CallId, BTreeSet<CallRef>>,
    begun: HashSet<CallRef>,
    results: HashMap<CallRef, ToolResult>,
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
                self.names.clear();
                self.open = Some(Message::from_assistant(Vec::new(), origin));
            }
            Record::Text { text } => self.add_text(text),
            Record::Block { block } => self.add(block.clone()),
            Record::Call { call } => {
                self.done.calls.insert(call.call, call.clone());
                let same = self.names.entry(call.id.clone()).or_default();
                same.insert(call.call);
                self.add(Block::ToolUse(ToolUse {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    input: call.input.clone(),
                    input_raw: None,
                    input_error: None,
                }));
            }
            Record::Begun { call } => {
                self.begun.insert(*call);
            }
            Record::Result { call, result } => {
                self.results.insert(*call, result.clone());
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
                self.done.last_aside = self.done.last_aside.max(call.call.number);
                let over = result.clone().map(|result| (call.clone(), result));
                self.done.asides.extend(over);
            }
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

    fn deliver(&mut self, calls: &[CallRef], then: &[Block]) {
        if let Some(open) = self.open.take() {
            let names = self.names_of(&open);
            self.done.names.extend(names);
            self.done.messages.push(open);
        }
        let results = calls
            .iter()
            .filter_map(|call| self.results.remove(call))
            .map(Block::ToolResult);
        let content: Vec<Block> = results.chain(then.iter().cloned()).collect();
        if !content.is_empty() {
            self.done.messages.push(Message::from_user(content));
        }
    }

    /// The names of the calls of an answer, in their order.
    fn names_of(&mut self, answer: &Message) -> Vec<Option<CallRef>> {
        let calls = answer.tool_uses();
        let names = calls.map(|call| self.names.get_mut(&call.id).and_then(BTreeSet::pop_first));
        names.collect()
    }

    /// Ends the open answer as it is, with a result for each of its calls.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.is_blank() {
            return;
        }
        let mut results = Vec::new();
        let names = self.names_of(&open);
        for (call, name) in open.tool_uses().zip(names.iter().copied()) {
            let known = name.and_then(|name| self.results.remove(&name));
            let result = known.unwrap_or_else(|| {
                self.done.cut_off.extend(name);
                cut_off(call, name.is_some_and(|name| self.begun.contains(&name)))
            });
            results.push(Block::ToolResult(result));
        }
        self.done.names.extend(names);
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

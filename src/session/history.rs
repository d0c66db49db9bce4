//! What a conversation is, as the sum of its records. Pure: records in, messages out.
//!
//! A conversation that runs and one that is gone on with are made by the same function: the live one takes every record as it
//! is written. Whatever moment the log ends at, the conversation is valid: a call without a result gets one that says what
//! is known of it. Nothing is ever run again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::record::Record;
use super::repair;
use crate::protocol::{
    AgentId, Block, CallId, CallRef, Message, Origin, ToolCall, ToolResult, ToolUse,
};

#[derive(Debug, Default, Clone, PartialEq)]
pub struct History {
    messages: Arc<Vec<Message>>,
    /// The answer that is being given.
    open: Option<Message>,
    /// The calls of that answer, by what they are called on the wire. Two may share an id: their numbers are in the order of
    /// their blocks.
    names: HashMap<CallId, BTreeSet<CallRef>>,
    all_names: Vec<Option<CallRef>>,
    begun: HashSet<CallRef>,
    results: HashMap<CallRef, ToolResult>,
    calls: HashMap<CallRef, ToolCall>,
    cut_off: Vec<CallRef>,
    last_call: u32,
    last_aside: u32,
    workspace: Option<PathBuf>,
    cwd: Option<PathBuf>,
    asides: Vec<(ToolCall, ToolResult)>,
}

impl History {
    /// The conversation that `records` tell of, up to the moment at which they end.
    pub fn of(records: &[Record]) -> Self {
        let mut history = Self::default();
        for record in records {
            history.take(record);
        }
        history.close();
        history
    }

    pub fn messages(&self) -> &Arc<Vec<Message>> {
        &self.messages
    }

    /// The names of the calls in the messages, in their order; `None` where the log does not tell it.
    pub fn names(&self) -> &[Option<CallRef>] {
        &self.all_names
    }

    /// A call that the model has made.
    pub fn call(&self, call: CallRef) -> Option<&ToolCall> {
        self.calls.get(&call)
    }

    /// The number of the last call of the model.
    pub fn last_call(&self) -> u32 {
        self.last_call
    }

    /// The number of the last call of the person.
    pub fn last_aside(&self) -> u32 {
        self.last_aside
    }

    /// Calls that were under way when the log ended.
    pub fn cut_off(&self) -> &[CallRef] {
        &self.cut_off
    }

    /// The workspace of the session.
    pub fn workspace(&self) -> Option<&PathBuf> {
        self.workspace.as_ref()
    }

    /// Where the shell was.
    pub fn cwd(&self) -> Option<&PathBuf> {
        self.cwd.as_ref()
    }

    /// What the person ran, and the model was not told yet.
    pub fn asides(&self) -> &[(ToolCall, ToolResult)] {
        &self.asides
    }

    /// What a repair would do to it now: nothing, in a history that can be sent as it is.
    pub fn repairs(&self) -> Vec<String> {
        if repair::is_sound(&self.messages) {
            return Vec::new();
        }
        repair::repair(&mut self.messages.to_vec())
    }

    /// Takes in what has happened next.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::User { message } => {
                self.close();
                self.asides.clear();
                self.push(message.clone());
            }
            Record::Told { message } => {
                self.close();
                self.push(message.clone());
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
            Record::Call { call } if call.call.agent == AgentId::PERSON => {
                self.last_aside = self.last_aside.max(call.call.number);
                self.calls.insert(call.call, call.clone());
            }
            Record::Call { call } => {
                self.last_call = self.last_call.max(call.call.number);
                self.calls.insert(call.call, call.clone());
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
            Record::Result { call, result } if call.agent == AgentId::PERSON => {
                if let Some(made) = self.calls.get(call) {
                    self.asides.push((made.clone(), result.clone()));
                }
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
                self.last_aside = self.last_aside.max(call.call.number);
                let over = result.clone().map(|result| (call.clone(), result));
                self.asides.extend(over);
            }
            Record::Moved { cwd } => self.cwd = Some(cwd.clone()),
            Record::Session { cwd, .. } => self.workspace = Some(cwd.clone()),
            Record::Repaired { .. } => {
                repair::repair(Arc::make_mut(&mut self.messages));
            }
            Record::Run { .. }
            | Record::Thinking { .. }
            | Record::Decision { .. }
            | Record::Rewritten { .. }
            | Record::Change { .. } => {}
        }
    }

    fn push(&mut self, message: Message) {
        Arc::make_mut(&mut self.messages).push(message);
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
            self.all_names.extend(names);
            self.push(open);
        }
        let results = calls
            .iter()
            .filter_map(|call| self.results.remove(call))
            .map(Block::ToolResult);
        let content: Vec<Block> = results.chain(then.iter().cloned()).collect();
        if !content.is_empty() {
            self.push(Message::from_user(content));
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
                self.cut_off.extend(name);
                cut_off(call, name.is_some_and(|name| self.begun.contains(&name)))
            });
            results.push(Block::ToolResult(result));
        }
        self.all_names.extend(names);
        self.push(open);
        if !results.is_empty() {
            self.push(Message::from_user(results));
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

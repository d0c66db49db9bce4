//! A conversation as the fold of its records. Pure: records in, messages out.
//!
//! A running conversation and a resumed one use the same function: the running one takes every record as it is
//! written. Wherever the log ends, the conversation is valid: a call without a result gets one that says what is
//! known about it. Nothing is ever run again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::record::{Line, Record};
use super::repair;
use super::unfinished::{self, Progress, Unfinished};
use crate::protocol::event::Denial;
use crate::protocol::{
    AgentId, Block, CallRef, Message, Mode, Origin, Role, SeenFile, SentTools, Spending, ToolCall,
    ToolResult, ToolUse, WireId,
};

#[derive(Debug, Default, Clone, PartialEq)]
pub struct History {
    messages: Arc<Vec<Message>>,
    /// The answer that is being streamed.
    open: Option<Message>,
    /// The calls of that answer, by their ids on the wire. Two may share an id: their numbers are in the order of
    /// their blocks.
    names: HashMap<WireId, BTreeSet<CallRef>>,
    progress: unfinished::Calls,
    results: HashMap<CallRef, ToolResult>,
    calls: HashMap<CallRef, ToolCall>,
    /// The checkpoints of files that calls without a result have changed: before and after.
    changes: HashMap<CallRef, Vec<Checkpoint>>,
    cut_off: Vec<CutOff>,
    /// The last request asked for the rest of an answer that the provider had paused.
    continues: bool,
    last_call: u32,
    last_aside: u32,
    workspace: Option<PathBuf>,
    cwd: Option<PathBuf>,
    spending: Option<Spending>,
    asides: Vec<(ToolCall, ToolResult)>,
    mode: Option<Mode>,
    tools: SentTools,
    /// The files that were read or written.
    seen: BTreeMap<PathBuf, SeenFile>,
    turn: Turn,
    /// What the end of a run has closed, until something else happens.
    unfinished: Option<Box<Unfinished>>,
}

/// The hashes of a file's content before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub before: Option<String>,
    pub after: String,
}

/// A call that the end of a run of the program has cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct CutOff {
    pub call: CallRef,
    /// What the model is told.
    pub result: ToolResult,
    pub progress: Progress,
}

/// The current turn, or the last one.
#[derive(Debug, Default, Clone, PartialEq)]
struct Turn {
    number: u64,
    runs: bool,
    paused: bool,
    /// How many messages there were before it.
    from: usize,
    denials: Vec<Denial>,
}

impl History {
    /// The conversation of `agent` according to the lines of a log.
    pub fn of(lines: &[Line], agent: AgentId) -> Self {
        let mut history = Self::default();
        for line in lines {
            // A new run of the program ends what all conversations had running.
            if line.agent == agent || matches!(line.record, Record::Run { .. }) {
                history.take(&line.record);
            }
        }
        history.end();
        history
    }

    /// The run that wrote the records has ended, and with it everything that was running.
    pub fn end(&mut self) {
        if let Some(unfinished) = self.close() {
            self.unfinished = Some(Box::new(unfinished));
        }
        self.turn.runs = false;
        self.turn.paused = false;
    }

    pub fn messages(&self) -> &Arc<Vec<Message>> {
        &self.messages
    }

    /// A call of the model.
    pub fn call(&self, call: CallRef) -> Option<&ToolCall> {
        self.calls.get(&call)
    }

    /// The number of the model's last call.
    pub fn last_call(&self) -> u32 {
        self.last_call
    }

    /// The number of the person's last call.
    pub fn last_aside(&self) -> u32 {
        self.last_aside
    }

    /// Calls of the model that were running when a run of the program ended, each with what is known about it.
    pub fn cut_off(&self) -> &[CutOff] {
        &self.cut_off
    }

    /// The number of turns so far.
    pub fn turn(&self) -> u64 {
        self.turn.number
    }

    pub fn is_paused(&self) -> bool {
        self.turn.paused
    }

    /// The calls of the turn that were not allowed to run.
    pub fn denials(&self) -> &[Denial] {
        &self.turn.denials
    }

    /// The assistant's last text in this turn.
    pub fn last_text(&self) -> String {
        let since = self.messages.get(self.turn.from..).unwrap_or_default();
        let answers = since.iter().filter(|it| it.role == Role::Assistant);
        let mut texts = answers.rev().map(Message::text);
        texts
            .find(|text| !text.trim().is_empty())
            .unwrap_or_default()
    }

    /// The files that a call without a result has changed, oldest first.
    pub fn changes(&self, call: CallRef) -> &[Checkpoint] {
        self.changes
            .get(&call)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The workspace of the session.
    pub fn workspace(&self) -> Option<&PathBuf> {
        self.workspace.as_ref()
    }

    /// The shell's directory.
    pub fn cwd(&self) -> Option<&PathBuf> {
        self.cwd.as_ref()
    }

    /// What it has used; logs of version 1 do not contain that.
    pub fn spending(&self) -> Option<Spending> {
        self.spending
    }

    /// What the person ran, and the model was not told yet.
    pub fn asides(&self) -> &[(ToolCall, ToolResult)] {
        &self.asides
    }

    /// The permission mode that was last set.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// The answer that the end of the last run has left unfinished.
    pub fn unfinished(&self) -> Option<&Unfinished> {
        self.unfinished.as_deref()
    }

    /// What the requests have said about tools.
    pub fn tools(&self) -> &SentTools {
        &self.tools
    }

    /// What is known of the files that were read or written.
    pub fn seen(&self) -> impl Iterator<Item = &SeenFile> {
        self.seen.values()
    }

    /// What a repair would change, as far as it is worth reporting; `None` if the history can be sent as it is.
    pub fn repairs(&self) -> Option<Vec<String>> {
        if repair::is_sound(&self.messages) {
            return None;
        }
        Some(repair::repair(&mut self.messages.to_vec()))
    }

    /// Adds the next record.
    pub fn take(&mut self, record: &Record) {
        self.progress.take(record);
        match record {
            Record::User { message } => {
                self.close();
                self.begin_turn();
                self.asides.clear();
                self.push(message.clone());
            }
            Record::Refused => self.begin_turn(),
            Record::Told { message } => {
                self.close();
                self.push(message.clone());
            }
            Record::Request {
                provider, model, ..
            } => self.request(provider, model),
            Record::Text { text } => self.add_text(text),
            Record::Block { block, call } => self.kept(block, *call),
            Record::Call { call } => self.call_made(call),
            Record::Begun { call } => drop(self.changes.remove(call)),
            Record::Reopened { calls } => self.reopen(calls),
            Record::Mode { mode } => self.mode = Some(*mode),
            Record::Decision {
                call,
                decision,
                reason,
                settled,
                ..
            } => self.decided(*call, *settled && decision != "allow", reason),
            Record::Change {
                call,
                before,
                after,
                ..
            } => self.changed(*call, before.clone(), after.clone()),
            Record::Result { call, result, .. } => self.result(*call, result),
            Record::Assistant { message, .. } => {
                self.open = Some(message.clone());
                // Without calls it is complete, also if the provider paused it and a request follows.
                if message.tool_uses().next().is_none() {
                    self.close();
                }
            }
            Record::Delivered { calls, then } => self.deliver(calls, then),
            Record::Paused { .. } => self.turn.paused = true,
            Record::Continued => self.turn.paused = false,
            Record::End { .. } | Record::Run { .. } => self.end(),
            Record::Discarded => {
                self.open = None;
                self.results.clear();
            }
            Record::Spent { spending } => self.spending = Some(*spending),
            Record::Offered { tools, announced } => self.tools.record(tools, announced),
            Record::Activated { tools } => self.tools.activate(tools),
            Record::Seen { files } => self.saw(files),
            Record::Moved { cwd } => self.cwd = Some(cwd.clone()),
            Record::Session { cwd, .. } => self.workspace = Some(cwd.clone()),
            Record::Repaired { .. } => {
                repair::repair(Arc::make_mut(&mut self.messages));
            }
            Record::Notice { .. }
            | Record::Started { .. }
            | Record::Reply { .. }
            | Record::Renamed { .. }
            | Record::Todos { .. }
            | Record::Retry { .. }
            | Record::Thinking { .. }
            | Record::Streamed
            | Record::Broken { .. }
            | Record::Saved { .. }
            | Record::Arriving { .. }
            | Record::Reached { .. }
            | Record::Answered { .. }
            | Record::Rewritten { .. }
            | Record::BackgroundEnded { .. } => {}
        }
    }

    fn saw(&mut self, files: &[SeenFile]) {
        let files = files.iter().map(|file| (file.path.clone(), file.clone()));
        self.seen.extend(files);
    }

    fn changed(&mut self, call: CallRef, before: Option<String>, after: String) {
        let change = Checkpoint { before, after };
        self.changes.entry(call).or_default().push(change);
    }

    /// Whether a turn begins with this record.
    pub fn begins_turn(&self, record: &Record) -> bool {
        !self.turn.runs && matches!(record, Record::User { .. } | Record::Refused)
    }

    /// A message of the person begins a turn, unless one is running.
    fn begin_turn(&mut self) {
        if !self.turn.runs {
            self.turn = Turn {
                number: self.turn.number + 1,
                runs: true,
                paused: false,
                from: self.messages.len(),
                denials: Vec::new(),
            };
        }
    }

    fn request(&mut self, provider: &str, model: &str) {
        // An answer without calls was discarded and is requested again.
        let open = self.open.as_ref();
        if open.is_some_and(|open| open.tool_uses().next().is_none()) {
            self.open = None;
        }
        self.close();
        let origin = Origin {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        self.names.clear();
        let last = self.messages.last();
        self.continues = last.is_some_and(|last| last.role == Role::Assistant);
        self.open = Some(Message::from_assistant(Vec::new(), origin));
    }

    fn call_made(&mut self, call: &ToolCall) {
        self.calls.insert(call.call, call.clone());
        if call.call.agent == AgentId::PERSON {
            self.last_aside = self.last_aside.max(call.call.number);
            return;
        }
        self.last_call = self.last_call.max(call.call.number);
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

    fn result(&mut self, call: CallRef, result: &ToolResult) {
        self.changes.remove(&call);
        if call.agent != AgentId::PERSON {
            self.results.insert(call, result.clone());
            return;
        }
        if let Some(made) = self.calls.get(&call) {
            self.asides.push((made.clone(), result.clone()));
        }
    }

    fn decided(&mut self, call: CallRef, denied: bool, reason: &str) {
        let made = self.calls.get(&call);
        let made = made.filter(|_| denied && call.agent != AgentId::PERSON);
        self.turn.denials.extend(made.map(|made| Denial {
            call: made.id.clone(),
            tool: made.name.clone(),
            input: made.input.clone(),
            reason: reason.to_owned(),
        }));
    }

    fn push(&mut self, message: Message) {
        self.unfinished = None;
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// The rest of a paused answer is added to its first part, because two answers in a row cannot be sent.
    fn push_answer(&mut self, answer: Message) {
        let continues = std::mem::take(&mut self.continues);
        let last = Arc::make_mut(&mut self.messages).last_mut();
        match last.filter(|last| continues && last.origin == answer.origin) {
            Some(last) => last.content.extend(answer.content),
            None => self.push(answer),
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

    fn kept(&mut self, block: &Block, call: Option<CallRef>) {
        let number = call.map_or(0, |call| call.number);
        self.last_call = self.last_call.max(number);
        self.add(block.clone());
    }

    fn deliver(&mut self, calls: &[CallRef], then: &[Block]) {
        if let Some(open) = self.open.take() {
            self.push_answer(open);
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

    /// Ends the open answer as it is, with a result for each of its calls. Returns it if a call had none.
    fn close(&mut self) -> Option<Unfinished> {
        let answer = self.open.take().filter(|open| !open.is_blank())?;
        let (mut names, mut results, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for call in answer.tool_uses() {
            let same = self.names.get_mut(&call.id);
            let name = same.and_then(BTreeSet::pop_first);
            let known = name.and_then(|name| self.results.remove(&name));
            let result = known.unwrap_or_else(|| {
                let progress = name.map_or(Progress::Queued, |name| self.progress.progress(name));
                let result = cut_off(call, progress);
                self.cut_off.extend(name.map(|call| CutOff {
                    call,
                    result: result.clone(),
                    progress,
                }));
                open.extend(name.map(|name| (name, progress)));
                result
            });
            names.extend(name);
            results.push(result);
        }
        let unfinished = (!open.is_empty()).then(|| Unfinished {
            answer: answer.clone(),
            results: names.iter().copied().zip(results.clone()).collect(),
            calls: names,
            open,
            before: self.messages.clone(),
            continues: self.continues,
        });
        self.push_answer(answer);
        if !results.is_empty() {
            let results = results.into_iter().map(Block::ToolResult);
            self.push(Message::from_user(results.collect()));
        }
        unfinished
    }

    /// Takes back what the end of the run has closed. These calls continue; the others keep the results that they have.
    fn reopen(&mut self, calls: &[CallRef]) {
        let Some(unfinished) = self.unfinished.take() else {
            return;
        };
        let uses = unfinished.answer.tool_uses();
        self.names.clear();
        for (call, name) in uses.zip(&unfinished.calls) {
            let same = self.names.entry(call.id.clone()).or_default();
            same.insert(*name);
        }
        self.results = unfinished.results;
        self.results.retain(|call, _| !calls.contains(call));
        self.cut_off.retain(|it| !calls.contains(&it.call));
        self.messages = unfinished.before;
        self.continues = unfinished.continues;
        self.open = Some(unfinished.answer);
        self.turn.runs = true;
    }
}

/// The result of a call that the end of a run of the program has cut off.
fn cut_off(call: &ToolUse, progress: Progress) -> ToolResult {
    let name = &call.name;
    let text = match progress {
        Progress::Queued => {
            format!("Interrupted: agent-tui ended before {name} was started. It was not run")
        }
        Progress::Waiting { ran: false } => {
            format!(
                "Interrupted: agent-tui ended before the user allowed or denied {name}. It was not run"
            )
        }
        Progress::Waiting { ran: true } => {
            format!("Interrupted: agent-tui ended before the user answered {name}")
        }
        Progress::Starting => {
            format!("Interrupted: agent-tui ended before {name} was allowed to run. It was not run")
        }
        Progress::Begun { .. } => format!(
            "Interrupted: agent-tui ended while {name} ran. It may have had effects; it was not run again"
        ),
    };
    ToolResult::error(call.id.clone(), text)
}

//! The conversations of subagents. Each has its own cells, turn and calls, and is shown below the call that started it,
//! or as a whole instead of the main conversation.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::call::{Call, CallKey, Calls, State};
use super::panel::{Opener, Turn};
use super::scroll::Scroll;
use super::transcript::{Cell, Transcript};
use super::{AppState, Focus, Work};
use crate::protocol::todo::Todo;
use crate::protocol::{AgentId, Spending, Subagent};

/// How many calls of a running subagent are listed unless it is unfolded.
pub const LATEST: usize = 3;
/// More calls than this rarely run at once.
const AT_ONCE: usize = 64;

#[derive(Debug, Default)]
pub struct Subagents {
    all: BTreeMap<AgentId, Nested>,
    /// By the call that started it. If the call runs again, the new subagent replaces the old one.
    by_call: HashMap<CallKey, AgentId>,
}

/// One of them.
#[derive(Debug)]
pub struct Nested {
    pub about: Subagent,
    /// The call that started it.
    pub call: CallKey,
    pub transcript: Transcript,
    /// While it works.
    pub work: Option<Work>,
    /// Its calls, and when its model wrote.
    pub turn: Turn,
    pub spending: Spending,
    /// Its planned steps.
    pub todos: Vec<Todo>,
    pub began: Instant,
    pub ended: Option<Instant>,
    pub folding: Folding,
}

/// How many of its calls are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folding {
    /// The latest while it works, none afterwards.
    #[default]
    Latest,
    All,
    None,
}

/// What a subagent is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentActivity {
    Calling(CallKey),
    Writing,
    Thinking,
    Waiting,
    /// It is over.
    Nothing,
}

/// A subagent's conversation that is in view.
#[derive(Debug)]
pub struct View {
    pub agent: AgentId,
    /// The scroll position of the main conversation.
    scroll: Scroll,
    opener: Opener,
}

impl Nested {
    pub fn new(about: Subagent, call: CallKey, now: Instant) -> Self {
        Self {
            transcript: Transcript::of_agent(about.agent),
            about,
            call,
            work: None,
            turn: Turn::default(),
            spending: Spending::default(),
            todos: Vec::new(),
            began: now,
            ended: None,
            folding: Folding::default(),
        }
    }

    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    pub fn elapsed(&self, now: Instant) -> Duration {
        let end = self.ended.unwrap_or(now);
        end.saturating_duration_since(self.began)
    }

    /// How many tokens it has read and written.
    pub fn tokens(&self) -> u64 {
        self.spending.used.worked_on()
    }

    /// The calls that are not over, the latest first. Only calls of the last response can be, so not all are checked.
    fn running<'a>(&'a self, calls: &'a Calls) -> impl Iterator<Item = CallKey> + 'a {
        let latest = self.turn.calls.iter().rev().take(AT_ONCE).copied();
        latest.filter(|key| !calls.get(*key).is_over())
    }

    pub fn activity(&self, calls: &Calls) -> SubagentActivity {
        if self.is_over() {
            return SubagentActivity::Nothing;
        }
        let executes = |key: &CallKey| matches!(calls.get(*key).state, State::Executing(_));
        let executing = self.running(calls).find(executes);
        if let Some(call) = executing.or_else(|| self.running(calls).next()) {
            return SubagentActivity::Calling(call);
        }
        match self.transcript.last().map(|entry| &entry.cell) {
            Some(Cell::Thinking { took: None, .. }) => SubagentActivity::Thinking,
            _ if self
                .work
                .as_ref()
                .is_some_and(|work| work.last_text_at.is_some()) =>
            {
                SubagentActivity::Writing
            }
            _ => SubagentActivity::Waiting,
        }
    }

    /// The calls that are listed under it, oldest first.
    pub fn listed(&self, calls: &Calls) -> Vec<CallKey> {
        match self.folding {
            Folding::All => self.turn.calls.clone(),
            Folding::Latest if !self.is_over() => self.latest(calls),
            Folding::Latest | Folding::None => Vec::new(),
        }
    }

    /// The latest calls, oldest first. Running ones come before those that are over.
    pub fn latest(&self, calls: &Calls) -> Vec<CallKey> {
        let mut latest: Vec<CallKey> = self.running(calls).take(LATEST).collect();
        for key in self.turn.calls.iter().rev().take(LATEST) {
            if latest.len() < LATEST && !latest.contains(key) {
                latest.push(*key);
            }
        }
        latest.sort_unstable();
        latest
    }

    /// Its last message.
    pub fn last_message(&self) -> Option<&str> {
        let mut entries = self.transcript.entries().iter().rev();
        entries.find_map(|entry| match &entry.cell {
            Cell::Answer(answer) => Some(answer.text.as_str()),
            _ => None,
        })
    }
}

impl Subagents {
    pub fn get(&self, agent: AgentId) -> Option<&Nested> {
        self.all.get(&agent)
    }

    pub fn get_mut(&mut self, agent: AgentId) -> Option<&mut Nested> {
        self.all.get_mut(&agent)
    }

    /// The one that a call started.
    pub fn of_call(&self, call: CallKey) -> Option<&Nested> {
        self.all.get(self.by_call.get(&call)?)
    }

    fn of_call_mut(&mut self, call: CallKey) -> Option<&mut Nested> {
        self.all.get_mut(self.by_call.get(&call)?)
    }

    pub fn add(&mut self, nested: Nested) {
        self.by_call.insert(nested.call, nested.about.agent);
        self.all.insert(nested.about.agent, nested);
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Nested> {
        self.all.values_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Nested> {
        self.all.values()
    }
}

impl AppState {
    /// The cells of the conversation in view: the main one, or a subagent's.
    pub fn conversation(&self) -> &Transcript {
        match self.viewed() {
            Some(nested) => &nested.transcript,
            None => &self.transcript,
        }
    }

    pub(super) fn conversation_mut(&mut self) -> &mut Transcript {
        let agent = self.view.as_ref().map(|view| view.agent);
        match agent.and_then(|agent| self.subagents.get_mut(agent)) {
            Some(nested) => &mut nested.transcript,
            None => &mut self.transcript,
        }
    }

    /// The subagent whose conversation is in view.
    pub fn viewed(&self) -> Option<&Nested> {
        self.subagents.get(self.view.as_ref()?.agent)
    }

    /// The planned steps of the conversation in view.
    pub fn todos_in_view(&self) -> &[Todo] {
        self.viewed().map_or(&self.todos, |nested| &nested.todos)
    }

    /// Shows the conversation of the subagent that a call started. Returns whether there is one.
    pub(super) fn view_subagent(&mut self, call: CallKey, opener: Opener) -> bool {
        let Some(agent) = self.subagents.of_call(call).map(|it| it.about.agent) else {
            return false;
        };
        if self.view.as_ref().is_some_and(|view| view.agent == agent) {
            return true;
        }
        self.show_main();
        self.focus_on(Focus::Conversation);
        self.selection = None;
        self.view = Some(View {
            agent,
            scroll: std::mem::take(&mut self.scroll),
            opener,
        });
        true
    }

    /// Shows the main conversation again.
    pub fn show_main(&mut self) {
        if let Some(view) = self.view.take() {
            self.scroll = view.scroll;
            self.selection = None;
            self.end_search();
        }
    }

    /// Follows again if the end is visible.
    pub(super) fn follow_from_end(&mut self) {
        let last = self.conversation().last().map(|entry| entry.id);
        if self.scroll.layout.map(|rest| rest.bottom.cell) == last {
            self.scroll.follow();
        }
    }

    /// Goes back from a subagent's conversation to where it was opened.
    pub(super) fn leave_view(&mut self) {
        let Some(View { opener, .. }) = self.view else {
            return;
        };
        let call = self.viewed().map(|nested| nested.call);
        self.show_main();
        match (opener, call) {
            (Opener::Tasks, Some(call)) => self.return_to_tasks(call),
            (Opener::Tasks, None) => self.focus_on(Focus::Composer),
            (Opener::Screen(focus), call) => {
                self.focus_on(focus);
                if let Some(call) = call {
                    self.choose_call(call);
                }
            }
        }
    }

    /// Lists all calls of the subagent that a call started, or none.
    pub(super) fn fold_subagent(&mut self, call: CallKey) {
        let Some(nested) = self.subagents.of_call(call) else {
            return;
        };
        let listed = nested.listed(&self.calls).len();
        let folding = if listed < nested.turn.calls.len() {
            Folding::All
        } else {
            Folding::None
        };
        let chosen = self.chosen_call();
        if let Some(nested) = self.subagents.of_call_mut(call) {
            nested.folding = folding;
        }
        // The rows below have moved; if the selected call is no longer listed, the call that started the subagent is
        // selected.
        if !chosen.is_some_and(|chosen| self.choose_call(chosen)) {
            self.choose_call(call);
        }
    }

    /// Selects the row of a call in the list. Returns whether it has one.
    fn choose_call(&mut self, call: CallKey) -> bool {
        let at = self.rows().iter().position(|row| row.call == call);
        self.panel.chosen = at.unwrap_or(self.panel.chosen);
        at.is_some()
    }

    /// The call that started the subagent of this call.
    pub(super) fn starter_of(&self, call: &Call) -> Option<CallKey> {
        self.subagents.get(call.id.agent).map(|nested| nested.call)
    }
}

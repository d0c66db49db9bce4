//! Subagents for tests: each is known by its description, which is also the name of the call that started it.

use std::time::{Duration, Instant};

use serde_json::json;

use super::rig::{App, CallSteps, seen_cells};
use super::subagents::Nested;
use crate::app::Effect;
use crate::protocol::{
    AgentEvent, AgentId, CallEvent, CallRef, Ending, Message, Spending, Subagent, TurnEvent,
    TurnId, TurnSummary, Usage,
};

impl App {
    /// A turn in which these subagents were started; each has its prompt.
    pub fn with_agents(names: &[&str]) -> Self {
        let mut app = Self::working();
        for name in names {
            app.starts_agent(name, false);
        }
        app
    }

    pub fn starts_agent(&mut self, name: &str, background: bool) {
        let input = json!({ "description": name, "prompt": format!("do {name}") });
        self.tool(name, "Task").queued(input).running();
        let count = self.state.subagents.iter().count();
        let agent = AgentId(2 + u32::try_from(count).expect("few"));
        let call = CallRef::from(name);
        let subagent = Subagent {
            agent,
            call,
            kind: "explore".to_owned(),
            description: name.to_owned(),
            model: "m".to_owned(),
            background,
        };
        self.call_event(call, CallEvent::Started(subagent));
        let prompt = Message::user(format!("do {name}"));
        self.subagent_event(name, TurnEvent::Prompted(prompt));
        self.subagent_event(name, TurnEvent::Requested { attempt: 0 });
    }

    pub fn agent(&self, name: &str) -> AgentId {
        let key = self.state.calls.find(name.into());
        let nested = key.and_then(|key| self.state.subagents.of_call(key));
        nested.expect("a subagent of this name").about.agent
    }

    pub fn turn_of(&self, name: &str) -> TurnId {
        TurnId {
            agent: self.agent(name),
            number: 1,
        }
    }

    /// An event of a subagent's turn.
    pub fn subagent_event(&mut self, name: &str, event: TurnEvent) -> Vec<Effect> {
        let turn = self.turn_of(name);
        self.receive(AgentEvent::Turn(turn, event))
    }

    pub fn subagent_writes(&mut self, name: &str, text: &str) {
        self.subagent_event(name, TurnEvent::Text(text.to_owned()));
    }

    /// It has used this many tokens.
    pub fn subagent_uses(&mut self, name: &str, tokens: u64) {
        let used = Usage {
            input_tokens: Some(tokens),
            ..Usage::default()
        };
        let spending = Spending {
            used,
            ..Spending::default()
        };
        self.subagent_event(name, TurnEvent::Spent(spending));
    }

    /// A call of a subagent.
    pub fn nested_call(&self, name: &str, call: &str) -> CallRef {
        CallRef {
            agent: self.agent(name),
            number: CallRef::from(call).number,
        }
    }

    pub fn nested(&mut self, name: &str, call: &str, tool: &str) -> CallSteps<'_> {
        let call = self.nested_call(name, call);
        self.tool(call, tool)
    }

    /// It writes its last message, and the call that started it gets its result.
    pub fn agent_ends(&mut self, name: &str, last: &str) {
        self.subagent_writes(name, last);
        let summary = TurnSummary::of(Ending::Done, Duration::from_millis(1_200));
        self.subagent_event(name, TurnEvent::Finished(summary));
        self.tool(name, "Task").completes(last);
    }
}

/// All that is visible of a subagent: its cells, calls and times.
pub fn seen_subagent(nested: &Nested) -> Vec<String> {
    let since = |at: Instant| at.saturating_duration_since(nested.began).as_millis();
    let spans = nested.turn.writing.iter();
    let spans = spans.map(|(from, to)| (since(*from), to.map(since)));
    let spans: Vec<_> = spans.collect();
    let facts = format!(
        "{:?} {:?} {:?} {spans:?} {:?} {:?}",
        nested.about,
        nested.turn.calls,
        nested.turn.saved,
        nested.spending,
        nested.ended.map(since),
    );
    let cells = seen_cells(&nested.transcript).into_iter();
    cells.chain([facts]).collect()
}

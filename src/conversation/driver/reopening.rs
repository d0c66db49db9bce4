//! Continues an exchange that an earlier run of the program has left while it waited for the person.

use super::{Conversation, Fact};
use crate::protocol::ToolCall;
use crate::session::Record;
use crate::session::unfinished::{Progress, Unfinished};

impl Conversation {
    /// Continues the exchange that an earlier run of the program has left while it waited for the person: the questions are
    /// asked again. Returns whether there is one.
    pub fn reopen(&mut self) -> bool {
        let Some(unfinished) = self.journal.history().unanswered().cloned() else {
            return false;
        };
        let continuing = self.continuing(&unfinished);
        if continuing.is_empty() {
            return false;
        }
        let calls = continuing.iter().map(|call| call.call).collect();
        self.journal.append(Record::Reopened { calls });
        self.open(None);
        self.turn(Fact::Reopened {
            answer: unfinished.answer,
            calls: unfinished.calls,
            continuing,
        });
        true
    }

    /// The calls that have had no effects yet. Nothing is run twice.
    fn continuing(&self, unfinished: &Unfinished) -> Vec<ToolCall> {
        let offered = self.context().tools.snapshot();
        let is_read_only = |call: &ToolCall| {
            let tool = offered.find(&call.name);
            tool.is_some_and(|tool| tool.facts(&call.input).read_only)
        };
        let (mut calls, mut asks) = (Vec::new(), false);
        for (call, progress) in &unfinished.open {
            let Some(call) = self.journal.history().call(*call) else {
                continue;
            };
            let (continues, waits) = match progress {
                Progress::Queued => (true, false),
                Progress::Waiting { ran } => (!ran || is_read_only(call), true),
                Progress::Begun => (false, false),
            };
            asks |= continues && waits;
            calls.extend(continues.then(|| call.clone()));
        }
        calls.retain(|_| asks);
        calls
    }
}

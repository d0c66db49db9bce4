//! Continues an exchange that an earlier run of the program has left while it waited for the person.

use std::collections::HashSet;

use super::{Conversation, Fact};
use crate::executor::Context;
use crate::permissions::Decision;
use crate::protocol::{CallRef, ToolCall};
use crate::session::Record;
use crate::session::unfinished::Progress;

/// What becomes of the exchange that an earlier run of the program has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reopened {
    /// It continues: the person is asked again.
    pub continues: bool,
    /// How many calls were cut off and do not continue.
    pub cut_off: usize,
}

impl Conversation {
    /// Continues the exchange that an earlier run of the program has left, if the person was asked or about to be asked.
    /// `asking` are the calls whose subagents ask.
    pub async fn reopen(&mut self, asking: &HashSet<CallRef>) -> Reopened {
        let Some(unfinished) = self.journal.history().unfinished().cloned() else {
            return Reopened::default();
        };
        let history = self.journal.history();
        let open = unfinished.open.iter().filter_map(|(call, progress)| {
            let call = history.call(*call)?.clone();
            Some((call, *progress))
        });
        let (open, context) = (open.collect(), self.context.clone());
        let continuing = continuing(&context, open, asking).await;
        let cut_off = unfinished.open.len() - continuing.len();
        if continuing.is_empty() {
            let continues = false;
            return Reopened { continues, cut_off };
        }
        let calls = continuing.iter().map(|call| call.call).collect();
        self.journal.append(Record::Reopened { calls });
        self.open(None);
        self.turn(Fact::Reopened {
            answer: unfinished.answer,
            calls: unfinished.calls,
            continuing,
        });
        let continues = true;
        Reopened { continues, cut_off }
    }
}

/// The calls that have had no effects yet, if one of them asks. Nothing is run twice.
async fn continuing(
    context: &Context,
    open: Vec<(ToolCall, Progress)>,
    asking: &HashSet<CallRef>,
) -> Vec<ToolCall> {
    let (mut calls, mut asks) = (Vec::new(), false);
    for (call, progress) in open {
        let (continues, waits) = match progress {
            Progress::Queued => (true, false),
            Progress::Starting => (true, would_ask(context, &call).await),
            Progress::Waiting { ran } => (!ran || is_read_only(context, &call), true),
            Progress::Begun { answered } => {
                let asked = !answered && always_asks(context, &call);
                let continues = asked || asking.contains(&call.call);
                (continues, continues)
            }
        };
        asks |= continues && waits;
        calls.extend(continues.then_some(call));
    }
    calls.retain(|_| asks);
    calls
}

fn is_read_only(context: &Context, call: &ToolCall) -> bool {
    let offered = context.tools.snapshot();
    let tool = offered.find(&call.name);
    tool.is_some_and(|tool| tool.facts(&call.input).read_only)
}

/// Whether the call does nothing but ask the person.
fn always_asks(context: &Context, call: &ToolCall) -> bool {
    let offered = context.tools.snapshot();
    let tool = offered.find(&call.name);
    tool.is_some_and(|tool| tool.spec().asks)
}

async fn would_ask(context: &Context, call: &ToolCall) -> bool {
    if always_asks(context, call) {
        return true;
    }
    let verdict = context.judge(&call.name, &call.input).await;
    verdict.is_some_and(|verdict| verdict.decision() == Decision::Ask)
}

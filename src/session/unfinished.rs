//! How far calls without a result have come, and the answer that a run of the program left unfinished.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::record::Record;
use crate::protocol::{CallRef, Message, Phase, ToolResult};

/// How far a call without a result has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It was not started.
    Queued,
    /// It waits for the person's answer. `ran` if its tool was running when it asked.
    Waiting { ran: bool },
    /// It was started and does not wait: it may have had effects.
    Begun,
}

/// The progress of calls, as the records tell it.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Calls {
    begun: HashSet<CallRef>,
    ran: HashSet<CallRef>,
    waiting: HashSet<CallRef>,
}

impl Calls {
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Begun { call } => {
                self.begun.insert(*call);
                self.ran.remove(call);
                self.waiting.remove(call);
            }
            Record::Reached { call, phase } => match phase {
                Phase::WaitingForApproval => drop(self.waiting.insert(*call)),
                Phase::Running => {
                    self.waiting.remove(call);
                    self.ran.insert(*call);
                }
                Phase::Validating | Phase::InHooks | Phase::Finishing => {}
            },
            Record::Answered { call } | Record::Result { call, .. } => {
                self.waiting.remove(call);
            }
            _ => {}
        }
    }

    pub fn progress(&self, call: CallRef) -> Progress {
        if self.waiting.contains(&call) {
            let ran = self.ran.contains(&call);
            Progress::Waiting { ran }
        } else if self.begun.contains(&call) {
            Progress::Begun
        } else {
            Progress::Queued
        }
    }
}

/// An answer whose calls did not all have results when the run of the program ended. It is closed, so that the conversation
/// is complete without it, and can be reopened.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    pub answer: Message,
    /// All its calls, in the order of their blocks.
    pub calls: Vec<CallRef>,
    /// Those without a result.
    pub open: Vec<(CallRef, Progress)>,
    /// The results of all calls. A call without one has the result that says so.
    pub(super) results: HashMap<CallRef, ToolResult>,
    /// The messages before the answer.
    pub(super) before: Arc<Vec<Message>>,
    /// The answer continues the last of them.
    pub(super) continues: bool,
}

impl Unfinished {
    /// How many calls can continue when the session is resumed.
    pub fn continuing(&self) -> usize {
        let can = |(_, progress): &&(CallRef, Progress)| *progress != Progress::Begun;
        self.open.iter().filter(can).count()
    }

    /// Whether a call waits for an answer of the person.
    pub fn asks(&self) -> bool {
        let mut open = self.open.iter();
        open.any(|(_, progress)| matches!(progress, Progress::Waiting { .. }))
    }
}

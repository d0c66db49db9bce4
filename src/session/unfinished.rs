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
    /// It was checked, or its permission was decided. Its tool was not started yet.
    Starting,
    /// Its tool was started: it may have had effects.
    Begun { answered: bool },
}

/// The progress of calls, as the records tell it.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Calls {
    begun: HashSet<CallRef>,
    ran: HashSet<CallRef>,
    waiting: HashSet<CallRef>,
    answered: HashSet<CallRef>,
}

impl Calls {
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Begun { call } => {
                self.begun.insert(*call);
                self.waiting.remove(call);
                self.answered.remove(call);
                self.ran.remove(call);
            }
            // The person decides next; the question is about to be asked.
            Record::Decision {
                call,
                settled: false,
                ..
            } => drop(self.waiting.insert(*call)),
            Record::Reached { call, phase } => match phase {
                Phase::WaitingForApproval => drop(self.waiting.insert(*call)),
                Phase::Running => {
                    self.waiting.remove(call);
                    self.ran.insert(*call);
                }
                Phase::Validating | Phase::InHooks | Phase::Finishing => {}
            },
            Record::Answered { call } => {
                self.waiting.remove(call);
                self.answered.insert(*call);
            }
            Record::Result { call, .. } => drop(self.waiting.remove(call)),
            _ => {}
        }
    }

    pub fn progress(&self, call: CallRef) -> Progress {
        let (ran, answered) = (self.ran.contains(&call), self.answered.contains(&call));
        if self.waiting.contains(&call) {
            Progress::Waiting { ran }
        } else if ran || answered {
            Progress::Begun { answered }
        } else if self.begun.contains(&call) {
            Progress::Starting
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
    /// Whether a call waits for an answer of the person, or was about to ask when the run ended.
    pub fn may_ask(&self) -> bool {
        self.open.iter().any(|(_, progress)| match progress {
            Progress::Waiting { .. } | Progress::Starting => true,
            Progress::Queued | Progress::Begun { .. } => false,
        })
    }
}

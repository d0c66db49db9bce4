//! What the person runs beside the turns: commands typed directly, calls made once more.
//!
//! An aside goes through the same steps as a call of the model, but on the person's word; only one that the
//! person has not permitted whole before is asked about. It runs whether a turn does or not,
//! and the model hears of it with the next message.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use crate::executor::machine::{End, Outcome};
use crate::executor::permission::Authority;
use crate::executor::pipeline::{Done, Line, Report};
use crate::executor::{Context, Happened, Witness};
use crate::permissions::{Decision, Remembered};
use crate::protocol::{
    AgentId, Answer, Block, CallEvent, CallId, CallNumbers, CallOutcome, CallRef, ToolCall,
    ToolResult,
};
use crate::session::{History, Record};
use crate::tools::{ContextChange, guard};

const REPORTS: usize = 256;
/// How many calls that are over can be made once more.
const MOST_PAST: usize = 100;
/// More than this of an aside's output does not go to the model.
const MOST_SAID: usize = 8_000;
/// Longer than a call needs to be stopped.
const LAST_GRACE: Duration = Duration::from_secs(5);

pub struct Asides {
    context: Arc<Context>,
    session: CancellationToken,
    numbers: CallNumbers,
    running: HashMap<CallRef, Running>,
    past: VecDeque<Past>,
    /// What the model is to be told.
    said: Vec<Block>,
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
}

struct Running {
    call: ToolCall,
    begun: Instant,
    cancel: CancellationToken,
    background: CancellationToken,
    /// What it asks the person is answered here.
    reply: Option<oneshot::Sender<Answer>>,
    permitted: bool,
}

/// A call that is over.
pub struct Past {
    pub call: ToolCall,
    /// Whether it was permitted, and whole.
    pub permitted: bool,
}

impl Asides {
    /// What an earlier run of the session has left to tell is told.
    pub fn new(context: Arc<Context>, session: CancellationToken, history: &History) -> Self {
        let (reporter, reports) = mpsc::channel(REPORTS);
        let mut asides = Self {
            context,
            session,
            numbers: CallNumbers::after(AgentId::PERSON, history.last_aside()),
            running: HashMap::new(),
            past: VecDeque::new(),
            said: Vec::new(),
            reports,
            reporter,
        };
        for (call, result) in history.asides() {
            asides.say(call, result, None);
        }
        asides
    }

    pub fn start(&mut self, tool: &str, input: Value, by: Authority, journal: &mut Journal) {
        let name = self.numbers.next();
        let call = ToolCall {
            call: name,
            id: CallId(format!("person_{}", name.number)),
            name: tool.to_owned(),
            input,
        };
        journal.append(Record::Aside {
            call: call.clone(),
            result: None,
        });
        let queued = CallEvent::Queued {
            tool: call.name.clone(),
            wire: None,
            input: call.input.clone(),
        };
        journal.tell_call(name, queued);
        let (cancel, background) = (self.session.child_token(), CancellationToken::new());
        let line = Line {
            context: self.context.clone(),
            offered: self.context.tools.snapshot(),
            authority: by,
            cancel: cancel.clone(),
            background: background.clone(),
            reports: self.reporter.clone(),
            links: Remembered::default(),
        };
        line.spawn(call.clone());
        self.running.insert(
            name,
            Running {
                call,
                begun: Instant::now(),
                cancel,
                background,
                reply: None,
                permitted: false,
            },
        );
    }

    pub fn answer(&mut self, id: CallRef, answer: Answer) {
        let running = self.running.get_mut(&id);
        if let Some(reply) = running.and_then(|running| running.reply.take()) {
            // One that was stopped meanwhile does not listen any more.
            let _ = reply.send(answer);
        }
    }

    pub fn is_running(&self, id: CallRef) -> bool {
        self.running.contains_key(&id)
    }

    /// An aside that is over.
    pub fn past(&self, id: CallRef) -> Option<&Past> {
        self.past.iter().find(|past| past.call.call == id)
    }

    pub fn cancel(&self, id: CallRef) {
        if let Some(running) = self.running.get(&id) {
            running.cancel.cancel();
        }
    }

    pub fn cancel_all(&self) {
        for running in self.running.values() {
            running.cancel.cancel();
        }
    }

    pub fn background(&self, id: CallRef) {
        if let Some(running) = self.running.get(&id) {
            running.background.cancel();
        }
    }

    /// Where something that happens beside the turns is reported.
    pub fn reporter(&self) -> mpsc::Sender<Report> {
        self.reporter.clone()
    }

    /// What the model has not been told yet.
    pub fn take_said(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.said)
    }

    /// The next report of an aside. Cancel-safe; pends for ever while nothing runs.
    pub async fn next(&mut self) -> Report {
        match self.reports.recv().await {
            Some(report) => report,
            None => std::future::pending().await,
        }
    }

    pub fn handle(&mut self, report: Report, journal: &mut Journal) {
        match report {
            Report::Reached(id, phase) => journal.tell_call(id, CallEvent::Reached(phase)),
            Report::Progress(id, text) => journal.tell_call(id, CallEvent::Progress(text)),
            Report::Changing(id, change, written) => {
                journal.see(Happened::Changing(id, change));
                let _ = written.send(());
            }
            Report::Notice(text) => journal.notice(text),
            Report::Halted(reason) => journal.notice(reason),
            Report::Rewritten(id, input, by) => journal.see(Happened::Rewritten(id, input, by)),
            Report::Asked(request, reply) => {
                if let Some(running) = self.running.get_mut(&request.call) {
                    running.reply = Some(reply);
                    journal.tell_call(request.call, CallEvent::Asked(request));
                }
            }
            Report::Permitted(id, permit) => {
                if let Some(running) = self.running.get_mut(&id) {
                    running.permitted = permit.part.is_none();
                }
            }
            Report::Decided(id, verdict) => {
                let (by, settled) = (verdict.in_short(), verdict.decision != Decision::Ask);
                journal.tell_call(id, CallEvent::Decided { by, settled });
            }
            Report::Finished(id, done) => self.finish(id, done, journal),
        }
    }

    /// Stops everything, and waits until it has stopped.
    pub async fn end(&mut self, journal: &mut Journal) {
        self.cancel_all();
        let all = async {
            while !self.running.is_empty() {
                let report = self.next().await;
                self.handle(report, journal);
            }
        };
        let _ = timeout(LAST_GRACE, all).await;
    }

    fn finish(&mut self, id: CallRef, done: Done, journal: &mut Journal) {
        let Some(running) = self.running.remove(&id) else {
            return;
        };
        let Running {
            call,
            begun,
            permitted,
            ..
        } = running;
        let (result, outcome) = judged(&call.id, done.outcome);
        let moved = done.changes.into_iter().next_back();
        if let Some(ContextChange::Cwd(cwd)) = &moved
            && *cwd != self.context.cwd()
        {
            journal.see(Happened::Moved(cwd.clone()));
            self.context.set_cwd(cwd.clone());
        }
        journal.append(Record::Aside {
            call: call.clone(),
            result: Some(result.clone()),
        });
        self.say(&call, &result, moved.as_ref());
        let completed = CallEvent::Completed {
            result,
            ran: begun.elapsed(),
            outcome,
            shown: done.shown,
        };
        journal.tell_call(id, completed);
        self.past.push_back(Past { call, permitted });
        self.past.drain(..self.past.len().saturating_sub(MOST_PAST));
    }

    fn say(&mut self, call: &ToolCall, result: &ToolResult, moved: Option<&ContextChange>) {
        let offered = self.context.tools.snapshot();
        let tool = offered.find(&call.name);
        let subject = tool.and_then(|tool| tool.facts(&call.input).subject);
        let label = format!("{}({})", call.name, subject.unwrap_or_default());
        let text = result.as_text();
        let size = text.chars().count();
        let mut output = if size <= MOST_SAID {
            text
        } else {
            guard::cut(&text, size, MOST_SAID, "The user has seen the whole of it.")
        };
        if let Some(ContextChange::Cwd(cwd)) = moved {
            let _ = write!(
                output,
                "\n(The working directory is now {}.)",
                cwd.display()
            );
        }
        self.said.push(Block::aside(&label, &output));
    }
}

/// The result of an aside, and how it came to it.
fn judged(id: &CallId, outcome: Outcome) -> (ToolResult, CallOutcome) {
    let Outcome { result, end } = outcome;
    match end {
        End::Normal if !result.is_error => (result, CallOutcome::Succeeded),
        End::Normal | End::CommandFailed => (result, CallOutcome::Failed),
        End::Denied => (result, CallOutcome::Denied),
        End::Backgrounded => (result, CallOutcome::Backgrounded),
        End::Stopped => {
            let mut text = "Cancelled by the user".to_owned();
            let output = result.as_text();
            if !output.is_empty() {
                text = format!("{text}. Its output until then:\n{output}");
            }
            (ToolResult::error(id.clone(), text), CallOutcome::Cancelled)
        }
    }
}

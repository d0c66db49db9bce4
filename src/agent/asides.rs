//! What the person runs independently of the turns: commands typed with `!`, and calls run again.
//!
//! An aside goes through the same steps as a call of the model, in its own executor, but with the person's authority;
//! it asks only if the person has not allowed the same call as a whole before. It runs whether a turn is running or
//! not, and the model is told about it with the next message.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::conversation::Journal;
use crate::executor::permission::Authority;
use crate::executor::pipeline::Report;
use crate::executor::{Context, Executor, Observed, Observer, Order, Policy};
use crate::protocol::{
    AgentId, Block, CallCommand, CallInput, CallNumbers, CallOutcome, CallRef, ForPerson,
    OnBashError, ToolCall, ToolResult, WireId,
};
use crate::session::History;
use crate::tools::guard;
use crate::tools::inner::PartResult;

/// The most of an aside's output that goes to the model.
const MOST_NOTED: usize = 8_000;
/// Longer than stopping a call takes.
const LAST_GRACE: Duration = Duration::from_secs(5);

pub struct Asides {
    context: Arc<Context>,
    executor: Executor,
    numbers: CallNumbers,
    /// What the model has not been told yet.
    notes: Vec<Block>,
    /// Those whose output goes into a message: the model is not told of them besides.
    parts: HashSet<CallRef>,
}

impl Asides {
    /// Takes over what an earlier run of the session has not told the model.
    pub fn new(context: Arc<Context>, session: &CancellationToken, history: &History) -> Self {
        let policy = Policy {
            order: Order::AtOnce,
            on_bash_error: OnBashError::Continue,
            ..Policy::default()
        };
        let mut asides = Self {
            executor: Executor::new(context.clone(), policy, session, context.tools.snapshot()),
            context,
            numbers: CallNumbers::after(AgentId::PERSON, history.last_aside()),
            notes: Vec::new(),
            parts: HashSet::new(),
        };
        for (call, result) in history.asides() {
            asides.note_for_model(call, result, None);
        }
        asides
    }

    /// A part of a command that becomes a message.
    pub fn start_part(&mut self, tool: &str, input: CallInput, journal: &mut Journal) -> CallRef {
        let call = self.numbers.next();
        self.parts.insert(call);
        self.start_as(call, tool, input, Authority::Model, journal);
        call
    }

    pub fn start(&mut self, tool: &str, input: CallInput, by: Authority, journal: &mut Journal) {
        let call = self.numbers.next();
        self.start_as(call, tool, input, by, journal);
    }

    fn start_as(
        &mut self,
        call: CallRef,
        tool: &str,
        input: CallInput,
        by: Authority,
        journal: &mut Journal,
    ) {
        let call = ToolCall {
            call,
            id: WireId(format!("person_{}", call.number)),
            name: tool.to_owned(),
            input,
        };
        self.executor.offer(self.context.tools.snapshot());
        self.executor.add_for(by, call, journal);
    }

    pub fn handle_command(&mut self, call: CallRef, command: CallCommand, journal: &mut Journal) {
        match command {
            CallCommand::Reply(reply) => self.executor.reply(call, reply, journal),
            CallCommand::Cancel => self.executor.cancel(call, journal),
            CallCommand::Background => self.executor.background(call, journal),
            CallCommand::RunAgain => {
                // A call of an earlier run is only in the log.
                let known = self.executor.call(call);
                let known = known.or_else(|| journal.history().call(call));
                let Some(ToolCall { name, input, .. }) = known.cloned() else {
                    journal.notice("that call can't be run again".into());
                    return;
                };
                let by = again(self.executor.is_permitted(call));
                self.start(&name, input, by, journal);
            }
            // Nobody waits for its result.
            CallCommand::AnswerByHand(_) => {}
        }
    }

    pub fn cancel(&mut self, call: CallRef, journal: &mut Journal) {
        self.executor.cancel(call, journal);
    }

    pub fn cancel_all(&mut self, journal: &mut Journal) {
        for call in self.executor.open_calls() {
            self.executor.cancel(call, journal);
        }
    }

    /// For reports about what happens independently of the turns.
    pub fn reporter(&self) -> mpsc::Sender<Report> {
        self.executor.reporter()
    }

    /// What the model has not been told yet.
    pub fn take_notes(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.notes)
    }

    /// The next report of an aside. Cancel-safe; waits forever while nothing runs.
    pub async fn next(&mut self) -> Report {
        self.executor.next().await
    }

    /// The outcome of a part, if it was reported.
    pub fn handle(
        &mut self,
        report: Report,
        journal: &mut Journal,
    ) -> Option<(CallRef, PartResult)> {
        if let Report::Halted(reason) = report {
            // No turn is running that it could end.
            journal.notice(reason);
            return None;
        }
        let mut end = End {
            journal,
            completed: None,
            moved: None,
        };
        self.executor.handle(report, &mut end);
        let End {
            completed, moved, ..
        } = end;
        let Completed {
            call,
            result,
            output,
        } = completed?;
        if self.parts.remove(&call) {
            return Some((call, output));
        }
        if let Some(call) = self.executor.call(call).cloned() {
            self.note_for_model(&call, &result, moved);
        }
        None
    }

    /// Stops everything, and waits for the end.
    pub async fn end(&mut self, journal: &mut Journal) {
        self.cancel_all(journal);
        let all = async {
            while !self.executor.open_calls().is_empty() {
                let report = self.next().await;
                self.handle(report, journal);
            }
        };
        let _ = timeout(LAST_GRACE, all).await;
    }

    fn note_for_model(&mut self, call: &ToolCall, result: &ToolResult, moved: Option<PathBuf>) {
        let offered = self.context.tools.snapshot();
        let tool = offered.find_or_deferred(&call.name);
        let subject = tool.and_then(|tool| tool.facts(&call.input).subject);
        let label = format!("{}({})", call.name, subject.unwrap_or_default());
        let text = result.as_sent().as_text();
        let size = text.chars().count();
        let mut output = if size <= MOST_NOTED {
            text
        } else {
            guard::cut(
                &text,
                size,
                MOST_NOTED,
                "The user has seen the whole of it.",
            )
        };
        if let Some(cwd) = moved {
            let _ = write!(
                output,
                "\n(The working directory is now {}.)",
                cwd.display()
            );
        }
        self.notes.push(Block::aside(&label, &output));
    }
}

/// With whose authority a call runs again. A call that was denied, or allowed only in part, asks again.
pub fn again(permitted: bool) -> Authority {
    if permitted {
        Authority::Person
    } else {
        Authority::Model
    }
}

/// Passes everything on, and remembers how a call ended.
struct End<'j> {
    journal: &'j mut Journal,
    completed: Option<Completed>,
    moved: Option<PathBuf>,
}

struct Completed {
    call: CallRef,
    result: ToolResult,
    /// What it has printed or found, or why it did not run.
    output: PartResult,
}

impl Completed {
    fn new(
        call: CallRef,
        result: &ToolResult,
        outcome: &CallOutcome,
        for_person: &ForPerson,
    ) -> Self {
        let text = result.as_text();
        let output = match outcome {
            CallOutcome::Succeeded => Ok(for_person.output_in(&text).to_owned()),
            CallOutcome::Failed if for_person.exit.is_none() => Err(text),
            CallOutcome::Failed | CallOutcome::ByHand | CallOutcome::Backgrounded => Ok(text),
            CallOutcome::Denied => {
                let why = for_person.sentence.clone();
                Err(why.unwrap_or_else(|| "it was not allowed".to_owned()))
            }
            CallOutcome::Skipped { .. } | CallOutcome::Cancelled => {
                Err("it was stopped".to_owned())
            }
        };
        Self {
            call,
            result: result.clone(),
            output,
        }
    }
}

impl Observer for End<'_> {
    fn observe(&mut self, observed: Observed) {
        match &observed {
            Observed::Completed {
                call,
                result,
                outcome,
                for_person,
                ..
            } => {
                self.completed = Some(Completed::new(*call, result, outcome, for_person));
            }
            Observed::Moved(cwd) => self.moved = Some(cwd.clone()),
            _ => {}
        }
        self.journal.observe(observed);
    }
}

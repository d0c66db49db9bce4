//! Runs the calls that the machine begins, and stops the ones it stops.
//!
//! Runs inside the agent's task: the agent awaits [`Executor::next`] together with its stream and its commands, so
//! that one task writes the log and sees everything in one order. Each call runs in its own task; a panic there
//! becomes a result.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::machine::{Input, Machine, Policy, Step, Traits};
use super::permission::{Authority, Permit};
use super::pipeline::{CallRun, Report};
use super::questions::ReplyTo;
use super::stopped;
use crate::config::logged;
use crate::permissions::{Remembered, Verdict};
use crate::protocol::todo::Todo;
use crate::protocol::{
    AnswerNote, CallInput, CallOutcome, CallRef, ForPerson, Mode, Phase, Printed, Question,
    QuestionKind, Reply, Shown, ToolCall, ToolResult,
};
use crate::text::first_line;
use crate::tools::ContextChange;
use crate::tools::files::FileChange;
use crate::tools::offered::Offered;

/// The longest subject of a call that is used in a sentence.
const LONGEST_SUBJECT: usize = 80;

/// How many reports may wait; further progress reports are dropped.
const REPORTS: usize = 256;

/// What happens to the calls, in order. An observer is told *before* it takes effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Observed {
    Queued(ToolCall),
    /// The call starts with its validation.
    Begun(CallRef),
    Reached(CallRef, Phase),
    Progress(CallRef, Printed),
    /// A hook has replaced the input of the call: the input, and the hook.
    Rewritten(CallRef, CallInput, String),
    Asked(Question),
    Decided {
        call: CallRef,
        verdict: Verdict,
        asks_person: bool,
        note: Option<AnswerNote>,
    },
    Changing(CallRef, FileChange),
    /// Something that the person should know.
    Notice(String),
    /// The shell's directory changed.
    Moved(PathBuf),
    /// The person has agreed to another permission mode.
    ModeIs(Mode),
    /// The person has answered the call's question.
    Answered(CallRef),
    /// The model's planned steps.
    Planned(Vec<Todo>),
    /// The model has asked for these tools.
    Activated(Vec<String>),
    Completed {
        call: CallRef,
        result: ToolResult,
        ran: Duration,
        outcome: CallOutcome,
        for_person: ForPerson,
        shown: Shown,
    },
    Yielded(CallRef),
}

pub trait Observer {
    fn observe(&mut self, observed: Observed);
}

/// The calls of one response.
pub struct Executor {
    machine: Machine,
    context: Arc<Context>,
    /// The tools that the request offered.
    offered: Offered,
    /// Parent of the calls' tokens, child of the turn's.
    siblings: CancellationToken,
    calls: HashMap<CallRef, Tracked>,
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
    delivered: Option<Vec<ToolResult>>,
    overlap: Overlap,
}

struct Tracked {
    call: ToolCall,
    authority: Authority,
    safe: bool,
    cancel: CancellationToken,
    background: CancellationToken,
    begun: Option<Instant>,
    /// Its tool is running, or has run.
    works: bool,
    /// Where the reply to its open question goes.
    reply_to: Option<ReplyTo>,
    /// Set while it waits to be alone.
    proceed: Option<oneshot::Sender<()>>,
    /// What its last run reported for the person.
    for_person: ForPerson,
    shown: Shown,
    permit: Option<Permit>,
}

/// How long calls ran while the stream was still open.
#[derive(Default)]
struct Overlap {
    active: usize,
    since: Option<Instant>,
    worked: Duration,
    stream_over: bool,
}

impl Executor {
    /// For the response to a request that offered these tools.
    pub fn new(
        context: Arc<Context>,
        policy: Policy,
        turn: &CancellationToken,
        offered: Offered,
    ) -> Self {
        let (reporter, reports) = mpsc::channel(REPORTS);
        Self {
            machine: Machine::new(policy),
            context,
            offered,
            siblings: turn.child_token(),
            calls: HashMap::new(),
            reports,
            reporter,
            delivered: None,
            overlap: Overlap::default(),
        }
    }

    /// Adds a call whose block has ended. A known call is ignored.
    pub fn add(&mut self, call: ToolCall, observer: &mut dyn Observer) {
        self.add_for(Authority::Model, call, observer);
    }

    /// Adds a call that was not requested by the model.
    pub fn add_for(&mut self, authority: Authority, call: ToolCall, observer: &mut dyn Observer) {
        if self.calls.contains_key(&call.call) {
            return;
        }
        observer.observe(Observed::Queued(call.clone()));
        self.track(authority, call, observer);
    }

    /// Runs a call of an earlier run of the program, which is in the log already and had not started its work.
    pub fn continue_call(&mut self, call: ToolCall, observer: &mut dyn Observer) {
        self.track(Authority::Model, call, observer);
    }

    fn track(&mut self, authority: Authority, call: ToolCall, observer: &mut dyn Observer) {
        let traits = self.traits(&call);
        let (id, safe) = (call.call, traits.safe);
        let cancel = self.siblings.child_token();
        self.calls.insert(
            id,
            Tracked {
                call,
                authority,
                safe,
                cancel,
                background: CancellationToken::new(),
                begun: None,
                works: false,
                reply_to: None,
                proceed: None,
                for_person: ForPerson::default(),
                shown: Shown::Nothing,
                permit: None,
            },
        );
        self.feed(Input::Added(id, traits), observer);
    }

    pub fn stream_ended(&mut self, observer: &mut dyn Observer) {
        self.overlap.close();
        self.feed(Input::StreamEnded, observer);
    }

    pub fn interrupt(&mut self, observer: &mut dyn Observer) {
        self.feed(Input::Interrupted, observer);
    }

    pub fn cancel(&mut self, id: CallRef, observer: &mut dyn Observer) {
        self.feed(Input::Cancelled(id), observer);
    }

    pub fn answer_by_hand(&mut self, id: CallRef, text: String, observer: &mut dyn Observer) {
        self.feed(Input::AnsweredByHand(id, text), observer);
    }

    /// Stops a running call and starts it again.
    pub fn run_again(&mut self, id: CallRef, observer: &mut dyn Observer) {
        self.feed(Input::RunAgain(id), observer);
    }

    /// Whether a call of this response has no result yet.
    pub fn is_open(&self, id: CallRef) -> bool {
        self.machine.is_open(id)
    }

    /// A call of this response.
    pub fn call(&self, id: CallRef) -> Option<&ToolCall> {
        self.calls.get(&id).map(|tracked| &tracked.call)
    }

    /// Whether a call was allowed as a whole.
    pub fn is_permitted(&self, id: CallRef) -> bool {
        let permit = self.calls.get(&id).and_then(|call| call.permit.as_ref());
        permit.is_some_and(|permit| permit.part.is_none())
    }

    /// The calls that have no result yet.
    pub fn open_calls(&self) -> Vec<CallRef> {
        self.machine
            .calls()
            .filter(|call| self.machine.is_open(*call))
            .collect()
    }

    /// For reports about these calls.
    pub fn reporter(&self) -> mpsc::Sender<Report> {
        self.reporter.clone()
    }

    /// Lets a running command continue in the background.
    pub fn background(&mut self, id: CallRef, observer: &mut dyn Observer) {
        let call = self.calls.get(&id).filter(|_| self.machine.is_running(id));
        let can = |call: &&Tracked| {
            let tool = self.offered.find(&call.call.name);
            tool.is_some_and(|tool| tool.spec().can_background)
        };
        match call.filter(can) {
            Some(call) => call.background.cancel(),
            None => observer.observe(Observed::Notice(
                "only a running command can be backgrounded".into(),
            )),
        }
    }

    /// Forwards the person's reply to a call.
    pub fn reply(&mut self, id: CallRef, reply: Reply, observer: &mut dyn Observer) {
        tracing::info!(call = %id, reply = %logged(format_args!("{reply:?}")), "person replied");
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if call.reply_to.as_ref().is_some_and(|to| to.takes(&reply)) {
            // Before the call can act on it: a question that was answered is not asked again.
            observer.observe(Observed::Answered(id));
        }
        call.reply_to = call.reply_to.take().and_then(|to| to.send(reply));
    }

    /// Discards the response: its calls stop, and none of their results is used.
    pub fn discard(&mut self, observer: &mut dyn Observer) {
        self.feed(Input::Discarded, observer);
    }

    /// Calls from now on use these tools.
    pub fn offer(&mut self, offered: Offered) {
        self.offered = offered;
    }

    /// The results, once all are there.
    pub fn take_delivered(&mut self) -> Option<Vec<ToolResult>> {
        self.delivered.take()
    }

    /// How much work was done while the stream was still open.
    pub fn saved(&self) -> Duration {
        self.overlap.worked
    }

    /// The next report of a running call. Cancel-safe; waits forever while nothing runs.
    pub async fn next(&mut self) -> Report {
        let wake_at = self.machine.wake_at();
        let wake_at = wake_at.map(|at| self.context.shared.time_of(at));
        let time_passed = async {
            match wake_at {
                Some(time) => sleep_until(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(report) = self.reports.recv() => report,
            () = time_passed => Report::TimePassed,
            else => std::future::pending().await,
        }
    }

    pub fn handle(&mut self, report: Report, observer: &mut dyn Observer) {
        match report {
            // A call that finishes after an interrupt must keep showing that it is finishing.
            Report::Reached(id, Phase::WaitingForApproval | Phase::Running)
                if self.machine.is_finishing(id) => {}
            Report::Reached(id, phase) => {
                if phase == Phase::Running {
                    self.feed(Input::Running(id), observer);
                    self.mark_working(id);
                }
                if self.machine.is_executing(id) {
                    observer.observe(Observed::Reached(id, phase));
                }
            }
            Report::Progress(id, printed) => {
                if self.machine.is_executing(id) {
                    observer.observe(Observed::Progress(id, printed));
                }
            }
            Report::Asked(question, reply_to) => self.ask(question, reply_to, observer),
            Report::Decided(call, verdict, note) => {
                let asks_person = self.context.shared.asking == super::shared::Asking::Person;
                observer.observe(Observed::Decided {
                    call,
                    verdict,
                    asks_person,
                    note,
                });
            }
            Report::Permitted(id, permit) => {
                if let Some(call) = self.calls.get_mut(&id) {
                    call.permit = Some(permit);
                }
            }
            Report::Notice(text) => observer.observe(Observed::Notice(text)),
            Report::Rewritten(id, input, by) => {
                observer.observe(Observed::Rewritten(id, input, by));
            }
            Report::MustBeAlone(call, proceed) => {
                let traits = self.traits(&call);
                if let Some(tracked) = self.calls.get_mut(&call.call) {
                    tracked.proceed = Some(proceed);
                    tracked.safe = traits.safe;
                }
                self.feed(Input::Reclassified(call.call, traits), observer);
            }
            // The turn handles this.
            Report::Halted(_) => {}
            // A call that was stopped in the meantime no longer listens.
            Report::Logged(written) => drop(written.send(())),
            Report::TimePassed => self.feed(Input::TimePassed, observer),
            Report::Changing(id, change, written) => {
                // A call that has its result must not change anything any more, so it gets no reply.
                if self.machine.is_executing(id) {
                    observer.observe(Observed::Changing(id, change));
                    let _ = written.send(());
                }
            }
            Report::Finished(id, done) => {
                self.apply(id, done.changes, observer);
                if let Some(call) = self.calls.get_mut(&id) {
                    call.shown = done.shown;
                    call.for_person = done.for_person;
                }
                self.feed(Input::Finished(id, done.outcome), observer);
            }
        }
    }

    /// A call that has its result does not ask any more, and neither does a tool after an interrupt.
    fn ask(&mut self, question: Question, reply_to: ReplyTo, observer: &mut dyn Observer) {
        let is_of_tool = !matches!(question.kind, QuestionKind::Permission(_));
        let too_late = is_of_tool && self.machine.is_finishing(question.call);
        if self.machine.is_executing(question.call)
            && !too_late
            && let Some(call) = self.calls.get_mut(&question.call)
        {
            call.reply_to = Some(reply_to);
            observer.observe(Observed::Asked(question));
        }
    }

    fn traits(&self, call: &ToolCall) -> Traits {
        let tool = self.offered.find(&call.name);
        let facts = tool.map(|tool| tool.facts(&call.input)).unwrap_or_default();
        let by_tool = tool.map_or(crate::protocol::InterruptBehavior::Cancel, |tool| {
            tool.spec().interrupt
        });
        let settings = self.context.shared.tool_settings(&call.name);
        let interrupt = settings
            .and_then(|settings| settings.interrupt)
            .unwrap_or(by_tool);
        Traits {
            wire: call.id.clone(),
            safe: facts.safe,
            read_only: facts.read_only,
            interrupt,
            tool: call.name.clone(),
            subject: facts
                .subject
                .map(|subject| first_line(&subject, LONGEST_SUBJECT)),
        }
    }

    fn feed(&mut self, input: Input, observer: &mut dyn Observer) {
        let context = self.context.clone();
        let shared = &context.shared;
        for step in shared.with_pace(|pace| self.machine.handle(input, pace)) {
            self.carry_out(step, observer);
        }
    }

    fn carry_out(&mut self, step: Step, observer: &mut dyn Observer) {
        match step {
            Step::Begin(id) => {
                observer.observe(Observed::Begun(id));
                self.begin(id);
            }
            Step::Proceed(id) => {
                let waiting = self.calls.get_mut(&id).and_then(|call| call.proceed.take());
                if let Some(proceed) = waiting {
                    // A call that was stopped in the meantime no longer listens.
                    let _ = proceed.send(());
                }
            }
            Step::Stop(id) => {
                if let Some(call) = self.calls.get(&id) {
                    tracing::debug!(call = %id, tool = %logged(&call.call.name), "call stopped");
                    call.cancel.cancel();
                }
            }
            Step::Finishing(id) => {
                // After an interrupt, the person does not answer questions of tools.
                if let Some(call) = self.calls.get_mut(&id) {
                    call.reply_to.take_if(|to| matches!(to, ReplyTo::Tool(_)));
                }
                observer.observe(Observed::Reached(id, Phase::Finishing));
            }
            Step::Complete(id, result, outcome) => {
                let call = self.calls.get_mut(&id);
                let (begun, works, for_person, shown) =
                    call.map_or_else(Default::default, |call| {
                        let for_person = std::mem::take(&mut call.for_person);
                        let shown = std::mem::take(&mut call.shown);
                        (call.begun, call.works, for_person, shown)
                    });
                if works {
                    self.overlap.ended();
                }
                let ran = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
                observer.observe(Observed::Completed {
                    call: id,
                    for_person: stopped::for_person(&outcome, for_person, &result),
                    result,
                    ran,
                    outcome,
                    shown,
                });
            }
            Step::Deliver(results) => {
                for call in self.machine.calls() {
                    observer.observe(Observed::Yielded(call));
                }
                self.delivered = Some(results);
            }
        }
    }

    /// From here on the call is working; before, it was checked or waited for the person.
    fn mark_working(&mut self, id: CallRef) {
        let executing = self.machine.is_executing(id);
        if let Some(tracked) = self.calls.get_mut(&id).filter(|it| executing && !it.works) {
            tracked.works = true;
            self.overlap.begun();
        }
    }

    fn begin(&mut self, id: CallRef) {
        let Some(tracked) = self.calls.get_mut(&id) else {
            return;
        };
        if tracked.begun.is_some() {
            // It was stopped in order to start again, with new cancellation tokens.
            tracked.cancel = self.siblings.child_token();
            tracked.background = CancellationToken::new();
        }
        tracked.begun = Some(Instant::now());
        let authority = match &tracked.permit {
            Some(permit) => Authority::Permitted(Box::new(permit.clone())),
            None => tracked.authority.clone(),
        };
        let run = CallRun {
            context: self.context.clone(),
            offered: self.offered.clone(),
            authority,
            cancel: tracked.cancel.clone(),
            background: tracked.background.clone(),
            reports: self.reporter.clone(),
            links: Remembered::default(),
        };
        run.spawn(tracked.call.clone());
    }

    /// An unsafe tool ran alone, so its changes are in order; a safe one must not make any.
    fn apply(&self, id: CallRef, changes: Vec<ContextChange>, observer: &mut dyn Observer) {
        if self.calls.get(&id).is_none_or(|call| call.safe) || !self.machine.is_executing(id) {
            return;
        }
        for change in changes {
            match change {
                ContextChange::Cwd(cwd) => {
                    if cwd != self.context.cwd() {
                        observer.observe(Observed::Moved(cwd.clone()));
                        self.context.set_cwd(cwd);
                    }
                }
                ContextChange::Mode(mode) => {
                    self.context.shared.set_mode(mode);
                    observer.observe(Observed::ModeIs(mode));
                }
                ContextChange::Todos(todos) => observer.observe(Observed::Planned(todos)),
                ContextChange::Activated(tools) => {
                    observer.observe(Observed::Activated(tools.clone()));
                    self.context.tools.activate(&tools);
                }
                // The conversation switches to the model, and counts what was spent.
                ContextChange::Model(_) | ContextChange::Spent(_) => {}
            }
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.siblings.cancel();
    }
}

impl Overlap {
    fn begun(&mut self) {
        self.active += 1;
        if self.active == 1 && !self.stream_over {
            self.since = Some(Instant::now());
        }
    }

    fn ended(&mut self) {
        self.active = self.active.saturating_sub(1);
        if self.active == 0 {
            self.count();
        }
    }

    fn close(&mut self) {
        self.stream_over = true;
        self.count();
    }

    fn count(&mut self) {
        if let Some(since) = self.since.take() {
            self.worked += since.elapsed();
        }
    }
}

//! Runs a conversation: waits for the stream, the running calls and the hooks, and does what [`Turn`] says.
//!
//! [`Conversation::next`] waits until one thing has happened, and can be dropped at any time. So the caller can wait
//! for other events at the same time, and one task sees everything in one order.

mod opening;
pub(super) mod reopening;
mod sending;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::hook_caller::{HookCaller, Starting, may_stop};
use super::journal::Journal;
use super::limits::Limits;
use super::spending::Account;
use super::trace;
use super::turn::{Fact, Next, PromptCheck, Turn};
use super::waiting::{Arrived, Waiting, at};
use crate::executor::{Context, Executor, Policy, pipeline::Report};
use crate::hooks::payload::Notification;
use crate::hooks::{self, Event, Payload};
use crate::protocol::{
    AgentId, Block, CallCommand, CallEvent, CallNumbers, CallRef, Ending, Envelope, Message, Price,
    Role, Spending, ToolCall, TurnSummary, Usage,
};
use crate::provider::{Batch, Provider, Request, StreamEvent, retry};
use crate::session::{Record, events};

/// What a conversation is made of.
pub struct Parts {
    pub agent: AgentId,
    /// The name of its type, if it is a subagent.
    pub kind: Option<String>,
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub system: Vec<String>,
    pub context: Arc<Context>,
    pub policy: Policy,
    pub limits: Limits,
    /// The prices of models, by name.
    pub prices: Arc<BTreeMap<String, Price>>,
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    /// The session's name, for providers that use it as a cache key.
    pub session: String,
    pub journal: Journal,
    pub events: mpsc::Sender<Envelope>,
    /// Ends everything that it has running.
    pub token: CancellationToken,
}

pub struct Conversation {
    agent: AgentId,
    kind: Option<String>,
    provider: Arc<dyn Provider>,
    request: Request,
    context: Arc<Context>,
    policy: Policy,
    limits: Limits,
    prices: Arc<BTreeMap<String, Price>>,
    /// What it has used so far, including its subagents.
    account: Account,
    /// What it has used itself since this was last reported.
    unreported: Option<Account>,
    /// What its subagents, and models that its calls asked, have used in this exchange.
    used_by_others: Spending,
    retry: retry::Policy,
    hooks: HookCaller,
    pub(super) token: CancellationToken,
    events: mpsc::Sender<Envelope>,
    pub journal: Journal,
    numbers: CallNumbers,
    /// Messages that wait for the next request.
    queue: VecDeque<Vec<Block>>,
    /// Notes that go to the model with the next message.
    notes: Vec<Block>,
    /// Notes that go to the model with the next request, whether there is a message or not.
    pending_notes: Vec<Block>,
    /// Calls that were allowed as a whole: they may run again without asking.
    permitted: HashSet<CallRef>,
    /// What the hooks of the session's start have to say, until the model has been told.
    starting: Option<Starting>,
    /// Whether the person was told that `maxCost` has no effect.
    warned_of_no_price: bool,
    exchange: Option<Exchange>,
    /// The model and its price that count again when the turn ends.
    usual_model: Option<(String, Option<Price>)>,
}

/// One running exchange.
struct Exchange {
    turn: Turn,
    token: CancellationToken,
    executor: Executor,
    waiting: Waiting,
    ending: Option<Ending>,
}

impl Conversation {
    pub fn new(parts: Parts) -> Self {
        let request = Request {
            model: parts.model,
            system: parts.system,
            messages: Arc::new(Vec::new()),
            tools: Arc::default(),
            lasting_tools: 0,
            max_tokens: parts.max_output_tokens,
            session: parts.session,
        };
        let last = parts.journal.history().last_call();
        let seen = parts.journal.history().seen();
        parts.context.ledger.remember(seen);
        Self {
            agent: parts.agent,
            kind: parts.kind,
            numbers: CallNumbers::after(parts.agent, last),
            hooks: HookCaller::new(parts.context.clone()),
            provider: parts.provider,
            request,
            context: parts.context,
            policy: parts.policy,
            account: Account::after(parts.limits.price, parts.journal.history().spending()),
            limits: parts.limits,
            prices: parts.prices,
            unreported: None,
            used_by_others: Spending::nothing(),
            retry: parts.retry,
            token: parts.token,
            events: parts.events,
            journal: parts.journal,
            queue: VecDeque::new(),
            notes: Vec::new(),
            pending_notes: Vec::new(),
            permitted: HashSet::new(),
            starting: None,
            warned_of_no_price: false,
            exchange: None,
            usual_model: None,
        }
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn hooks(&self) -> &HookCaller {
        &self.hooks
    }

    pub fn model(&self) -> &str {
        &self.request.model
    }

    /// Makes the first message wait for the hooks of the session's start.
    pub fn wait_for(&mut self, starting: Starting) {
        self.starting = Some(starting);
    }

    /// Adds a note for the model to the next message.
    pub fn add_note(&mut self, note: Block) {
        self.notes.push(note);
    }

    /// Adds a note for the model to the next request.
    pub fn add_pending_note(&mut self, note: Block) {
        self.pending_notes.push(note);
    }

    /// What it has used since the last call of this function.
    pub fn take_spent(&mut self) -> Option<Spending> {
        self.unreported.take().map(|account| account.spending())
    }

    /// Counts what a subagent of it has used.
    pub fn count_other(&mut self, spending: &Spending) {
        self.account.count_other(spending);
        self.used_by_others.add(spending);
        self.count_in_limits(*spending);
        let spending = self.account.spending();
        self.journal.append(Record::Spent { spending });
    }

    /// Counts what other conversations have used of the shared limits.
    pub fn count_in_limits(&mut self, spending: Spending) {
        self.turn(Fact::OthersSpent(spending));
    }

    /// Queues a message for the next request, or for the next exchange.
    pub fn submit(&mut self, prompt: Vec<Block>) {
        self.queue.push_back(prompt);
    }

    /// The queued messages.
    pub fn queue(&mut self) -> &mut VecDeque<Vec<Block>> {
        &mut self.queue
    }

    /// A call that it has made, and whether that call was allowed as a whole.
    pub fn past_call(&self, call: CallRef) -> Option<(ToolCall, bool)> {
        let made = self.journal.history().call(call)?;
        Some((made.clone(), self.permitted.contains(&call)))
    }

    /// Waits until something has happened in the exchange, and acts on it. Returns how the exchange ended, once it
    /// has; the caller then calls [`finish`](Self::finish). Cancel-safe; waits forever if there is no exchange.
    pub async fn next(&mut self) -> Option<Ending> {
        let Some(exchange) = &mut self.exchange else {
            return std::future::pending().await;
        };
        if let Some(ending) = exchange.ending.take() {
            return Some(ending);
        }
        let arrived = tokio::select! {
            arrived = exchange.waiting.arrival() => arrived,
            report = exchange.executor.next() => Arrived::Report(report),
            () = at(self.journal.deltas_due()) => Arrived::DeltasDue,
        };
        let nexts = self.on_arrival(arrived);
        self.follow(nexts);
        None
    }

    /// Closes the exchange: writes its end to the log, and syncs the log to the disk.
    pub async fn finish(&mut self, ending: Ending) -> TurnSummary {
        let took = self.journal.elapsed();
        let mut summary = match self.exchange.take() {
            Some(exchange) => {
                exchange.token.cancel();
                self.numbers = exchange.turn.numbers();
                exchange.turn.summary(ending, took)
            }
            None => TurnSummary::of(ending, took),
        };
        let mut used = Spending {
            used: summary.usage,
            cost: summary.cost,
            context: None,
        };
        used.add(&self.used_by_others);
        (summary.usage, summary.cost) = (used.used, used.cost);
        self.close();
        let denials = self.journal.history().denials().to_vec();
        self.journal.append(events::ended(&summary));
        self.journal.sync().await;
        trace::turn_ended(self.agent, &summary);
        self.send_events().await;
        TurnSummary { denials, ..summary }
    }

    /// Sends all events that are due.
    pub async fn send_events(&mut self) {
        while let Some(event) = self.journal.next_event() {
            // The receiver may be gone; the log has everything.
            let _ = self.events.send(event).await;
        }
    }

    /// Stops the exchange: the stream at once, each call as its tool requires.
    pub fn interrupt(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            tracing::info!(agent = self.agent.0, "turn interrupted");
            exchange.executor.interrupt(&mut self.journal);
            self.turn(Fact::Interrupted);
        }
    }

    pub fn continue_turn(&mut self) {
        self.journal.continued();
        self.turn(Fact::Continued);
    }

    pub fn retry_now(&mut self) {
        self.turn(Fact::TimeToTry);
    }

    /// Handles a command about one call. A call that has its result is not run again here.
    pub fn handle_command(&mut self, call: CallRef, command: CallCommand) {
        let (Some(exchange), journal) = (&mut self.exchange, &mut self.journal) else {
            return;
        };
        let executor = &mut exchange.executor;
        match command {
            CallCommand::Reply(reply) => executor.reply(call, reply, journal),
            CallCommand::Cancel => executor.cancel(call, journal),
            CallCommand::AnswerByHand(text) => executor.answer_by_hand(call, text, journal),
            CallCommand::RunAgain => executor.run_again(call, journal),
            CallCommand::Background => executor.background(call, journal),
        }
        self.follow(Vec::new());
    }

    /// Whether a call of the exchange has no result yet.
    pub fn is_open(&self, call: CallRef) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.executor.is_open(call))
    }

    fn turn(&mut self, fact: Fact) {
        if let Some(exchange) = &mut self.exchange {
            let nexts = exchange.turn.handle(fact);
            self.follow(nexts);
        }
    }

    /// Carries out the requests until there is something to wait for.
    fn follow(&mut self, nexts: Vec<Next>) {
        let mut nexts = VecDeque::from(nexts);
        loop {
            while let Some(next) = nexts.pop_front() {
                // What a fact leads to comes before the remaining requests.
                for then in self.carry_out(next).into_iter().rev() {
                    nexts.push_front(then);
                }
            }
            let Some(exchange) = &mut self.exchange else {
                return;
            };
            if exchange.executor.take_delivered().is_none() {
                return;
            }
            nexts.extend(exchange.turn.handle(Fact::Drained));
        }
    }

    /// Carries out one request. Returns the requests that follow from it at once.
    fn carry_out(&mut self, next: Next) -> Vec<Next> {
        let (Some(exchange), journal) = (&mut self.exchange, &mut self.journal) else {
            return Vec::new();
        };
        match next {
            Next::ShowText(text) => journal.text(&text),
            Next::ShowThinking(text) => journal.thinking(&text),
            Next::ShowInputStarted { call, name } => {
                journal.append(Record::Arriving { call, tool: name });
            }
            Next::ShowInput { call, fragment } => {
                journal.emit_call(call, CallEvent::Input(fragment));
            }
            Next::ShowServing { call, name } => journal.serving(call, name),
            Next::Keep { block, call } => {
                journal.append(Record::Block { block, call });
            }
            Next::Execute(call) => exchange.executor.add(call, journal),
            Next::Continue(call) => exchange.executor.continue_call(call, journal),
            Next::Drain => {
                exchange.waiting = Waiting::Nothing;
                journal.append(Record::Streamed);
                exchange.executor.stream_ended(journal);
            }
            Next::Discard => {
                exchange.executor.discard(journal);
                journal.append(Record::Discarded);
            }
            Next::ReportBroken(text) => {
                journal.append(Record::Broken { text });
            }
            Next::Warn(text) => journal.notice(text),
            Next::Settle { call, result } => journal.settle(call, result),
            Next::Count(usage) => self.count(usage),
            Next::Answer {
                message,
                stop_reason,
                usage,
            } => {
                journal.append(Record::Assistant {
                    message,
                    stop_reason,
                    usage,
                });
            }
            Next::Deliver { calls, then } => {
                let saved_ms = events::millis(exchange.executor.saved());
                journal.append(Record::Delivered { calls, then });
                journal.append(Record::Saved { saved_ms });
            }
            Next::Note(content) => {
                let message = Message::from_user(content);
                journal.append(Record::Told { message });
            }
            Next::Pause { why } => {
                exchange.waiting = Waiting::Nothing;
                journal.append(Record::Paused { why });
            }
            Next::Finish(ending) => exchange.ending = Some(ending),
            Next::Refuse => {
                journal.append(Record::Refused);
            }
            Next::Collect => {
                let waiting = opening::take_message(&mut self.queue, &self.context);
                return exchange.turn.handle(Fact::Collected(waiting));
            }
            Next::Wait {
                problem,
                wait,
                attempt,
            } => self.wait(problem, wait, attempt),
            Next::CheckPrompt(prompt) => self.check_prompt(&prompt),
            Next::AskToStop { again } => self.ask_to_stop(again),
            Next::Write(prompt) => self.write(prompt),
            Next::Send { attempt } => self.send_settled(attempt),
        }
        Vec::new()
    }

    fn count(&mut self, usage: Usage) {
        self.account.count(usage);
        let fresh = || Account::new(self.limits.price);
        self.unreported.get_or_insert_with(fresh).count(usage);
        let spending = self.account.spending();
        self.journal.append(Record::Spent { spending });
    }

    /// Waits before the next attempt of a request.
    fn wait(&mut self, problem: String, wait: Duration, attempt: u32) {
        if let Some(exchange) = &mut self.exchange {
            exchange.waiting = Waiting::NextTry(Instant::now() + wait);
        }
        trace::retrying(self.agent, &problem, attempt, wait);
        self.journal.append(Record::Retry {
            problem,
            attempt,
            wait_ms: events::millis(wait),
        });
    }

    /// Adds a message to the history, after the notes for the model.
    fn write(&mut self, prompt: Vec<Block>) {
        // This message contains what the hooks of the session's start said.
        self.starting = None;
        let mut content = std::mem::take(&mut self.notes);
        content.append(&mut self.pending_notes);
        content.extend(prompt);
        let message = Message::from_user(content);
        self.journal.append(Record::User { message });
    }

    fn check_prompt(&mut self, prompt: &[Block]) {
        if let Some(exchange) = &mut self.exchange {
            let (starting, token) = (self.starting.clone(), exchange.token.child_token());
            let looking = self.hooks.check_prompt(prompt, starting, token);
            exchange.waiting = Waiting::PromptCheck(looking);
        }
    }

    fn ask_to_stop(&mut self, again: bool) {
        let mut messages = self.journal.history().messages().iter().rev();
        let last = messages.find(|message| message.role == Role::Assistant);
        let text = last.map(Message::text).unwrap_or_default();
        let payload = match &self.kind {
            Some(kind) => Payload::subagent_stop(&self.agent.task(), kind, again, &text),
            None => Payload::stop(again, &text),
        };
        if let Some(exchange) = &mut self.exchange {
            let asking = self.hooks.fire(payload, exchange.token.child_token());
            let nothing = || Box::pin(async { hooks::Answer::default() }) as BoxFuture<'_, _>;
            exchange.waiting = Waiting::MayStop(asking.unwrap_or_else(nothing));
        }
    }

    /// Turns what arrived into facts, and returns what follows.
    fn on_arrival(&mut self, arrived: Arrived) -> Vec<Next> {
        let Some(exchange) = &mut self.exchange else {
            return Vec::new();
        };
        match arrived {
            Arrived::DeltasDue => Vec::new(),
            Arrived::ToolsSettled(attempt) => {
                self.send(attempt);
                Vec::new()
            }
            Arrived::Opened(Ok(stream)) => {
                exchange.waiting = Waiting::Stream(stream);
                Vec::new()
            }
            Arrived::Opened(Err(error)) => exchange.turn.handle(Fact::Failed(error)),
            Arrived::Batch(Batch::Events(events)) => exchange.streamed(events),
            Arrived::Batch(Batch::Over(events, response)) => {
                let mut nexts = exchange.streamed(events);
                nexts.extend(exchange.turn.handle(Fact::Over(response)));
                nexts
            }
            Arrived::TimeToTry => exchange.turn.handle(Fact::TimeToTry),
            Arrived::PromptChecked(answer) => {
                let check = PromptCheck::of(self.journal.note(answer));
                exchange.turn.handle(Fact::PromptChecked(check))
            }
            Arrived::MayStop(answer) => {
                let fact = may_stop(&mut self.journal, answer);
                exchange.turn.handle(fact)
            }
            Arrived::Report(Report::Halted(reason)) => exchange.turn.handle(Fact::Halted(reason)),
            Arrived::Report(report) => {
                self.on_call_report(report);
                Vec::new()
            }
        }
    }

    fn on_call_report(&mut self, report: Report) {
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if let Report::Asked(question, _) = &report {
            let (kind, message) = Notification::of_question(&question.kind);
            let (token, reporter) = (self.token.child_token(), exchange.executor.reporter());
            self.hooks.notify(kind, &message, token, reporter);
        }
        if let Report::Permitted(call, permit) = &report
            && permit.part.is_none()
        {
            self.permitted.insert(*call);
        }
        let (spent, model) = (report.spent(), report.model());
        exchange.executor.handle(report, &mut self.journal);
        let files = self.context.ledger.take_changes();
        if !files.is_empty() {
            self.journal.append(Record::Seen { files });
        }
        if let Some(model) = model {
            self.use_model_for_turn(model);
        }
        for spending in spent {
            self.count_call(&spending);
        }
    }

    /// Counts what a call of it has used: a subagent reports it, too.
    fn count_call(&mut self, spending: &Spending) {
        let fresh = || Account::new(self.limits.price);
        let unreported = self.unreported.get_or_insert_with(fresh);
        unreported.count_other(spending);
        self.count_other(spending);
    }

    /// Hooks only see messages that the person wrote.
    fn asks_about_prompts(&self) -> bool {
        self.kind.is_none() && self.hooks.has(Event::UserPromptSubmit)
    }

    fn stop_event(&self) -> Event {
        match self.kind {
            None => Event::Stop,
            Some(_) => Event::SubagentStop,
        }
    }
}

impl Exchange {
    fn streamed(&mut self, events: Vec<StreamEvent>) -> Vec<Next> {
        let facts = events.into_iter().map(Fact::Streamed);
        facts.flat_map(|fact| self.turn.handle(fact)).collect()
    }
}

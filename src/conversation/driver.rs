//! Runs a conversation: waits for the stream, the running calls and the hooks, and does what [`Turn`] says.
//!
//! [`Conversation::next`] waits until one thing has happened, and can be dropped at any moment. So whoever runs a
//! conversation waits beside it for whatever else concerns it, and one task sees everything in one order.

mod opening;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::hook_caller::{HookCaller, Starting, may_stop};
use super::journal::Journal;
use super::limits::Limits;
use super::spending::Account;
use super::trace;
use super::turn::{Fact, Look, Next, Turn};
use super::waiting::{Arrived, Waiting, at};
use crate::executor::{Context, Executor, Policy, pipeline::Report};
use crate::hooks::occasion::Notification;
use crate::hooks::{self, Event, Occasion};
use crate::protocol::{
    AgentId, Block, CallCommand, CallEvent, CallNumbers, CallRef, Ending, Message, Price, Role,
    Spending, Told, ToolCall, TurnSummary, Usage,
};
use crate::provider::{Batch, Provider, Request, StreamEvent, retry};
use crate::session::{Record, telling};

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
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    /// The session's name, for providers that keep a cache by it.
    pub session: String,
    pub journal: Journal,
    pub events: mpsc::Sender<Told>,
    /// Ends all that it has running.
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
    /// What it has used so far, with those that its calls have started.
    account: Account,
    /// What it has used itself, and nobody has taken note of yet.
    unnoted: Option<Account>,
    /// What those that its calls have started have used in this exchange.
    used_beside: Usage,
    retry: retry::Policy,
    hooks: HookCaller,
    pub(super) token: CancellationToken,
    events: mpsc::Sender<Told>,
    pub journal: Journal,
    numbers: CallNumbers,
    /// Messages that wait for the next request.
    queue: VecDeque<Vec<Block>>,
    /// Notes that go to the model with the next message.
    notes: Vec<Block>,
    /// The same, with the next request, whether a message goes with it or not.
    news: Vec<Block>,
    /// Calls that were permitted, and whole: they run once more unasked.
    permitted: HashSet<CallRef>,
    /// What hooks have to say to the begin of the session, until the model was told.
    starting: Option<Starting>,
    /// The person knows that `maxCost` bounds nothing, where it does not.
    told_unbounded: bool,
    exchange: Option<Exchange>,
    /// The model and its price that count again when the turn ends.
    usual_model: Option<(String, Option<Price>)>,
}

/// One exchange under way.
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
            max_tokens: parts.max_output_tokens,
            session: parts.session,
        };
        let last = parts.journal.history().last_call();
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
            unnoted: None,
            used_beside: Usage::default(),
            retry: parts.retry,
            token: parts.token,
            events: parts.events,
            journal: parts.journal,
            queue: VecDeque::new(),
            notes: Vec::new(),
            news: Vec::new(),
            permitted: HashSet::new(),
            starting: None,
            told_unbounded: false,
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

    /// The first message waits for the hooks of the session's begin.
    pub fn wait_for(&mut self, starting: Starting) {
        self.starting = Some(starting);
    }

    /// Tells the model something with the next message.
    pub fn add_note(&mut self, note: Block) {
        self.notes.push(note);
    }

    /// Tells the model something with the next request.
    pub fn add_news(&mut self, news: Block) {
        self.news.push(news);
    }

    /// What it has used since this was asked last.
    pub fn take_spent(&mut self) -> Option<Spending> {
        self.unnoted.take().map(|account| account.spending())
    }

    /// A conversation that a call of it has started has used so much.
    pub fn count_beside(&mut self, spending: &Spending) {
        self.account.count_beside(spending);
        self.used_beside.add(spending.used);
        self.limit_beside(*spending);
        let spending = self.account.spending();
        self.journal.append(Record::Spent { spending });
    }

    /// Others have used so much of what all may use together.
    pub fn limit_beside(&mut self, spending: Spending) {
        self.turn(Fact::SpentBeside(spending));
    }

    /// A message that goes out with the next request, or with the next exchange.
    pub fn submit(&mut self, prompt: Vec<Block>) {
        self.queue.push_back(prompt);
    }

    /// The messages that wait.
    pub fn queue(&mut self) -> &mut VecDeque<Vec<Block>> {
        &mut self.queue
    }

    /// A call that it has made, and whether that was permitted whole.
    pub fn past_call(&self, call: CallRef) -> Option<(ToolCall, bool)> {
        let made = self.journal.history().call(call)?;
        Some((made.clone(), self.permitted.contains(&call)))
    }

    /// Waits until something has happened in the exchange, and does what follows from it. Returns how the exchange ended, once
    /// it has: then [`finish`](Self::finish) is to be called. Cancel-safe; pends forever while there is none.
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
            () = at(self.journal.deltas_due()) => Arrived::TimeToTell,
        };
        let nexts = self.hear(arrived);
        self.follow(nexts);
        None
    }

    /// Closes the exchange: its end is in the log, and on the disk.
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
        summary.usage.add(self.used_beside);
        self.close();
        let denials = self.journal.history().denials().to_vec();
        self.journal.append(telling::ended(&summary));
        self.journal.sync().await;
        trace::turn_ended(self.agent, &summary);
        self.tell().await;
        TurnSummary { denials, ..summary }
    }

    /// Tells all that there is to tell.
    pub async fn tell(&mut self) {
        while let Some(event) = self.journal.next_event() {
            // A reader that is gone cannot be told; the log has it all.
            let _ = self.events.send(event).await;
        }
    }

    /// Stops the exchange: the stream at once, each call as its tool demands.
    pub fn interrupt(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            tracing::info!(agent = self.agent.0, "turn interrupted");
            exchange.executor.interrupt(&mut self.journal);
            self.turn(Fact::Interrupted);
        }
    }

    pub fn go_on(&mut self) {
        self.journal.gone_on();
        self.turn(Fact::GoneOn);
    }

    pub fn retry_now(&mut self) {
        self.turn(Fact::TimeToTry);
    }

    /// What the person wants of one call. A call that has its result already is not run again here.
    pub fn handle_command(&mut self, call: CallRef, command: CallCommand) {
        let (Some(exchange), journal) = (&mut self.exchange, &mut self.journal) else {
            return;
        };
        let executor = &mut exchange.executor;
        match command {
            CallCommand::Reply(reply) => executor.reply(call, reply),
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

    /// Does what is to be done, until there is something to wait for.
    fn follow(&mut self, nexts: Vec<Next>) {
        let mut nexts = VecDeque::from(nexts);
        loop {
            while let Some(next) = nexts.pop_front() {
                // What a fact leads to comes before what was still to be done.
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

    /// Does one thing; what follows from it at once is to be done next.
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
                journal.tell_call(call, CallEvent::Input(fragment));
            }
            Next::Keep(block) => {
                journal.append(Record::Block { block });
            }
            Next::Execute(call) => exchange.executor.add(call, journal),
            Next::Drain => {
                exchange.waiting = Waiting::Nothing;
                journal.append(Record::Streamed);
                exchange.executor.stream_ended(journal);
            }
            Next::Discard => {
                exchange.executor.discard(journal);
                journal.append(Record::Discarded);
            }
            Next::TellBroken(text) => {
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
                let saved_ms = telling::millis(exchange.executor.saved());
                journal.append(Record::Delivered { calls, then });
                journal.append(Record::Saved { saved_ms });
            }
            Next::Tell(content) => {
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
            Next::LookAt(prompt) => self.look_at(&prompt),
            Next::AskToStop { again } => self.ask_to_stop(again),
            Next::Write(prompt) => self.write(prompt),
            Next::Send { attempt } => self.send(attempt),
        }
        Vec::new()
    }

    fn count(&mut self, usage: Usage) {
        self.account.count(usage);
        let fresh = || Account::new(self.limits.price);
        self.unnoted.get_or_insert_with(fresh).count(usage);
        let spending = self.account.spending();
        self.journal.append(Record::Spent { spending });
    }

    /// Waits before the next try of a request.
    fn wait(&mut self, problem: String, wait: Duration, attempt: u32) {
        if let Some(exchange) = &mut self.exchange {
            exchange.waiting = Waiting::NextTry(Instant::now() + wait);
        }
        trace::retrying(self.agent, &problem, attempt, wait);
        self.journal.append(Record::Retry {
            problem,
            attempt,
            wait_ms: telling::millis(wait),
        });
    }

    /// A message goes into the history, behind what the model is to know besides.
    fn write(&mut self, prompt: Vec<Block>) {
        // Whatever the hooks of the session's begin had to say is in this message.
        self.starting = None;
        let mut content = std::mem::take(&mut self.notes);
        content.append(&mut self.news);
        content.extend(prompt);
        let message = Message::from_user(content);
        self.journal.append(Record::User { message });
    }

    /// A bound that does not hold is told once.
    fn tell_unbounded(&mut self) {
        let is_unbounded = self.limits.max_cost.is_some() && self.limits.price.is_none();
        if self.kind.is_none() && is_unbounded && !std::mem::replace(&mut self.told_unbounded, true)
        {
            let model = &self.request.model;
            let text = format!(
                "`maxCost` has no effect: no price known for {model}; set it under `prices`"
            );
            self.journal.notice(text);
        }
    }

    /// Sends the history, once it is fit to be sent.
    fn send(&mut self, attempt: u32) {
        self.tell_unbounded();
        self.refresh_extensions();
        if !self.news.is_empty() {
            let message = Message::from_user(std::mem::take(&mut self.news));
            self.journal.append(Record::Told { message });
        }
        if let Some(what) = self.journal.history().repairs() {
            if !what.is_empty() {
                let notice = format!(
                    "repaired the conversation before sending: {}",
                    what.join("; ")
                );
                self.journal.notice(notice);
            }
            self.journal.append(Record::Repaired { what });
        }
        self.journal.append(Record::Request {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
            attempt,
        });
        let provider = self.provider.clone();
        let offered = self.context.tools.snapshot();
        let request = Request {
            messages: self.journal.history().messages().clone(),
            tools: offered.definitions().clone(),
            ..self.request.clone()
        };
        if let Some(exchange) = &mut self.exchange {
            let context = self.context.clone();
            exchange.executor = Executor::new(context, self.policy, &exchange.token, offered);
            let opening = async move { provider.open(&request).await };
            let opening = opening.instrument(trace::request(self.agent, attempt));
            exchange.waiting = Waiting::Open(Box::pin(opening));
        }
    }

    fn look_at(&mut self, prompt: &[Block]) {
        if let Some(exchange) = &mut self.exchange {
            let (starting, token) = (self.starting.clone(), exchange.token.child_token());
            let looking = self.hooks.look_at(prompt, starting, token);
            exchange.waiting = Waiting::Look(looking);
        }
    }

    fn ask_to_stop(&mut self, again: bool) {
        let mut messages = self.journal.history().messages().iter().rev();
        let last = messages.find(|message| message.role == Role::Assistant);
        let text = last.map(Message::text).unwrap_or_default();
        let occasion = match &self.kind {
            Some(kind) => Occasion::subagent_stop(&self.agent.task(), kind, again, &text),
            None => Occasion::stop(again, &text),
        };
        if let Some(exchange) = &mut self.exchange {
            let asking = self.hooks.fire(occasion, exchange.token.child_token());
            let nothing = || Box::pin(async { hooks::Answer::default() }) as BoxFuture<'_, _>;
            exchange.waiting = Waiting::MayStop(asking.unwrap_or_else(nothing));
        }
    }

    /// What follows from something that has come.
    fn hear(&mut self, arrived: Arrived) -> Vec<Next> {
        let Some(exchange) = &mut self.exchange else {
            return Vec::new();
        };
        match arrived {
            Arrived::TimeToTell => Vec::new(),
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
            Arrived::Looked(answer) => {
                let look = Look::of(self.journal.note(answer));
                exchange.turn.handle(Fact::Looked(look))
            }
            Arrived::MayStop(answer) => {
                let fact = may_stop(&mut self.journal, answer);
                exchange.turn.handle(fact)
            }
            Arrived::Report(Report::Halted(reason)) => exchange.turn.handle(Fact::Halted(reason)),
            Arrived::Report(report) => {
                self.hear_call(report);
                Vec::new()
            }
        }
    }

    fn hear_call(&mut self, report: Report) {
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
        exchange.executor.handle(report, &mut self.journal);
    }

    /// Only what the person writes is shown to hooks before it goes out.
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

//! The agent's task: waits for the stream, the running calls and the person, and does what [`Turn`] says.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::asides::Asides;
use super::history;
use super::hooking::{Prompting, Starting};
use super::journal::Journal;
use super::spending::Account;
use super::turn::{Fact, Next, Turn};
use crate::executor::{Context, Executor, Policy, pipeline::Report};
use crate::hooks;
use crate::protocol::event::SessionOpened;
use crate::protocol::{
    AgentEvent, Block, CallId, Command, Ending, HookInfo, Leaving, Message, Origin, ToolDefinition,
    TurnEvent, Usage,
};
use crate::provider::{
    Batch, Provider, ProviderError, Request, ResponseStream, StreamEvent, retry,
};
use crate::session::Record;
use crate::tools::bash::jobs::Status;

pub struct Agent {
    provider: Arc<dyn Provider>,
    pub(super) request: Request,
    tools: Arc<Vec<ToolDefinition>>,
    pub(super) messages: Arc<Vec<Message>>,
    pub(super) context: Arc<Context>,
    policy: Policy,
    limits: super::limits::Limits,
    account: Account,
    retry: retry::Policy,
    pub(super) journal: Journal,
    pub(super) asides: Asides,
    inbox: mpsc::UnboundedReceiver<Command>,
    pub(super) outbox: mpsc::Sender<AgentEvent>,
    pub(super) session: CancellationToken,
    /// What the person wrote while a turn was running.
    pub(super) queued: VecDeque<Vec<Block>>,
    /// Whether what waits goes out by itself once the turn is over: only when it is done, or has stopped to make way.
    pub(super) send_queue: bool,
    /// The model's calls that were permitted, and whole: they run once more unasked.
    pub(super) permitted: HashSet<CallId>,
    /// Nobody can send commands any more.
    pub(super) deserted: bool,
    /// What hooks have to say to the begin of the session, until the model was told.
    pub(super) starting: Option<Starting>,
    pub(super) beginning: hooks::occasion::Source,
    pub(super) leaving: Option<Leaving>,
}

/// What the exchange waits for, beside calls and commands.
pub(super) enum Waiting {
    Open(BoxFuture<'static, Result<Box<dyn ResponseStream>, ProviderError>>),
    Stream(Box<dyn ResponseStream>),
    Results,
    NextTry(Instant),
    /// Hooks look at a prompt.
    Prompting(Prompting),
    /// Hooks are asked whether the turn may end.
    Stopping(BoxFuture<'static, hooks::Answer>),
}

/// What came of waiting.
enum Came {
    Opened(Result<Box<dyn ResponseStream>, ProviderError>),
    Batch(Batch),
    TimeToTry,
    TimeToTell,
    BackgroundEnded(CallId, Status),
    /// Hooks have looked at a prompt.
    Looked(Vec<Block>, hooks::Answer),
    /// Hooks have said whether the turn may end.
    Judged(hooks::Answer),
    Report(Report),
    Aside(Report),
    Command(Option<Command>),
}

/// One exchange under way.
pub(super) struct Exchange {
    pub(super) turn: Turn,
    pub(super) token: CancellationToken,
    pub(super) executor: Executor,
    pub(super) waiting: Waiting,
    attempt: u32,
    /// A message of the person has gone into the history.
    pub(super) prompted: bool,
}

impl Agent {
    pub fn new(
        setup: Setup,
        inbox: mpsc::UnboundedReceiver<Command>,
        outbox: mpsc::Sender<AgentEvent>,
        session: CancellationToken,
    ) -> Self {
        let tools = Arc::new(setup.tools);
        let messages = Arc::new(setup.history);
        let is_kept = setup.log.is_kept();
        let mut journal = Journal::new(setup.log);
        let account = Account::after(setup.limits.price, setup.spending);
        journal.tell_agent(AgentEvent::Opened(SessionOpened {
            session: setup.session.clone(),
            provider: setup.provider.name().to_owned(),
            model: setup.model.clone(),
            mode: setup.context.mode(),
            branch: setup.branch,
            context_window: setup.context_window,
            spending: account.spending(),
            hooks: hooks_of(&setup.context),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            history: messages.to_vec(),
        }));
        if !is_kept {
            let nowhere = Err("there is no place for it".to_owned());
            journal.tell_agent(AgentEvent::Saving(nowhere));
        }
        for notice in setup.notices {
            journal.notice(notice);
        }
        let request = Request {
            model: setup.model,
            system: setup.system,
            messages: Arc::new(Vec::new()),
            tools: tools.clone(),
            max_tokens: setup.max_output_tokens,
            session: setup.session.0,
        };
        Self {
            asides: Asides::new(setup.context.clone(), session.clone(), &setup.asides),
            provider: setup.provider,
            request,
            tools,
            messages,
            context: setup.context,
            policy: setup.policy,
            limits: setup.limits,
            account,
            retry: setup.retry,
            journal,
            inbox,
            outbox,
            session,
            queued: VecDeque::new(),
            send_queue: true,
            permitted: HashSet::new(),
            deserted: false,
            starting: None,
            beginning: setup.beginning,
            leaving: None,
        }
    }

    /// Answers messages until nobody sends any more.
    pub async fn run(mut self) {
        self.tell().await;
        self.begin_session();
        loop {
            let waiting = if self.send_queue {
                self.queued.pop_front()
            } else {
                None
            };
            let prompt = match waiting {
                Some(prompt) => prompt,
                None => match self.next_prompt().await {
                    Some(prompt) => prompt,
                    None => break,
                },
            };
            self.send_queue = true;
            self.exchange(prompt).await;
            if self.deserted {
                break;
            }
        }
        self.asides.end(&mut self.journal).await;
        self.end_session().await;
        self.journal.make_sure();
        self.tell().await;
        self.context.env.groups.end().await;
    }

    /// Waits, while nothing runs but what the person runs, for a message; `None` once nobody can send one any more.
    async fn next_prompt(&mut self) -> Option<Vec<Block>> {
        let mut idle = std::pin::pin!(self.idle());
        let mut is_told = false;
        loop {
            tokio::select! {
                command = self.inbox.recv() => {
                    if let Some(prompt) = self.obey_idle(command?) {
                        return Some(prompt);
                    }
                }
                report = self.asides.next() => self.hear_aside(report),
                (call, status) = self.context.env.groups.jobs.next_end() => {
                    self.background_ended(call, status);
                }
                () = &mut idle, if !is_told => {
                    is_told = true;
                    self.notify_idle();
                }
            }
            self.tell().await;
        }
    }

    async fn exchange(&mut self, prompt: Vec<Block>) {
        self.journal.begin_turn();
        let origin = Origin {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
        };
        let token = self.session.child_token();
        let limits = super::limits::Limits {
            asks_to_stop: self.asks_to_stop(),
            ..self.limits
        };
        let mut exchange = Exchange {
            turn: Turn::new(origin, limits, self.retry, fastrand::u64(..)),
            executor: Executor::new(self.context.clone(), self.policy, &token),
            token,
            waiting: Waiting::Results,
            attempt: 0,
            prompted: false,
        };
        let mut nexts = self.prompt(&mut exchange, prompt);
        let ending = loop {
            if let Some(ending) = self.perform(&mut exchange, nexts) {
                break ending;
            }
            nexts = exchange.drained();
            if nexts.is_empty() {
                self.tell().await;
                nexts = self.wait(&mut exchange).await;
            }
        };
        exchange.token.cancel();
        // What follows a failure would fail, too: the person decides.
        self.send_queue &= matches!(ending, Ending::Done | Ending::Interrupted);
        self.finish(&exchange.turn, ending).await;
    }

    async fn finish(&mut self, turn: &Turn, ending: Ending) {
        self.journal.record(Record::End {
            ending: ending_name(&ending).to_owned(),
        });
        self.journal.sync().await;
        let mut summary = turn.summary(ending, self.journal.elapsed());
        summary.denials = self.journal.take_denials();
        self.journal.tell(TurnEvent::Finished(summary));
        self.tell().await;
    }

    /// What the person has written goes into the history, behind what she has run since her last message.
    pub(super) fn add_user(&mut self, content: Vec<Block>) {
        let mut blocks = self.asides.take_said();
        blocks.extend(content);
        let message = Message::from_user(blocks);
        self.journal.record(Record::User {
            message: message.clone(),
        });
        self.journal.tell(TurnEvent::Prompted(message.clone()));
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Does what is to be done now; an ending if that is the end.
    fn perform(&mut self, exchange: &mut Exchange, nexts: Vec<Next>) -> Option<Ending> {
        for next in nexts {
            match next {
                Next::ShowText(text) => self.journal.text(&text),
                Next::ShowThinking(text) => self.journal.thinking(&text),
                Next::ShowInputStarted { id, name } => {
                    self.journal
                        .tell(TurnEvent::ToolInputStarted { call: id, name });
                }
                Next::ShowInput { id, fragment } => self
                    .journal
                    .tell(TurnEvent::ToolInput { call: id, fragment }),
                Next::Keep(block) => self.journal.record(Record::Block { block }),
                Next::Execute(call) => {
                    // Ids come from the model, and may come again.
                    self.permitted.remove(&call.id);
                    exchange.executor.add(call, &mut self.journal);
                }
                Next::Drain => {
                    self.drop_prompt(exchange);
                    exchange.waiting = Waiting::Results;
                    self.journal.tell(TurnEvent::Streamed);
                    exchange.executor.stream_ended(&mut self.journal);
                }
                Next::Discard => {
                    exchange.executor.discard(&mut self.journal);
                    self.journal.record(Record::Discarded);
                }
                Next::Warn(text) => self.journal.notice(text),
                Next::Settle { call, result } => self.journal.settle(call, result),
                Next::Count(usage) => self.count(usage),
                Next::Answer {
                    message,
                    stop_reason,
                    usage,
                } => {
                    let record = Record::Assistant {
                        message: message.clone(),
                        stop_reason: stop_reason.clone(),
                        usage,
                    };
                    self.journal.record(record);
                    Arc::make_mut(&mut self.messages).push(message.clone());
                    self.journal.tell(TurnEvent::Answered {
                        message,
                        stop_reason,
                        usage,
                    });
                }
                Next::Deliver { results, then } => {
                    let calls = results
                        .iter()
                        .map(|result| result.tool_use_id.clone())
                        .collect();
                    self.journal.record(Record::Delivered {
                        calls,
                        then: then.clone(),
                    });
                    let content = results
                        .into_iter()
                        .map(Block::ToolResult)
                        .chain(then)
                        .collect();
                    let message = Message::from_user(content);
                    Arc::make_mut(&mut self.messages).push(message.clone());
                    self.journal.tell(TurnEvent::Delivered(message));
                    self.journal
                        .tell(TurnEvent::Saved(exchange.executor.saved()));
                }
                Next::Request => {
                    exchange.attempt = 0;
                    self.ask(exchange);
                }
                Next::Retry {
                    problem,
                    wait,
                    attempt,
                } => {
                    exchange.attempt = attempt;
                    exchange.waiting = Waiting::NextTry(Instant::now() + wait);
                    self.journal.tell(TurnEvent::Retrying {
                        problem,
                        attempt,
                        wait,
                    });
                }
                Next::Pause { why } => {
                    exchange.waiting = Waiting::Results;
                    self.journal.tell(TurnEvent::Paused { why });
                }
                Next::AskToStop { again } => self.ask_to_stop(exchange, again),
                Next::Tell(content) => self.tell_model(content),
                Next::Finish(ending) => return Some(ending),
            }
        }
        None
    }

    fn count(&mut self, usage: Usage) {
        self.account.count(usage);
        self.journal.spent(self.account.spending());
    }

    /// The model is told something that nobody has written.
    fn tell_model(&mut self, content: Vec<Block>) {
        let message = Message::from_user(content);
        self.journal.record(Record::User {
            message: message.clone(),
        });
        Arc::make_mut(&mut self.messages).push(message.clone());
        self.journal.tell(TurnEvent::Delivered(message));
    }

    /// Sends the conversation, with what the person has written meanwhile.
    pub(super) fn ask(&mut self, exchange: &mut Exchange) {
        exchange.executor = Executor::new(self.context.clone(), self.policy, &exchange.token);
        while let Some(more) = self.queued.pop_front() {
            if self.looks_at_prompts() {
                self.look_at(exchange, more);
                return;
            }
            self.add_user(more);
        }
        let repaired = history::repair(Arc::make_mut(&mut self.messages));
        if !repaired.is_empty() {
            self.journal
                .notice(format!("the history was repaired: {}", repaired.join("; ")));
            self.journal.record(Record::Repaired { what: repaired });
        }
        self.open(exchange);
    }

    fn open(&mut self, exchange: &mut Exchange) {
        let attempt = exchange.attempt;
        self.journal.record(Record::Request {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
            attempt,
        });
        self.journal.tell(TurnEvent::Requested { attempt });
        let provider = self.provider.clone();
        let request = Request {
            messages: self.messages.clone(),
            tools: self.tools.clone(),
            ..self.request.clone()
        };
        exchange.waiting = Waiting::Open(Box::pin(async move { provider.open(&request).await }));
    }

    /// Waits until something has happened, and asks the turn what follows from it.
    async fn wait(&mut self, exchange: &mut Exchange) -> Vec<Next> {
        let came = tokio::select! {
            came = exchange.waiting.come() => came,
            report = exchange.executor.next() => Came::Report(report),
            report = self.asides.next() => Came::Aside(report),
            command = self.inbox.recv(), if !self.deserted => Came::Command(command),
            () = at(self.journal.deltas_due()) => Came::TimeToTell,
            (call, status) = self.context.env.groups.jobs.next_end() => {
                Came::BackgroundEnded(call, status)
            }
        };
        match came {
            Came::TimeToTell => Vec::new(),
            Came::BackgroundEnded(call, status) => {
                self.background_ended(call, status);
                Vec::new()
            }
            Came::Opened(Ok(stream)) => {
                exchange.waiting = Waiting::Stream(stream);
                Vec::new()
            }
            Came::Opened(Err(error)) => exchange.turn.handle(Fact::Failed(error)),
            Came::Batch(Batch::Events(events)) => exchange.streamed(events),
            Came::Batch(Batch::Over(events, response)) => {
                let mut nexts = exchange.streamed(events);
                nexts.extend(exchange.turn.handle(Fact::Over(response)));
                nexts
            }
            Came::TimeToTry => {
                self.ask(exchange);
                Vec::new()
            }
            Came::Looked(prompt, answer) => self.prompt_seen(exchange, prompt, answer),
            Came::Judged(answer) => self.stop_judged(exchange, answer),
            Came::Report(Report::Halted(reason)) => exchange.turn.handle(Fact::Halted(reason)),
            Came::Report(report) => {
                self.notify_asked(&report);
                if let Report::Permitted(id, permit) = &report
                    && permit.part.is_none()
                {
                    self.permitted.insert(id.clone());
                }
                exchange.executor.handle(report, &mut self.journal);
                Vec::new()
            }
            Came::Aside(report) => {
                self.hear_aside(report);
                Vec::new()
            }
            Came::Command(command) => self.obey(exchange, command),
        }
    }

    fn background_ended(&mut self, call: CallId, status: Status) {
        let ended = AgentEvent::BackgroundEnded(call, status.in_words());
        self.journal.tell_agent(ended);
    }

    fn hear_aside(&mut self, report: Report) {
        self.notify_asked(&report);
        self.asides.handle(report, &mut self.journal);
    }

    async fn tell(&mut self) {
        while let Some(event) = self.journal.next_event() {
            // A reader that is gone cannot be told; the log has it all.
            let _ = self.outbox.send(event).await;
        }
    }
}

impl Exchange {
    fn streamed(&mut self, events: Vec<StreamEvent>) -> Vec<Next> {
        let facts = events.into_iter().map(Fact::Streamed);
        facts.flat_map(|fact| self.turn.handle(fact)).collect()
    }

    fn drained(&mut self) -> Vec<Next> {
        match self.executor.take_delivered() {
            Some(results) => self.turn.handle(Fact::Drained(results)),
            None => Vec::new(),
        }
    }
}

impl Waiting {
    async fn come(&mut self) -> Came {
        match self {
            Waiting::Open(opening) => Came::Opened(opening.await),
            Waiting::Stream(stream) => Came::Batch(stream.next().await),
            Waiting::Results => std::future::pending().await,
            Waiting::NextTry(at) => {
                sleep_until(*at).await;
                Came::TimeToTry
            }
            Waiting::Prompting(prompting) => {
                let answer = prompting.answer().await;
                let prompt = std::mem::take(&mut prompting.prompt);
                // Nothing is left to be waited for.
                *self = Waiting::Results;
                Came::Looked(prompt, answer)
            }
            Waiting::Stopping(asking) => {
                let answer = asking.await;
                *self = Waiting::Results;
                Came::Judged(answer)
            }
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn hooks_of(context: &Context) -> Vec<HookInfo> {
    let hooks = context.hooks.iter().flat_map(hooks::Runner::hooks);
    let info = hooks.map(|hook| HookInfo {
        event: hook.event.name(),
        matcher: hook.matcher.text().to_owned(),
        command: hook.command.clone(),
        origin: hook.origin.clone(),
    });
    info.collect()
}

pub fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "success",
        Ending::MaxTurns => "error_max_turns",
        Ending::Interrupted => "interrupted",
        Ending::Failed { .. } => "error_during_execution",
    }
}

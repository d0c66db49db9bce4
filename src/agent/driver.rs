//! The agent's task: waits for the stream, the running calls and the person, and does what [`Turn`] says.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::asides::Asides;
use super::hooking::{Prompting, Starting};
use super::journal::Journal;
use super::turn::{Fact, Next, Turn};
use crate::executor::{Context, Executor, Policy, pipeline::Report};
use crate::hooks;
use crate::protocol::event::SessionOpened;
use crate::protocol::{
    AgentEvent, AgentId, Block, CallEvent, CallNumbers, CallRef, Command, Ending, HookInfo,
    Leaving, Message, Origin, SessionEvent, TurnEvent,
};
use crate::provider::{
    Batch, Provider, ProviderError, Request, ResponseStream, StreamEvent, retry,
};
use crate::session::Record;
use crate::tools::bash::jobs::Status;
use crate::tools::offered::Changes;

pub struct Agent {
    provider: Arc<dyn Provider>,
    pub(super) request: Request,
    /// What is offered, as far as it has not been told.
    tools: Changes,
    pub(super) context: Arc<Context>,
    policy: Policy,
    limits: super::limits::Limits,
    retry: retry::Policy,
    /// Names the calls of the model.
    numbers: CallNumbers,
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
    pub(super) permitted: HashSet<CallRef>,
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
    /// Other tools are offered from the next request on.
    OtherTools,
    BackgroundEnded(CallRef, Status),
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
        let tools = setup.context.tools.watch();
        let offered = setup.context.tools.snapshot();
        let asides = Asides::new(setup.context.clone(), session.clone(), &setup.history);
        let last_call = setup.history.last_call();
        let messages = setup.history.messages().to_vec();
        let is_kept = setup.log.is_kept();
        let mut journal = Journal::new(setup.log, setup.history);
        journal.tell_session(SessionEvent::Opened(SessionOpened {
            session: setup.session.clone(),
            provider: setup.provider.name().to_owned(),
            model: setup.model.clone(),
            mode: setup.context.mode(),
            branch: setup.branch,
            context_window: setup.context_window,
            price: setup.price,
            hooks: hooks_of(&setup.context),
            tools: offered.infos(),
            history: messages,
        }));
        if !is_kept {
            let nowhere = Err("there is no place for it".to_owned());
            journal.tell_session(SessionEvent::Saving(nowhere));
        }
        for notice in setup.notices {
            journal.notice(notice);
        }
        let request = Request {
            model: setup.model,
            system: setup.system,
            messages: Arc::new(Vec::new()),
            tools: offered.definitions().clone(),
            max_tokens: setup.max_output_tokens,
            session: setup.session.0,
        };
        Self {
            asides,
            provider: setup.provider,
            request,
            tools,
            context: setup.context,
            policy: setup.policy,
            limits: setup.limits,
            retry: setup.retry,
            numbers: CallNumbers::after(AgentId::MAIN, last_call),
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
                () = self.tools.wait() => self.tell_tools(),
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
            turn: Turn::new(origin, limits, self.retry, self.numbers, fastrand::u64(..)),
            executor: self.executor(&token),
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
        self.numbers = exchange.turn.numbers();
        // What follows a failure would fail, too: the person decides.
        self.send_queue &= matches!(ending, Ending::Done | Ending::Interrupted);
        self.finish(&exchange.turn, ending).await;
    }

    async fn finish(&mut self, turn: &Turn, ending: Ending) {
        self.journal.append(Record::End {
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
        self.journal.append(Record::User { message });
    }

    /// Does what is to be done now; an ending if that is the end.
    fn perform(&mut self, exchange: &mut Exchange, nexts: Vec<Next>) -> Option<Ending> {
        for next in nexts {
            match next {
                Next::ShowText(text) => self.journal.text(&text),
                Next::ShowThinking(text) => self.journal.thinking(&text),
                Next::ShowInputStarted { call, name } => self
                    .journal
                    .tell_call(call, CallEvent::Arriving { tool: name }),
                Next::ShowInput { call, fragment } => {
                    self.journal.tell_call(call, CallEvent::Input(fragment));
                }
                Next::Keep(block) => self.journal.append(Record::Block { block }),
                Next::Execute(call) => exchange.executor.add(call, &mut self.journal),
                Next::Drain => {
                    self.drop_prompt(exchange);
                    exchange.waiting = Waiting::Results;
                    self.journal.tell(TurnEvent::Streamed);
                    exchange.executor.stream_ended(&mut self.journal);
                }
                Next::Discard => {
                    exchange.executor.discard(&mut self.journal);
                    self.journal.append(Record::Discarded);
                }
                Next::Warn(text) => self.journal.notice(text),
                Next::Settle { call, result } => self.journal.settle(call, result),
                Next::Answer {
                    message,
                    stop_reason,
                    usage,
                } => {
                    self.journal.append(Record::Assistant {
                        message,
                        stop_reason,
                        usage,
                    });
                }
                Next::Deliver { calls, then } => {
                    self.journal.append(Record::Delivered { calls, then });
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
                Next::Tell(content) => {
                    let message = Message::from_user(content);
                    self.journal.append(Record::Told { message });
                }
                Next::Finish(ending) => return Some(ending),
            }
        }
        None
    }

    /// Sends the conversation, with what the person has written meanwhile.
    pub(super) fn ask(&mut self, exchange: &mut Exchange) {
        exchange.executor = self.executor(&exchange.token);
        while let Some(more) = self.queued.pop_front() {
            if self.looks_at_prompts() {
                self.look_at(exchange, more);
                return;
            }
            self.add_user(more);
        }
        let repaired = self.journal.history().repairs();
        if !repaired.is_empty() {
            self.journal
                .notice(format!("the history was repaired: {}", repaired.join("; ")));
            self.journal.append(Record::Repaired { what: repaired });
        }
        self.open(exchange);
    }

    /// For the response to the next request, with the tools that are offered now.
    fn executor(&mut self, turn: &CancellationToken) -> Executor {
        // Nobody is to hear of a call before its tool.
        self.tell_tools();
        let offered = self.context.tools.snapshot();
        Executor::new(self.context.clone(), self.policy, turn, offered)
    }

    fn tell_tools(&mut self) {
        if let Some(offered) = self.tools.news() {
            let tools = SessionEvent::Tools(offered.infos());
            self.journal.tell_session(tools);
        }
    }

    fn open(&mut self, exchange: &mut Exchange) {
        let attempt = exchange.attempt;
        self.journal.append(Record::Request {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
            attempt,
        });
        let provider = self.provider.clone();
        let request = Request {
            messages: self.journal.history().messages().clone(),
            tools: exchange.executor.offered().definitions().clone(),
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
            () = self.tools.wait() => Came::OtherTools,
            (call, status) = self.context.env.groups.jobs.next_end() => {
                Came::BackgroundEnded(call, status)
            }
        };
        match came {
            Came::TimeToTell => Vec::new(),
            Came::OtherTools => {
                self.tell_tools();
                Vec::new()
            }
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
                    self.permitted.insert(*id);
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

    fn background_ended(&mut self, call: CallRef, status: Status) {
        let ended = CallEvent::BackgroundEnded(status.in_words());
        self.journal.tell_call(call, ended);
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

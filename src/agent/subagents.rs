//! Runs subagents: the conversations that calls start.
//!
//! Each runs in its own task: the agent starts it, forwards the person's commands for its calls, and is told what it
//! uses and how it ends. It has its own history, executor, directory, ledger, tools and limits; rules, hooks,
//! background commands, checkpoints and the log are the session's. It ends with the call that started it, unless that
//! call continues in the background.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::driver::Agent;
use crate::conversation::{Conversation, Instruction, Journal, Limits, Parts};
use crate::executor::{Context, Policy};
use crate::protocol::{
    AgentId, AgentKind, BackgroundEnd, Block, CallCommand, CallRef, Ending, Note, Price, Spending,
    Told, TurnSummary,
};
use crate::provider::{Provider, retry};
use crate::session::subagents::PastSubagent;
use crate::session::{History, Record, Writer};
use crate::tools::subagents::{Order, Orders, Report, Started, can_have};

/// Longer than stopping a call takes.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// What a conversation needs besides its order.
pub(super) struct Kit {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    /// The system prompt of the person's conversation: the identity first, then what applies to all.
    pub system: Vec<String>,
    /// The context of the person's conversation.
    pub context: Arc<Context>,
    pub policy: Policy,
    pub limits: Limits,
    /// By the name of the model.
    pub prices: BTreeMap<String, Price>,
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    pub session: String,
    pub log: Writer,
    pub events: mpsc::Sender<Told>,
    pub token: CancellationToken,
}

pub(super) struct Subagents {
    kit: Kit,
    orders: Orders,
    running: HashMap<AgentId, Running>,
    last: AgentId,
    news: mpsc::UnboundedReceiver<News>,
    reporter: mpsc::UnboundedSender<News>,
    /// What was used in the current turn.
    spent: Vec<Spending>,
}

struct Running {
    /// The call that started it.
    call: CallRef,
    description: String,
    instructions: mpsc::UnboundedSender<Instruction>,
    stop: CancellationToken,
}

/// Messages from running subagents.
pub(super) enum News {
    Ordered(Order),
    Spent(AgentId, Spending),
    Ended(AgentId, Report),
}

impl Subagents {
    pub fn new(kit: Kit, orders: Orders, last: AgentId) -> Self {
        let (reporter, news) = mpsc::unbounded_channel();
        Self {
            kit,
            orders,
            running: HashMap::new(),
            last,
            news,
            reporter,
            spent: Vec::new(),
        }
    }

    /// The next message. Cancel-safe; waits forever while nothing runs.
    pub async fn next(&mut self) -> News {
        tokio::select! {
            Some(order) = self.orders.recv() => News::Ordered(order),
            Some(news) = self.news.recv() => news,
            else => std::future::pending().await,
        }
    }

    /// Forwards a command for a call. Returns whether its conversation is running.
    pub fn send(&self, call: CallRef, command: CallCommand) -> bool {
        let running = self.running.get(&call.agent);
        running.is_some_and(|running| {
            running
                .instructions
                .send(Instruction::Call(call, command))
                .is_ok()
        })
    }

    /// Makes subagents stop at once that an interrupt has already asked to stop.
    pub fn insist(&self) {
        for running in self.running.values().filter(|it| it.stop.is_cancelled()) {
            // It may have ended.
            let _ = running.instructions.send(Instruction::Interrupt);
        }
    }

    pub fn retry_now(&self) {
        for running in self.running.values() {
            let _ = running.instructions.send(Instruction::RetryNow);
        }
    }

    /// What a model costs, where that is known.
    pub fn price(&self, model: &str) -> Option<Price> {
        self.kit.prices.get(model).copied()
    }

    /// Resets the limits for the next turn.
    pub fn begin_turn(&mut self) {
        self.spent.clear();
    }

    fn start(&mut self, order: Order) {
        let Order {
            call,
            cwd,
            wanted,
            stop,
            started,
        } = order;
        let catalogue = self.kit.context.shared.catalogue.as_ref();
        let kind = match catalogue.map(|catalogue| catalogue.find(&wanted.kind)) {
            Some(Ok(kind)) => kind,
            Some(Err(problem)) => return drop(started.send(Err(problem))),
            None => return drop(started.send(Err("Subagents are not available here".to_owned()))),
        };
        self.last = AgentId(self.last.0.saturating_add(1));
        let agent = self.last;
        let own = wanted.model.or_else(|| kind.model.clone());
        let model = own.unwrap_or_else(|| self.kit.model.clone());
        let token = self.kit.token.child_token();
        let mut journal = Journal::new(self.kit.log.clone(), agent, History::default());
        journal.append(Record::Started {
            call,
            agent_type: kind.name.clone(),
            description: wanted.description.clone(),
            model: model.clone(),
            background: wanted.background,
        });
        let tools = &self.kit.context.tools;
        let tools = tools.only(|tool| can_have(tool, &kind, wanted.background));
        let mut context = Context::new(self.kit.context.shared.clone(), tools);
        context.name = Some(wanted.description.clone());
        context.strictest = kind.mode;
        context.set_cwd(cwd);
        let conversation = self
            .kit
            .conversation(agent, kind, model, context, journal, &token);
        let (end, ended) = watch::channel(None);
        let (instructions, heard) = mpsc::unbounded_channel();
        for spending in &self.spent {
            // Its task reads instructions from its start.
            let _ = instructions.send(Instruction::OthersSpent(*spending));
        }
        if wanted.background {
            // Before it can end, so that its end is reported.
            let (tasks, about) = (&self.kit.context.shared.env.tasks, &wanted.description);
            tasks.add(&agent.task(), call, about, stop.clone(), ended.clone());
        }
        let run = Run {
            agent,
            conversation,
            stop: stop.clone(),
            instructions: heard,
            reporter: self.reporter.clone(),
            end,
        };
        tokio::spawn(run.drive(wanted.prompt));
        self.running.insert(
            agent,
            Running {
                call,
                description: wanted.description,
                instructions,
                stop,
            },
        );
        let started_one = Started {
            id: agent.task(),
            end: ended,
            end_with: Some(token.drop_guard()),
        };
        // If the call has ended meanwhile, this is dropped, which ends the subagent.
        let _ = started.send(Ok(started_one));
    }

    /// Counts what one has used of the shared limits.
    fn count(&mut self, agent: AgentId, spending: Spending) {
        self.spent.push(spending);
        self.tell_others(agent, spending);
    }

    /// Tells the others what one has used, because the limits are shared.
    fn tell_others(&self, agent: AgentId, spending: Spending) {
        let others = self.running.iter().filter(|(other, _)| **other != agent);
        for (_, running) in others {
            let _ = running
                .instructions
                .send(Instruction::OthersSpent(spending));
        }
    }
}

impl Kit {
    pub fn of(setup: &Setup, events: &mpsc::Sender<Told>, token: &CancellationToken) -> Self {
        Self {
            provider: setup.provider.clone(),
            model: setup.model.clone(),
            system: setup.system.clone(),
            context: setup.context.clone(),
            policy: setup.policy,
            limits: setup.limits,
            prices: setup.prices.clone(),
            retry: setup.retry,
            max_output_tokens: setup.max_output_tokens,
            session: setup.session.0.clone(),
            log: setup.log.clone(),
            events: events.clone(),
            token: token.clone(),
        }
    }

    fn conversation(
        &self,
        agent: AgentId,
        kind: AgentKind,
        model: String,
        context: Context,
        journal: Journal,
        token: &CancellationToken,
    ) -> Conversation {
        let mut system = vec![kind.prompt];
        system.retain(|part| !part.is_empty());
        system.extend(self.system.iter().skip(1).cloned());
        Conversation::new(Parts {
            agent,
            kind: Some(kind.name),
            provider: self.provider.clone(),
            system,
            context: Arc::new(context),
            policy: self.policy,
            limits: Limits {
                // The person is not asked: the call that started it handles the ending.
                pauses: false,
                max_turns: Some(kind.max_turns),
                price: self.prices.get(&model).copied(),
                ..self.limits
            },
            model,
            retry: self.retry,
            max_output_tokens: self.max_output_tokens,
            session: self.session.clone(),
            journal,
            events: self.events.clone(),
            token: token.clone(),
        })
    }
}

/// A running subagent.
struct Run {
    agent: AgentId,
    conversation: Conversation,
    stop: CancellationToken,
    instructions: mpsc::UnboundedReceiver<Instruction>,
    reporter: mpsc::UnboundedSender<News>,
    end: watch::Sender<Option<Report>>,
}

impl Run {
    async fn drive(self, prompt: String) {
        let Self {
            agent,
            mut conversation,
            stop,
            mut instructions,
            reporter,
            end,
        } = self;
        let running = async {
            let spends = |spending| drop(reporter.send(News::Spent(agent, spending)));
            let prompt = vec![Block::text(prompt)];
            let summary = conversation
                .run(prompt, &stop, &mut instructions, spends)
                .await;
            let calls = conversation.journal.history().last_call();
            Report { summary, calls }
        };
        let ended = AssertUnwindSafe(running).catch_unwind().await;
        let report = ended.unwrap_or_else(|_| panicked());
        // Reports usage and ending before anyone who waits for it continues.
        let _ = reporter.send(News::Ended(agent, report.clone()));
        end.send_replace(Some(report));
    }
}

/// How what the model is told of the end of a background subagent begins.
fn end_of(agent: AgentId) -> String {
    format!("The background subagent {}", agent.task())
}

fn background_end(ending: &Ending) -> BackgroundEnd {
    match ending {
        Ending::Done => BackgroundEnd::Done,
        Ending::MaxTurns => BackgroundEnd::TurnLimit,
        Ending::Interrupted => BackgroundEnd::Stopped,
        Ending::Failed { problem, .. } => BackgroundEnd::Failed(problem.clone()),
    }
}

fn panicked() -> Report {
    let problem = "an internal error; this is a bug in agent-tui, not in the call".to_owned();
    let ending = Ending::Failed {
        problem,
        hint: None,
    };
    Report {
        summary: TurnSummary::of(ending, Duration::ZERO),
        calls: 0,
    }
}

impl Agent {
    pub(super) fn hear_subagent(&mut self, news: News) {
        match news {
            News::Ordered(order) => self.subagents.start(order),
            News::Spent(agent, spending) => {
                self.subagents.count(agent, spending);
                self.conversation.count_other(&spending);
            }
            News::Ended(agent, report) => self.subagent_ended(agent, &report),
        }
    }

    /// Reports the end of a background subagent: to the person at once, to the model with the next request.
    fn subagent_ended(&mut self, agent: AgentId, report: &Report) {
        let Some(running) = self.subagents.running.remove(&agent) else {
            return;
        };
        if !self.shared().env.tasks.is_of(running.call) {
            return;
        }
        let how = background_end(&report.summary.ending);
        self.tell_end(agent, &running.description, &how.to_string());
        let call = running.call;
        self.journal().append(Record::BackgroundEnded { call, how });
    }

    /// The model is told of the end of a background subagent with the next request.
    fn tell_end(&mut self, agent: AgentId, about: &str, how: &str) {
        let (whose, result) = (end_of(agent), "Use TaskOutput to get its result.");
        let text = format!("{whose} ({about}) has ended: {how}. {result}");
        self.conversation.add_news(Block::note(Note::Program, text));
    }

    /// Takes over the background subagents of earlier runs: their results can be read, and the model is told of each end
    /// that it was not told of before.
    pub(super) fn remember_subagents(&mut self, past: Vec<PastSubagent>) {
        for subagent in past {
            let PastSubagent {
                agent,
                call,
                description,
                summary,
                calls,
                cut_off,
            } = subagent;
            let how = if cut_off {
                "agent-tui ended while it ran".to_owned()
            } else {
                background_end(&summary.ending).to_string()
            };
            let (_, end) = watch::channel(Some(Report { summary, calls }));
            let (tasks, stop) = (&self.shared().env.tasks, CancellationToken::new());
            tasks.add(&agent.task(), call, &description, stop, end);
            if !self.was_told(agent) {
                self.tell_end(agent, &description, &how);
            }
        }
    }

    /// Whether the model knows that a background subagent has ended.
    fn was_told(&mut self, agent: AgentId) -> bool {
        let told = format!("{} (", end_of(agent));
        let messages = self.journal().history().messages().clone();
        let blocks = messages.iter().flat_map(|message| &message.content);
        blocks.into_iter().any(|block| {
            matches!(block, Block::Text { text, note: Some(Note::Program), .. } if text.starts_with(&told))
        })
    }

    /// Stops all that are running, and waits for their end.
    pub(super) async fn end_subagents(&mut self) {
        for running in self.subagents.running.values() {
            running.stop.cancel();
        }
        let all = async {
            while !self.subagents.running.is_empty() {
                let news = self.subagents.next().await;
                self.hear_subagent(news);
            }
        };
        let _ = timeout(LAST_GRACE, all).await;
    }
}

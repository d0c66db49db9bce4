//! Runs subagents: the conversations that calls start.
//!
//! Each runs in its own task: the agent starts it, forwards the person's commands for its calls, and is told what it
//! uses and how it ends. It has its own history, executor, directory, ledger, tools and limits; rules, hooks,
//! background commands, checkpoints and the log are the session's. It ends with the call that started it, unless that
//! call continues in the background.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Setup;
use super::driver::Agent;
use crate::conversation::{Beginning, Conversation, Instruction, Journal, Limits, Parts};
use crate::executor::{Asking, Context, Policy};
use crate::protocol::{
    AgentId, AgentKind, BackgroundEnd, Block, CallCommand, CallRef, Ending, Envelope, Note, Price,
    Spending, TurnSummary,
};
use crate::provider::{Provider, retry};
use crate::session::subagents::{AskingSubagent, PastSubagent};
use crate::session::{History, Record, Writer};
use crate::tools::subagents::{Report, StartRequest, StartRequests, Started, can_have};

/// Longer than stopping a call takes.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// What a conversation needs besides its order.
pub(super) struct Dependencies {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    /// The system prompt of the person's conversation: the identity first, then what applies to all.
    pub system: Vec<String>,
    /// The context of the person's conversation.
    pub context: Arc<Context>,
    pub policy: Policy,
    pub limits: Limits,
    /// By the name of the model.
    pub prices: Arc<BTreeMap<String, Price>>,
    pub retry: retry::Policy,
    pub max_output_tokens: u32,
    pub session: String,
    pub log: Writer,
    pub events: mpsc::Sender<Envelope>,
    pub token: CancellationToken,
}

pub(super) struct Subagents {
    dependencies: Dependencies,
    requests: StartRequests,
    running: HashMap<AgentId, Running>,
    last: AgentId,
    messages: mpsc::UnboundedReceiver<SubagentMessage>,
    reporter: mpsc::UnboundedSender<SubagentMessage>,
    /// What was used in the current turn.
    spent: Vec<Spending>,
    /// Those that waited for the person when the last run of the program ended, by their calls. They continue when
    /// their calls do.
    asking: HashMap<CallRef, AskingSubagent>,
}

/// A subagent that is about to run.
struct New {
    agent: AgentId,
    call: CallRef,
    kind: AgentKind,
    description: String,
    model: String,
    background: bool,
    cwd: PathBuf,
    journal: Journal,
    beginning: Beginning,
}

struct Running {
    /// The call that started it.
    call: CallRef,
    description: String,
    instructions: mpsc::UnboundedSender<Instruction>,
    stop: CancellationToken,
}

/// Messages from running subagents.
pub(super) enum SubagentMessage {
    Ordered(StartRequest),
    Spent(AgentId, Spending),
    Ended(AgentId, Report),
}

impl Subagents {
    pub fn new(
        dependencies: Dependencies,
        requests: StartRequests,
        last: AgentId,
        asking: Vec<AskingSubagent>,
    ) -> Self {
        let (reporter, message) = mpsc::unbounded_channel();
        Self {
            dependencies,
            requests,
            running: HashMap::new(),
            last,
            messages: message,
            reporter,
            spent: Vec::new(),
            asking: asking.into_iter().map(|it| (it.call, it)).collect(),
        }
    }

    /// The next message. Cancel-safe; waits forever while nothing runs.
    pub async fn next(&mut self) -> SubagentMessage {
        tokio::select! {
            Some(request) = self.requests.recv() => SubagentMessage::Ordered(request),
            Some(message) = self.messages.recv() => message,
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
    pub fn force_stop(&self) {
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

    /// Resets the limits for the next turn.
    pub fn begin_turn(&mut self) {
        self.spent.clear();
    }

    /// The calls whose subagents waited for the person when the last run of the program ended.
    pub fn asking(&self) -> HashSet<CallRef> {
        self.asking.keys().copied().collect()
    }

    fn start(&mut self, request: StartRequest) {
        let StartRequest {
            call,
            cwd,
            wanted,
            stop,
            started,
        } = request;
        if let Some(past) = self.asking.remove(&call) {
            // If the call has ended meanwhile, this is dropped, which ends the subagent.
            return drop(started.send(self.resume(past, &cwd, stop)));
        }
        let kind = match self.dependencies.kind(&wanted.kind) {
            Ok(kind) => kind,
            Err(problem) => return drop(started.send(Err(problem))),
        };
        self.last = AgentId(self.last.0.saturating_add(1));
        let agent = self.last;
        let own = wanted.model.or_else(|| kind.model.clone());
        let model = own.unwrap_or_else(|| self.dependencies.model.clone());
        let mut journal = Journal::new(self.dependencies.log.clone(), agent, History::default());
        journal.append(Record::Started {
            call,
            agent_type: kind.name.clone(),
            description: wanted.description.clone(),
            model: model.clone(),
            background: wanted.background,
        });
        let new = New {
            agent,
            call,
            kind,
            description: wanted.description,
            model,
            background: wanted.background,
            cwd,
            journal,
            beginning: Beginning::Prompt(vec![Block::text(wanted.prompt)]),
        };
        let started_one = self.run(new, stop);
        let _ = started.send(Ok(started_one));
    }

    /// Continues a subagent that waited for the person when the last run of the program ended.
    fn resume(
        &mut self,
        past: AskingSubagent,
        cwd_of_call: &Path,
        stop: CancellationToken,
    ) -> Result<Started, String> {
        let kind = self.dependencies.kind(&past.kind)?;
        let cwd = past.history.cwd().cloned();
        let new = New {
            agent: past.agent,
            call: past.call,
            kind,
            description: past.description,
            model: past.model,
            background: past.background,
            cwd: cwd.unwrap_or_else(|| cwd_of_call.to_owned()),
            journal: Journal::new(self.dependencies.log.clone(), past.agent, past.history),
            beginning: Beginning::Reopened,
        };
        Ok(self.run(new, stop))
    }

    fn run(&mut self, new: New, stop: CancellationToken) -> Started {
        let New {
            agent,
            call,
            kind,
            description,
            model,
            background,
            cwd,
            journal,
            beginning,
        } = new;
        let token = self.dependencies.token.child_token();
        let tools = &self.dependencies.context.tools;
        let tools = tools.only(|tool| can_have(tool, &kind, background));
        let mut context = Context::new(self.dependencies.context.shared.clone(), tools);
        context.name = Some(description.clone());
        context.strictest = kind.mode;
        context.set_cwd(cwd);
        let conversation = self
            .dependencies
            .conversation(agent, kind, model, context, journal, &token);
        let (end, ended) = watch::channel(None);
        let (instructions, inbox) = mpsc::unbounded_channel();
        for spending in &self.spent {
            // Its task reads instructions from its start.
            let _ = instructions.send(Instruction::OthersSpent(*spending));
        }
        if background {
            // Before it can end, so that its end is reported.
            let tasks = &self.dependencies.context.shared.env.tasks;
            tasks.add(
                &agent.task(),
                call,
                &description,
                stop.clone(),
                ended.clone(),
            );
        }
        let run = Run {
            agent,
            conversation,
            stop: stop.clone(),
            instructions: inbox,
            reporter: self.reporter.clone(),
            end,
        };
        tokio::spawn(run.drive(beginning));
        self.running.insert(
            agent,
            Running {
                call,
                description,
                instructions,
                stop,
            },
        );
        Started {
            id: agent.task(),
            end: ended,
            end_with: Some(token.drop_guard()),
        }
    }

    /// Counts what one has used of the shared limits.
    fn count(&mut self, agent: AgentId, spending: Spending) {
        self.spent.push(spending);
        self.share_spending(agent, spending);
    }

    /// Tells the others what one has used, because the limits are shared.
    fn share_spending(&self, agent: AgentId, spending: Spending) {
        let others = self.running.iter().filter(|(other, _)| **other != agent);
        for (_, running) in others {
            let _ = running
                .instructions
                .send(Instruction::OthersSpent(spending));
        }
    }
}

impl Dependencies {
    pub fn of(setup: &Setup, events: &mpsc::Sender<Envelope>, token: &CancellationToken) -> Self {
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

    /// The type of subagent with this name; the error is worded for the model.
    fn kind(&self, name: &str) -> Result<AgentKind, String> {
        match &self.context.shared.catalogue {
            Some(catalogue) => catalogue.find(name),
            None => Err("Subagents are not available here".to_owned()),
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
            prices: self.prices.clone(),
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
    reporter: mpsc::UnboundedSender<SubagentMessage>,
    end: watch::Sender<Option<Report>>,
}

impl Run {
    async fn drive(self, beginning: Beginning) {
        let Self {
            agent,
            mut conversation,
            stop,
            mut instructions,
            reporter,
            end,
        } = self;
        let running = async {
            let spends = |spending| drop(reporter.send(SubagentMessage::Spent(agent, spending)));
            let summary = conversation
                .run(beginning, &stop, &mut instructions, spends)
                .await;
            let calls = conversation.journal.history().last_call();
            Report { summary, calls }
        };
        let ended = AssertUnwindSafe(running).catch_unwind().await;
        let report = ended.unwrap_or_else(|_| panicked());
        // Reports usage and ending before anyone who waits for it continues.
        let _ = reporter.send(SubagentMessage::Ended(agent, report.clone()));
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
    pub(super) fn on_subagent_message(&mut self, message: SubagentMessage) {
        match message {
            SubagentMessage::Ordered(request) => self.subagents.start(request),
            SubagentMessage::Spent(agent, spending) => {
                self.subagents.count(agent, spending);
                self.conversation.count_other(&spending);
            }
            SubagentMessage::Ended(agent, report) => self.subagent_ended(agent, &report),
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
        self.note_end(agent, &running.description, &how.to_string());
        let call = running.call;
        self.journal().append(Record::BackgroundEnded { call, how });
    }

    /// The model is told of the end of a background subagent with the next request.
    fn note_end(&mut self, agent: AgentId, about: &str, how: &str) {
        let (whose, result) = (end_of(agent), "Use TaskOutput to get its result.");
        let text = format!("{whose} ({about}) has ended: {how}. {result}");
        self.conversation
            .add_pending_note(Block::note(Note::Program, text));
    }

    /// Takes over the background subagents of earlier runs: their results can be read, and the model is told of each end
    /// that it was not told of before.
    pub(super) fn remember_subagents(&mut self, past: Vec<PastSubagent>) {
        for subagent in past {
            if self.resume_in_background(subagent.call) {
                continue;
            }
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
            if !self.knows_end(agent) {
                self.note_end(agent, &description, &how);
            }
        }
    }

    /// Continues a background subagent that waited for the person. Returns whether this call has one.
    fn resume_in_background(&mut self, call: CallRef) -> bool {
        let asks = |it: &AskingSubagent| it.background && self.shared().asking == Asking::Person;
        let Some(agent) = self.subagents.asking.get(&call).filter(|it| asks(it)) else {
            return false;
        };
        if self.knows_end(agent.agent) {
            return false;
        }
        let Some(past) = self.subagents.asking.remove(&call) else {
            return false;
        };
        let cwd = self.shared().places.workspace.clone();
        match self.subagents.resume(past, &cwd, CancellationToken::new()) {
            Ok(started) => {
                // Nothing waits for it: it ends by itself, or with the session.
                started.end_with.map(DropGuard::disarm);
                true
            }
            Err(_) => false,
        }
    }

    /// Whether the model knows that a background subagent has ended.
    fn knows_end(&self, agent: AgentId) -> bool {
        let prefix = format!("{} (", end_of(agent));
        let messages = self.conversation.journal.history().messages();
        let blocks = messages.iter().flat_map(|message| &message.content);
        blocks.into_iter().any(|block| {
            matches!(block, Block::Text { text, note: Some(Note::Program), .. } if text.starts_with(&prefix))
        })
    }

    /// Stops all that are running, and waits for their end.
    pub(super) async fn end_subagents(&mut self) {
        for running in self.subagents.running.values() {
            running.stop.cancel();
        }
        let all = async {
            while !self.subagents.running.is_empty() {
                let message = self.subagents.next().await;
                self.on_subagent_message(message);
            }
        };
        let _ = timeout(LAST_GRACE, all).await;
    }
}

//! A running agent with a scripted model, real tools and a person, for tests.

mod script;

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub use self::script::{End, Scripted};
use super::{AgentHandle, Setup, spawn};
use crate::conversation::Limits;
use crate::executor::{Asking, Context, Places, Policy, Shared};
use crate::hooks::{Hook, Runner};
use crate::permissions::{Rules, Store};
use crate::protocol::{
    AgentEvent, AgentId, Answer, BackgroundEnd, Block, CallCommand, CallEvent, CallOutcome,
    CallRef, Command, Envelope, Message, Mode, Reply, Role, SessionCommand, SessionId, ToolUse,
    TurnEvent, Usage,
};
use crate::provider::{Batch, Provider, ProviderError, Request, ResponseStream, retry};
use crate::session::events::{Recalled, recall};
use crate::session::record::VERSION;
use crate::session::subagents::PastSubagents;
use crate::session::{History, Log, Record, Writer};
use crate::settings::extensions::{Catalogue, Sources};
use crate::tools::files::scratch::Scratch;
use crate::tools::offered::Tools;
use crate::tools::registry::{Offer, Registry};
use crate::tools::subagents::{port, read_only};

/// A model with scripted answers, one for each request.
#[derive(Default)]
struct Model {
    answers: Mutex<VecDeque<Scripted>>,
    /// Its answers in subagents, by their prompts.
    of_subagents: Mutex<HashMap<String, VecDeque<Scripted>>>,
    requests: Mutex<Vec<Vec<Message>>>,
    /// The names of the tools in each request.
    offered: Mutex<Vec<Vec<String>>>,
    /// The model of each request.
    models: Mutex<Vec<String>>,
    usage: Mutex<Usage>,
}

struct Stream(Option<Scripted>, Usage);

impl Provider for Model {
    fn name(&self) -> &'static str {
        "script"
    }

    fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>> {
        let asked = request.messages.to_vec();
        self.requests.lock().expect("unpoisoned").push(asked);
        let model = request.model.clone();
        self.models.lock().expect("unpoisoned").push(model);
        let offered = request.tools.iter().map(|tool| tool.name.clone());
        let mut requests = self.offered.lock().expect("unpoisoned");
        requests.push(offered.collect());
        drop(requests);
        let first = request.messages.first().map(Message::text);
        let mut of_subagents = self.of_subagents.lock().expect("unpoisoned");
        let own = first.and_then(|first| of_subagents.get_mut(&first));
        let answer = match own {
            Some(answers) => answers.pop_front(),
            None => self.answers.lock().expect("unpoisoned").pop_front(),
        };
        let usage = *self.usage.lock().expect("unpoisoned");
        let answer = answer.unwrap_or_else(|| vec![Block::text("done")].into());
        if let End::Failed(kind) = answer.end {
            let error = ProviderError {
                kind,
                message: "rate limited (429): slow down".to_owned(),
                hint: None,
            };
            return async move { Err(error) }.boxed();
        }
        let stream: Box<dyn ResponseStream> = Box::new(Stream(Some(answer), usage));
        async move { Ok(stream) }.boxed()
    }
}

impl ResponseStream for Stream {
    fn next(&mut self) -> BoxFuture<'_, Batch> {
        let Some(answer) = self.0.take() else {
            return std::future::pending().boxed();
        };
        let events = answer.events();
        if matches!(answer.end, End::Never) {
            return async move { Batch::Events(events) }.boxed();
        }
        let response = Box::new(answer.response(self.1));
        async move { Batch::Over(events, response) }.boxed()
    }
}

pub struct Rig {
    agent: AgentHandle,
    model: Arc<Model>,
    pub context: Arc<Context>,
    pub scratch: Scratch,
}

impl Rig {
    pub fn new(answers: impl IntoIterator<Item = Vec<Block>>) -> Self {
        Self::limited(answers, Limits::default())
    }

    pub fn limited(answers: impl IntoIterator<Item = Vec<Block>>, limits: Limits) -> Self {
        let scratch = Scratch::new();
        Self::in_scratch(scratch, answers, limits, None)
    }

    /// With a script for each subagent, by its prompt.
    pub fn with_subagents(
        answers: impl IntoIterator<Item = Vec<Block>>,
        subagents: impl IntoIterator<Item = (&'static str, Vec<Vec<Block>>)>,
    ) -> Self {
        let rig = Self::new(answers);
        rig.script_subagents(subagents);
        rig
    }

    pub fn script_subagents(
        &self,
        subagents: impl IntoIterator<Item = (&'static str, Vec<Vec<Block>>)>,
    ) {
        let mut known = self.model.of_subagents.lock().expect("unpoisoned");
        let scripts = subagents.into_iter();
        known.extend(scripts.map(|(prompt, answers)| {
            let answers = answers.into_iter().map(Scripted::from).collect();
            (prompt.to_owned(), answers)
        }));
    }

    /// With answers of every kind, hooks, and retries without delay.
    pub fn scripted(answers: Vec<Scripted>, hooks: Vec<Hook>) -> Self {
        let scratch = Scratch::new();
        let hooks = (!hooks.is_empty()).then(|| runner(&scratch, hooks));
        let retry = retry::Policy {
            tries: 3,
            base: Duration::from_millis(2),
            cap: Duration::from_millis(10),
        };
        Self::with(scratch, answers, Limits::default(), hooks, retry)
    }

    /// With hooks, which run in the scratch directory.
    pub fn hooked(answers: impl IntoIterator<Item = Vec<Block>>, hooks: Vec<Hook>) -> Self {
        let scratch = Scratch::new();
        let mut runner = runner(&scratch, hooks);
        runner.idle_after = Duration::from_millis(20);
        Self::in_scratch(scratch, answers, Limits::default(), Some(runner))
    }

    pub fn in_scratch(
        scratch: Scratch,
        answers: impl IntoIterator<Item = Vec<Block>>,
        limits: Limits,
        hooks: Option<Runner>,
    ) -> Self {
        let answers = answers.into_iter().map(Scripted::from).collect();
        Self::with(scratch, answers, limits, hooks, retry::Policy::default())
    }

    fn with(
        scratch: Scratch,
        answers: Vec<Scripted>,
        limits: Limits,
        hooks: Option<Runner>,
        retry: retry::Policy,
    ) -> Self {
        let model = Arc::new(Model {
            answers: Mutex::new(answers.into()),
            ..Model::default()
        });
        let places = Places {
            workspace: scratch.root.clone(),
            ..Places::default()
        };
        let mut shared = Shared::new(
            Rules::default(),
            Mode::Default,
            Asking::Person,
            places,
            scratch.cx.env.clone(),
        );
        shared.store = Some(Store::new(
            &scratch.root.with_file_name("data"),
            &scratch.root,
        ));
        shared.hooks = hooks;
        let (catalogue, _) = Catalogue::read(Sources {
            read_only: read_only(),
            built_in_commands: Vec::new(),
            config: &scratch.root.with_file_name("config"),
            home: &scratch.root.with_file_name("home"),
            workspace: &scratch.root,
            trusts: Box::new(|| false),
            remedy: "restart to review it",
        });
        let mut offer = Offer::default();
        offer.about.extensions = catalogue.now();
        shared.catalogue = Some(catalogue);
        let path = scratch.root.with_file_name("log.jsonl");
        let (log, lines) = match Log::open(&path) {
            Ok((log, contents)) => (Writer::new(log), contents.lines),
            Err(_) => (new_log(&path, &scratch.root), Vec::new()),
        };
        let sent = History::of(&lines, AgentId::MAIN).tools().clone();
        let tools = Tools::resumed(Registry::built_in(), offer, sent);
        let mut context = Context::new(Arc::new(shared), tools);
        let (starter, start_requests) = port();
        context.starter = starter;
        let context = Arc::new(context);
        let subagents = PastSubagents::of(&lines);
        let checkpoints = &context.shared.env.checkpoints;
        let Recalled {
            history,
            events: past,
        } = recall(lines, |name| checkpoints.text(name));
        let agent = spawn(Setup {
            provider: model.clone(),
            model: "m".into(),
            system: Vec::new(),
            context: context.clone(),
            policy: Policy::default(),
            limits,
            prices: Arc::default(),
            retry,
            max_output_tokens: 1000,
            session: SessionId("s".into()),
            log,
            history,
            start_requests,
            subagents,
            past,
            branch: None,
            context_window: None,
            beginning: crate::hooks::payload::Source::Startup,
            notices: Vec::new(),
            servers: None,
        });
        Self {
            agent,
            model,
            context,
            scratch,
        }
    }

    /// Ends the program and resumes its session in another one.
    pub async fn resumed(self) -> Self {
        self.resumed_with([]).await
    }

    /// The same, with a model that has these answers.
    pub async fn resumed_with(self, answers: impl IntoIterator<Item = Vec<Block>>) -> Self {
        let AgentHandle {
            commands,
            mut events,
            ..
        } = self.agent;
        drop(commands);
        while events.recv().await.is_some() {}
        Self::in_scratch(self.scratch, answers, Limits::default(), None)
    }

    /// Ends the program. Returns the remaining events.
    pub async fn left(self) -> (Scratch, Vec<AgentEvent>) {
        let AgentHandle {
            commands,
            mut events,
            ..
        } = self.agent;
        drop(commands);
        let mut all = Vec::new();
        while let Some(envelope) = events.recv().await {
            all.push(envelope.event);
        }
        (self.scratch, all)
    }

    /// The model of each request so far.
    pub fn models(&self) -> Vec<String> {
        self.model.models.lock().expect("unpoisoned").clone()
    }

    /// Every response from now on uses this much.
    pub fn uses(&self, usage: Usage) {
        *self.model.usage.lock().expect("unpoisoned") = usage;
    }

    pub fn send(&self, command: Command) {
        self.agent.commands.send(command).expect("it listens");
    }

    pub fn submit(&self, text: &str) {
        self.send(Command::Session(SessionCommand::Submit(vec![Block::text(
            text,
        )])));
    }

    pub fn order(&self, call: CallRef, command: CallCommand) {
        self.send(Command::Call(call, command));
    }

    pub fn answer(&self, call: CallRef, answer: Answer) {
        self.order(call, CallCommand::Reply(Reply::Permission(answer)));
    }

    /// The next event.
    pub async fn next(&mut self) -> Envelope {
        self.agent.events.recv().await.expect("the agent lives")
    }

    /// The next event that `pick` selects.
    pub async fn wait_for<T>(&mut self, pick: impl Fn(AgentEvent) -> Option<T>) -> T {
        loop {
            let envelope = self.agent.events.recv().await.expect("the agent lives");
            if let Some(found) = pick(envelope.event) {
                return found;
            }
        }
    }

    /// The next event of a turn that `pick` selects.
    pub async fn wait_for_turn<T>(&mut self, pick: impl Fn(TurnEvent) -> Option<T>) -> T {
        self.wait_for(|event| match event {
            AgentEvent::Turn(_, event) => pick(event),
            _ => None,
        })
        .await
    }

    /// Waits until a turn ends, and returns how it ended.
    pub async fn finished(&mut self) -> crate::protocol::Ending {
        self.wait_for(|event| match event {
            AgentEvent::Turn(turn, TurnEvent::Finished(summary)) if turn.agent.is_main() => {
                Some(summary.ending)
            }
            _ => None,
        })
        .await
    }

    /// All events until a turn ends.
    pub async fn whole_turn(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        loop {
            let envelope = self.agent.events.recv().await.expect("the agent lives");
            let over = matches!(
                &envelope.event,
                AgentEvent::Turn(turn, TurnEvent::Finished(_)) if turn.agent.is_main()
            );
            events.push(envelope.event);
            if over {
                return events;
            }
        }
    }

    /// The next event of a call of `agent` that `pick` selects.
    pub async fn wait_for_call<T>(
        &mut self,
        agent: AgentId,
        pick: impl Fn(CallRef, CallEvent) -> Option<T>,
    ) -> T {
        self.wait_for(|event| match event {
            AgentEvent::Call { call, event, .. } if call.agent == agent => pick(call, event),
            _ => None,
        })
        .await
    }

    /// Waits until a call of `agent` asks, and returns the call.
    pub async fn wait_for_question(&mut self, agent: AgentId) -> CallRef {
        self.wait_for_call(agent, |call, event| {
            matches!(event, CallEvent::Asked(_)).then_some(call)
        })
        .await
    }

    /// Waits until a call of `agent` prints something, and returns the call.
    pub async fn printed(&mut self, agent: AgentId) -> CallRef {
        self.wait_for_call(agent, |call, event| {
            matches!(event, CallEvent::Progress(_)).then_some(call)
        })
        .await
    }

    /// Waits until a call of `agent` has its result: the call, the text and the outcome.
    pub async fn over(&mut self, agent: AgentId) -> (CallRef, String, CallOutcome) {
        self.wait_for_call(agent, |call, event| match event {
            CallEvent::Completed {
                result, outcome, ..
            } => Some((call, result.as_text(), outcome)),
            _ => None,
        })
        .await
    }

    /// Waits until a background command ends: the call that started it, and how it ended.
    pub async fn background_ended(&mut self) -> (CallRef, BackgroundEnd) {
        self.wait_for(|event| match event {
            AgentEvent::Call {
                call,
                event: CallEvent::BackgroundEnded(how),
                ..
            } => Some((call, how)),
            _ => None,
        })
        .await
    }

    pub async fn aside_over(&mut self) -> (CallRef, String, CallOutcome) {
        self.over(AgentId::PERSON).await
    }

    /// The texts of the person's messages in each request.
    pub fn requests(&self) -> Vec<Vec<String>> {
        let asked = self.model.requests.lock().expect("unpoisoned");
        let texts = |messages: &Vec<Message>| -> Vec<String> {
            let users = messages.iter().filter(|it| it.role == Role::User);
            let blocks = users.flat_map(|message| &message.content);
            let texts = blocks.filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.clone()),
                _ => None,
            });
            texts.collect()
        };
        asked.iter().map(texts).collect()
    }

    /// The names of the tools in each request.
    pub fn offered(&self) -> Vec<Vec<String>> {
        self.model.offered.lock().expect("unpoisoned").clone()
    }

    /// The history of the last request.
    pub fn last_request(&self) -> Vec<Message> {
        let asked = self.model.requests.lock().expect("unpoisoned");
        asked.last().cloned().unwrap_or_default()
    }

    /// The person's last message, as the model got it: its texts.
    pub fn last_sent(&self) -> Vec<String> {
        let asked = self.model.requests.lock().expect("unpoisoned");
        let last = asked.last().and_then(|messages| messages.last());
        let blocks = last.map(|message| message.content.clone());
        let texts = blocks.unwrap_or_default().into_iter();
        texts
            .map(|block| match block {
                Block::Text { text, .. } => text,
                Block::ToolResult(result) => result.as_sent().as_text(),
                other => format!("{other:?}"),
            })
            .collect()
    }
}

fn new_log(path: &Path, workspace: &Path) -> Writer {
    let log = Writer::new(Log::create(path).expect("a log"));
    let session = Record::Session {
        version: VERSION,
        id: SessionId("s".into()),
        cwd: workspace.to_owned(),
        forked_from: None,
    };
    log.write(AgentId::MAIN, &session);
    log
}

pub fn call(id: &str, tool: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: tool.into(),
        input: input.into(),
        input_raw: None,
        input_error: None,
    })
}

/// Runs hooks in the scratch directory.
fn runner(scratch: &Scratch, hooks: Vec<Hook>) -> Runner {
    let (session, log) = (SessionId("s".into()), Path::new("/log.jsonl"));
    let programs = scratch.cx.env.programs.clone();
    Runner::new(hooks, &scratch.root, session, log, programs)
}

//! An executor with scripted tools, for tests in virtual time.

pub mod tools;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use self::tools::{AlwaysConfirms, Asks, Several};
use super::context::Context;
use super::driver::{Executor, Observed, Observer};
use super::machine::Policy;
use super::shared::{Asking, Places, Shared};
use crate::hooks::{Hook, Runner};
use crate::permissions::{Cause, Grant, Rules, Store};
use crate::protocol::{
    Answer, AnswerNote, CallRef, InterruptBehavior, Level, Mode, PermissionRequest, Question,
    QuestionKind, Reply, SessionId, ToolCall, ToolResult, Touches, WireId,
};
use crate::settings::ToolSettings;
use crate::tools::files::scratch::Scratch;
use crate::tools::registry::Registry;
use crate::tools::{ContextChange, Tool, ToolCx, ToolError, ToolErrorKind, ToolOutput, ToolSpec};

/// What a scripted call does. Its name is its id and its result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    name: String,
    millis: u64,
    safe: bool,
    read_only: bool,
    /// An interrupt lets it finish.
    blocks: bool,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum End {
    Succeed,
    /// Succeeds, but ignores its token.
    IgnoreCancellation,
    Refuse,
    FailAsCommand,
    Panic,
    PanicWhenLookedAt,
    Move,
    /// Reports more than anyone can read.
    Chatter,
    /// The sandbox blocks it, unless a person has allowed it.
    Blocked,
}

pub fn safe(name: &str) -> Work {
    Work {
        safe: true,
        read_only: true,
        ..unsafe_(name)
    }
}

/// A call that may run only alone.
pub fn unsafe_(name: &str) -> Work {
    Work {
        name: name.into(),
        millis: 0,
        safe: false,
        read_only: false,
        blocks: false,
        end: End::Succeed,
    }
}

impl Work {
    pub fn taking(self, time: Duration) -> Self {
        let millis = u64::try_from(time.as_millis()).expect("not forever");
        Self { millis, ..self }
    }

    pub fn ending(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// Not read-only, although safe.
    pub fn changing(self) -> Self {
        Self {
            read_only: false,
            ..self
        }
    }

    pub fn blocking(self) -> Self {
        Self {
            blocks: true,
            ..self
        }
    }
}

/// What the tools saw of their calls at the start: name and working directory.
type Called = Arc<Mutex<Vec<(String, PathBuf)>>>;

struct Scripted<const BLOCKS: bool>(Called);

impl<const BLOCKS: bool> Tool for Scripted<BLOCKS> {
    type Input = Work;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            interrupt: if BLOCKS {
                InterruptBehavior::Block
            } else {
                InterruptBehavior::Cancel
            },
            max_result_chars: 1000,
            ..ToolSpec::new(
                if BLOCKS { "Blocks" } else { "Cancels" },
                "",
                Level::Confirm,
                "name",
            )
        }
    }

    fn is_concurrency_safe(&self, input: &Work) -> bool {
        assert!(input.end != End::PanicWhenLookedAt, "on purpose");
        input.safe
    }

    fn is_read_only(&self, input: &Work) -> bool {
        input.read_only
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(&self, input: Work, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let begun = (input.name.clone(), cx.cwd.clone());
        self.0.lock().expect("unpoisoned").push(begun);
        if input.end == End::Chatter {
            for _ in 0..10_000 {
                cx.progress.report(input.name.clone());
            }
        }
        cx.progress.report(format!("{} works", input.name));
        let work = sleep(Duration::from_millis(input.millis));
        tokio::select! {
            biased;
            () = cx.cancel.cancelled(), if input.end != End::IgnoreCancellation => {
                let name = format!("{} cancelled", input.name);
                self.0.lock().expect("unpoisoned").push((name, cx.cwd));
                return Err(ToolError::cancelled_after(format!("half of {}", input.name)));
            }
            () = work => {}
        }
        let failure = |kind| {
            Err(ToolError {
                kind,
                ..ToolError::new(format!("{} failed", input.name))
            })
        };
        match input.end {
            End::Succeed | End::IgnoreCancellation | End::PanicWhenLookedAt | End::Chatter => {
                Ok(ToolOutput::text(input.name))
            }
            End::Refuse => failure(ToolErrorKind::Refused),
            End::FailAsCommand => failure(ToolErrorKind::CommandFailed),
            End::Blocked if *grant.cause() == Cause::Person => Ok(ToolOutput::text(input.name)),
            End::Blocked => failure(ToolErrorKind::Blocked),
            End::Panic => panic!("on purpose"),
            End::Move => Ok(ToolOutput {
                changes: vec![ContextChange::Cwd(cx.cwd.join("sub"))],
                ..ToolOutput::text(input.name)
            }),
        }
    }
}

/// Everything that was observed, in order.
#[derive(Default)]
pub struct Seen(pub Vec<Observed>);

impl Observer for Seen {
    fn observe(&mut self, observed: Observed) {
        self.0.push(observed);
    }
}

pub struct Rig {
    pub executor: Option<Executor>,
    pub context: Arc<Context>,
    pub turn: CancellationToken,
    pub seen: Seen,
    called: Called,
    /// The names of the calls.
    words: Vec<String>,
    since: Instant,
    pub scratch: Scratch,
}

/// The results of a response.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub results: Vec<String>,
    pub took: Duration,
}

/// The settings of a rig.
pub struct Setting {
    pub policy: Policy,
    pub mode: Mode,
    pub asking: Asking,
    pub overrides: Vec<(&'static str, ToolSettings)>,
    pub tools: Tools,
    pub hooks: Vec<Hook>,
    /// The name of the conversation for people.
    pub name: Option<String>,
}

/// Which tools there are.
#[derive(Clone, Copy, PartialEq)]
pub enum Tools {
    Scripted,
    Real,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            mode: Mode::BypassPermissions,
            asking: Asking::Nobody,
            overrides: Vec::new(),
            tools: Tools::Scripted,
            hooks: Vec::new(),
            name: None,
        }
    }
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Setting::default())
    }

    /// A rig that asks a person about every call.
    pub fn asking() -> Self {
        Self::with(Setting {
            mode: Mode::Default,
            asking: Asking::Person,
            ..Setting::default()
        })
    }

    /// A rig with the built-in tools that asks a person.
    pub fn real() -> Self {
        Self::with(Setting {
            mode: Mode::Default,
            asking: Asking::Person,
            tools: Tools::Real,
            ..Setting::default()
        })
    }

    pub fn with(setting: Setting) -> Self {
        Self::ruled(setting, Rules::default())
    }

    pub fn ruled(setting: Setting, rules: Rules) -> Self {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.root.join("sub")).expect("mkdir");
        let called = Called::default();
        let mut registry = Registry::default();
        let added = registry
            .add(Scripted::<true>(called.clone()))
            .and_then(|()| registry.add(Scripted::<false>(called.clone())));
        let added = added
            .and_then(|()| registry.add(Asks::<true>))
            .and_then(|()| registry.add(Asks::<false>))
            .and_then(|()| registry.add(Several))
            .and_then(|()| registry.add(AlwaysConfirms));
        added.expect("unused names");
        if setting.tools == Tools::Real {
            registry = Registry::built_in();
        }
        let places = Places {
            workspace: scratch.root.clone(),
            ..Places::default()
        };
        let env = scratch.cx.env.clone();
        let mut shared = Shared::new(rules, setting.mode, setting.asking, places, env);
        shared.store = Some(Store::new(
            &scratch.root.with_file_name("data"),
            &scratch.root,
        ));
        if !setting.hooks.is_empty() {
            let session = SessionId("s".to_owned());
            let log = Path::new("/log.jsonl");
            let programs = scratch.cx.env.programs.clone();
            let runner = Runner::new(setting.hooks, &scratch.root, session, log, programs);
            shared.hooks = Some(runner);
        }
        let overrides = setting.overrides.into_iter();
        shared.set_tool_settings(
            overrides
                .map(|(name, settings)| (name.to_owned(), settings))
                .collect(),
        );
        let mut context = Context::new(Arc::new(shared), registry);
        context.ledger = scratch.cx.ledger.clone();
        context.name = setting.name;
        let context = Arc::new(context);
        let turn = CancellationToken::new();
        Self {
            executor: Some(Executor::new(
                context.clone(),
                setting.policy,
                &turn,
                context.tools.snapshot(),
            )),
            context,
            turn,
            seen: Seen::default(),
            called,
            words: Vec::new(),
            since: Instant::now(),
            scratch,
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a test says `rig.add(safe(\"a\"))`"
    )]
    pub fn add(&mut self, work: Work) {
        let wire = WireId(work.name.clone());
        self.add_as(wire, &work);
    }

    /// The same, with this id on the wire.
    pub fn add_as(&mut self, wire: WireId, work: &Work) {
        let tool = if work.blocks { "Blocks" } else { "Cancels" };
        let input = serde_json::to_value(work).expect("plain data");
        self.call_as(&work.name, wire, tool, input);
    }

    /// A call of any tool.
    pub fn call(&mut self, word: &str, tool: &str, input: serde_json::Value) {
        self.call_as(word, word.into(), tool, input);
    }

    fn call_as(&mut self, word: &str, wire: WireId, tool: &str, input: serde_json::Value) {
        self.words.push(word.to_owned());
        let call = ToolCall {
            call: word.into(),
            id: wire,
            name: tool.into(),
            input: input.into(),
        };
        self.control(|executor, seen| executor.add(call, seen));
    }

    /// The name of a call.
    pub fn word(&self, call: CallRef) -> &str {
        let mut words = self.words.iter();
        let word = words.find(|word| CallRef::from(word.as_str()) == call);
        word.expect("a call of this rig")
    }

    /// Waits until an event matches.
    pub async fn until(&mut self, wanted: impl Fn(&Observed) -> bool) {
        let executor = self.executor.as_mut().expect("not dropped");
        while !self.seen.0.iter().any(&wanted) {
            let report = executor.next().await;
            executor.handle(report, &mut self.seen);
        }
    }

    /// Waits until this call asks, and returns its question.
    pub async fn question(&mut self, id: &str) -> Question {
        let call = CallRef::from(id);
        let is_it = |observed: &Observed| matches!(observed, Observed::Asked(question) if question.call == call);
        self.until(is_it).await;
        let mut seen = self.seen.0.iter().rev();
        let question = seen.find_map(|observed| match observed {
            Observed::Asked(question) if question.call == call => Some(question.clone()),
            _ => None,
        });
        question.expect("it has asked")
    }

    /// Waits until this call asks whether it may run.
    pub async fn request(&mut self, id: &str) -> PermissionRequest {
        match self.question(id).await.kind {
            QuestionKind::Permission(request) => request,
            other @ (QuestionKind::Choice(_) | QuestionKind::Form(_)) => {
                panic!("it asks something else: {other:?}")
            }
        }
    }

    pub fn answer(&mut self, id: &str, answer: Answer) {
        self.reply(id, Reply::Permission(answer));
    }

    pub fn reply(&mut self, id: &str, reply: Reply) {
        self.control(|executor, seen| executor.reply(id.into(), reply, seen));
    }

    /// Who decided about a call, in words.
    pub fn decided(&self, id: &str) -> Vec<String> {
        let wanted = CallRef::from(id);
        let decided = self.seen.0.iter().filter_map(|observed| match observed {
            Observed::Decided { call, verdict, .. } if *call == wanted => Some(verdict.summary()),
            _ => None,
        });
        decided.collect()
    }

    /// What else the answers did.
    pub fn notes(&self) -> Vec<AnswerNote> {
        let notes = self.seen.0.iter().filter_map(|observed| match observed {
            Observed::Decided { note, .. } => note.clone(),
            _ => None,
        });
        notes.collect()
    }

    pub fn notices(&self) -> Vec<&str> {
        let notices = self.seen.0.iter().filter_map(|observed| match observed {
            Observed::Notice(text) => Some(text.as_str()),
            _ => None,
        });
        notices.collect()
    }

    pub fn add_all<const N: usize>(&mut self, works: [Work; N]) {
        for work in works {
            self.add(work);
        }
    }

    pub fn control(&mut self, what: impl FnOnce(&mut Executor, &mut Seen)) {
        let executor = self.executor.as_mut().expect("not dropped");
        what(executor, &mut self.seen);
    }

    pub fn interrupt(&mut self) {
        self.control(|executor, seen| executor.interrupt(seen));
    }

    pub fn stream_ended(&mut self) {
        self.control(|executor, seen| executor.stream_ended(seen));
    }

    /// Lets this much time pass.
    pub async fn pass(&mut self, time: Duration) {
        let until = Instant::now() + time;
        let executor = self.executor.as_mut().expect("not dropped");
        while let Ok(report) = timeout_at(until, executor.next()).await {
            executor.handle(report, &mut self.seen);
        }
    }

    /// Ends the stream and waits for the results.
    pub async fn finish(mut self) -> Run {
        self.stream_ended();
        self.deliver().await
    }

    pub async fn deliver(&mut self) -> Run {
        let results = self.results().await;
        Run {
            results: results
                .iter()
                .map(|result| result.as_sent().as_text())
                .collect(),
            took: self.since.elapsed(),
        }
    }

    pub async fn results(&mut self) -> Vec<ToolResult> {
        let executor = self.executor.as_mut().expect("not dropped");
        loop {
            if let Some(results) = executor.take_delivered() {
                return results;
            }
            let report = executor.next().await;
            executor.handle(report, &mut self.seen);
        }
    }

    /// The calls whose tools have begun, and `… cancelled` for those that noticed their token.
    pub fn called(&self) -> Vec<String> {
        let called = self.called.lock().expect("unpoisoned");
        called.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The last part of the working directory of each call.
    pub fn directories(&self) -> Vec<(String, String)> {
        let called = self.called.lock().expect("unpoisoned");
        let last = |path: &Path| {
            let name = path.file_name().expect("not the root");
            name.to_string_lossy().into_owned()
        };
        called
            .iter()
            .map(|(name, cwd)| (name.clone(), last(cwd)))
            .collect()
    }
}

/// Runs these calls in one response.
pub async fn drive<const N: usize>(works: [Work; N]) -> Run {
    let mut rig = Rig::new();
    rig.add_all(works);
    rig.finish().await
}

pub fn secs(number: u64) -> Duration {
    Duration::from_secs(number)
}

//! Tools: what the model can do on this machine.
//!
//! A tool is one file that implements [`Tool`] for a typed input; the JSON Schema comes from that type. [`AnyTool`](any::AnyTool)
//! erases the type for the executor. A tool never asks for permission itself: its `call` wants a [`Grant`], which only
//! `permissions` can make.

pub mod any;
pub mod ask;
pub mod ask_user_question;
pub mod bash;
pub mod bash_output;
pub mod custom;
pub mod edit;
pub mod file_search;
pub mod files;
pub mod glob;
pub mod grep;
pub mod guard;
pub mod inner;
pub mod kill_shell;
pub mod ls;
pub mod multi_edit;
#[cfg(test)]
pub mod named;
#[cfg(feature = "notebook")]
pub mod notebook_edit;
pub mod off_limits;
pub mod offered;
pub mod plan_mode;
pub mod read;
pub mod registry;
pub mod skill;
pub mod slash_command;
pub mod subagents;
pub mod task;
pub mod task_output;
pub mod template;
pub mod todo_write;
pub mod tree;
#[cfg(feature = "web")]
pub mod web;
#[cfg(feature = "web")]
pub mod web_fetch;
pub mod write;

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::off_limits::OffLimits;
use crate::git::Git;
use crate::permissions::Grant;
use crate::process::sandbox::Unasked;
use crate::process::{Programs, Variables, sandbox};
use crate::protocol::todo::Todo;
use crate::protocol::{
    CallRef, Extensions, FileDiff, ForPerson, InterruptBehavior, Level, Mode, OutputFormat,
    PartOfFile, PreviewFields, Printed, ResultBlock, Shown, SubjectFields, ToolInfo, Touches,
};

/// What is fixed about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: Arc<str>,
    /// What the model reads about it; `assets/tools/*.md`.
    pub description: Arc<str>,
    pub level: Level,
    pub interrupt: InterruptBehavior,
    /// A larger result goes to a file, and the model gets its head and tail.
    pub max_result_chars: usize,
    /// What goes on while a call runs, in a few words.
    pub doing: Arc<str>,
    /// The fields that say what a call is about, for the panel and for synthetic results.
    pub subject: SubjectFields,
    /// What can be shown of an input that is still being written.
    pub preview: PreviewFields,
    /// The field that permission rules look at, if they look at one.
    pub ruled: Option<Arc<str>>,
    /// Whether a running call can continue without being waited for; it looks at [`ToolCx::background`] then.
    pub can_background: bool,
    /// Whether calls that went well may share a line of the screen: they only read, and show nothing that must be seen.
    pub folds: bool,
    pub output: OutputFormat,
    /// One of the few tools of `--simple`.
    pub is_essential: bool,
    /// The tool without which this one is of no use.
    pub needs: Option<Arc<str>>,
}

impl ToolSpec {
    /// A tool whose calls are about what stands in the field `subject`; all else is as with most tools.
    pub fn new(name: &str, description: &str, level: Level, subject: &str) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            level,
            interrupt: InterruptBehavior::Cancel,
            max_result_chars: MAX_RESULT_CHARS,
            doing: format!("running {name}").into(),
            subject: SubjectFields::field(subject),
            preview: PreviewFields::Nothing,
            ruled: Some(subject.into()),
            can_background: false,
            folds: false,
            output: OutputFormat::Text,
            is_essential: false,
            needs: None,
        }
    }

    /// The tool as the screen knows it.
    pub fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name.clone(),
            doing: self.doing.clone(),
            subject: self.subject.clone(),
            preview: self.preview.clone(),
            ruled: self.ruled.clone(),
            can_background: self.can_background,
            folds: self.folds,
            output: self.output,
            level: self.level,
            guest_of: None,
            definition: None,
        }
    }
}

/// The default of [`ToolSpec::max_result_chars`].
pub const MAX_RESULT_CHARS: usize = 30_000;

pub trait Tool: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Asked for once, when the tool is added.
    fn spec(&self) -> ToolSpec;

    /// What the model reads about the tool in this request.
    fn description(&self, _about: &DescribeCx) -> String {
        self.spec().description.to_string()
    }

    fn is_enabled(&self, _about: &DescribeCx) -> bool {
        true
    }

    /// Whether the provider may be asked to guarantee that inputs fit the schema.
    fn is_strict(&self) -> bool {
        false
    }

    /// An input as it might come, for those who try their hooks.
    fn sample(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    /// Inputs that show the model how the tool is meant to be called.
    fn input_examples(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Whether this call may run beside other safe ones. In doubt: false.
    fn is_concurrency_safe(&self, _input: &Self::Input) -> bool {
        false
    }

    /// Whether this call surely changes nothing.
    fn is_read_only(&self, _input: &Self::Input) -> bool {
        false
    }

    /// What a call touches: path rules apply to every tool that says so here. The input may be any JSON.
    fn touches(&self, input: &Value) -> Touches;

    /// Checks what the schema cannot say: the file exists, it was read, …
    fn validate(
        &self,
        _input: &Self::Input,
        _cx: &ToolCx,
    ) -> impl Future<Output = Result<Validated, ToolError>> + Send {
        async { Ok(Validated::Fine) }
    }

    /// What the call would change, where that can be told beforehand: every file, and each once, or none of them. The person
    /// decides by what is shown. Changes nothing.
    fn preview(
        &self,
        _input: &Self::Input,
        _cx: &ToolCx,
    ) -> impl Future<Output = Vec<FileDiff>> + Send {
        async { Vec::new() }
    }

    /// Calls a tool that has a [`preview`](Self::preview) so that these files of it hold in the end what the person allowed, and
    /// the others stay as they are. Its result says for each file what was left out.
    fn call_in_part(
        &self,
        _input: Self::Input,
        _files: Vec<PartOfFile>,
        _grant: Grant,
        _cx: ToolCx,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        async {
            Err(ToolError::new(
                "The user allowed only a part of this call, which is not possible: nothing was done",
            )
            .saying("this call can't be done in part"))
        }
    }

    fn call(
        &self,
        input: Self::Input,
        grant: Grant,
        cx: ToolCx,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// What a tool may say about a call before anyone is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validated {
    Fine,
    /// The tool itself wants the person to look at it.
    Ask(String),
}

/// What descriptions may speak of.
#[derive(Debug, Clone, Default)]
pub struct DescribeCx {
    pub workspace: PathBuf,
    pub model: String,
    /// What people have added with files.
    pub extensions: Arc<Extensions>,
}

/// What a running call can use. Cheap to clone.
#[derive(Clone)]
pub struct ToolCx {
    pub call: CallRef,
    /// The directory relative paths start from: where the last `cd` of a Bash call went.
    pub cwd: PathBuf,
    /// The permission mode when the call began.
    pub mode: Mode,
    /// Cancelled when the call is to stop. A tool that does long work looks at it.
    pub cancel: CancellationToken,
    /// Cancelled when the call is to go on in the background, if its tool can do that.
    pub background: CancellationToken,
    pub progress: Progress,
    pub journal: Journal,
    /// For [`ask`](Self::ask).
    pub asker: ask::Asker,
    /// Where it can start a conversation beside its own.
    pub starter: subagents::Starter,
    /// For [`call`](Self::call).
    pub inner: inner::Inner,
    /// What people have added with files.
    pub extensions: Arc<Extensions>,
    /// What a search must leave out.
    pub off_limits: OffLimits,
    /// What the conversation has read, and may therefore change.
    pub ledger: Arc<files::Ledger>,
    pub env: Arc<Environment>,
}

/// Where a call reports what it has done so far; a full channel drops the report, never the call's time.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Printed) + Send + Sync>);

/// Where a call announces that it is about to change a file. The change waits until that is in the session's log.
#[derive(Clone)]
pub struct Journal(Arc<dyn Fn(files::FileChange) -> Result<(), NotLogged> + Send + Sync>);

/// The session has ended, or the call was given up: what it was about to do must not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLogged;

/// What all calls of a session share.
pub struct Environment {
    pub workspace: PathBuf,
    /// More directories that count as workspace, without links.
    pub additional: Vec<PathBuf>,
    /// Whole results that were too large for the model; Read may read them.
    pub results_dir: PathBuf,
    pub checkpoints: files::Checkpoints,
    /// Against other processes that replace a file at the same time.
    pub locks: files::Locks,
    /// What runs in the background.
    pub groups: bash::groups::Groups,
    /// The subagents that nobody waits for.
    pub tasks: subagents::Tasks,
    /// What the commands of tools find in their environment.
    pub variables: Variables,
    /// Where the programs are that are started.
    pub programs: Arc<Programs>,
    pub git: Git,
    pub home: PathBuf,
    /// Whether commands that run without asking are sandboxed.
    pub unasked: Unasked,
    /// What all held commands may touch, once one was started.
    pub ground: OnceLock<Arc<sandbox::Ground>>,
}

impl Environment {
    /// Whether commands that run without asking are sandboxed.
    pub fn holds(&self) -> bool {
        match self.unasked {
            Unasked::Auto | Unasked::Require => sandbox::state().holds(),
            Unasked::Off => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    pub for_model: Vec<ResultBlock>,
    pub for_person: ForPerson,
    /// What a person is shown.
    pub shown: Shown,
    pub changes: Vec<ContextChange>,
    /// What was started goes on in the background.
    pub backgrounded: bool,
}

/// What a call changes for the calls after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextChange {
    Cwd(PathBuf),
    /// The permission mode, by the word of the person.
    Mode(Mode),
    /// What the model plans to do.
    Todos(Vec<Todo>),
}

/// A failure: for the model what was wrong with the call and how to get it right, for the person what happened.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    pub message: String,
    pub for_person: ForPerson,
    pub kind: ToolErrorKind,
    /// What the call has changed all the same: a command that fails may have gone to another directory first.
    pub changes: Vec<ContextChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolErrorKind {
    /// The call could not be done as asked; nothing depends on it.
    Refused,
    /// A command ran and failed: what was to follow it may make no sense any more.
    CommandFailed,
    /// The sandbox blocked something in a command that ran without asking; the person may still allow it.
    HeldBack,
    /// The call was told to stop.
    Cancelled,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            for_model: vec![ResultBlock::text(text)],
            ..Self::default()
        }
    }
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            for_person: ForPerson::default(),
            kind: ToolErrorKind::Refused,
            changes: Vec::new(),
        }
    }

    /// What the person is told instead of the message.
    #[must_use]
    pub fn saying(self, sentence: impl Into<String>) -> Self {
        Self {
            for_person: ForPerson::saying(sentence),
            ..self
        }
    }

    pub fn cancelled() -> Self {
        Self::cancelled_after(String::new())
    }

    /// Cancelled, with what the call had produced until then.
    pub fn cancelled_after(output: String) -> Self {
        Self {
            kind: ToolErrorKind::Cancelled,
            ..Self::new(output)
        }
    }
}

impl Progress {
    pub fn new(report: impl Fn(Printed) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// A progress that nobody hears.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    pub fn report(&self, printed: impl Into<Printed>) {
        (self.0)(printed.into());
    }
}

impl Journal {
    pub fn new(
        announce: impl Fn(files::FileChange) -> Result<(), NotLogged> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(announce))
    }

    /// Returns once the log has it. Blocks: not for an async thread.
    pub fn announce(&self, change: files::FileChange) -> Result<(), NotLogged> {
        (self.0)(change)
    }
}

/// The JSON Schema of a tool's input, as it is sent: strict, no `$schema`, no title.
pub fn input_schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        object.insert("additionalProperties".into(), Value::Bool(false));
    }
    schema
}

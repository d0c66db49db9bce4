//! Tools: what the model can do on this machine.
//!
//! A tool is one file that implements [`Tool`] for a typed input; the JSON Schema comes from that type.
//! [`AnyTool`](any::AnyTool) erases the type for the executor. A tool never asks for permission itself: its `call`
//! requires a [`Grant`], which only `permissions` can create.

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
pub mod lenient;
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
pub mod small_model;
pub mod subagents;
pub mod task;
pub mod task_output;
pub mod template;
pub mod todo_write;
pub mod tool_search;
pub mod tree;
#[cfg(feature = "web")]
pub mod web;
#[cfg(feature = "web")]
pub mod web_fetch;
#[cfg(feature = "web")]
pub mod web_search;
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
    CallRef, Deferral, Extensions, FileDiff, ForPerson, InterruptBehavior, Level, Mode,
    OutputFormat, PartOfFile, PreviewFields, Printed, ResultBlock, ServerTool, Shown, Spending,
    SubjectFields, ToolDefinition, ToolInfo, ToolState, Touches, WebSearch,
};

/// The constant properties of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: Arc<str>,
    /// The name for people, if the tool's own is only meant for models.
    pub label: Option<Arc<str>>,
    /// Its description for the model, from `assets/tools/*.md`.
    pub description: Arc<str>,
    pub level: Level,
    pub interrupt: InterruptBehavior,
    /// A larger result goes to a file, and the model gets its head and tail.
    pub max_result_chars: usize,
    /// What a running call does, in a few words.
    pub doing: Arc<str>,
    /// The fields that name the subject of a call, for the panel and for synthetic results.
    pub subject: SubjectFields,
    /// What can be shown of an input that is still being written.
    pub preview: PreviewFields,
    /// The field that permission rules match, if any.
    pub ruled: Option<Arc<str>>,
    /// Whether a running call can continue in the background; it then watches [`ToolCx::background`].
    pub can_background: bool,
    /// Whether each call asks the person something, besides its permission.
    pub asks: bool,
    /// Whether successful calls may share a line on the screen: they only read, and show nothing that must be seen.
    pub folds: bool,
    pub output: OutputFormat,
    pub demand: Demand,
    /// The tool without which this one is useless.
    pub needs: Option<Arc<str>>,
    /// The tool of providers that does the same.
    pub server: Option<ServerTool>,
}

/// How many conversations use a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Demand {
    /// All of them: `--simple` offers only these.
    Essential,
    #[default]
    Usual,
    /// Few: it is deferred when there are many tools.
    Rare,
}

impl ToolSpec {
    /// A tool whose calls are about the value of the field `subject`, with the defaults of most tools.
    pub fn new(name: &str, description: &str, level: Level, subject: &str) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: description.into(),
            level,
            interrupt: InterruptBehavior::Cancel,
            max_result_chars: MAX_RESULT_CHARS,
            doing: format!("running {name}").into(),
            subject: SubjectFields::field(subject),
            preview: PreviewFields::Nothing,
            ruled: Some(subject.into()),
            can_background: false,
            asks: false,
            folds: false,
            output: OutputFormat::Text,
            demand: Demand::Usual,
            needs: None,
            server: None,
        }
    }

    /// The information about the tool for the screen.
    pub fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name.clone(),
            label: self.label.clone(),
            doing: self.doing.clone(),
            subject: self.subject.clone(),
            preview: self.preview.clone(),
            ruled: self.ruled.clone(),
            can_background: self.can_background,
            folds: self.folds,
            output: self.output,
            server: self.server,
            level: self.level,
            guest_of: None,
            state: ToolState::Offered,
            definition: None,
        }
    }
}

/// The default of [`ToolSpec::max_result_chars`].
pub const MAX_RESULT_CHARS: usize = 30_000;

pub trait Tool: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Called once, when the tool is added.
    fn spec(&self) -> ToolSpec;

    /// The description for the model in this request.
    fn description(&self, _about: &DescribeCx) -> String {
        self.spec().description.to_string()
    }

    fn is_enabled(&self, _about: &DescribeCx) -> bool {
        true
    }

    /// The tool of the provider that this request names in the place of this one: then the provider runs its calls.
    fn served_by(&self, _about: &DescribeCx) -> Option<ServerTool> {
        None
    }

    /// Whether to ask the provider to guarantee that inputs match the schema.
    fn is_strict(&self) -> bool {
        false
    }

    /// An example of an input, for testing hooks.
    fn sample(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    /// Inputs that show the model how to call the tool.
    fn input_examples(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Whether this call may run at the same time as other safe ones. If in doubt, false.
    fn is_concurrency_safe(&self, _input: &Self::Input) -> bool {
        false
    }

    /// Whether this call certainly changes nothing.
    fn is_read_only(&self, _input: &Self::Input) -> bool {
        false
    }

    /// What a call touches. Path rules apply to every tool that reports paths here. The input may be any JSON.
    fn touches(&self, input: &Value) -> Touches;

    /// Checks what the schema cannot express: the file exists, it was read, …
    fn validate(
        &self,
        _input: &Self::Input,
        _cx: &ToolCx,
    ) -> impl Future<Output = Result<Validated, ToolError>> + Send {
        async { Ok(Validated::Fine) }
    }

    /// What the call would change, if that is known in advance: every changed file exactly once, or nothing. The
    /// person decides based on this. Changes nothing.
    fn preview(
        &self,
        _input: &Self::Input,
        _cx: &ToolCx,
    ) -> impl Future<Output = Vec<FileDiff>> + Send {
        async { Vec::new() }
    }

    /// Calls a tool with a [`preview`](Self::preview) such that these files contain in the end what the person
    /// allowed, and the others stay unchanged. The result says for each file what was left out.
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
            .with_sentence("this call can't be done in part"))
        }
    }

    fn call(
        &self,
        input: Self::Input,
        grant: Grant,
        cx: ToolCx,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// What a tool may say about a call before the person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validated {
    Fine,
    /// The tool itself wants the person to confirm the call, unless a rule or the mode allows it.
    Ask(String),
}

/// The state that descriptions may depend on.
#[derive(Debug, Clone, Default)]
pub struct DescribeCx {
    pub workspace: PathBuf,
    pub model: String,
    /// What people have added with files.
    pub extensions: Arc<Extensions>,
    /// Who searches the web; `None` where nobody does.
    pub search: Option<WebSearch>,
    /// When tools are announced by name only.
    pub deferral: Deferral,
}

/// What a running call can use. Cheap to clone.
#[derive(Clone)]
pub struct ToolCx {
    pub call: CallRef,
    /// The directory that relative paths start from; a `cd` in a Bash call changes it.
    pub cwd: PathBuf,
    /// The permission mode when the call began.
    pub mode: Mode,
    /// Cancelled when the call has to stop. Tools that work for long check it.
    pub cancel: CancellationToken,
    /// Cancelled when the call has to continue in the background, if its tool can do that.
    pub background: CancellationToken,
    pub progress: Progress,
    pub journal: Journal,
    /// For [`ask`](Self::ask).
    pub asker: ask::Asker,
    /// Starts conversations of subagents.
    pub starter: subagents::Starter,
    /// For [`call`](Self::call).
    pub inner: inner::Inner,
    /// What people have added with files.
    pub extensions: Arc<Extensions>,
    /// The tools that the request has announced by name only.
    pub deferred: Arc<Vec<ToolDefinition>>,
    /// The files that a search must leave out.
    pub off_limits: OffLimits,
    /// The files that the conversation has read, and may therefore change.
    pub ledger: Arc<files::Ledger>,
    pub env: Arc<Environment>,
}

/// Where a call reports its progress. If the channel is full, the report is dropped and the call does not wait.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Printed) + Send + Sync>);

/// Where a call announces that it is about to change a file. The change waits until the announcement is in the
/// session's log.
#[derive(Clone)]
pub struct Journal(Arc<dyn Fn(files::FileChange) -> Result<(), NotLogged> + Send + Sync>);

/// The session has ended, or the call was abandoned: it must not make the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLogged;

/// What all calls of a session share.
pub struct Environment {
    pub workspace: PathBuf,
    /// More directories that count as workspace, without links.
    pub additional: Vec<PathBuf>,
    /// Results that were too large for the model; Read may read them.
    pub results_dir: PathBuf,
    pub checkpoints: files::Checkpoints,
    /// Locks against other processes that replace a file at the same time.
    pub locks: files::Locks,
    /// Commands in the background.
    pub groups: bash::groups::Groups,
    /// Subagents in the background.
    pub tasks: subagents::Tasks,
    /// The environment variables of commands that tools start.
    pub variables: Variables,
    /// The paths of the programs that tools start.
    pub programs: Arc<Programs>,
    pub git: Git,
    pub home: PathBuf,
    /// Whether commands that run without asking are sandboxed.
    pub unasked: Unasked,
    /// What all sandboxed commands may access; set when the first one starts.
    pub base_access: OnceLock<Arc<sandbox::BaseAccess>>,
    /// Who searches the web; `None` where nobody does.
    pub search: Option<WebSearch>,
    /// The model that answers questions about fetched pages.
    pub small_model: Option<small_model::SmallModel>,
}

impl Environment {
    /// Whether commands that run without asking are sandboxed.
    pub fn sandboxes(&self) -> bool {
        match self.unasked {
            Unasked::Auto | Unasked::Require => sandbox::state().sandboxes(),
            Unasked::Off => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    pub for_model: Vec<ResultBlock>,
    pub for_person: ForPerson,
    /// What the person sees.
    pub shown: Shown,
    pub changes: Vec<ContextChange>,
    /// The work continues in the background.
    pub backgrounded: bool,
}

/// What a call changes for later calls.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextChange {
    Cwd(PathBuf),
    /// The permission mode, set by the person.
    Mode(Mode),
    /// The model's list of steps.
    Todos(Vec<Todo>),
    /// Tools that were announced by name only are sent with their schemas.
    Activated(Vec<String>),
    /// The model that answers until the turn ends.
    Model(String),
    /// It has asked a model itself, which used this.
    Spent(Spending),
}

/// A failure: for the model, what was wrong with the call and how to fix it; for the person, what happened.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    pub message: String,
    pub for_person: ForPerson,
    pub kind: ToolErrorKind,
    /// What the call has changed even though it failed: a failed command may have changed the directory first.
    pub changes: Vec<ContextChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolErrorKind {
    /// The call could not be done as asked; later calls do not depend on it.
    Refused,
    /// A command ran and failed: later calls may depend on it.
    CommandFailed,
    /// The sandbox blocked something in a command that ran without asking; the person may still allow it.
    Blocked,
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

    /// Nothing new to show; `sentence` says so to the person.
    pub fn nothing_found(sentence: &str, for_model: impl Into<String>) -> Self {
        Self {
            for_person: ForPerson::sentence(sentence),
            ..Self::text(for_model)
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

    /// Sets what the person is told instead of the message.
    #[must_use]
    pub fn with_sentence(self, sentence: impl Into<String>) -> Self {
        Self {
            for_person: ForPerson::sentence(sentence),
            ..self
        }
    }

    pub fn cancelled() -> Self {
        Self::cancelled_after(String::new())
    }

    /// Cancelled, with what the call had produced so far.
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

    /// Drops all progress reports.
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

/// The JSON Schema of a tool's input as it is sent: strict, without `$schema` and title.
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

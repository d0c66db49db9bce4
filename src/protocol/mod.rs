//! The types that every part of the program shares: ids, messages, tool calls, questions, events and commands.
//!
//! Plain data that depends on nothing else in the crate. The serde derives here define the format of the session log
//! and of `--output-format stream-json`: changing a name changes both.

pub mod about;
pub mod background;
pub mod command;
pub mod event;
pub mod extension;
pub mod for_person;
pub mod form;
pub mod id;
pub mod input;
pub mod mcp;
pub mod message;
pub mod offering;
pub mod question;
pub mod search;
pub mod seen;
pub mod served;
pub mod shown;
pub mod source;
pub mod spending;
pub mod subagent;
pub mod todo;
pub mod tool;
pub mod touches;

pub use about::{OutputFormat, PreviewFields, SubjectFields, ToolInfo};
pub use background::BackgroundEnd;
pub use command::{
    CallCommand, Command, LeaveReason, QueuedSelection, RulesCommand, SessionCommand, TurnCommand,
};
pub use event::{
    AgentEvent, CallEvent, CallOutcome, ChangeSize, Ending, Envelope, HookInfo, KnownRule,
    Recorded, SessionEvent, SessionOpened, TurnEvent, TurnSummary,
};
pub use extension::{Allows, CustomCommand, CustomTool, Extensions, Skill};
pub use for_person::{ForPerson, Printed};
pub use form::{
    Bounds, FieldKind, FieldOption, FormField, FormReply, FormRequest, Given, TextFormat,
};
pub use id::{AgentId, CallNumbers, CallRef, Seq, SessionId, TurnId, WireId};
pub use input::CallInput;
pub use mcp::{McpCommand, McpServerStatus, McpState, McpToolStatus};
pub use message::{
    Block, Image, Message, Note, Origin, ResultBlock, Role, StopReason, ToolResult, ToolUse, Usage,
    hook_text,
};
pub use offering::{Deferral, SentTools, ToolState};
pub use question::{
    Answer, AnswerNote, ChoiceOption, ChoiceRequest, Chosen, LeftOut, PartOfFile,
    PermissionRequest, Program, Question, QuestionKind, Reply, RuleOffer,
};
pub use search::{Backend, SearchService, WebSearch};
pub use seen::{SeenFile, SeenPart};
pub use served::{Found, ServerCall, ServerTool};
pub use shown::{FileDiff, Shown};
pub use source::{NamedFile, Source};
pub use spending::{Price, Spending};
pub use subagent::{AgentKind, Subagent};
pub use tool::{
    InterruptBehavior, Level, Mode, OnBashError, Phase, RuleList, ToolCall, ToolDefinition,
};
pub use touches::{MissingInput, Paths, Touches};

//! The words that every part of the program shares: ids, messages, tool calls, events and commands.
//!
//! Plain data that depends on nothing else in the crate. The serde derives here are the vocabulary of the session
//! log and of `--output-format stream-json`: changing a name changes both.

pub mod command;
pub mod event;
pub mod id;
pub mod message;
pub mod source;
pub mod spending;
pub mod tool;

pub use command::{Answer, Command, Leaving, RulesCommand};
pub use event::{
    AgentEvent, Aside, CallOutcome, Ending, FileDiff, HookInfo, KnownRule, PermissionRequest,
    RuleOffer, SessionOpened, ToolState, TurnEvent, TurnSummary,
};
pub use id::{CallId, SessionId, TurnId};
pub use message::{
    Block, Image, Message, Note, Origin, ResultBlock, Role, StopReason, ToolResult, ToolUse, Usage,
    said_by_hooks,
};
pub use source::{NamedFile, Source};
pub use spending::{Price, Spending};
pub use tool::{
    InterruptBehavior, Level, Mode, OnBashError, Phase, RuleList, ToolCall, ToolDefinition,
};

//! The events that hooks can be for.

use crate::text::nearest;

/// What has happened, or is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    UserPromptSubmit,
    PermissionRequest,
    Notification,
    Stop,
    SubagentStop,
    PreCompact,
    SessionStart,
    SessionEnd,
}

impl Event {
    pub const ALL: [Event; 11] = [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::PostToolUseFailure,
        Event::UserPromptSubmit,
        Event::PermissionRequest,
        Event::Notification,
        Event::Stop,
        Event::SubagentStop,
        Event::PreCompact,
        Event::SessionStart,
        Event::SessionEnd,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PermissionRequest => "PermissionRequest",
            Event::Notification => "Notification",
            Event::Stop => "Stop",
            Event::SubagentStop => "SubagentStop",
            Event::PreCompact => "PreCompact",
            Event::SessionStart => "SessionStart",
            Event::SessionEnd => "SessionEnd",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The event that `name` most likely means.
    pub fn nearest(name: &str) -> Option<Self> {
        nearest(name, Self::ALL.map(Self::name)).and_then(Self::from_name)
    }

    /// The input field that a matcher is compared with; `None` if there is nothing to match.
    pub const fn subject_field(self) -> Option<&'static str> {
        match self {
            Event::PreToolUse
            | Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::PermissionRequest => Some("tool_name"),
            Event::Notification => Some("notification_type"),
            Event::SubagentStop => Some("agent_type"),
            Event::PreCompact => Some("trigger"),
            Event::SessionStart => Some("source"),
            Event::SessionEnd => Some("reason"),
            Event::UserPromptSubmit | Event::Stop => None,
        }
    }

    /// Whether hooks of this event decide about a call.
    pub const fn decides(self) -> bool {
        matches!(self, Event::PreToolUse | Event::PermissionRequest)
    }

    /// What a blocking hook prevents; `None` if there is nothing to block.
    pub const fn blocks(self) -> Option<&'static str> {
        match self {
            Event::PreToolUse | Event::PermissionRequest => Some("the call"),
            Event::PostToolUse | Event::PostToolUseFailure => Some("nothing; the model is told"),
            Event::UserPromptSubmit => Some("the prompt"),
            Event::Stop => Some("the end of the turn"),
            Event::SubagentStop => Some("the end of the subagent"),
            Event::PreCompact => Some("the compaction"),
            Event::Notification | Event::SessionStart | Event::SessionEnd => None,
        }
    }

    /// Whether plain text on stdout is context for the model.
    pub const fn takes_plain_context(self) -> bool {
        matches!(self, Event::UserPromptSubmit | Event::SessionStart)
    }
}

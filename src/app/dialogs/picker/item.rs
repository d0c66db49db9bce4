//! The items of a list.

use std::sync::Arc;

use crate::app::call::CallKey;
use crate::app::page::Line;
use crate::keymap::Action;
use crate::protocol::KnownRule;
use crate::theme::Theme;

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub label: String,
    /// The second column.
    pub about: String,
    /// At the right edge: a key, a time, a size.
    pub hint: String,
    /// The heading above it. Items with the same heading follow each other.
    pub group: Arc<str>,
    pub mark: Option<Mark>,
    /// What is shown beside the list while it is selected. The filter searches it, too.
    pub preview: Arc<[Line]>,
    /// More text that the filter searches, not shown.
    pub keywords: String,
    /// What the keys do while it is selected, if they are not those of the list.
    pub keys: &'static [(Action, &'static str)],
    pub choice: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The one in use.
    Current,
    Running,
    Done,
    Failed,
    /// It works.
    Ready,
    /// It will work soon.
    Waiting,
    /// The person has to do something.
    Attention,
    /// It is available but not active.
    Off,
}

/// What choosing an item does.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    Do(Action),
    /// A slash command, by its name.
    Slash(Arc<str>),
    Theme(Box<Theme>),
    Model(String),
    Session(String),
    /// Begin a draft with this text.
    Write(&'static str),
    /// Ask whether to remove a permission rule.
    Rule(KnownRule),
    /// Take back a queued message, by its number.
    Queued(u64),
    /// Show a call.
    Call(CallKey),
    /// Show the tools of an MCP server, by its name.
    Server(String),
    /// A tool of an MCP server.
    ServerTool {
        server: String,
        tool: String,
    },
    /// Nothing; the item is only to be read.
    Nothing,
}

impl Item {
    pub fn new(label: impl Into<String>, choice: Choice) -> Self {
        Self {
            label: label.into(),
            about: String::new(),
            hint: String::new(),
            group: Arc::from(""),
            mark: None,
            preview: Arc::from([]),
            keywords: String::new(),
            keys: &[],
            choice,
        }
    }

    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    #[must_use]
    pub fn under(mut self, group: impl Into<Arc<str>>) -> Self {
        self.group = group.into();
        self
    }

    #[must_use]
    pub fn marked(mut self, mark: Option<Mark>) -> Self {
        self.mark = mark;
        self
    }

    #[must_use]
    pub fn keys(mut self, keys: &'static [(Action, &'static str)]) -> Self {
        self.keys = keys;
        self
    }

    #[must_use]
    pub fn preview(mut self, preview: impl Into<Arc<[Line]>>) -> Self {
        self.preview = preview.into();
        self
    }
}

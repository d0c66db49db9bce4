//! What the status line knows about the conversation.

use crate::protocol::{Mode, SessionId, SessionOpened, Spending, ToolInfo};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionInfo {
    /// `None` until the agent has opened it; messages sent before that wait.
    pub id: Option<SessionId>,
    pub provider: String,
    pub model: String,
    /// The model that the person wants to switch to.
    pub wanted_model: Option<String>,
    /// The model of the run that was told of last.
    pub last_model: Option<String>,
    pub mode: Mode,
    /// The tools that the model is offered.
    pub tools: Vec<ToolInfo>,
    /// Tools that it was offered before.
    pub gone_tools: Vec<ToolInfo>,
    pub branch: Option<String>,
    pub context_window: Option<u64>,
    /// Tokens and cost so far, as the agent counts them.
    pub spending: Spending,
    /// The working directory, as text.
    pub workspace: String,
    /// Why the conversation is not being saved, if it isn't.
    pub unsaved: Option<String>,
}

impl SessionInfo {
    pub fn opened(&mut self, opened: SessionOpened) {
        let before = std::mem::take(self);
        let (tools, gone_tools) = (before.tools, before.gone_tools);
        *self = Self {
            id: Some(opened.session),
            spending: opened.spending,
            provider: opened.provider,
            model: opened.model,
            wanted_model: None,
            last_model: before.last_model,
            mode: opened.mode,
            tools,
            gone_tools,
            branch: opened.branch,
            context_window: opened.context_window,
            workspace: before.workspace,
            unsaved: None,
        };
        self.offer(opened.tools);
    }

    /// Changes the tools. A removed tool is remembered as long as its calls are shown.
    pub fn offer(&mut self, tools: Vec<ToolInfo>) {
        let gone = std::mem::replace(&mut self.tools, tools);
        for tool in gone {
            self.gone_tools.retain(|other| other.name != tool.name);
            self.gone_tools.push(tool);
        }
    }

    /// The tool of this name, as far as it is known.
    pub fn tool(&self, name: &str) -> ToolInfo {
        let mut known = self.tools.iter().chain(&self.gone_tools);
        let is_it = |tool: &&ToolInfo| {
            *tool.name == *name || tool.server.is_some_and(|server| server.name() == name)
        };
        let found = known.find(is_it).cloned();
        found.unwrap_or_else(|| ToolInfo::unknown(name))
    }

    /// The active mode; `None` until a conversation was opened.
    pub fn known_mode(&self) -> Option<Mode> {
        (!self.provider.is_empty()).then_some(self.mode)
    }

    /// The used part of the context window, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let window = self.context_window.filter(|window| *window > 0)?;
        Some((self.spending.context?.saturating_mul(100) / window).min(100))
    }
}

//! What the status line knows of the conversation.

use crate::protocol::{HookInfo, Mode, SessionId, SessionOpened, Spending, ToolInfo};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionInfo {
    /// `None` until the agent has opened it; what is typed until then waits.
    pub id: Option<SessionId>,
    pub provider: String,
    pub model: String,
    pub mode: Mode,
    /// What the model is offered.
    pub tools: Vec<ToolInfo>,
    /// What it was offered before.
    pub gone_tools: Vec<ToolInfo>,
    pub hooks: Vec<HookInfo>,
    pub branch: Option<String>,
    pub context_window: Option<u64>,
    /// What was used so far, as the agent counts it.
    pub spending: Spending,
    /// The directory it works in, for people.
    pub workspace: String,
    /// Why the conversation is not being saved, while it is not.
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
            mode: opened.mode,
            tools,
            gone_tools,
            hooks: opened.hooks,
            branch: opened.branch,
            context_window: opened.context_window,
            workspace: before.workspace,
            unsaved: None,
        };
        self.offer(opened.tools);
    }

    /// Other tools are offered from now on. What a tool was that is gone has to be known as long as its calls are shown.
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

    /// The active mode; `None` while no conversation has been open yet.
    pub fn known_mode(&self) -> Option<Mode> {
        (!self.provider.is_empty()).then_some(self.mode)
    }

    /// The part of the context window in use, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let window = self.context_window.filter(|window| *window > 0)?;
        Some((self.spending.context?.saturating_mul(100) / window).min(100))
    }
}

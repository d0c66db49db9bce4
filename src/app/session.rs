//! What the status line knows of the conversation.

use crate::protocol::{HookInfo, Mode, Price, SessionId, SessionOpened, ToolInfo, Usage};

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
    pub price: Option<Price>,
    /// All that was used so far.
    pub used: Usage,
    /// How much of the context the last request filled.
    pub context: Option<u64>,
    pub cost: f64,
    /// The conversation that was counted so far: opened again, with another model say, it is counted on.
    pub counted: Option<SessionId>,
    /// The directory it works in, for people.
    pub workspace: String,
    /// Why the conversation is not being saved, while it is not.
    pub unsaved: Option<String>,
}

impl SessionInfo {
    pub fn opened(&mut self, opened: SessionOpened) {
        let before = std::mem::take(self);
        let counts = if before.counted.as_ref() == Some(&opened.session) {
            (before.used, before.context, before.cost)
        } else {
            Default::default()
        };
        let (used, context, cost) = counts;
        let (tools, gone_tools) = (before.tools, before.gone_tools);
        *self = Self {
            id: Some(opened.session.clone()),
            counted: Some(opened.session),
            used,
            context,
            cost,
            provider: opened.provider,
            model: opened.model,
            mode: opened.mode,
            tools,
            gone_tools,
            hooks: opened.hooks,
            branch: opened.branch,
            context_window: opened.context_window,
            price: opened.price,
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
        let found = known.find(|tool| *tool.name == *name).cloned();
        found.unwrap_or_else(|| ToolInfo::unknown(name))
    }

    /// The mode in force; `None` while no conversation has been open yet.
    pub fn known_mode(&self) -> Option<Mode> {
        (!self.provider.is_empty()).then_some(self.mode)
    }

    /// Counts what a response used.
    pub fn count(&mut self, usage: Usage) {
        self.used.add(usage);
        let input = usage.input_tokens.unwrap_or(0);
        // OpenAI counts the cache into the input, Anthropic beside it.
        let cached = match self.provider.as_str() {
            "anthropic" => {
                usage.cache_read_input_tokens.unwrap_or(0)
                    + usage.cache_creation_input_tokens.unwrap_or(0)
            }
            _ => 0,
        };
        let whole = input + cached + usage.output_tokens.unwrap_or(0);
        if whole > 0 {
            self.context = Some(whole);
        }
        if let Some(price) = self.price {
            let millions = |tokens: u64| {
                #[expect(clippy::cast_precision_loss, reason = "a cost is shown in cents")]
                let tokens = tokens as f64;
                tokens / 1_000_000.0
            };
            self.cost += millions(input + cached) * price.input
                + millions(usage.output_tokens.unwrap_or(0)) * price.output;
        }
    }

    /// The part of the context window in use, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let window = self.context_window.filter(|window| *window > 0)?;
        Some((self.context? * 100 / window).min(100))
    }
}

//! All tools and their origins.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::any::{AnyTool, Erased};
use super::{Demand, DescribeCx, Tool, ToolSpec};
use crate::permissions::Rules;
use crate::permissions::names::touched_by_absent;
use crate::protocol::{Mode, PreviewFields, ToolDefinition, ToolInfo, Touches};
use crate::text::nearest;

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Compiled into the program.
    BuiltIn,
    /// Described by a file; with the name that people know the file by.
    File(Arc<str>),
    /// Added by something else while the program runs; with a name that people know.
    Guest(Arc<str>),
}

/// What decides, apart from the tools themselves, which of them a request offers.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Only the essential tools.
    pub simple: bool,
    /// A tool that a deny rule names as a whole is not offered.
    pub rules: Arc<Rules>,
    /// What the provider runs needs an allow rule where nothing may ask.
    pub mode: Mode,
    pub about: DescribeCx,
    /// The model's context window in tokens, where it is known.
    pub window: Option<u64>,
}

impl Offer {
    /// Whether a call of this tool is to be asked about or denied. What the provider runs cannot be asked about.
    fn needs_question(&self, tool: &str) -> bool {
        let asks = self.mode == Mode::DontAsk && !self.rules.allows_whole(tool);
        asks || self.rules.restricts(tool)
    }
}

/// All tools of a run: the built-in ones by name, then the guests by name. No name is there twice.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Known>,
}

#[derive(Clone)]
struct Known {
    tool: Arc<dyn AnyTool>,
    origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool name `{name}` is taken: both {holder} and {newcomer} have a tool with this name")]
pub struct NameTaken {
    pub name: Arc<str>,
    pub holder: Origin,
    pub newcomer: Origin,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("agent-tui"),
            Origin::File(name) | Origin::Guest(name) => f.write_str(name),
        }
    }
}

impl Known {
    fn name(&self) -> &str {
        &self.tool.spec().name
    }
}

impl Registry {
    /// All built-in tools.
    pub fn built_in() -> Self {
        let mut registry = Self::default();
        let added = [
            registry.add(super::ask_user_question::AskUserQuestion),
            registry.add(super::bash::Bash),
            registry.add(super::bash_output::BashOutput),
            registry.add(super::edit::Edit),
            registry.add(super::plan_mode::EnterPlanMode),
            registry.add(super::plan_mode::ExitPlanMode),
            registry.add(super::file_search::FileSearch::default()),
            registry.add(super::glob::Glob),
            registry.add(super::grep::Grep),
            registry.add(super::kill_shell::KillShell),
            registry.add(super::ls::LS),
            registry.add(super::multi_edit::MultiEdit),
            #[cfg(feature = "notebook")]
            registry.add(super::notebook_edit::NotebookEdit),
            registry.add(super::read::Read),
            registry.add(super::skill::Skill),
            registry.add(super::slash_command::SlashCommand),
            registry.add(super::task::Task),
            registry.add(super::task_output::TaskOutput),
            #[cfg(feature = "web")]
            registry.add(super::web_fetch::WebFetch::default()),
            #[cfg(feature = "web")]
            registry.add(super::web_search::WebSearch),
            registry.add(super::todo_write::TodoWrite),
            registry.add(super::tool_search::ToolSearch),
            registry.add(super::write::Write),
        ];
        let added: Result<(), NameTaken> = added.into_iter().collect();
        added.expect("built-in tools have different names");
        registry
    }

    /// Adds a built-in tool.
    pub fn add<T: Tool>(&mut self, tool: T) -> Result<(), NameTaken> {
        self.insert(Arc::new(Erased::new(tool)), Origin::BuiltIn)
    }

    pub fn insert(&mut self, tool: Arc<dyn AnyTool>, origin: Origin) -> Result<(), NameTaken> {
        let name = tool.spec().name.clone();
        if let Some(holder) = self.tools.iter().find(|other| *other.name() == *name) {
            let holder = holder.origin.clone();
            return Err(NameTaken {
                name,
                holder,
                newcomer: origin,
            });
        }
        let comes_before = |other: &Known| match origin {
            Origin::BuiltIn => other.origin == Origin::BuiltIn && *other.name() < *name,
            Origin::File(_) | Origin::Guest(_) => {
                other.origin == Origin::BuiltIn || *other.name() < *name
            }
        };
        let at = self.tools.partition_point(comes_before);
        self.tools.insert(at, Known { tool, origin });
        Ok(())
    }

    /// Removes a tool. Returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.tools.len();
        self.tools.retain(|known| known.name() != name);
        self.tools.len() < before
    }

    /// Removes all tools of one origin.
    pub fn remove_all_of(&mut self, origin: &Origin) {
        self.remove_those_of(|other| other == origin);
    }

    /// Takes all tools away whose origin is one of these.
    pub fn remove_those_of(&mut self, is_one: impl Fn(&Origin) -> bool) {
        self.tools.retain(|known| !is_one(&known.origin));
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let known = self.tools.iter().find(|known| known.name() == name);
        known.map(|known| &known.tool)
    }

    /// The tool with the most similar name, if any is similar.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.names())
    }

    /// Does the work that the first call of a frequent tool would otherwise wait for. The other tools would take
    /// memory that may never be used, and save only a millisecond at their first call.
    pub fn prepare(&self) {
        let everyday = self
            .tools
            .iter()
            .filter(|known| known.tool.spec().demand == Demand::Essential);
        for known in everyday {
            known.tool.prepare();
        }
    }

    /// The tools that this run offers.
    #[must_use]
    pub fn offered(&self, offer: &Offer) -> Self {
        let is_served = |known: &Known| known.tool.served_by(&offer.about).is_some();
        let offers = |known: &&Known| {
            let spec = known.tool.spec();
            (!offer.simple || spec.demand == Demand::Essential)
                && !offer.rules.denies_whole(&spec.name)
                && known.tool.is_enabled(&offer.about)
                && !(is_served(known) && offer.needs_question(&spec.name))
        };
        let offered: Vec<&Known> = self.tools.iter().filter(offers).collect();
        let has = |name: &str| offered.iter().any(|known| known.name() == name);
        let is_usable = |known: &&&Known| known.tool.spec().needs.as_deref().is_none_or(has);
        Self {
            tools: offered.iter().filter(is_usable).copied().cloned().collect(),
        }
    }

    /// The tools whose names are kept.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let tools = self.tools.iter().filter(|known| keeps(known.name()));
        Self {
            tools: tools.cloned().collect(),
        }
    }

    /// The tool that runs commands, and its input field for the command.
    pub fn shell(&self) -> Option<(&ToolSpec, &str)> {
        self.tools.iter().find_map(|known| {
            let spec = known.tool.spec();
            match &spec.preview {
                PreviewFields::Command { command } => Some((spec, &**command)),
                PreviewFields::Nothing
                | PreviewFields::Edit { .. }
                | PreviewFields::Write { .. } => None,
            }
        })
    }

    /// What a call touches, also for an unknown tool.
    pub fn touches(&self, tool: &str, input: &Value) -> Touches {
        match self.find(tool) {
            Some(tool) => tool.touches(input),
            None => touched_by_absent(tool, input),
        }
    }

    /// The definitions for the model.
    pub fn definitions(&self, about: &DescribeCx) -> Vec<ToolDefinition> {
        let tools = self.tools.iter();
        tools.map(|known| known.tool.definition(about)).collect()
    }

    /// The tools that a request can announce by name only: those of guests, and those that most conversations do without.
    pub fn deferrable(&self) -> impl Iterator<Item = &str> {
        let can_wait = |known: &&Known| {
            known.origin != Origin::BuiltIn || known.tool.spec().demand == Demand::Rare
        };
        self.tools.iter().filter(can_wait).map(Known::name)
    }

    /// The tools as the screen knows them, all of them offered.
    pub fn infos(&self, about: &DescribeCx) -> Vec<ToolInfo> {
        let info = |known: &Known| ToolInfo {
            definition: Some(Arc::new(known.tool.definition(about))),
            guest_of: match &known.origin {
                Origin::BuiltIn => None,
                Origin::File(name) | Origin::Guest(name) => Some(name.clone()),
            },
            ..known.tool.spec().info()
        };
        self.tools.iter().map(info).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(Known::name)
    }
}

//! Which tools there are, and which of them a request offers (SPEC section 9).

use std::sync::Arc;

use super::any::{AnyTool, Erased};
use super::{DescribeCx, Tool};
use crate::protocol::ToolDefinition;
use crate::text::nearest;

/// The tools of `--simple`.
const SIMPLE: [&str; 3] = ["Bash", "Edit", "Read"];
/// Tools that are of no use without Bash.
const NEED_BASH: [&str; 2] = ["BashOutput", "KillShell"];

/// What decides, apart from the tools themselves, which of them a request offers.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Only Bash, Read and Edit.
    pub simple: bool,
    /// Tools that a deny rule names as a whole.
    pub denied: Vec<String>,
    pub about: DescribeCx,
}

/// All tools of a run, sorted by name: the order in which every request lists them, so that a prompt cache holds.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn AnyTool>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool name `{0}` is taken already")]
pub struct NameTaken(pub String);

impl Registry {
    /// Everything compiled in.
    pub fn built_in() -> Self {
        let tools: [Arc<dyn AnyTool>; 8] = [
            Arc::new(Erased::new(super::bash::Bash)),
            Arc::new(Erased::new(super::bash_output::BashOutput)),
            Arc::new(Erased::new(super::edit::Edit)),
            Arc::new(Erased::new(super::glob::Glob)),
            Arc::new(Erased::new(super::grep::Grep)),
            Arc::new(Erased::new(super::kill_shell::KillShell)),
            Arc::new(Erased::new(super::read::Read)),
            Arc::new(Erased::new(super::write::Write)),
        ];
        let mut registry = Self::default();
        for tool in tools {
            registry
                .insert(tool)
                .expect("built-in tools have names of their own");
        }
        registry
    }

    pub fn add<T: Tool>(&mut self, tool: T) -> Result<(), NameTaken> {
        self.insert(Arc::new(Erased::new(tool)))
    }

    fn insert(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), NameTaken> {
        let name = tool.spec().name;
        match self
            .tools
            .binary_search_by(|other| other.spec().name.cmp(name))
        {
            Ok(_) => Err(NameTaken(name.to_owned())),
            Err(at) => {
                self.tools.insert(at, tool);
                Ok(())
            }
        }
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// The tool whose name is most like the given one, if any is at all like it.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.tools.iter().map(|tool| tool.spec().name))
    }

    /// Gets everything ready that the first call of a tool would have to wait for.
    pub fn prepare(&self) {
        for tool in &self.tools {
            tool.prepare();
        }
    }

    /// The registry as this run offers it.
    #[must_use]
    pub fn offered(&self, offer: &Offer) -> Self {
        let tools = self.tools.iter().filter(|tool| {
            let name = tool.spec().name;
            (!offer.simple || SIMPLE.contains(&name))
                && !offer
                    .denied
                    .iter()
                    .any(|denied| denied == name || (denied == "Bash" && NEED_BASH.contains(&name)))
                && tool.is_enabled(&offer.about)
        });
        Self {
            tools: tools.cloned().collect(),
        }
    }

    /// The tools as the model is told about them.
    pub fn definitions(&self, about: &DescribeCx) -> Vec<ToolDefinition> {
        self.tools
            .iter()
            .map(|tool| tool.definition(about))
            .collect()
    }

    pub fn names(&self) -> Vec<String> {
        self.tools
            .iter()
            .map(|tool| tool.spec().name.to_owned())
            .collect()
    }
}

//! What people add to the program with files: types of subagents, skills, slash commands and custom tools.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::source::NamedFile;
use super::subagent::AgentKind;
use super::tool::InterruptBehavior;

/// Everything that files add, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extensions {
    pub agents: Vec<AgentKind>,
    pub skills: Vec<Skill>,
    /// What the person can type, including skills.
    pub commands: Vec<CustomCommand>,
    pub tools: Vec<CustomTool>,
}

/// Instructions for a kind of task, in a folder with the files that they refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: Arc<str>,
    /// When to use it, for the model that chooses one.
    pub description: Arc<str>,
    pub instructions: Arc<str>,
    pub folder: PathBuf,
    pub allows: Allows,
    /// Whether the model may use it by itself; the person always can.
    pub for_model: bool,
}

/// A text for the model with a name, which the person types after a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomCommand {
    pub name: Arc<str>,
    /// A hint for people about its arguments.
    pub arguments: Arc<str>,
    pub about: Arc<str>,
    /// The text for the model, with places for arguments, output of commands and files.
    pub prompt: Arc<str>,
    pub allows: Allows,
    /// The model that answers it; `None` for the model of the conversation.
    pub model: Option<String>,
    /// Whether the model may use it by itself.
    pub for_model: bool,
    /// The folder of its skill, if it is one.
    pub skill: Option<PathBuf>,
}

/// What a file allows without asking, from its use until the turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allows {
    /// Valid allow rules.
    pub rules: Vec<String>,
    pub file: NamedFile,
}

/// A program that the model can call as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomTool {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub input_schema: Value,
    /// A shell command.
    pub command: String,
    /// Its author says that it changes nothing: its calls may run in parallel, and they still ask.
    pub read_only: bool,
    pub timeout_ms: u64,
    pub interrupt: InterruptBehavior,
    /// `None` for the default.
    pub max_result_chars: Option<usize>,
    /// The name of its file for people.
    pub source: Arc<str>,
}

impl Extensions {
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| *skill.name == *name)
    }

    pub fn command(&self, name: &str) -> Option<&CustomCommand> {
        self.commands.iter().find(|command| *command.name == *name)
    }
}

impl CustomCommand {
    /// The name in a line that begins with a slash, and what follows it.
    pub fn split(line: &str) -> Option<(&str, &str)> {
        let behind = line.trim().strip_prefix('/')?;
        let (name, arguments) = behind
            .split_once(char::is_whitespace)
            .unwrap_or((behind, ""));
        Some((name, arguments.trim()))
    }
}

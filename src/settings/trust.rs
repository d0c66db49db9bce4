//! Whether a workspace is trusted: based on what its files want, not on its name.
//!
//! A [`Review`] lists everything in a project that runs code or grants rights. The person's yes is stored as hashes
//! of these items, in a private file, under the real path of the workspace; nothing that the project says about
//! itself matters. A new or changed item has another hash, and asks again. A removed one does not.

mod found;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::Files;
use crate::config::dirs::{create_private_dir, name_for};
use crate::config::save::{self, Fresh};
use crate::config::{LONGEST_FILE, read_regular};

/// Something that a project wants, and gets only when it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub kind: Kind,
    /// Its file, relative to the workspace.
    pub file: String,
    /// The text from the file.
    pub what: String,
    /// Whether the person has not trusted it yet, although they have trusted other items of this workspace.
    pub is_new: bool,
    /// The hash of the whole item, including the part that is not shown.
    mark: String,
}

/// The kinds, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Hook,
    Server,
    Tool,
    Variable,
    Allow,
    Mode,
    Directory,
    Provider,
    /// A command, an agent or a skill that runs something or grants rights.
    Prompt,
    /// A command, an agent or a skill that is only a text.
    Instructions,
    Setting,
}

/// What a project wants, and whether the person has trusted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub workspace: PathBuf,
    pub items: Vec<Item>,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It wants nothing that needs trust.
    Nothing,
    Trusted,
    /// The person was never asked, or declined.
    Unknown,
    /// They trusted it, and then it changed.
    Changed,
}

/// The person's own record of what they have trusted in a workspace.
#[derive(Debug, Clone)]
pub struct Memory {
    workspace: PathBuf,
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Record {
    workspace: PathBuf,
    trusted: Vec<String>,
}

impl Kind {
    /// The heading of these items, for people.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Hook => "run these commands automatically (hooks)",
            Kind::Server => "start or talk to these MCP servers",
            Kind::Tool => "add these tools for the model",
            Kind::Variable => "set these variables for every command",
            Kind::Allow => "allow these without asking",
            Kind::Mode => "start in this permission mode",
            Kind::Directory => "treat these directories as part of the workspace",
            Kind::Provider => "choose the provider that receives the conversation",
            Kind::Prompt => "run commands or grant rights from these files",
            Kind::Instructions => "add these commands, skills and subagents",
            Kind::Setting => "change these settings",
        }
    }
}

impl Review {
    /// Reviews the project. `own` are the allow rules that the person saved there themselves.
    pub fn look(workspace: &Path, files: &Files, own: &[String], memory: &Memory) -> Self {
        let mut items = found::items(workspace, files, own);
        let known = memory.marks();
        if let Some(known) = &known {
            for item in &mut items {
                item.is_new = !known.contains(&item.mark);
            }
        }
        let state = match known {
            _ if items.is_empty() => State::Nothing,
            None => State::Unknown,
            Some(_) if items.iter().any(|item| item.is_new) => State::Changed,
            Some(_) => State::Trusted,
        };
        Self {
            workspace: memory.workspace.clone(),
            items,
            state,
        }
    }

    /// The one answer to whether the project's own settings apply in full.
    pub fn is_trusted(&self) -> bool {
        match self.state {
            State::Nothing | State::Trusted => true,
            State::Unknown | State::Changed => false,
        }
    }

    /// The hash of everything that it wants now.
    pub fn mark(&self) -> String {
        found::digest(self.items.iter().map(|item| item.mark.as_str()))
    }

    /// What it wants, in a few words.
    pub fn summary(&self) -> String {
        let mut kinds: Vec<Kind> = self.items.iter().map(|item| item.kind).collect();
        kinds.dedup();
        let titles: Vec<&str> = kinds.into_iter().map(Kind::title).collect();
        titles.join("; ")
    }
}

impl Memory {
    /// `data` is the program's data directory.
    pub fn new(data: &Path, workspace: &Path) -> Self {
        let real = workspace
            .canonicalize()
            .unwrap_or_else(|_| workspace.to_owned());
        Self {
            file: data.join("trusted").join(name_for(&real)),
            workspace: real,
        }
    }

    /// Stores the person's yes. Blocks.
    pub fn remember(&self, review: &Review) -> io::Result<()> {
        create_private_dir(self.file.parent().unwrap_or(&self.file))?;
        let _lock = save::lock(&self.file.with_extension("lock"))?;
        let record = Record {
            workspace: self.workspace.clone(),
            trusted: review.items.iter().map(|item| item.mark.clone()).collect(),
        };
        let text = serde_json::to_string_pretty(&record)?;
        save::replace(&self.file, &text, Fresh::Private)
    }

    /// What they have trusted; `None` if nothing yet. If the record cannot be read, nothing is trusted.
    fn marks(&self) -> Option<Vec<String>> {
        let bytes = read_regular(&self.file, LONGEST_FILE).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.workspace == self.workspace).then_some(record.trusted)
    }
}

#[cfg(test)]
impl Review {
    /// A review with these items.
    pub fn wanting(state: State, wants: &[(Kind, &str)]) -> Self {
        let item = |(kind, what): &(Kind, &str)| Item {
            kind: *kind,
            file: ".agent-tui/settings.json".to_owned(),
            what: (*what).to_owned(),
            is_new: state == State::Changed,
            mark: (*what).to_owned(),
        };
        Self {
            workspace: "/work".into(),
            items: wants.iter().map(item).collect(),
            state,
        }
    }
}

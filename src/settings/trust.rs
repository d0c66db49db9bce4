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
use serde_json::Value;

use super::files::Files;
use crate::config::dirs::{create_private_dir, name_for};
use crate::config::save::{self, NewFileAccess};
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
    /// The servers that they added themselves, by a command: nobody has to be asked about these.
    #[serde(default)]
    added: Vec<String>,
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
    pub fn inspect(workspace: &Path, files: &Files, own: &[String], memory: &Memory) -> Self {
        let mut items = found::items(workspace, files, own);
        let record = memory.record();
        items.retain(|item| !record.added.contains(&item.mark));
        let known = (!record.trusted.is_empty()).then_some(record.trusted);
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

    /// Stores the person's yes to everything in a review. Blocks.
    pub fn remember(&self, review: &Review) -> io::Result<()> {
        let marks = review.items.iter().map(|item| item.mark.clone());
        self.change(|record| record.trusted = marks.collect())
    }

    /// Stores the person's yes to one server, by its mark. Blocks.
    pub fn trust_server(&self, mark: &str) -> io::Result<()> {
        self.change(|record| record.trusted.push(mark.to_owned()))
    }

    /// Stores that the person added this server themselves. Blocks.
    pub fn add_server(&self, mark: &str) -> io::Result<()> {
        self.change(|record| record.added.push(mark.to_owned()))
    }

    /// Whether the person trusted this server, by its mark.
    pub fn has_trusted(&self, mark: &str) -> bool {
        self.record().trusted.iter().any(|known| known == mark)
    }

    /// Whether the person added this server themselves, by its mark.
    pub fn has_added(&self, mark: &str) -> bool {
        self.record().added.iter().any(|known| known == mark)
    }

    fn change(&self, change: impl FnOnce(&mut Record)) -> io::Result<()> {
        create_private_dir(self.file.parent().unwrap_or(&self.file))?;
        let _lock = save::lock(&self.file.with_extension("lock"))?;
        let mut record = self.record();
        change(&mut record);
        for marks in [&mut record.trusted, &mut record.added] {
            marks.sort();
            marks.dedup();
        }
        let text = serde_json::to_string_pretty(&record)?;
        save::replace(&self.file, &text, NewFileAccess::Private)
    }

    /// What they have trusted. If the record cannot be read, nothing is trusted.
    fn record(&self) -> Record {
        let read = || -> Option<Record> {
            let bytes = read_regular(&self.file, LONGEST_FILE).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        let record = read().filter(|record| record.workspace == self.workspace);
        record.unwrap_or_else(|| Record {
            workspace: self.workspace.clone(),
            trusted: Vec::new(),
            added: Vec::new(),
        })
    }
}

/// The mark of a server: the hash of its whole definition in this file.
pub fn server_mark(file: &str, name: &str, value: &Value) -> String {
    found::server_mark(file, name, value)
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

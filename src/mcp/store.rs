//! Adds servers to files and removes them, and remembers what the person switched off.
//!
//! A server that the person adds by a command needs no further trust: the record of it is outside the project.
//! Everything here blocks: not for an async thread.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::KEY;
use crate::config::dirs::{Dirs, create_private_dir, name_for};
use crate::config::edit::Change;
use crate::config::save::{self, NewFileAccess, SaveError};
use crate::config::{LONGEST_FILE, json, read_regular};
use crate::permissions::Store;
use crate::settings::files::SERVERS_FILE;
use crate::settings::trust::{Memory, server_mark};

/// Which file a server is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The project's settings for one person only.
    Local,
    /// The project's `.mcp.json`.
    Project,
    /// The person's own settings.
    User,
}

/// The files of a person and of a workspace.
#[derive(Debug, Clone)]
pub struct Places {
    pub dirs: Dirs,
    pub workspace: PathBuf,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Local, Scope::Project, Scope::User];

    pub fn name(self) -> &'static str {
        match self {
            Scope::Local => "local",
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

impl Places {
    pub fn file(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Local => Store::new(&self.dirs.data, &self.workspace).file(),
            Scope::Project => self.workspace.join(SERVERS_FILE),
            Scope::User => self.dirs.config.join("settings.json"),
        }
    }

    /// The definition of a server in the file of this scope.
    pub fn find(&self, scope: Scope, name: &str) -> Option<Value> {
        let bytes = read_regular(&self.file(scope), LONGEST_FILE).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (value, _) = json::read(text.trim_start_matches('\u{feff}')).ok()?;
        value[KEY].get(name).cloned()
    }

    /// Writes a server; returns its file.
    pub fn add(&self, scope: Scope, name: &str, server: &Value) -> Result<PathBuf, SaveError> {
        let change = Change::Set(&[KEY, name], server.clone());
        self.change(scope, &change)?;
        let file = self.file(scope);
        let label = match scope {
            Scope::User => return Ok(file),
            Scope::Local => ".agent-tui/settings.local.json",
            Scope::Project => SERVERS_FILE,
        };
        let memory = Memory::new(&self.dirs.data, &self.workspace);
        let mark = server_mark(label, name, server);
        memory.add_server(&mark).map_err(SaveError::io(&file))?;
        Ok(file)
    }

    /// Removes a server; returns its file.
    pub fn remove(&self, scope: Scope, name: &str) -> Result<PathBuf, SaveError> {
        self.change(scope, &Change::Unset(&[KEY, name]))?;
        Ok(self.file(scope))
    }

    fn change(&self, scope: Scope, change: &Change<'_>) -> Result<(), SaveError> {
        let file = self.file(scope);
        let store = Store::new(&self.dirs.data, &self.workspace);
        match scope {
            Scope::User => save::change(&file, change),
            // It may contain secrets.
            Scope::Local => store.change(&file, change, NewFileAccess::Private),
            Scope::Project => store.change(&file, change, NewFileAccess::Ordinary),
        }
    }
}

/// What the person switched off in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Off {
    pub servers: BTreeSet<String>,
    /// By server: the server's own names of its tools.
    pub tools: BTreeMap<String, BTreeSet<String>>,
}

impl Off {
    pub fn has_tool(&self, server: &str, tool: &str) -> bool {
        self.tools.get(server).is_some_and(|off| off.contains(tool))
    }
}

/// Remembers it.
#[derive(Debug, Clone)]
pub struct Switches {
    file: PathBuf,
}

impl Switches {
    /// `data` is the program's data directory.
    pub fn new(data: &Path, workspace: &Path) -> Self {
        let real = workspace.canonicalize();
        let real = real.unwrap_or_else(|_| workspace.to_owned());
        Self {
            file: data.join("mcp").join(name_for(&real)),
        }
    }

    /// The folder of all that is remembered about servers.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// If the record cannot be read, everything is on.
    pub fn read(&self) -> Off {
        let bytes = read_regular(&self.file, LONGEST_FILE).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn set_server(&self, server: &str, on: bool) -> io::Result<()> {
        self.change(|off| {
            if on {
                off.servers.remove(server);
            } else {
                off.servers.insert(server.to_owned());
            }
        })
    }

    pub fn set_tool(&self, server: &str, tool: &str, on: bool) -> io::Result<()> {
        self.change(|off| {
            let tools = off.tools.entry(server.to_owned()).or_default();
            if on {
                tools.remove(tool);
            } else {
                tools.insert(tool.to_owned());
            }
            off.tools.retain(|_, tools| !tools.is_empty());
        })
    }

    fn change(&self, change: impl FnOnce(&mut Off)) -> io::Result<()> {
        create_private_dir(self.file.parent().unwrap_or(&self.file))?;
        let _lock = save::lock(&self.file.with_extension("lock"))?;
        let mut off = self.read();
        change(&mut off);
        let text = serde_json::to_string_pretty(&off)?;
        save::replace(&self.file, &text, NewFileAccess::Private)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let home = tempfile::tempdir().expect("a directory");
        let workspace = home.path().join("work");
        std::fs::create_dir(&workspace).expect("made");
        let dirs = Dirs {
            config: home.path().join("config"),
            data: home.path().join("data"),
            home: home.path().to_owned(),
        };
        (home, Places { dirs, workspace })
    }

    #[test]
    fn a_server_is_added_and_removed_and_the_rest_of_the_file_stays() {
        let (_home, places) = places();
        let before = "{\n  // ours\n  \"mcpServers\": {\n    \"b\": {\"command\": \"y\"} // why\n  },\n  \"z\": 1\n}\n";
        std::fs::write(places.file(Scope::Project), before).expect("written");
        let server = json!({"type": "stdio", "command": "x", "args": ["1"]});
        let file = places.add(Scope::Project, "a", &server).expect("added");
        let text = std::fs::read_to_string(&file).expect("readable");
        for kept in [
            "// ours",
            "\"b\": {\"command\": \"y\"}",
            "// why",
            "\"z\": 1",
        ] {
            assert!(text.contains(kept), "{text}");
        }
        assert_eq!(places.find(Scope::Project, "a"), Some(server));
        places.remove(Scope::Project, "a").expect("removed");
        let text = std::fs::read_to_string(&file).expect("readable");
        assert_eq!(text, before);
        assert_eq!(places.find(Scope::Project, "a"), None);
    }

    #[test]
    fn a_broken_file_is_not_overwritten() {
        let (_home, places) = places();
        std::fs::write(places.file(Scope::Project), "{\n  oops").expect("written");
        let error = places.add(Scope::Project, "a", &json!({"command": "x"}));
        let error = error.expect_err("refused").to_string();
        assert!(
            error.ends_with("line 2, column 3: key must be a string"),
            "{error}"
        );
    }

    #[test]
    fn what_is_switched_off_is_remembered_by_server_and_by_tool() {
        let (_home, places) = places();
        let switches = Switches::new(&places.dirs.data, &places.workspace);
        assert_eq!(switches.read(), Off::default());
        switches.set_server("a", false).expect("kept");
        switches.set_tool("b", "t", false).expect("kept");
        let off = switches.read();
        assert!(off.servers.contains("a") && off.has_tool("b", "t") && !off.has_tool("a", "t"));
        switches.set_server("a", true).expect("kept");
        switches.set_tool("b", "t", true).expect("kept");
        assert_eq!(switches.read(), Off::default());
    }
}

//! Which MCP servers there are: the project's `.mcp.json`, `mcpServers` in the settings, and `--mcp-config`.
//!
//! A server is defined as a whole by the highest file that names it: local over project over user, the command line
//! over all. A server of a project is used only once the person has trusted it. A mistake is reported with its file,
//! line and column; what depends on the machine, such as a variable that is not set, affects that server only.

mod server;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

pub use self::server::check_address;
pub use super::expand::Variables;
use crate::config::json::{self, Inside, Wrong, place};
use crate::config::{LONGEST_FILE, add_keys, read_named};
use crate::protocol::McpState;
use crate::settings::SettingsError;
use crate::settings::files::{Content, Files, Layer, Owner, SERVERS_FILE};
use crate::settings::trust::Memory;

/// How long a server may take to connect, unless its configuration says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A server that can be connected to. Its `Debug` text contains secrets: it is not for logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub source: Source,
    /// The name of its file, for people.
    pub file: String,
    pub transport: Transport,
    /// Its command line or address, for people: without secrets.
    pub shown: String,
    /// How long connecting may take.
    pub timeout: Duration,
    /// False for a server of a project that the person has not trusted: it must not be started.
    pub trusted: bool,
    /// Identifies exactly this configuration of exactly this server, for the record of what is trusted.
    pub mark: String,
}

/// Where a server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    User,
    Project,
    /// The project's file for one person only.
    Local,
    /// `--mcp-config`, with the path of its file, or [`INLINE`].
    CommandLine(PathBuf),
}

/// The path of servers that were written on the command line itself.
pub const INLINE: &str = "inline";
/// The name of these servers in messages.
pub const FLAG: &str = "--mcp-config";

/// With the values of all variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// A server that is configured, and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    pub name: String,
    pub source: Source,
    /// The name of its file, for people.
    pub file: String,
    pub shown: String,
    /// [`McpState::Disabled`] or [`McpState::Unusable`].
    pub state: McpState,
    /// Why, and what to do about it.
    pub why: String,
}

/// The servers of a run, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    pub servers: Vec<Server>,
    pub unusable: Vec<Unusable>,
    /// What a person should know about the files: unknown fields.
    pub warnings: Vec<String>,
    /// What a person must fix.
    pub errors: Vec<SettingsError>,
}

/// What the servers of a run are made of.
#[derive(Clone, Copy)]
pub struct Inputs<'i> {
    pub files: &'i Files,
    /// The values of `--mcp-config`: files, or JSON.
    pub command_line: &'i [String],
    /// Whether the project as a whole is trusted.
    pub trusted: bool,
    /// Which servers of the project the person trusted one by one, or added themselves.
    pub memory: &'i Memory,
    /// Whether a person is there; without one, only servers that they added themselves, or an explicit trust, count.
    pub attended: bool,
    pub variables: Variables<'i>,
}

impl Transport {
    /// The values that must never be shown or logged.
    pub fn secrets(&self) -> Vec<String> {
        let values = match self {
            Transport::Stdio { env: values, .. }
            | Transport::Http {
                headers: values, ..
            } => values,
        };
        let secret = values
            .iter()
            .filter(|(name, _)| super::mask::is_secret(name))
            .map(|(_, value)| value.split_once(' ').map_or(&**value, |(_, token)| token));
        secret.map(str::to_owned).collect()
    }
}

impl Loaded {
    pub fn find(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// One file with servers.
struct Page<'p> {
    text: &'p str,
    /// For messages about mistakes.
    path: PathBuf,
    /// For people.
    name: String,
    source: Source,
    /// Whether its servers need trust.
    of_project: bool,
}

/// What a name in a file means.
enum Entry {
    Usable(Server),
    Unusable(Unusable),
}

/// Reads all servers; from now on their secrets are kept out of logs. Only reads files that `--mcp-config` names; the others were read before.
pub fn load(inputs: Inputs<'_>) -> Loaded {
    let mut found = Loaded::default();
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let layers = inputs.files.layers.iter();
    let (own, rest): (Vec<&Layer>, Vec<&Layer>) =
        layers.partition(|layer| layer.owner == Owner::Person);
    let shared = inputs.files.servers.iter();
    for layer in own.into_iter().chain(shared).chain(rest) {
        add_layer(layer, inputs, &mut entries, &mut found);
    }
    for named in inputs.command_line {
        add_named(named, inputs, &mut entries, &mut found);
    }
    for entry in entries.into_values() {
        match entry {
            Entry::Usable(server) => {
                add_keys(server.transport.secrets());
                found.servers.push(server);
            }
            Entry::Unusable(server) => found.unusable.push(server),
        }
    }
    found
}

fn add_layer(
    layer: &Layer,
    inputs: Inputs<'_>,
    entries: &mut BTreeMap<String, Entry>,
    found: &mut Loaded,
) {
    let is_servers_file = layer.name == SERVERS_FILE;
    let text = match &layer.content {
        Content::Text(text) => text,
        Content::Unreadable(problem) if is_servers_file => {
            return found.errors.push(SettingsError::Unreadable {
                path: layer.path.clone(),
                problem: problem.clone(),
            });
        }
        // The settings report what is wrong with a file of theirs.
        Content::Missing | Content::Unreadable(_) => return,
    };
    let page = Page {
        text,
        path: layer.path.clone(),
        name: layer.name.clone(),
        source: match layer.owner {
            Owner::Person => Source::User,
            Owner::Local => Source::Local,
            Owner::Claude if layer.name.contains(".local.") => Source::Local,
            Owner::Claude | Owner::Project => Source::Project,
            Owner::Named => Source::CommandLine(layer.path.clone()),
        },
        of_project: layer.owner.is_project(),
    };
    let mut read = Loaded::default();
    page.add(inputs, entries, &mut read);
    found.warnings.append(&mut read.warnings);
    // The settings report what they could not read themselves.
    if is_servers_file || json::read(text).is_ok_and(|(value, _)| value[KEY].is_object()) {
        found.errors.append(&mut read.errors);
    }
}

/// The key of the servers in every file.
pub const KEY: &str = "mcpServers";

/// What is wrong with the definition of a server that is not in a file yet.
pub fn check_definition(name: &str, definition: &Value) -> Result<(), String> {
    let text = definition.to_string();
    let (value, node) = json::read(&text).map_err(|wrong| wrong.problem)?;
    let page = Page {
        text: &text,
        path: PathBuf::new(),
        name: String::new(),
        source: Source::User,
        of_project: false,
    };
    let definition = server::Definition {
        name,
        value: &value,
        node: &node,
        page: &page,
    };
    definition.check()
}

/// A value of `--mcp-config`.
fn add_named(
    named: &str,
    inputs: Inputs<'_>,
    entries: &mut BTreeMap<String, Entry>,
    found: &mut Loaded,
) {
    let inline = named.trim_start().starts_with('{');
    let path = PathBuf::from(if inline { INLINE } else { named });
    let read = if inline {
        Ok(named.to_owned())
    } else {
        read_text(&path)
    };
    let text = match read {
        Ok(text) => text,
        Err(problem) => {
            return found
                .errors
                .push(SettingsError::Unreadable { path, problem });
        }
    };
    let page = Page {
        text: &text,
        name: if inline {
            FLAG.to_owned()
        } else {
            named.to_owned()
        },
        path: if inline {
            PathBuf::from(FLAG)
        } else {
            path.clone()
        },
        source: Source::CommandLine(path),
        of_project: false,
    };
    page.add(inputs, entries, found);
}

/// A file that the person names.
fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_named(path, LONGEST_FILE).map_err(|error| error.to_string())?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8".to_owned())
}

impl Page<'_> {
    fn add(&self, inputs: Inputs<'_>, entries: &mut BTreeMap<String, Entry>, found: &mut Loaded) {
        let (value, node) = match json::read(self.text) {
            Ok(read) => read,
            Err(wrong) => return found.errors.push(self.wrong(wrong)),
        };
        let Value::Object(members) = &value else {
            let problem = format!("expected an object: `{{\"{KEY}\": {{ … }}}}`");
            return found.errors.push(self.wrong_at(node.span.start, problem));
        };
        let Some(servers) = node.get(KEY) else {
            let is_alone =
                self.name == SERVERS_FILE || matches!(self.source, Source::CommandLine(_));
            if is_alone && !members.is_empty() && members.values().all(is_like_server) {
                let problem = format!("put the servers inside `{KEY}`");
                found.errors.push(self.wrong_at(node.span.start, problem));
            }
            return;
        };
        if !matches!(servers.inside, Inside::Object(_)) {
            let problem = format!("`{KEY}` must be an object: {{\"NAME\": {{ … }}}}");
            return found
                .errors
                .push(self.wrong_at(servers.span.start, problem));
        }
        for repeated in servers.repeated() {
            let problem = format!(
                "server `{}` appears twice; the last one is used",
                repeated.name
            );
            found
                .warnings
                .push(self.wrong_at(repeated.start, problem).to_string());
        }
        for (name, value) in value[KEY].as_object().into_iter().flatten() {
            let Some(node) = servers.get(name) else {
                continue;
            };
            let definition = server::Definition {
                name,
                value,
                node,
                page: self,
            };
            let read = definition.read(inputs, found);
            let Some(entry) = read else { continue };
            put(name, entry, entries);
        }
    }

    fn wrong_at(&self, offset: usize, problem: String) -> SettingsError {
        let (line, column) = place(self.text, offset);
        self.wrong(Wrong {
            line,
            column,
            problem,
        })
    }

    fn wrong(&self, wrong: Wrong) -> SettingsError {
        SettingsError::Wrong {
            path: self.path.clone(),
            wrong,
        }
    }
}

/// A server that is not trusted does not replace one of the person's own.
fn put(name: &str, entry: Entry, entries: &mut BTreeMap<String, Entry>) {
    let is_untrusted = match &entry {
        Entry::Usable(server) => !server.trusted,
        Entry::Unusable(_) => false,
    };
    let is_own = |entry: &Entry| match entry {
        Entry::Usable(server) => server.trusted,
        Entry::Unusable(server) => server.source == Source::User,
    };
    if is_untrusted && entries.get(name).is_some_and(is_own) {
        return;
    }
    entries.insert(name.to_owned(), entry);
}

fn is_like_server(value: &Value) -> bool {
    value["command"].is_string() || value["url"].is_string()
}

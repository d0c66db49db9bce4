//! Finds everything in a project that runs code or grants rights.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Item, Kind};
use crate::config::front_matter::FrontMatter;
use crate::config::{is_missing, read_regular};
use crate::settings::extensions::{DEEPEST, FolderContent, Found, MOST_FILES, SKILL, below};
use crate::settings::file;
use crate::settings::files::{Content, FOLDERS, Files, Owner};
use crate::text;

/// Folders whose texts reach the model, and may run commands or grant rights to themselves.
const PROMPTS: [FolderContent; 3] = [
    FolderContent::Agents,
    FolderContent::Commands,
    FolderContent::Skills,
];
/// The keys that do so.
const RISKY_KEYS: [&str; 4] = ["allowed-tools:", "tools:", "hooks:", "permissionMode:"];
/// How many bytes of them are read in all, because the first frame waits for it.
const MOST_BYTES: u64 = 4 << 20;
/// More of what a text is about is not shown.
const LONGEST_ABOUT: usize = 200;
/// How much of one item is shown.
const LONGEST_WHAT: usize = 4_000;

pub(super) fn items(workspace: &Path, files: &Files, own: &[String]) -> Vec<Item> {
    let mut items = Vec::new();
    for layer in &files.layers {
        let (true, Content::Text(text)) = (layer.owner.is_project(), &layer.content) else {
            continue;
        };
        // A file that cannot be parsed is not used either.
        if let Ok(Value::Object(settings)) = serde_json::from_str::<Value>(text) {
            let own = if layer.owner == Owner::Local {
                own
            } else {
                &[]
            };
            let mut add = |kind, what: String, all: &Value| {
                items.push(item(kind, &layer.name, &what, all.to_string().as_bytes()));
            };
            for (key, value) in &settings {
                setting(key, value, own, &mut add);
            }
        }
    }
    servers_file(files, &mut items);
    let mut reader = Reader {
        workspace,
        left: MOST_BYTES,
    };
    reader.tools(&mut items);
    reader.prompts(&mut items);
    items.sort_by_key(|item| item.kind);
    items
}

/// One hash of several texts, with unambiguous boundaries.
pub(super) fn digest<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let bytes = hash.finalize();
    bytes.iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

fn item(kind: Kind, file: &str, what: &str, all: &[u8]) -> Item {
    let all = String::from_utf8_lossy(all);
    let name = format!("{kind:?}");
    let mark = digest([name.as_str(), file, what, &all].into_iter());
    Item {
        kind,
        file: file.to_owned(),
        what: shortened(what),
        is_new: false,
        mark,
    }
}

fn setting(key: &str, value: &Value, own: &[String], add: &mut impl FnMut(Kind, String, &Value)) {
    match (key, value) {
        ("permissions", Value::Object(permissions)) => {
            for (key, value) in permissions {
                permission(key, value, own, add);
            }
        }
        ("env", Value::Object(variables)) => {
            for (name, value) in variables {
                add(Kind::Variable, format!("{name}={}", words(value)), value);
            }
        }
        ("hooks", Value::Object(events)) => {
            for (event, matchers) in events {
                hooks(event, matchers, add);
            }
        }
        ("mcpServers", Value::Object(servers)) => {
            for (name, value) in servers {
                add(Kind::Server, server(name, value), value);
            }
        }
        ("provider" | "model" | "smallModel" | "baseUrl", value) => {
            add(Kind::Provider, format!("{key}: {}", words(value)), value);
        }
        (key, value) if is_harmless(key, value) => {}
        (key, value) if file::is_key(key) => {
            add(Kind::Setting, format!("{key}: {value}"), value);
        }
        // Unknown keys have no effect.
        _ => {}
    }
}

/// Whether a setting is harmless, so that it applies in every project: it only changes how things look, or is at
/// least as strict as the default. Every other setting needs trust.
fn is_harmless(key: &str, value: &Value) -> bool {
    match key {
        // The second never applies from a project, and the third only if it is stricter.
        "theme" | "passProviderKeys" | "sandbox" => true,
        // Letting a call continue that the person wants to stop is not harmless.
        "interruptBehavior" => value
            .as_object()
            .is_some_and(|tools| tools.values().all(|behavior| behavior == "cancel")),
        "onBashError" => value == "cancel-siblings",
        "streamingExecution" => value == false,
        "maxToolConcurrency" => value.as_u64() == Some(1),
        _ => false,
    }
}

fn permission(
    key: &str,
    value: &Value,
    own: &[String],
    add: &mut impl FnMut(Kind, String, &Value),
) {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    match key {
        "allow" => {
            let is_own = |rule: &&Value| {
                rule.as_str()
                    .is_some_and(|rule| own.iter().any(|own| own == rule))
            };
            for rule in list.iter().filter(|rule| !is_own(rule)) {
                add(Kind::Allow, words(rule), rule);
            }
        }
        "additionalDirectories" => {
            for directory in list {
                add(Kind::Directory, words(directory), directory);
            }
        }
        // The others are the strictest, or never apply.
        "defaultMode" if matches!(value.as_str(), Some("default" | "acceptEdits")) => {
            add(Kind::Mode, words(value), value);
        }
        _ => {}
    }
}

fn hooks(event: &str, matchers: &Value, add: &mut impl FnMut(Kind, String, &Value)) {
    let Some(matchers) = matchers.as_array() else {
        return add(Kind::Hook, format!("{event}: {matchers}"), matchers);
    };
    for matcher in matchers {
        let name = matcher["matcher"].as_str().unwrap_or_default();
        let when = if name.is_empty() {
            event.to_owned()
        } else {
            format!("{event} {name}")
        };
        match matcher["hooks"].as_array() {
            Some(hooks) => {
                for hook in hooks {
                    let what = hook["command"]
                        .as_str()
                        .map_or_else(|| hook.to_string(), str::to_owned);
                    add(Kind::Hook, format!("{when}: {what}"), hook);
                }
            }
            None => add(Kind::Hook, format!("{when}: {matcher}"), matcher),
        }
    }
}

/// The description of a server: its name, and its command line or address.
fn server(name: &str, value: &Value) -> String {
    if let Some(url) = value["url"].as_str() {
        return format!("{name}: {url}{}", passed("sends", &value["headers"]));
    }
    let Some(program) = value["command"].as_str() else {
        return format!("{name}: {value}");
    };
    let arguments = value["args"].as_array().map(Vec::as_slice);
    let arguments = arguments.unwrap_or_default().iter().map(words);
    let line = std::iter::once(program.to_owned()).chain(arguments);
    let line = line.collect::<Vec<_>>().join(" ");
    format!("{name}: {line}{}", passed("sets", &value["env"]))
}

/// The names of the variables or headers that a server gets; if a value is taken from the person's environment, also
/// from which variable.
fn passed(verb: &str, values: &Value) -> String {
    let values = values.as_object().into_iter().flatten();
    let name = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) if text.contains("${") => format!("{name} from {text}"),
        _ => name.clone(),
    };
    let names: Vec<String> = values.map(name).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" ({verb} {})", names.join(", "))
}

/// The mark of a server in a file.
pub(super) fn server_mark(file: &str, name: &str, value: &Value) -> String {
    server_item(file, name, value).mark
}

fn server_item(file: &str, name: &str, value: &Value) -> Item {
    let all = value.to_string();
    item(Kind::Server, file, &server(name, value), all.as_bytes())
}

fn servers_file(files: &Files, items: &mut Vec<Item>) {
    let Some(layer) = &files.servers else {
        return;
    };
    match &layer.content {
        Content::Missing => {}
        Content::Unreadable(problem) => {
            let what = format!("can't be read: {problem}");
            items.push(item(Kind::Server, &layer.name, &what, &[]));
        }
        Content::Text(text) => {
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            let servers = value["mcpServers"].as_object().into_iter().flatten();
            items.extend(servers.map(|(name, value)| server_item(&layer.name, name, value)));
        }
    }
}

/// Reads the files of the project's folders, up to the limits.
struct Reader<'w> {
    workspace: &'w Path,
    left: u64,
}

impl Reader<'_> {
    fn tools(&mut self, items: &mut Vec<Item>) {
        for folder in FOLDERS {
            let folder = format!("{folder}/{}", FolderContent::Tools.folder());
            let found = FolderContent::Tools.files(&self.workspace.join(&folder));
            for file in named(&folder, &found, items, Kind::Tool) {
                if let Some(bytes) = self.read(&file, items, Kind::Tool) {
                    items.push(item(Kind::Tool, &file, &tool(&bytes), &bytes));
                }
            }
        }
    }

    fn prompts(&mut self, items: &mut Vec<Item>) {
        for folder in FOLDERS {
            for holds in PROMPTS {
                let folder = format!("{folder}/{}", holds.folder());
                let found = below(&self.workspace.join(&folder), DEEPEST, "md");
                for file in named(&folder, &found, items, Kind::Prompt) {
                    let Some(bytes) = self.read(&file, items, Kind::Prompt) else {
                        continue;
                    };
                    let text = String::from_utf8_lossy(&bytes);
                    // What else lies in the folder of a skill is read by the model, as any file of the project.
                    let reaches_model = holds != FolderContent::Skills || file.ends_with(SKILL);
                    if let Some(what) = risky_lines(&text) {
                        items.push(item(Kind::Prompt, &file, &what, &bytes));
                    } else if reaches_model {
                        let what = crate::text::first_line(&about(&text), LONGEST_ABOUT);
                        items.push(item(Kind::Instructions, &file, &what, &bytes));
                    }
                }
            }
        }
    }

    fn read(&mut self, file: &str, items: &mut Vec<Item>, kind: Kind) -> Option<Vec<u8>> {
        match read_regular(&self.workspace.join(file), self.left) {
            Ok(bytes) => {
                self.left -= (bytes.len() as u64).min(self.left);
                Some(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let what = "is too long to check".to_owned();
                items.push(item(kind, file, &what, &[]));
                None
            }
            Err(error) => {
                unreadable(kind, file, &error, items);
                None
            }
        }
    }
}

/// The name of a tool and its command.
fn tool(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(str::trim);
    let named = |key: &str| {
        let found = lines.clone().find(|line| {
            let rest = line.strip_prefix(key).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with('='))
        });
        found.map(str::to_owned)
    };
    match (named("name"), named("command")) {
        (Some(name), Some(command)) => format!("{name}, {command}"),
        _ => lines.by_ref().collect::<Vec<_>>().join(" "),
    }
}

/// The lines of a text that run something or grant rights.
fn risky_lines(text: &str) -> Option<String> {
    let powerful = |line: &&str| {
        let line = line.trim_start();
        RISKY_KEYS.iter().any(|power| line.starts_with(power)) || line.contains("!`")
    };
    let lines: Vec<&str> = text.lines().filter(powerful).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What a text is about, in its own words.
fn about(text: &str) -> String {
    let found = FrontMatter::read(text).unwrap_or_default();
    let body = || found.body.trim_start_matches(['#', ' ']).to_owned();
    found.text("description").unwrap_or_else(body)
}

/// The files that were found in a folder, as seen from the workspace.
fn named(folder: &str, found: &Found, items: &mut Vec<Item>, kind: Kind) -> Vec<String> {
    let name = |inner: &Path| Path::new(folder).join(inner).display().to_string();
    for (inner, error) in &found.unreadable {
        unreadable(kind, &name(inner), error, items);
    }
    if found.is_cut {
        let what = format!("more than {MOST_FILES} files");
        items.push(item(kind, folder, &what, &[]));
    }
    found.files.iter().map(|inner| name(inner)).collect()
}

/// Something that cannot be read now, and could be used later.
fn unreadable(kind: Kind, file: &str, error: &io::Error, items: &mut Vec<Item>) {
    if !is_missing(error) {
        items.push(item(kind, file, &format!("can't be read: {error}"), &[]));
    }
}

fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn shortened(what: &str) -> String {
    let left = what.chars().count().saturating_sub(LONGEST_WHAT);
    text::shortened(what, LONGEST_WHAT, &format!("… and {left} characters more")).into_owned()
}

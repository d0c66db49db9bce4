//! What people add with files: types of subagents, skills, slash commands and tools; the person's own, and a
//! project's once it is trusted.
//!
//! The files are checked before every request, and all of them are read again when one has changed. A mistake in a
//! file is reported with its line; the other files are used nevertheless.

mod agents;
mod commands;
mod files;
mod skills;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::files::{DEEPEST, FolderContent, Found, MOST_FILES, SKILL, below};
use self::files::{File, Folder, Stamp, folders, stamped, text};
use crate::config::front_matter::{FrontMatter, Mistake};
use crate::permissions::check_rule;
use crate::protocol::{AgentKind, Allows, Extensions, NamedFile};

/// A longer description is cut, because every request contains all of them.
const LONGEST_DESCRIPTION: usize = 2_000;
/// A longer name would be cut on the screen.
const LONGEST_NAME: usize = 64;

/// Everything that files add to a session. Clones share the same state.
#[derive(Clone)]
pub struct Catalogue(Arc<Mutex<State>>);

/// Where the files are, and what they cannot change.
pub struct Sources<'s> {
    /// The tools of a read-only subagent.
    pub read_only: Vec<String>,
    /// The built-in slash commands, which cannot be replaced.
    pub built_in_commands: Vec<String>,
    /// The person's folder.
    pub config: &'s Path,
    /// The person's home, whose `.claude` has files of the person, too.
    pub home: &'s Path,
    pub workspace: &'s Path,
    pub trusts: Trusts,
    /// What the person can do about a file that is not trusted.
    pub remedy: &'static str,
}

/// Tells whether a project is trusted with its current content.
pub type Trusts = Box<dyn Fn() -> bool + Send + Sync>;

struct State {
    agents: Vec<AgentKind>,
    built_in_commands: Vec<String>,
    folders: Vec<Folder>,
    trusts: Trusts,
    remedy: &'static str,
    /// The state of the files when they were last read.
    seen: Vec<(File, Stamp)>,
    /// The content of the project's files when they were trusted.
    trusted: HashMap<PathBuf, String>,
    now: Arc<Extensions>,
}

impl Catalogue {
    /// Only the built-in ones.
    pub fn built_in(read_only: Vec<String>) -> Self {
        Self::new(
            Sources {
                read_only,
                built_in_commands: Vec::new(),
                config: Path::new(""),
                home: Path::new(""),
                workspace: Path::new(""),
                trusts: Box::new(|| false),
                remedy: "",
            },
            Vec::new(),
        )
    }

    /// Adds what the files of the person and of a workspace define, and returns their problems.
    pub fn read(sources: Sources<'_>) -> (Self, Vec<String>) {
        let folders = folders(sources.config, sources.home, sources.workspace);
        let catalogue = Self::new(sources, folders);
        let problems = catalogue.refresh().unwrap_or_default();
        (catalogue, problems)
    }

    fn new(sources: Sources<'_>, folders: Vec<Folder>) -> Self {
        let agents = agents::built_in(sources.read_only);
        Self(Arc::new(Mutex::new(State {
            now: Arc::new(Extensions {
                agents: agents.clone(),
                ..Extensions::default()
            }),
            agents,
            built_in_commands: sources.built_in_commands,
            folders,
            trusts: sources.trusts,
            remedy: sources.remedy,
            seen: Vec::new(),
            trusted: HashMap::new(),
        })))
    }

    /// The current extensions.
    pub fn now(&self) -> Arc<Extensions> {
        self.lock().now.clone()
    }

    /// The type of subagent with this name; the error lists the known ones.
    pub fn find(&self, name: &str) -> Result<AgentKind, String> {
        let now = self.now();
        let found = now.agents.iter().find(|kind| kind.name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = now.agents.iter().map(|kind| kind.name.as_str()).collect();
            format!(
                "Unknown subagent type `{name}`. Use one of: {}",
                names.join(", ")
            )
        })
    }

    /// Reads the files again if they have changed, and returns their problems then. Costs a file system call per
    /// file.
    pub fn refresh(&self) -> Option<Vec<String>> {
        let mut state = self.lock();
        let mut problems = Vec::new();
        let seen = stamped(&state.folders, &mut problems);
        if seen == state.seen {
            return None;
        }
        state.seen = seen;
        state.load(&mut problems);
        Some(problems)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn load(&mut self, problems: &mut Vec<String>) {
        let mut now = Extensions {
            agents: self.agents.clone(),
            ..Extensions::default()
        };
        for (file, text) in self.readable(problems) {
            let added = match file.holds {
                FolderContent::Agents => agents::kind(&text, &file.name, problems)
                    .map(|kind| put(&mut now.agents, kind, |kind| kind.name.as_str())),
                FolderContent::Commands => {
                    commands::command(&text, &file, &self.built_in_commands, problems)
                        .map(|command| put(&mut now.commands, command, |it| &it.name))
                }
                FolderContent::Skills => skills::skill(&text, &file, problems)
                    .map(|skill| put(&mut now.skills, skill, |skill| &skill.name)),
                // If two tools have the same name, the registry decides which one is used, and names both.
                FolderContent::Tools => tools::tool(&text, &file).map(|tool| now.tools.push(tool)),
            };
            if let Err(Mistake { line, problem }) = added {
                problems.push(format!("`{}`, line {line}: {problem}", file.name));
            }
        }
        let skills = now.skills.iter().map(skills::typed);
        for typed in skills.collect::<Vec<_>>() {
            let (name, file) = (&typed.name, &typed.allows.file.name);
            if self.built_in_commands.iter().any(|it| **it == **name) {
                problems.push(format!(
                    "`{file}`: `/{name}` is a built-in command; only the model can use this skill"
                ));
            } else if now.command(name).is_none() {
                now.commands.push(typed);
            }
        }
        now.commands.sort_by(|one, other| one.name.cmp(&other.name));
        now.skills.sort_by(|one, other| one.name.cmp(&other.name));
        self.now = Arc::new(now);
    }

    /// The files that are used, with their contents: those of a project only with the content that was trusted.
    fn readable(&mut self, problems: &mut Vec<String>) -> Vec<(File, String)> {
        let has_project = self.seen.iter().any(|(file, _)| file.of_project);
        let trusts = has_project && (self.trusts)();
        let (mut readable, mut untrusted) = (Vec::new(), Vec::new());
        for (file, _) in &self.seen {
            let Some(text) = text(file, problems) else {
                continue;
            };
            if file.of_project {
                if trusts {
                    self.trusted.insert(file.path.clone(), text.clone());
                } else if self.trusted.get(&file.path) != Some(&text) {
                    untrusted.push(file.name.as_str());
                    continue;
                }
            }
            readable.push((file.clone(), text));
        }
        problems.extend(not_trusted(&untrusted, self.remedy));
        readable
    }
}

/// A message about the files of a project that are not used.
fn not_trusted(files: &[&str], remedy: &str) -> Option<String> {
    let (first, others) = files.split_first()?;
    let what = match others.len() {
        0 => format!("`{first}` is not used"),
        1 => format!("`{first}` and 1 more file are not used"),
        more => format!("`{first}` and {more} more files are not used"),
    };
    Some(format!("{what}: the project is not trusted; {remedy}"))
}

/// Adds an item; it replaces an earlier one with the same name.
fn put<T>(list: &mut Vec<T>, new: T, name: impl Fn(&T) -> &str) {
    let position = list.iter().position(|known| name(known) == name(&new));
    if let Some(position) = position {
        list.remove(position);
    }
    list.push(new);
}

/// Whether a name can be typed after a slash.
fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || "-_:".contains(letter);
    !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(fits)
}

/// The rules in `allowed-tools`. An invalid rule is reported, and the others are used.
fn allows(found: &FrontMatter, file: &File, problems: &mut Vec<String>) -> Allows {
    let field = found.field("allowed-tools");
    let mut rules = found.rules("allowed-tools");
    rules.retain(|rule| match check_rule(rule) {
        Ok(()) => true,
        Err(problem) => {
            let line = field.map_or(1, |field| field.line);
            problems.push(format!("`{}`, line {line}: {problem}", file.name));
            false
        }
    });
    Allows {
        rules,
        file: NamedFile {
            path: file.path.clone(),
            name: file.name.clone(),
        },
    }
}

/// Whether the model may use it by itself. A value that is neither yes nor no means no.
fn for_model(found: &FrontMatter, file: &File, problems: &mut Vec<String>) -> bool {
    const KEY: &str = "disable-model-invocation";
    match found.text(KEY).as_deref() {
        None | Some("false") => true,
        Some("true") => false,
        Some(_) => {
            let line = found.field(KEY).map_or(1, |field| field.line);
            problems.push(format!(
                "`{}`, line {line}: `{KEY}` is true or false",
                file.name
            ));
            false
        }
    }
}

/// The description in the front matter, or else the first line.
fn description(found: &FrontMatter) -> Option<String> {
    let first = || {
        let mut lines = found.body.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty())?;
        Some(line.trim_start_matches('#').trim().to_owned())
    };
    let description = found.text("description").or_else(first)?;
    Some(description.chars().take(LONGEST_DESCRIPTION).collect())
}

/// The problem of a file without any text for the model.
fn empty() -> Mistake {
    Mistake {
        line: 1,
        problem: "no text below the front matter; the file is not used".to_owned(),
    }
}

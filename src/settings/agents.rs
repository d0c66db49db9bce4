//! The types of subagents: those that come with the program, the person's own, and a project's once it is trusted.
//!
//! Each is a Markdown file in a folder `agents`; they are looked at before every request, and read again when they have changed.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::front_matter::{FrontMatter, Mistake};
use crate::config::{is_missing, plain, read_regular};
use crate::protocol::subagent::MAX_TURNS;
use crate::protocol::{AgentKind, Mode};

use super::files::FOLDERS;

const FOLDER: &str = "agents";
const BUILT_IN: &str = "built in";
/// A longer one is refused: people do not write such.
const LONGEST_FILE: u64 = 256 << 10;
/// More files of one folder are not read.
const MOST_FILES: usize = 200;
/// A longer description is cut: every request carries all of them.
const LONGEST_DESCRIPTION: usize = 2_000;

/// The types of subagents of a session. A clone stands for the same.
#[derive(Clone)]
pub struct Catalogue(Arc<Mutex<State>>);

struct State {
    built_in: Vec<AgentKind>,
    folders: Vec<Folder>,
    /// Whether the project is trusted with what it says now.
    trusts: Trusts,
    /// What the files were when they were read last.
    seen: Vec<(PathBuf, Stamp)>,
    /// What the project's files said when they were trusted.
    trusted: HashMap<PathBuf, String>,
    kinds: Arc<Vec<AgentKind>>,
}

/// Says whether a project is trusted with what it says now.
pub type Trusts = Box<dyn Fn() -> bool + Send + Sync>;

/// A folder with types in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    /// As people know it.
    name: String,
    of_project: bool,
}

/// What changes when a file does: which one it is, its size, and when it was changed.
type Stamp = (u64, u64, (i64, i64), (i64, i64));

impl Catalogue {
    /// Only the types that come with the program.
    pub fn built_in(read_only: Vec<String>) -> Self {
        Self::new(read_only, Vec::new(), Box::new(|| false))
    }

    /// With those of the person's folder and of a workspace, and what is wrong with them. Of two with one name the project's
    /// counts.
    pub fn read(
        read_only: Vec<String>,
        config: &Path,
        workspace: &Path,
        trusts: Trusts,
    ) -> (Self, Vec<String>) {
        let own = Folder {
            path: config.join(FOLDER),
            name: config.join(FOLDER).display().to_string(),
            of_project: false,
        };
        let of_project = FOLDERS.iter().map(|folder| Folder {
            path: workspace.join(folder).join(FOLDER),
            name: format!("{folder}/{FOLDER}"),
            of_project: true,
        });
        let folders = std::iter::once(own).chain(of_project).collect();
        let catalogue = Self::new(read_only, folders, trusts);
        let problems = catalogue.refresh().unwrap_or_default();
        (catalogue, problems)
    }

    fn new(read_only: Vec<String>, folders: Vec<Folder>, trusts: Trusts) -> Self {
        let built_in = built_in(read_only);
        Self(Arc::new(Mutex::new(State {
            kinds: Arc::new(built_in.clone()),
            built_in,
            folders,
            trusts,
            seen: Vec::new(),
            trusted: HashMap::new(),
        })))
    }

    pub fn kinds(&self) -> Arc<Vec<AgentKind>> {
        self.lock().kinds.clone()
    }

    /// The type of this name; the error lists those that there are.
    pub fn find(&self, name: &str) -> Result<AgentKind, String> {
        let kinds = self.kinds();
        let found = kinds.iter().find(|kind| kind.name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            format!(
                "Unknown subagent type `{name}`. Use one of: {}",
                names.join(", ")
            )
        })
    }

    /// Reads the files again if they have changed; what is wrong with them then. Costs a look at each file.
    pub fn refresh(&self) -> Option<Vec<String>> {
        let mut state = self.lock();
        let seen = stamps(&state.folders);
        if seen == state.seen {
            return None;
        }
        state.seen = seen;
        let mut problems = Vec::new();
        state.load(&mut problems);
        Some(problems)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn load(&mut self, problems: &mut Vec<String>) {
        let mut kinds = self.built_in.clone();
        let has_project = self.folders.iter().any(|folder| {
            folder.of_project
                && self
                    .seen
                    .iter()
                    .any(|(path, _)| path.starts_with(&folder.path))
        });
        let trusts = has_project && (self.trusts)();
        for folder in self.folders.clone() {
            let files = self.seen.iter().map(|(path, _)| path);
            let files = files.filter(|path| path.parent() == Some(&folder.path));
            for path in files.cloned().collect::<Vec<_>>() {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let name = format!("{}/{file}", folder.name);
                let Some(text) = text(&path, &name, problems) else {
                    continue;
                };
                if folder.of_project {
                    if trusts {
                        self.trusted.insert(path, text.clone());
                    } else if self.trusted.get(&path) != Some(&text) {
                        problems.push(format!(
                            "`{name}` is not used: its project is not trusted with it; restart to trust it"
                        ));
                        continue;
                    }
                }
                match kind(&text, &name, problems) {
                    Ok(kind) => {
                        kinds.retain(|other| other.name != kind.name);
                        kinds.push(kind);
                    }
                    Err(Mistake { line, problem }) => {
                        problems.push(format!("`{name}`, line {line}: {problem}"));
                    }
                }
            }
        }
        self.kinds = Arc::new(kinds);
    }
}

fn stamps(folders: &[Folder]) -> Vec<(PathBuf, Stamp)> {
    let mut stamps = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder.path) else {
            continue;
        };
        let files = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
            .take(MOST_FILES)
            .collect();
        files.sort();
        stamps.extend(files.into_iter().filter_map(|path| {
            let about = path.metadata().ok()?;
            let modified = (about.mtime(), about.mtime_nsec());
            let changed = (about.ctime(), about.ctime_nsec());
            let stamp = (about.ino(), about.len(), modified, changed);
            Some((path, stamp))
        }));
    }
    stamps
}

fn text(path: &Path, name: &str, problems: &mut Vec<String>) -> Option<String> {
    let read = read_regular(path, LONGEST_FILE).and_then(|bytes| {
        String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    });
    match read {
        Ok(text) => Some(text),
        // Removed since it was listed.
        Err(error) if is_missing(&error) => None,
        Err(error) => {
            problems.push(format!("`{name}` cannot be read: {}", plain(&error)));
            None
        }
    }
}

fn kind(text: &str, name: &str, problems: &mut Vec<String>) -> Result<AgentKind, Mistake> {
    let found = FrontMatter::read(text)?;
    let missing = |key: &str| Mistake {
        line: 1,
        problem: format!("`{key}` is missing in the front matter; the file is not used"),
    };
    let line = |key: &str| found.field(key).map_or(1, |field| field.line);
    let called = found.text("name").ok_or_else(|| missing("name"))?;
    if !called
        .chars()
        .all(|it| it.is_alphanumeric() || "-_.:".contains(it))
    {
        return Err(Mistake {
            line: line("name"),
            problem: format!("`name` has letters, digits, - and _ only, not `{called}`"),
        });
    }
    let description = found
        .text("description")
        .ok_or_else(|| missing("description"))?;
    let mut complain = |key: &str, problem: &str| {
        problems.push(format!("`{name}`, line {}: {problem}", line(key)));
    };
    let mode = found.text("permissionMode").map(|mode| {
        let known = Mode::from_name(&mode);
        if known.is_none() {
            let names = Mode::ALL.map(Mode::name).join(", ");
            complain(
                "permissionMode",
                &format!("`permissionMode` is one of {names}"),
            );
        }
        // In doubt it is careful.
        known.unwrap_or_default()
    });
    let max_turns = found.text("maxTurns").map(|turns| {
        let number = turns.parse::<u32>().ok().filter(|number| *number > 0);
        number.unwrap_or_else(|| {
            complain("maxTurns", "`maxTurns` is a number from 1 on");
            MAX_TURNS
        })
    });
    let model = found.text("model").filter(|model| model != "inherit");
    Ok(AgentKind {
        name: called,
        description: description.chars().take(LONGEST_DESCRIPTION).collect(),
        prompt: found.body.clone(),
        tools: found.list("tools"),
        disallowed: found.list("disallowedTools").unwrap_or_default(),
        model,
        mode,
        max_turns: max_turns.unwrap_or(MAX_TURNS),
        source: name.to_owned(),
    })
}

fn built_in(read_only: Vec<String>) -> Vec<AgentKind> {
    let general = AgentKind {
        name: "general".to_owned(),
        description: "Works on any task that takes several steps".to_owned(),
        prompt: include_str!("../../assets/prompts/general.md")
            .trim_end()
            .to_owned(),
        tools: None,
        disallowed: Vec::new(),
        model: None,
        mode: None,
        max_turns: MAX_TURNS,
        source: BUILT_IN.to_owned(),
    };
    let explore = AgentKind {
        name: "explore".to_owned(),
        description:
            "Looks around and answers questions about files; it reads only and changes nothing"
                .to_owned(),
        prompt: include_str!("../../assets/prompts/explore.md")
            .trim_end()
            .to_owned(),
        tools: Some(read_only),
        ..general.clone()
    };
    vec![explore, general]
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Catalogue;
    use crate::protocol::Mode;

    const REVIEWER: &str = "---\nname: reviewer\ndescription: Use it: after changes\ntools: Read, Grep\n\
        disallowedTools: Grep\nmodel: fast\npermissionMode: plan\nmaxTurns: 7\ncolor: blue\n---\nYou review.\n";

    struct Place {
        _folder: tempfile::TempDir,
        config: std::path::PathBuf,
        workspace: std::path::PathBuf,
        trusted: Arc<AtomicBool>,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            Self {
                config: folder.path().join("config"),
                workspace: folder.path().join("work"),
                trusted: Arc::new(AtomicBool::new(true)),
                _folder: folder,
            }
        }

        fn read(&self) -> (Catalogue, Vec<String>) {
            let trusted = self.trusted.clone();
            let trusts = Box::new(move || trusted.load(Ordering::Relaxed));
            Catalogue::read(vec!["Read".into()], &self.config, &self.workspace, trusts)
        }
    }

    fn put(folder: &Path, name: &str, text: &str) {
        std::fs::create_dir_all(folder).expect("a folder");
        // Under another name first, so that each version is another file, whatever the clock says.
        let new = folder.join(format!("{name}.new"));
        std::fs::write(&new, text).expect("written");
        std::fs::rename(new, folder.join(name)).expect("renamed");
    }

    fn named(text: &str, name: &str) -> String {
        text.replace("reviewer", name)
    }

    fn names(catalogue: &Catalogue) -> Vec<String> {
        let kinds = catalogue.kinds();
        kinds.iter().map(|kind| kind.name.clone()).collect()
    }

    #[test]
    fn a_file_says_all_about_its_type() {
        let place = Place::new();
        put(&place.config.join("agents"), "r.md", REVIEWER);
        let (catalogue, problems) = place.read();
        assert_eq!(problems, [] as [&str; 0]);
        let kind = catalogue.find("reviewer").expect("known");
        assert_eq!(kind.description, "Use it: after changes");
        assert_eq!(kind.prompt, "You review.");
        assert!(kind.has("Read") && !kind.has("Grep") && !kind.has("Bash"));
        assert_eq!(kind.model.as_deref(), Some("fast"));
        assert_eq!((kind.mode, kind.max_turns), (Some(Mode::Plan), 7));
        assert!(
            kind.source.ends_with("config/agents/r.md"),
            "{}",
            kind.source
        );
    }

    #[test]
    fn an_unknown_type_is_answered_with_those_that_there_are() {
        let catalogue = Catalogue::built_in(Vec::new());
        let wrong = catalogue.find("nobody").expect_err("unknown");
        assert_eq!(
            wrong,
            "Unknown subagent type `nobody`. Use one of: explore, general"
        );
    }

    #[test]
    fn mistakes_are_named_with_file_and_line_and_the_rest_works() {
        let place = Place::new();
        let own = place.config.join("agents");
        put(&own, "a.md", "---\ndescription: d\n---\nx");
        put(&own, "b.md", "---\nname: b\nwords\n---\nx");
        put(
            &own,
            "c.md",
            "---\nname: c\ndescription: d\nmaxTurns: many\npermissionMode: lax\n---\nx",
        );
        put(&own, "d.md", REVIEWER);
        put(&own, "notes.txt", "no type");
        let (catalogue, problems) = place.read();
        assert_eq!(names(&catalogue), ["explore", "general", "c", "reviewer"]);
        assert_eq!(
            catalogue.find("c").expect("known").mode,
            Some(Mode::Default)
        );
        let folder = own.display();
        assert_eq!(
            problems,
            [
                format!(
                    "`{folder}/a.md`, line 1: `name` is missing in the front matter; the file is not used"
                ),
                format!("`{folder}/b.md`, line 3: `words` is no `key: value`"),
                format!(
                    "`{folder}/c.md`, line 5: `permissionMode` is one of default, acceptEdits, plan, dontAsk, bypassPermissions"
                ),
                format!("`{folder}/c.md`, line 4: `maxTurns` is a number from 1 on"),
            ]
        );
    }

    #[test]
    fn a_project_s_type_counts_more_than_the_person_s() {
        let place = Place::new();
        let (claude, project) = (".claude/agents", ".agent-tui/agents");
        put(&place.config.join("agents"), "r.md", REVIEWER);
        put(
            &place.workspace.join(claude),
            "r.md",
            &REVIEWER.replace("You review", "Claude"),
        );
        let (catalogue, _) = place.read();
        assert_eq!(catalogue.find("reviewer").expect("known").prompt, "Claude.");
        put(
            &place.workspace.join(project),
            "r.md",
            &REVIEWER.replace("You review", "Project"),
        );
        assert_eq!(catalogue.refresh(), Some(Vec::new()));
        assert_eq!(
            catalogue.find("reviewer").expect("known").prompt,
            "Project."
        );
    }

    #[test]
    fn files_are_read_again_only_when_they_have_changed() {
        let place = Place::new();
        let own = place.config.join("agents");
        put(&own, "r.md", REVIEWER);
        let (catalogue, _) = place.read();
        assert_eq!(catalogue.refresh(), None);
        put(&own, "other.md", &named(REVIEWER, "other"));
        assert_eq!(catalogue.refresh(), Some(Vec::new()));
        assert_eq!(
            names(&catalogue),
            ["explore", "general", "other", "reviewer"]
        );
        std::fs::remove_file(own.join("r.md")).expect("removed");
        assert_eq!(catalogue.refresh(), Some(Vec::new()));
        assert_eq!(names(&catalogue), ["explore", "general", "other"]);
    }

    #[test]
    fn what_a_project_says_counts_once_it_is_trusted() {
        let place = Place::new();
        let folder = place.workspace.join(".claude/agents");
        put(&folder, "r.md", REVIEWER);
        place.trusted.store(false, Ordering::Relaxed);
        let (catalogue, problems) = place.read();
        assert_eq!(names(&catalogue), ["explore", "general"]);
        assert!(
            problems[0].contains("`.claude/agents/r.md` is not used"),
            "{problems:?}"
        );

        place.trusted.store(true, Ordering::Relaxed);
        let (catalogue, _) = place.read();
        place.trusted.store(false, Ordering::Relaxed);
        put(&folder, "new.md", &named(REVIEWER, "new"));
        let problems = catalogue.refresh().expect("changed");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(names(&catalogue), ["explore", "general", "reviewer"]);
    }
}

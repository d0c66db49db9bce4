//! Paths in both spellings: as written, and where the links on the way lead.
//!
//! To allow, both must be allowed; to deny, one is enough. Paths are compared by whole components.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::world::{Links, World};

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// An absolute path, without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// `..` removed from the text.
    pub lexical: String,
    /// Links followed component by component; `None` if they never end.
    pub physical: Option<String>,
}

/// The directories of a [`World`], in both spellings.
pub struct PathContext<'w> {
    pub root: Spot,
    pub cwd: Spot,
    pub home: Spot,
    /// Where relative paths of a command start.
    pub shell: Spot,
    additional: Vec<Spot>,
    /// Protected whatever their names are.
    own: Vec<PathBuf>,
    protected: OnceCell<Vec<Spot>>,
    pub(super) links: &'w dyn Links,
}

impl<'w> PathContext<'w> {
    pub fn new(world: &World<'w>) -> Self {
        let spot = |path: &Path| Spot::new(&path.to_string_lossy(), world.links);
        let cwd = spot(&world.cwd);
        let home = spot(&world.home);
        let additional = |path: &PathBuf| {
            let text = path.to_string_lossy();
            let absolute = match text.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    format!("{}{rest}", home.lexical)
                }
                _ if text.starts_with('/') => text.into_owned(),
                _ => format!("{}/{text}", cwd.lexical),
            };
            Spot::new(&absolute, world.links)
        };
        Self {
            root: Spot {
                lexical: "/".to_owned(),
                physical: None,
            },
            additional: world
                .additional_directories
                .iter()
                .map(additional)
                .collect(),
            shell: world.shell_dir.as_deref().map_or_else(|| cwd.clone(), spot),
            own: [&world.config_dir, &world.data_dir]
                .into_iter()
                .flatten()
                .chain(&world.protected_files)
                .cloned()
                .collect(),
            protected: OnceCell::new(),
            cwd,
            home,
            links: world.links,
        }
    }

    /// The path that `text` names, relative to the directory `base`. A `~` is the home directory.
    pub fn spot(&self, text: &str, base: &str) -> Spot {
        self.spot_literal(&self.expand(text), base)
    }

    /// The text with a leading `~` replaced by the home directory. Nothing else is changed, because the meaning of `..`
    /// depends on links.
    pub fn expand(&self, text: &str) -> String {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", self.home.lexical)
            }
            Some(_) | None => text.to_owned(),
        }
    }

    /// Why git would start a program of the repository around the shell's directory.
    pub fn repository_starts(&self) -> Option<String> {
        let here = self.shell.physical.as_ref().unwrap_or(&self.shell.lexical);
        self.links.repository_starts(Path::new(here))
    }

    /// The root of the work tree around the shell's directory, if it is known.
    pub fn toplevel(&self) -> Option<Spot> {
        let here = self.shell.physical.as_ref().unwrap_or(&self.shell.lexical);
        let toplevel = self.links.toplevel(Path::new(here))?;
        Some(Spot::new(toplevel.to_str()?, self.links))
    }

    /// The same, but `~` is a name.
    pub fn spot_literal(&self, text: &str, base: &str) -> Spot {
        if text.starts_with('/') {
            Spot::new(text, self.links)
        } else {
            Spot::new(&format!("{base}/{text}"), self.links)
        }
    }

    /// Directories and files that are protected wherever they are. Computed when a write is checked: most calls do not
    /// write.
    pub fn protected(&self) -> &[Spot] {
        let spot = |path: &PathBuf| Spot::new(&path.to_string_lossy(), self.links);
        self.protected
            .get_or_init(|| self.own.iter().map(spot).collect())
    }

    /// The working directories.
    pub fn directories(&self) -> Vec<Spot> {
        std::iter::once(&self.cwd)
            .chain(&self.additional)
            .cloned()
            .collect()
    }

    /// Whether a path lies in the working directories, in both spellings.
    pub fn contains(&self, spot: &Spot) -> bool {
        let Some(physical) = &spot.physical else {
            return false;
        };
        let directories = || std::iter::once(&self.cwd).chain(&self.additional);
        directories().any(|directory| {
            directory
                .spellings()
                .any(|directory| within(&spot.lexical, directory))
        }) && directories().any(|directory| {
            directory
                .physical
                .as_deref()
                .is_some_and(|directory| within(physical, directory))
        })
    }
}

impl Spot {
    pub(super) fn new(absolute: &str, links: &dyn Links) -> Self {
        Self {
            lexical: lexical(absolute),
            physical: physical(absolute, links),
        }
    }

    pub fn spellings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.lexical.as_str()).chain(self.physical.as_deref())
    }
}

/// Whether `path` is `directory` or below it.
pub fn within(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || directory.ends_with('/'),
        None => false,
    }
}

fn lexical(absolute: &str) -> String {
    join(&names(absolute))
}

/// The names on the way from the root, with `.` and `..` resolved in the text only.
pub(super) fn names(absolute: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in absolute.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

pub(super) fn physical(absolute: &str, links: &dyn Links) -> Option<String> {
    let mut path = String::new();
    let mut waiting: Vec<Cow<'_, str>> = absolute.split('/').rev().map(Cow::Borrowed).collect();
    let mut followed = 0;
    while let Some(name) = waiting.pop() {
        match name.as_ref() {
            "" | "." => continue,
            ".." => {
                path.truncate(path.rfind('/').unwrap_or(0));
                continue;
            }
            _ => {}
        }
        let length = path.len();
        path.push('/');
        path.push_str(&name);
        if let Some(target) = links.target(Path::new(&path)) {
            followed += 1;
            if followed > MAX_LINKS {
                return None;
            }
            // A target that is not valid UTF-8 is never treated as inside.
            let target = target.to_str()?;
            path.truncate(if target.starts_with('/') { 0 } else { length });
            let names = target.split('/').rev();
            waiting.extend(names.map(|name| Cow::Owned(name.to_owned())));
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    Some(path)
}

fn join(names: &[&str]) -> String {
    if names.is_empty() {
        return "/".to_owned();
    }
    let mut path = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
    for name in names {
        path.push('/');
        path.push_str(name);
    }
    path
}

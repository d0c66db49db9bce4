//! The files in the folders of extensions: which exist, whether they have changed, and their contents.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::{is_missing, plain, read_regular};
use crate::settings::files::{CLAUDE, FOLDERS};

/// A longer file is refused.
const LONGEST_FILE: u64 = 256 << 10;
/// How many files of one folder are read.
pub(in crate::settings) const MOST_FILES: usize = 500;
/// How many levels of folders commands may have.
pub(in crate::settings) const DEEPEST: usize = 4;
/// The file that makes a folder a skill.
pub(in crate::settings) const SKILL: &str = "SKILL.md";

/// What a folder contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::settings) enum FolderContent {
    Agents,
    Commands,
    Skills,
    Tools,
}

/// A folder with these files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder {
    pub path: PathBuf,
    /// Its name for people.
    pub name: String,
    pub holds: FolderContent,
    pub of_project: bool,
}

/// A file in such a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub path: PathBuf,
    /// Its path inside the folder.
    pub inner: PathBuf,
    /// Its name for people.
    pub name: String,
    pub holds: FolderContent,
    pub of_project: bool,
}

/// What changes when a file changes: its identity, its size, and its times.
pub(super) type Stamp = (u64, u64, (i64, i64), (i64, i64));

/// The files found below a folder.
#[derive(Debug, Default)]
pub(in crate::settings) struct Found {
    /// Paths inside the folder, sorted by name.
    pub files: Vec<PathBuf>,
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// There are more files than were read.
    pub is_cut: bool,
}

impl FolderContent {
    pub(in crate::settings) const ALL: [FolderContent; 4] = [
        FolderContent::Agents,
        FolderContent::Commands,
        FolderContent::Skills,
        FolderContent::Tools,
    ];

    /// The name of the folder.
    pub(in crate::settings) fn folder(self) -> &'static str {
        match self {
            FolderContent::Agents => "agents",
            FolderContent::Commands => "commands",
            FolderContent::Skills => "skills",
            FolderContent::Tools => "tools",
        }
    }

    /// The files below such a folder that are used.
    pub(in crate::settings) fn files(self, folder: &Path) -> Found {
        let (depth, ending) = match self {
            FolderContent::Agents => (0, "md"),
            FolderContent::Commands => (DEEPEST, "md"),
            FolderContent::Skills => (1, "md"),
            FolderContent::Tools => (0, "toml"),
        };
        let mut found = below(folder, depth, ending);
        if self == FolderContent::Skills {
            let is_skill = |file: &PathBuf| file.parent().is_some_and(|it| file == &it.join(SKILL));
            found
                .files
                .retain(|file| is_skill(file) && file.components().count() == 2);
        }
        found
    }
}

/// The folders of a person and of a workspace, lowest priority first.
pub(super) fn folders(config: &Path, home: &Path, workspace: &Path) -> Vec<Folder> {
    let folder = |path: PathBuf, name: String, holds| Folder {
        path,
        name,
        holds,
        of_project: false,
    };
    // Claude Code has no tools there.
    let of_claude = [
        FolderContent::Agents,
        FolderContent::Commands,
        FolderContent::Skills,
    ];
    let of_claude = of_claude.into_iter().map(|holds| {
        let inner = Path::new(CLAUDE).join(holds.folder());
        let name = Path::new("~").join(&inner).display().to_string();
        folder(home.join(inner), name, holds)
    });
    let own = FolderContent::ALL.into_iter().map(|holds| {
        let path = config.join(holds.folder());
        folder(path.clone(), path.display().to_string(), holds)
    });
    let mut folders: Vec<Folder> = of_claude.chain(own).collect();
    for inner in FOLDERS {
        for holds in FolderContent::ALL {
            let path = workspace.join(inner).join(holds.folder());
            // In the home directory, these are the person's own.
            if folders.iter().any(|own| own.path == path) {
                continue;
            }
            folders.push(Folder {
                of_project: true,
                ..folder(path, format!("{inner}/{}", holds.folder()), holds)
            });
        }
    }
    folders
}

/// All files, with what identifies their state.
pub(super) fn stamped(folders: &[Folder], problems: &mut Vec<String>) -> Vec<(File, Stamp)> {
    let mut stamped = Vec::new();
    for folder in folders {
        let found = folder.holds.files(&folder.path);
        if found.is_cut {
            problems.push(format!(
                "`{}` has more than {MOST_FILES} files; the others are not used",
                folder.name
            ));
        }
        for (path, error) in found.unreadable {
            let name = name(folder, &path);
            problems.push(format!("can't read `{name}`: {}", plain(&error)));
        }
        stamped.extend(found.files.into_iter().filter_map(|inner| {
            let path = folder.path.join(&inner);
            let about = path.metadata().ok()?;
            let modified = (about.mtime(), about.mtime_nsec());
            let changed = (about.ctime(), about.ctime_nsec());
            let stamp = (about.ino(), about.len(), modified, changed);
            let file = File {
                name: name(folder, &inner),
                path,
                inner,
                holds: folder.holds,
                of_project: folder.of_project,
            };
            Some((file, stamp))
        }));
    }
    stamped
}

fn name(folder: &Folder, inner: &Path) -> String {
    Path::new(&folder.name).join(inner).display().to_string()
}

/// The content of a file; `None` if it cannot be read, or was removed since it was listed.
pub(super) fn text(file: &File, problems: &mut Vec<String>) -> Option<String> {
    let read = read_regular(&file.path, LONGEST_FILE).and_then(|bytes| {
        String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    });
    match read {
        Ok(text) => Some(text),
        Err(error) if is_missing(&error) => None,
        Err(error) => {
            problems.push(format!("can't read `{}`: {}", file.name, plain(&error)));
            None
        }
    }
}

/// The files with this ending below a folder, at most this many folders deep.
pub(in crate::settings) fn below(folder: &Path, depth: usize, ending: &str) -> Found {
    let mut found = Found::default();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((inner, at)) = folders.pop() {
        let entries = match std::fs::read_dir(folder.join(&inner)) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => continue,
            Err(error) => {
                found.unreadable.push((inner, error));
                continue;
            }
        };
        for entry in entries.flatten() {
            let path = inner.join(entry.file_name());
            if entry.path().is_dir() {
                if at < depth {
                    folders.push((path, at + 1));
                }
            } else if path.extension().is_some_and(|other| other == ending) {
                found.files.push(path);
            }
            if found.files.len() + folders.len() > MOST_FILES {
                found.is_cut = true;
                found.files.sort();
                return found;
            }
        }
    }
    found.files.sort();
    found
}

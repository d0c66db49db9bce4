//! The settings files of a run, lowest priority first, each read once, so that all parts of the program use the same
//! content.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::json::without_comments;
use crate::config::{LONGEST_FILE, is_missing, read_named, read_regular};

/// Folders of a project that have settings; `.claude` is for people who use Claude Code as well.
pub const FOLDERS: [&str; 2] = [CLAUDE, ".agent-tui"];
/// The folder of Claude Code, in projects and in the home directory.
pub const CLAUDE: &str = ".claude";

/// The project's file with MCP servers, in the format of Claude Code.
pub const SERVERS_FILE: &str = ".mcp.json";

/// On some file systems, two changes within this many seconds may have the same time.
const COARSEST_CLOCK: i64 = 3;

/// One settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub owner: Owner,
    pub path: PathBuf,
    /// The name for rules and messages.
    pub name: String,
    pub content: Content,
    /// The last valid content, if the current content has mistakes.
    pub better: Option<Content>,
    stamp: Stamp,
    /// Whether its last change was so recent when it was read that the next one may have the same time.
    fresh: bool,
    /// A pipe can only be read once.
    once: bool,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The person's own, for all projects.
    Person,
    /// A project's, in the folder of Claude Code.
    Claude,
    /// A project's.
    Project,
    /// A project's, for one person only; their rules are saved there. It can still come with the project.
    Local,
    /// Named by `--settings`.
    Named,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Missing,
    Text(String),
    /// It exists, and cannot be read.
    Unreadable(String),
}

/// What changes when a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Missing,
    /// Its state is unknown, for this reason: a loop of links, a folder without access.
    Hidden(io::ErrorKind),
    There {
        regular: bool,
        file: (u64, u64),
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
}

/// All files, including missing ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub layers: Vec<Layer>,
    /// The project's `.mcp.json`. It is not a settings file, but the trust review and the reader of its servers must
    /// see the same content.
    pub servers: Option<Layer>,
}

impl Owner {
    /// Whether it comes with the project.
    pub fn is_project(self) -> bool {
        match self {
            Owner::Claude | Owner::Project | Owner::Local => true,
            Owner::Person | Owner::Named => false,
        }
    }
}

impl Files {
    /// Reads the person's file, the project's, and the one from a flag.
    pub fn read(config_dir: &Path, workspace: &Path, named: Option<&Path>) -> Self {
        let own = config_dir.join("settings.json");
        let name = own.display().to_string();
        let mut layers = vec![Layer::read(Owner::Person, own, name)];
        for folder in FOLDERS {
            for file in ["settings.json", "settings.local.json"] {
                let owner = match (folder, file) {
                    (".claude", _) => Owner::Claude,
                    (_, "settings.json") => Owner::Project,
                    _ => Owner::Local,
                };
                let path = workspace.join(folder).join(file);
                layers.push(Layer::read(owner, path, format!("{folder}/{file}")));
            }
        }
        if let Some(path) = named {
            let name = path.display().to_string();
            layers.push(Layer::read(Owner::Named, path.to_owned(), name));
        }
        let servers = workspace.join(SERVERS_FILE);
        Self {
            layers,
            servers: Some(Layer::read(
                Owner::Project,
                servers,
                SERVERS_FILE.to_owned(),
            )),
        }
    }

    /// Only these settings files.
    pub fn of(layers: Vec<Layer>) -> Self {
        Self {
            layers,
            servers: None,
        }
    }

    /// Whether a settings file has changed since it was read. Costs a few file system calls, for every decision.
    pub fn changed(&self) -> bool {
        self.layers.iter().any(Layer::changed)
    }

    /// The current files; unchanged ones are not read again.
    #[must_use]
    pub fn again(&self) -> Self {
        let current = |layer: &Layer| {
            if layer.changed() {
                layer.again()
            } else {
                layer.clone()
            }
        };
        Self {
            layers: self.layers.iter().map(current).collect(),
            servers: self.servers.as_ref().map(current),
        }
    }
}

impl Layer {
    fn read(owner: Owner, path: PathBuf, name: String) -> Self {
        let read = match owner {
            Owner::Named => read_any,
            Owner::Person | Owner::Claude | Owner::Project | Owner::Local => read_file,
        };
        // The stamp is taken before reading, so that a change in between is noticed later.
        let stamp = Stamp::of(&path);
        Self {
            content: content(owner, read(&path)),
            fresh: stamp.is_fresh(),
            once: owner == Owner::Named && !matches!(stamp, Stamp::There { regular: true, .. }),
            better: None,
            owner,
            path,
            name,
            stamp,
        }
    }

    /// The current file. A file that has become a pipe is not waited for.
    fn again(&self) -> Self {
        let stamp = Stamp::of(&self.path);
        Self {
            content: content(self.owner, read_file(&self.path)),
            fresh: stamp.is_fresh(),
            once: self.once,
            better: self.better.clone(),
            owner: self.owner,
            path: self.path.clone(),
            name: self.name.clone(),
            stamp,
        }
    }

    fn changed(&self) -> bool {
        if self.once {
            return false;
        }
        if Stamp::of(&self.path) != self.stamp {
            return true;
        }
        self.fresh && content(self.owner, read_file(&self.path)) != self.content
    }
}

fn content(owner: Owner, read: io::Result<Vec<u8>>) -> Content {
    match read {
        Ok(bytes) => text(bytes),
        Err(error) if owner != Owner::Named && is_missing(&error) => Content::Missing,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, LONGEST_FILE)
}

/// A file that the person names may be a pipe; a file in a project may not.
fn read_any(path: &Path) -> io::Result<Vec<u8>> {
    read_named(path, LONGEST_FILE)
}

fn text(mut bytes: Vec<u8>) -> Content {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    match String::from_utf8(bytes) {
        // Comments are removed here, so that everyone who reads the settings sees the same text.
        Ok(text) => Content::Text(without_comments(&text).into_owned()),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..good];
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            Content::Unreadable(format!("it is not UTF-8 in line {line}"))
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(data) => Stamp::There {
                regular: data.is_file(),
                file: (data.dev(), data.ino()),
                size: data.size(),
                modified: (data.mtime(), data.mtime_nsec()),
                changed: (data.ctime(), data.ctime_nsec()),
            },
            Err(error) if is_missing(&error) => Stamp::Missing,
            Err(error) => Stamp::Hidden(error.kind()),
        }
    }

    /// Whether the file was changed just now, or in the future: clocks of file systems are coarse.
    fn is_fresh(&self) -> bool {
        let Stamp::There {
            changed: (seconds, _),
            ..
        } = self
        else {
            return false;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        *seconds > now.saturating_sub(COARSEST_CLOCK)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn project(folder: &Path) -> Files {
        Files::read(&folder.join("config"), &folder.join("work"), None)
    }

    fn local(files: &Files) -> Content {
        files.layers[4].content.clone()
    }

    #[test]
    fn every_kind_of_change_is_noticed() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join("work/.agent-tui");
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("settings.local.json");
        let none = project(home.path());
        assert!(!none.changed());
        std::fs::write(&file, "{}").expect("written");
        assert!(none.changed(), "it appeared");
        let some = none.again();
        assert_eq!(
            (some.changed(), local(&some)),
            (false, Content::Text("{}".into()))
        );
        std::fs::write(folder.join("new"), "[]").expect("written");
        std::fs::rename(folder.join("new"), &file).expect("renamed");
        assert!(some.changed(), "it was replaced by one of the same size");
        let other = some.again();
        assert_eq!(local(&other), Content::Text("[]".into()));
        std::fs::remove_file(&file).expect("removed");
        assert!(other.changed(), "it was removed");
        let gone = other.again();
        assert_eq!(local(&gone), Content::Missing);
        std::fs::create_dir(&file).expect("made");
        assert!(gone.changed(), "it is no longer a file");
        let folder = gone.again();
        std::fs::remove_dir(&file).expect("removed");
        symlink(&file, &file).expect("linked");
        assert!(folder.changed(), "its state is unknown now");
    }

    #[test]
    fn two_changes_in_one_tick_of_the_clock_are_two() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join("work/.agent-tui");
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("settings.local.json");
        for _ in 0..200 {
            std::fs::write(&file, "{}").expect("written");
            let before = project(home.path());
            std::fs::write(&file, "{ ").expect("written");
            assert!(before.changed());
            assert_eq!(local(&before.again()), Content::Text("{ ".into()));
        }
    }

    #[test]
    fn a_named_file_that_becomes_a_pipe_is_not_waited_for() {
        let home = tempfile::tempdir().expect("a directory");
        let named = home.path().join("named.json");
        std::fs::write(&named, "{}").expect("written");
        let before = Files::read(home.path(), home.path(), Some(&named));
        std::fs::remove_file(&named).expect("removed");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &named, mode).expect("a pipe");
        assert!(before.changed());
        assert_eq!(
            before.again().layers[5].content,
            Content::Unreadable("it is not a regular file".into())
        );
    }

    #[test]
    fn a_file_that_is_not_text_is_reported_and_not_waited_for() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join("work/.agent-tui");
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("settings.local.json");
        let message = |make: &dyn Fn(&Path)| {
            make(&file);
            let content = local(&project(home.path()));
            let gone = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file));
            gone.expect("removed");
            match content {
                Content::Unreadable(problem) => problem,
                other => panic!("{other:?}"),
            }
        };
        let fifo = |path: &Path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a pipe");
        };
        assert_eq!(message(&fifo), "it is not a regular file");
        assert_eq!(
            message(&|path| std::fs::create_dir(path).expect("made")),
            "it is not a regular file"
        );
        let link_loop = message(&|path| symlink(path, path).expect("linked"));
        assert!(link_loop.contains("symbolic links"), "{link_loop}");
        let long = message(&|path| {
            let file = std::fs::File::create(path).expect("made");
            file.set_len(100 << 20).expect("100 MB");
        });
        assert!(long.contains("longer than"), "{long}");
        assert_eq!(
            message(&|path| std::fs::write(path, b"{\n\"a\": \"\xff\"}").expect("written")),
            "it is not UTF-8 in line 2"
        );
    }

    #[test]
    fn a_file_in_place_of_the_folder_has_no_settings() {
        let files = Files::read(Path::new("/dev/null/x"), Path::new("/dev/null"), None);
        assert!(
            files
                .layers
                .iter()
                .all(|layer| layer.content == Content::Missing)
        );
    }
}

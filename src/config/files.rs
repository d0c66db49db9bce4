//! The settings files of a run, lowest first, each read once: what is merged is what was looked at.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{LONGEST_FILE, is_missing, read_named, read_regular};

/// Folders of a project that have settings; `.claude` is for people who come from Claude Code.
pub const FOLDERS: [&str; 2] = [".claude", ".agent-tui"];

/// One settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub owner: Owner,
    pub path: PathBuf,
    /// As rules and messages name it.
    pub name: String,
    pub content: Content,
    stamp: Option<Stamp>,
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
    /// A project's, for one person only; her rules go there. It can come with the project all the same.
    Local,
    /// Named by `--settings`.
    Named,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Missing,
    Text(String),
    /// There is something, and it cannot be read.
    Unreadable(String),
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// All files, also those that are not there (yet).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub layers: Vec<Layer>,
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
    /// Reads the person's file, the project's, and the one that a flag names.
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
        Self { layers }
    }

    /// Whether a file is another one than when it was read. A few looks at the disk, for every decision.
    pub fn changed(&self) -> bool {
        self.layers.iter().any(Layer::changed)
    }

    /// The files as they are now; those that have not changed are not read again.
    #[must_use]
    pub fn again(&self) -> Self {
        let layers = self.layers.iter().map(|layer| {
            if layer.changed() {
                Layer::read(layer.owner, layer.path.clone(), layer.name.clone())
            } else {
                layer.clone()
            }
        });
        Self {
            layers: layers.collect(),
        }
    }
}

impl Layer {
    fn read(owner: Owner, path: PathBuf, name: String) -> Self {
        // Looked at before it is read: a change in between is noticed afterwards.
        let stamp = stamp(&path);
        let bytes = match owner {
            Owner::Named => read_named(&path, LONGEST_FILE),
            Owner::Person | Owner::Claude | Owner::Project | Owner::Local => {
                read_regular(&path, LONGEST_FILE)
            }
        };
        let content = match bytes {
            Ok(bytes) => text(bytes),
            Err(error) if owner != Owner::Named && is_missing(&error) => Content::Missing,
            Err(error) => Content::Unreadable(error.to_string()),
        };
        Self {
            owner,
            path,
            name,
            content,
            stamp,
        }
    }

    fn changed(&self) -> bool {
        // A pipe is read once.
        let once = self.owner == Owner::Named && self.stamp.is_none();
        !once && stamp(&self.path) != self.stamp
    }
}

fn text(mut bytes: Vec<u8>) -> Content {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::Text(text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..good];
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            Content::Unreadable(format!("it is not UTF-8 in line {line}"))
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let data = path.metadata().ok()?;
    data.is_file().then(|| Stamp {
        file: (data.dev(), data.ino()),
        size: data.size(),
        modified: (data.mtime(), data.mtime_nsec()),
        changed: (data.ctime(), data.ctime_nsec()),
    })
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
    fn a_change_is_noticed_whatever_its_way() {
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
        assert!(other.changed(), "it is gone");
        assert_eq!(local(&other.again()), Content::Missing);
    }

    #[test]
    fn what_is_no_file_of_text_is_said_and_not_waited_for() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join("work/.agent-tui");
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("settings.local.json");
        let said = |make: &dyn Fn(&Path)| {
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
        assert_eq!(said(&fifo), "it is not a regular file");
        assert_eq!(
            said(&|path| std::fs::create_dir(path).expect("made")),
            "it is not a regular file"
        );
        let link_loop = said(&|path| symlink(path, path).expect("linked"));
        assert!(link_loop.contains("symbolic links"), "{link_loop}");
        let long = said(&|path| {
            let file = std::fs::File::create(path).expect("made");
            file.set_len(100 << 20).expect("100 MB");
        });
        assert!(long.contains("longer than"), "{long}");
        assert_eq!(
            said(&|path| std::fs::write(path, b"{\n\"a\": \"\xff\"}").expect("written")),
            "it is not UTF-8 in line 2"
        );
    }

    #[test]
    fn a_folder_that_is_none_has_no_settings() {
        let files = Files::read(Path::new("/dev/null/x"), Path::new("/dev/null"), None);
        assert!(
            files
                .layers
                .iter()
                .all(|layer| layer.content == Content::Missing)
        );
    }
}

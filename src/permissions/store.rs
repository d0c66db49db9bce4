//! Rules that the person keeps: written into the project's own settings, and remembered as hers.
//!
//! What lies in a project could be anyone's, so its allow rules count only once the project is trusted. A rule that the
//! person saved herself counts at once, because it is also in a file of hers, outside of the project.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::dirs::create_private_dir;
use crate::config::{list, read_regular};

const FOLDER: &str = ".agent-tui";
const FILE: &str = "settings.local.json";
/// A longer file is not one that people write.
const LONGEST_FILE: u64 = 4 << 20;
const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Where the rules of a workspace are kept.
#[derive(Debug, Clone)]
pub struct Store {
    workspace: PathBuf,
    /// The person's own record: what she saved in this workspace.
    record: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("`{path}`, {wrong}")]
    Wrong { path: PathBuf, wrong: list::Wrong },
    #[error("`{path}` leads out of the workspace")]
    Outside { path: PathBuf },
    #[error("`{path}`: {problem}")]
    Io { path: PathBuf, problem: io::Error },
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// Only for people who look into the file.
    workspace: PathBuf,
    rules: Vec<String>,
}

impl Store {
    /// `data` is the program's data directory.
    pub fn new(data: &Path, workspace: &Path) -> Self {
        let real = workspace
            .canonicalize()
            .unwrap_or_else(|_| workspace.to_owned());
        let hash = Sha256::digest(real.as_os_str().as_encoded_bytes());
        let name = hash.iter().take(16).fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        });
        Self {
            record: data.join("allowed").join(format!("{name}.json")),
            workspace: real,
        }
    }

    /// The file that rules are written to.
    pub fn file(&self) -> PathBuf {
        self.workspace.join(FOLDER).join(FILE)
    }

    /// The rules that the person has saved in this workspace. What cannot be read was not saved.
    pub fn saved(&self) -> Vec<String> {
        let bytes = read_regular(&self.record, LONGEST_FILE).unwrap_or_default();
        serde_json::from_slice(&bytes).map_or_else(|_| Vec::new(), |record: Record| record.rules)
    }

    /// Writes an allow rule into the project's settings. Blocks: not for an async thread. Several programs may do it at the
    /// same time.
    pub fn save(&self, rule: &str) -> Result<(), SaveError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |problem| SaveError::Io { path, problem }
        };
        let _lock = self.lock().map_err(failed(&self.record))?;
        let path = self.target()?;
        let text = match read_regular(&path, LONGEST_FILE) {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
                .map_err(failed(&path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "{}\n".to_owned(),
            Err(error) => return Err(failed(&path)(error)),
        };
        let (mark, json) = match text.strip_prefix('\u{feff}') {
            Some(json) => ("\u{feff}", json),
            None => ("", text.as_str()),
        };
        let edited =
            list::add(json, &["permissions", "allow"], rule).map_err(|wrong| SaveError::Wrong {
                path: path.clone(),
                wrong,
            })?;
        if let Some(json) = edited {
            replace(&path, &format!("{mark}{json}")).map_err(failed(&path))?;
        }
        self.remember(rule).map_err(failed(&self.record))
    }

    fn remember(&self, rule: &str) -> io::Result<()> {
        let mut rules = self.saved();
        if !rules.iter().any(|known| known == rule) {
            rules.push(rule.to_owned());
        }
        let record = Record {
            workspace: self.workspace.clone(),
            rules,
        };
        replace(&self.record, &serde_json::to_string_pretty(&record)?)
    }

    /// One writer at a time. The lock lies beside the record: a project gets no files that are not meant for it.
    fn lock(&self) -> io::Result<File> {
        create_private_dir(self.record.parent().unwrap_or(&self.record))?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.record.with_extension("lock"))?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "another agent-tui keeps it locked",
        ))
    }

    /// The file to write, without links: a link in the project must not lead the program elsewhere.
    fn target(&self) -> Result<PathBuf, SaveError> {
        let folder = self.workspace.join(FOLDER);
        let made = DirBuilder::new().recursive(true).create(&folder);
        let real = made.and_then(|()| folder.canonicalize());
        let real = real.map_err(|problem| SaveError::Io {
            path: folder.clone(),
            problem,
        })?;
        let file = real.join(FILE);
        let target = if file.is_symlink() {
            // One that leads nowhere leads outside as well: what it would become is not ours to say.
            file.canonicalize().unwrap_or_else(|_| PathBuf::from("/"))
        } else {
            file
        };
        if target.starts_with(&self.workspace) {
            Ok(target)
        } else {
            Err(SaveError::Outside { path: self.file() })
        }
    }
}

/// Puts the whole text there or nothing; a file that exists keeps its mode.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mode = path.metadata().map(|data| data.permissions().mode());
    let new = Permissions::from_mode(mode.as_ref().map_or(0o666, |mode| mode & 0o777));
    let mut temporary = tempfile::Builder::new()
        .prefix(".settings-")
        .permissions(new.clone())
        .tempfile_in(path.parent().unwrap_or(path))?;
    temporary.write_all(text.as_bytes())?;
    if mode.is_ok() {
        temporary.as_file().set_permissions(new)?;
    }
    temporary.as_file().sync_data()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Desk {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let workspace = dir.path().join("work");
            std::fs::create_dir(&workspace).expect("mkdir");
            let store = Store::new(&dir.path().join("data"), &workspace);
            Self { dir, store }
        }

        fn put(&self, text: &str) {
            let file = self.store.file();
            std::fs::create_dir_all(file.parent().expect("in a folder")).expect("mkdir");
            std::fs::write(file, text).expect("write");
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.store.file()).expect("there")
        }
    }

    #[test]
    fn a_rule_is_written_and_remembered() {
        let desk = Desk::new();
        desk.store.save("Bash(cargo test:*)").expect("saved");
        desk.store.save("Bash(cargo test:*)").expect("saved");
        assert_eq!(
            desk.text(),
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(cargo test:*)\"\n    ]\n  }\n}\n"
        );
        assert_eq!(desk.store.saved(), ["Bash(cargo test:*)"]);
        let names = std::fs::read_dir(desk.store.file().parent().expect("a folder")).expect("list");
        assert_eq!(names.count(), 1, "nothing else is left there");
    }

    #[test]
    fn a_file_that_does_not_parse_is_never_touched() {
        let desk = Desk::new();
        desk.put("{\n  \"model\": oops\n}\n");
        let error = desk.store.save("Bash(x)").expect_err("no JSON");
        let said = error.to_string();
        assert!(
            said.contains("settings.local.json`, line 2, column"),
            "{said}"
        );
        assert_eq!(desk.text(), "{\n  \"model\": oops\n}\n");
        assert_eq!(desk.store.saved(), [] as [&str; 0]);
    }

    #[test]
    fn a_link_out_of_the_workspace_is_not_followed() {
        let desk = Desk::new();
        let outside = desk.dir.path().join("outside.json");
        std::fs::write(&outside, "{}").expect("write");
        desk.put("{}");
        std::fs::remove_file(desk.store.file()).expect("remove");
        symlink(&outside, desk.store.file()).expect("link");
        assert!(matches!(
            desk.store.save("x"),
            Err(SaveError::Outside { .. })
        ));

        let desk = Desk::new();
        let elsewhere = desk.dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("mkdir");
        symlink(&elsewhere, desk.store.file().parent().expect("a folder")).expect("link");
        assert!(matches!(
            desk.store.save("x"),
            Err(SaveError::Outside { .. })
        ));
        assert_eq!(std::fs::read_dir(elsewhere).expect("list").count(), 0);
        assert_eq!(std::fs::read_to_string(outside).expect("there"), "{}");
    }

    #[test]
    fn the_mode_of_the_file_stays() {
        let desk = Desk::new();
        desk.put("{}");
        std::fs::set_permissions(desk.store.file(), Permissions::from_mode(0o640)).expect("chmod");
        desk.store.save("Bash(x)").expect("saved");
        let mode = desk.store.file().metadata().expect("there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o640);
    }

    #[test]
    fn two_who_save_at_once_lose_nothing() {
        let desk = Desk::new();
        std::thread::scope(|scope| {
            for who in 0..4 {
                let store = &desk.store;
                scope.spawn(move || {
                    for number in 0..5 {
                        store
                            .save(&format!("Bash(x {who} {number})"))
                            .expect("saved");
                    }
                });
            }
        });
        let value: serde_json::Value = serde_json::from_str(&desk.text()).expect("JSON");
        assert_eq!(
            value["permissions"]["allow"].as_array().map(Vec::len),
            Some(20)
        );
        assert_eq!(desk.store.saved().len(), 20);
    }
}

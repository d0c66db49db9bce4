//! Rules that the person saves: written to the project's settings, and recorded as theirs.
//!
//! Files in a project could come from anyone, so its allow rules apply only once the project is trusted. A rule that
//! the person saved applies at once, because it is also recorded in a file of their own, outside the project.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::RuleList;
use crate::config::dirs::{create_private_dir, name_for};
use crate::config::edit::Change;
use crate::config::save::{self, NewFileAccess};
use crate::config::{LONGEST_FILE, read_regular};

pub use crate::config::save::SaveError;

const FOLDER: &str = ".agent-tui";
const FILE: &str = "settings.local.json";

/// Where the rules of a workspace are kept.
#[derive(Debug, Clone)]
pub struct Store {
    workspace: PathBuf,
    /// The person's own record: what they saved in this workspace.
    record: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// Only for people who read the file.
    workspace: PathBuf,
    rules: Vec<String>,
}

impl Store {
    /// `data` is the program's data directory.
    pub fn new(data: &Path, workspace: &Path) -> Self {
        let real = workspace
            .canonicalize()
            .unwrap_or_else(|_| workspace.to_owned());
        Self {
            record: data.join("allowed").join(name_for(&real)),
            workspace: real,
        }
    }

    /// The file that rules are written to.
    pub fn file(&self) -> PathBuf {
        self.workspace.join(FOLDER).join(FILE)
    }

    /// The allow rules that the person has saved in this workspace. An unreadable record is treated as empty.
    pub fn saved(&self) -> Vec<String> {
        let bytes = read_regular(&self.record, LONGEST_FILE).unwrap_or_default();
        serde_json::from_slice(&bytes).map_or_else(|_| Vec::new(), |record: Record| record.rules)
    }

    /// Writes a rule into the project's settings. Blocks: not for an async thread. Several programs may do it at the
    /// same time.
    pub fn save(&self, list: RuleList, rule: &str) -> Result<(), SaveError> {
        let _lock = self.lock().map_err(SaveError::io(&self.record))?;
        let change = Change::Add(keys(list), rule);
        save::change_locked(&self.target()?, &change, NewFileAccess::Ordinary)?;
        if list == RuleList::Allow {
            self.remember(rule).map_err(SaveError::io(&self.record))?;
        }
        Ok(())
    }

    /// Removes a rule from the file that [`save`](Self::save) writes, and from the record. A missing rule is not an
    /// error. Blocks.
    pub fn remove(&self, list: RuleList, rule: &str) -> Result<(), SaveError> {
        self.remove_from(&self.file(), list, rule)
    }

    /// Removes a rule from any settings file: one of this workspace, or the person's own. Blocks.
    pub fn remove_from(&self, file: &Path, list: RuleList, rule: &str) -> Result<(), SaveError> {
        let change = Change::Remove(keys(list), rule);
        if !file.starts_with(&self.workspace) {
            return save::change(file, &change);
        }
        let _lock = self.lock().map_err(SaveError::io(&self.record))?;
        if file == self.file() && list == RuleList::Allow {
            // First, stop applying it.
            self.forget(rule).map_err(SaveError::io(&self.record))?;
        }
        if std::fs::symlink_metadata(file).is_err_and(|error| is_missing(&error)) {
            return Ok(());
        }
        let target = self.inside(file)?;
        save::change_locked(&target, &change, NewFileAccess::Ordinary)
    }

    /// Changes a file of this workspace, which is created if it is missing. Blocks.
    pub fn change(
        &self,
        file: &Path,
        change: &Change<'_>,
        access: NewFileAccess,
    ) -> Result<(), SaveError> {
        let _lock = self.lock().map_err(SaveError::io(&self.record))?;
        let folder = file.parent().unwrap_or(file);
        let made = DirBuilder::new().recursive(true).create(folder);
        made.map_err(SaveError::io(folder))?;
        save::change_locked(&self.inside(file)?, change, access)
    }

    fn remember(&self, rule: &str) -> io::Result<()> {
        let mut rules = self.saved();
        if !rules.iter().any(|known| known == rule) {
            rules.push(rule.to_owned());
        }
        self.write_record(rules)
    }

    fn forget(&self, rule: &str) -> io::Result<()> {
        let before = self.saved();
        let mut rules = before.clone();
        rules.retain(|known| known != rule);
        if rules == before {
            return Ok(());
        }
        self.write_record(rules)
    }

    fn write_record(&self, rules: Vec<String>) -> io::Result<()> {
        let record = Record {
            workspace: self.workspace.clone(),
            rules,
        };
        let text = serde_json::to_string_pretty(&record)?;
        save::replace(&self.record, &text, NewFileAccess::Private)
    }

    /// One writer at a time. The lock is beside the record, because a project should get no extra files.
    fn lock(&self) -> io::Result<File> {
        create_private_dir(self.record.parent().unwrap_or(&self.record))?;
        save::lock(&self.record.with_extension("lock"))
    }

    /// The file to write; its folder is created if necessary.
    fn target(&self) -> Result<PathBuf, SaveError> {
        let folder = self.workspace.join(FOLDER);
        let made = DirBuilder::new().recursive(true).create(&folder);
        made.map_err(SaveError::io(&folder))?;
        self.inside(&self.file())
    }

    /// The same file without links: a link in the project must not lead the program elsewhere.
    fn inside(&self, file: &Path) -> Result<PathBuf, SaveError> {
        let folder = file.parent().unwrap_or(file);
        let real = folder.canonicalize().map_err(SaveError::io(folder))?;
        let name = file.file_name().unwrap_or_default();
        let file = real.join(name);
        let target = if file.is_symlink() {
            // A dangling link is treated as leading outside, because its target could become anything.
            file.canonicalize().unwrap_or_else(|_| PathBuf::from("/"))
        } else {
            file
        };
        if target.starts_with(&self.workspace) {
            Ok(target)
        } else {
            Err(SaveError::Outside {
                path: folder.join(name),
            })
        }
    }
}

fn keys(list: RuleList) -> &'static [&'static str] {
    match list {
        RuleList::Deny => &["permissions", "deny"],
        RuleList::Ask => &["permissions", "ask"],
        RuleList::Allow => &["permissions", "allow"],
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Fixture {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl Fixture {
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
        let fixture = Fixture::new();
        fixture
            .store
            .save(RuleList::Allow, "Bash(cargo test:*)")
            .expect("saved");
        fixture
            .store
            .save(RuleList::Allow, "Bash(cargo test:*)")
            .expect("saved");
        assert_eq!(
            fixture.text(),
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(cargo test:*)\"\n    ]\n  }\n}\n"
        );
        assert_eq!(fixture.store.saved(), ["Bash(cargo test:*)"]);
        let names =
            std::fs::read_dir(fixture.store.file().parent().expect("a folder")).expect("list");
        assert_eq!(names.count(), 1, "nothing else is left there");
    }

    #[test]
    fn a_file_that_does_not_parse_is_never_touched() {
        let fixture = Fixture::new();
        fixture.put("{\n  \"model\": oops\n}\n");
        let error = fixture
            .store
            .save(RuleList::Allow, "Bash(x)")
            .expect_err("no JSON");
        let message = error.to_string();
        assert!(
            message.contains("settings.local.json`, line 2, column"),
            "{message}"
        );
        assert_eq!(fixture.text(), "{\n  \"model\": oops\n}\n");
        assert_eq!(fixture.store.saved(), [] as [&str; 0]);
    }

    #[test]
    fn a_link_out_of_the_workspace_is_not_followed() {
        let fixture = Fixture::new();
        let outside = fixture.dir.path().join("outside.json");
        std::fs::write(&outside, "{}").expect("write");
        fixture.put("{}");
        std::fs::remove_file(fixture.store.file()).expect("remove");
        symlink(&outside, fixture.store.file()).expect("link");
        assert!(matches!(
            fixture.store.save(RuleList::Allow, "x"),
            Err(SaveError::Outside { .. })
        ));

        let fixture = Fixture::new();
        let elsewhere = fixture.dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("mkdir");
        symlink(&elsewhere, fixture.store.file().parent().expect("a folder")).expect("link");
        assert!(matches!(
            fixture.store.save(RuleList::Allow, "x"),
            Err(SaveError::Outside { .. })
        ));
        assert_eq!(std::fs::read_dir(elsewhere).expect("list").count(), 0);
        assert_eq!(std::fs::read_to_string(outside).expect("there"), "{}");
    }

    #[test]
    fn the_mode_of_the_file_stays() {
        let fixture = Fixture::new();
        fixture.put("{}");
        std::fs::set_permissions(fixture.store.file(), Permissions::from_mode(0o640))
            .expect("chmod");
        fixture
            .store
            .save(RuleList::Allow, "Bash(x)")
            .expect("saved");
        let mode = fixture
            .store
            .file()
            .metadata()
            .expect("there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o640);
    }

    #[test]
    fn two_who_save_at_once_lose_nothing() {
        let fixture = Fixture::new();
        std::thread::scope(|scope| {
            for who in 0..4 {
                let store = &fixture.store;
                scope.spawn(move || {
                    for number in 0..5 {
                        store
                            .save(RuleList::Allow, &format!("Bash(x {who} {number})"))
                            .expect("saved");
                    }
                });
            }
        });
        let value: serde_json::Value = serde_json::from_str(&fixture.text()).expect("JSON");
        assert_eq!(
            value["permissions"]["allow"].as_array().map(Vec::len),
            Some(20)
        );
        assert_eq!(fixture.store.saved().len(), 20);
    }

    #[test]
    fn a_rule_that_is_removed_counts_no_more_and_the_others_stay() {
        let fixture = Fixture::new();
        for rule in ["Bash(a)", "Bash(b)"] {
            fixture.store.save(RuleList::Allow, rule).expect("saved");
        }
        fixture
            .store
            .save(RuleList::Deny, "Read(x)")
            .expect("saved");
        fixture
            .store
            .remove(RuleList::Allow, "Bash(a)")
            .expect("gone");
        fixture
            .store
            .remove(RuleList::Deny, "Bash(b)")
            .expect("fine");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&fixture.text()).expect("JSON"),
            serde_json::json!({"permissions": {"allow": ["Bash(b)"], "deny": ["Read(x)"]}})
        );
        assert_eq!(fixture.store.saved(), ["Bash(b)"]);

        let own = fixture.dir.path().join("config/settings.json");
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("mkdir");
        std::fs::write(&own, r#"{"permissions": {"ask": ["x", "y"]}}"#).expect("write");
        fixture
            .store
            .remove_from(&own, RuleList::Ask, "x")
            .expect("gone");
        assert_eq!(
            std::fs::read_to_string(&own).expect("there"),
            r#"{"permissions": {"ask": ["y"]}}"#
        );
        let missing = fixture.store.workspace.join(".claude/settings.json");
        fixture
            .store
            .remove_from(&missing, RuleList::Ask, "x")
            .expect("nothing to do");
    }
}

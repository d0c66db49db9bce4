//! What the tools of each server looked like when the person last used them.
//!
//! A server can describe its tools harmlessly until it is trusted, and change them afterwards. So a tool whose
//! description or schema has changed is not offered before the person has seen the difference. Blocks: not for an
//! async thread.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::listing::ListedTool;
use crate::config::dirs::create_private_dir;
use crate::config::read_regular;
use crate::config::save::{self, NewFileAccess};

/// A longer record is not read: then all tools count as new.
const LONGEST_RECORD: u64 = 32 << 20;
/// How much of a difference is shown.
const MOST_LINES: usize = 40;

/// The records of all servers.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

/// A tool as the person knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pinned {
    description: String,
    schema: Value,
}

type Record = BTreeMap<String, Pinned>;

/// The tools that have changed, and how.
pub type Changed = BTreeMap<String, String>;

impl Pins {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The tools of a server that have changed since the last time. New tools are remembered. `mark` identifies the
    /// server's configuration.
    pub fn check(&self, mark: &str, tools: &[ListedTool]) -> Changed {
        let Some(mut record) = self.read(mark) else {
            // Without a record there is nothing to compare with.
            let _ = self.write(mark, &tools.iter().map(pinned).collect());
            return Changed::new();
        };
        let (mut changed, mut is_new) = (Changed::new(), false);
        for tool in tools {
            let (name, now) = pinned(tool);
            match record.get(&name) {
                Some(before) if *before != now => {
                    changed.insert(name, difference(before, &now));
                }
                Some(_) => {}
                None => {
                    is_new = true;
                    record.insert(name, now);
                }
            }
        }
        if is_new {
            let _ = self.write(mark, &record);
        }
        changed
    }

    /// The person has accepted these tools as they are now.
    pub fn accept(&self, mark: &str, tools: &[ListedTool]) -> io::Result<()> {
        let mut record = self.read(mark).unwrap_or_default();
        record.extend(tools.iter().map(pinned));
        self.write(mark, &record)
    }

    fn file(&self, mark: &str) -> PathBuf {
        let hash = Sha256::digest(mark.as_bytes());
        let hash: Vec<String> = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{}.json", hash.concat()))
    }

    fn read(&self, mark: &str) -> Option<Record> {
        let bytes = read_regular(&self.file(mark), LONGEST_RECORD).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn write(&self, mark: &str, record: &Record) -> io::Result<()> {
        create_private_dir(&self.folder)?;
        let text = serde_json::to_string(record)?;
        save::replace(&self.file(mark), &text, NewFileAccess::Private)
    }
}

fn pinned(tool: &ListedTool) -> (String, Pinned) {
    let pinned = Pinned {
        description: tool.description.clone(),
        schema: tool.input_schema.clone(),
    };
    (tool.name.clone(), pinned)
}

/// The lines that were removed and added.
fn difference(before: &Pinned, now: &Pinned) -> String {
    let text = |pinned: &Pinned| {
        let schema = serde_json::to_string_pretty(&pinned.schema).unwrap_or_default();
        format!("{}\n{schema}\n", pinned.description)
    };
    let (before, now) = (text(before), text(now));
    let diff = TextDiff::from_lines(&before, &now);
    let lines = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        Some(format!("{sign} {}", change.value().trim_end()))
    });
    let lines: Vec<String> = lines.take(MOST_LINES).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::listing::tools;

    fn listed(description: &str, more: &[&str]) -> Vec<ListedTool> {
        let mut entries = vec![json!({ "name": "a", "description": description })];
        entries.extend(more.iter().map(|name| json!({ "name": name })));
        tools(&entries).0
    }

    #[test]
    fn a_tool_that_changed_is_reported_with_its_difference_until_it_is_accepted() {
        let home = tempfile::tempdir().expect("a directory");
        let pins = Pins::new(home.path().join("pins"));
        assert_eq!(pins.check("m", &listed("Adds", &[])), Changed::new());
        assert_eq!(
            pins.check("m", &listed("Adds", &["b"])),
            Changed::new(),
            "b is new"
        );
        let now = listed("Adds, and sends your keys", &["b"]);
        let changed = pins.check("m", &now);
        assert_eq!(changed.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(changed["a"], "- Adds\n+ Adds, and sends your keys");
        assert_eq!(pins.check("m", &now), changed, "it stays so");
        assert_eq!(pins.check("other", &now), Changed::new());
        pins.accept("m", &now).expect("saved");
        assert_eq!(pins.check("m", &now), Changed::new());
    }
}

//! Where a permission rule, or a setting, comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use super::tool::RuleList;

/// Decisions use its kind and its path; its text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A settings file.
    File(NamedFile),
    /// A broken settings file: everything that it may have denied asks first.
    Broken(NamedFile),
    /// `--deny`, `--ask` or `--allow`.
    Flag(RuleList),
    /// The person set it while the program was running.
    Session,
    /// The program itself.
    Program,
    /// A test case of the person, to check what would be decided.
    Case,
}

/// A file, and its name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    pub path: PathBuf,
    pub name: String,
}

impl Source {
    pub fn file(path: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self::File(NamedFile {
            path: path.into(),
            name: name.into(),
        })
    }

    pub fn broken(path: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self::Broken(NamedFile {
            path: path.into(),
            name: name.into(),
        })
    }

    /// The path of the settings file, broken or not.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::File(file) | Source::Broken(file) => Some(&file.path),
            Source::Flag(_) | Source::Session | Source::Program | Source::Case => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(file) => f.write_str(&file.name),
            Source::Broken(file) => write!(f, "{} (broken)", file.name),
            Source::Flag(list) => write!(f, "--{}", list.name()),
            Source::Session => f.write_str("this session"),
            Source::Program => f.write_str("agent-tui itself"),
            Source::Case => f.write_str("the project's settings"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_is_its_name_for_people() {
        for (source, text) in [
            (Source::file("/w/a.json", "a.json"), "a.json"),
            (Source::broken("/w/a.json", "a.json"), "a.json (broken)"),
            (Source::Flag(RuleList::Deny), "--deny"),
            (Source::Flag(RuleList::Ask), "--ask"),
            (Source::Flag(RuleList::Allow), "--allow"),
            (Source::Session, "this session"),
            (Source::Program, "agent-tui itself"),
            (Source::Case, "the project's settings"),
        ] {
            assert_eq!(source.to_string(), text);
        }
    }
}

//! Interprets a pattern: the root to walk, the glob, and which parts of the tree cannot match.
//!
//! A pattern without a slash is matched against the name of a file at any depth, one with a slash against the path
//! below the root.

use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet};

use super::Input;
use crate::tools::ToolError;
use crate::tools::tree::{self, Hidden, names};

/// A valid search.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) root: PathBuf,
    pub(super) hidden: Hidden,
    /// A set with one glob, because sets match simple globs faster than a single glob does.
    pub(super) matcher: GlobSet,
    pub(super) target: Target,
    /// The names that the pattern begins with: other directories at that depth are not entered.
    pub(super) fixed: Vec<String>,
    pub(super) max_depth: Option<usize>,
}

/// What the glob is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Name,
    Path,
}

impl Query {
    pub(super) fn new(input: &Input, cwd: &Path) -> Result<Self, ToolError> {
        tree::check_length("pattern", &input.pattern)?;
        let root = tree::root(input.path.as_deref(), cwd)?;
        let shown = names::show(&root);
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                return Err(ToolError::new(format!(
                    "`{shown}` is not a directory; give the directory in `path` and the name in `pattern`"
                ))
                .with_sentence("this is not a directory"));
            }
            Err(error) => {
                return Err(tree::unreachable(&shown, &error));
            }
        }
        if input.pattern.is_empty() {
            return Err(
                ToolError::new("`pattern` is empty; `**` matches every file")
                    .with_sentence("the pattern is empty"),
            );
        }
        let (root, pattern) = rebase(root, &input.pattern);
        // The same as the name alone, only slower.
        let pattern = match pattern.strip_prefix("**/") {
            Some(name) if !name.contains('/') => name,
            _ => pattern.as_str(),
        };
        let bad = |error: globset::Error| {
            ToolError::new(format!("`pattern` is not a valid glob: {error}"))
                .with_sentence("the pattern is not a valid glob")
        };
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(bad)?;
        let matcher = GlobSet::builder().add(glob).build().map_err(bad)?;
        let parts: Vec<&str> = pattern.split('/').collect();
        let directories = &parts[..parts.len() - 1];
        Ok(Self {
            hidden: tree::hidden_names([pattern]).map_err(bad)?,
            matcher,
            target: if parts.len() == 1 {
                Target::Name
            } else {
                Target::Path
            },
            fixed: directories
                .iter()
                .take_while(|part| is_literal(part))
                .map(|part| (*part).to_owned())
                .collect(),
            // A brace may contain slashes, so the depth is unknown.
            max_depth: (parts.len() > 1 && !pattern.contains("**") && !pattern.contains('{'))
                .then_some(parts.len()),
            root,
        })
    }
}

/// Moves the leading part of a pattern that names a directory into the root: an absolute path, and leading `.` and
/// `..`.
fn rebase(root: PathBuf, pattern: &str) -> (PathBuf, String) {
    let mut root = root;
    let mut pattern = pattern;
    if Path::new(pattern).is_absolute() {
        // Below the root, use the relative form, so that ignore files apply in the same way.
        let below = root
            .to_str()
            .and_then(|root| pattern.strip_prefix(root))
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(rest) = below {
            pattern = rest;
        } else {
            root = PathBuf::from("/");
            pattern = pattern.trim_start_matches('/');
            while let Some((part, rest)) = pattern.split_once('/') {
                if !is_literal(part) {
                    break;
                }
                root.push(part);
                pattern = rest;
            }
        }
    }
    while let Some((part @ ("." | ".." | ""), rest)) = pattern.split_once('/') {
        if part == ".." {
            root.push(part);
        }
        pattern = rest;
    }
    // A directory means the files in it.
    let pattern = match pattern {
        "" => "**".to_owned(),
        directory if directory.ends_with('/') => format!("{directory}**"),
        pattern => pattern.to_owned(),
    };
    if root.components().any(|part| part == Component::ParentDir) {
        root = fs::canonicalize(&root).unwrap_or(root);
    }
    (root, pattern)
}

fn is_literal(part: &str) -> bool {
    !part.is_empty() && !part.contains(['*', '?', '[', ']', '{', '}', '\\', ','])
}

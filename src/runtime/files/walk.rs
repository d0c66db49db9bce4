//! Walks over the workspace as git sees it, and delivers its paths in batches.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::{DirEntry, WalkBuilder};

use super::index::Index;
use crate::tools::tree;
use crate::tools::tree::ignores::{IgnoreStatus, Ignores};

/// Further paths (in a home directory, for example) are ignored.
const MOST_PATHS: usize = 500_000;
/// The first batch is small, so that there is something to show; each is twice the previous one.
const FIRST_BATCH: usize = 256;
const LARGEST_BATCH: usize = 16_384;

/// Calls `found` with all files and directories below `root` that are not ignored, until it returns false. Returns what
/// a person should know about ignore files that were not applied.
pub fn walk(
    root: &Path,
    stop: &AtomicBool,
    mut found: impl FnMut(Index) -> bool,
) -> Option<String> {
    let ignores = Arc::new(Ignores::new(root));
    let mut batch = Index::default();
    let mut size = FIRST_BATCH;
    let entries = walker(root, &ignores).build().filter_map(Result::ok);
    let paths = entries.filter_map(|entry| relative(root, &entry));
    for path in paths.take(MOST_PATHS) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        batch.push(&path);
        if batch.len() == size {
            if !found(std::mem::take(&mut batch)) {
                return None;
            }
            size = (size * 2).min(LARGEST_BATCH);
        }
    }
    if !batch.is_empty() {
        found(batch);
    }
    ignores.left_out()
}

/// Hidden files are included, ignored ones are not. Ignore files also apply outside a repository: a tree that was
/// unpacked without its `.git` still doesn't list its `node_modules`.
fn walker(root: &Path, ignores: &Arc<Ignores>) -> WalkBuilder {
    let ignores = ignores.clone();
    let mut builder = tree::unread(root);
    builder.filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_own = entry.file_name() == ".git" || entry.file_name() == ".jj";
        entry.depth() == 0
            || (!is_own && ignores.status(entry.path(), is_dir) != IgnoreStatus::Ignored)
    });
    builder
}

/// The path as it is completed: a directory ends with a slash. Names that cannot be typed are left out.
fn relative(root: &Path, entry: &DirEntry) -> Option<String> {
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    if path.is_empty() || path.contains(|letter: char| letter.is_control() || letter == '"') {
        return None;
    }
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    let slash = if is_directory { "/" } else { "" };
    Some(format!("{path}{slash}"))
}

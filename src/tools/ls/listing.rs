//! A tree of files as text, shortened if it is long. Pure.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ignore::DirEntry;

use crate::tools::tree::names;

/// How many entries are shown in all.
const MOST_SHOWN: usize = 1_000;
/// How many entries of one directory are shown, so that a large one leaves space for the others.
const MOST_OF_A_DIRECTORY: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Link,
}

/// An entry found by the walk, with its path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub kind: Kind,
}

/// What is below a directory.
#[derive(Debug)]
pub struct Listing {
    /// The root is the first node.
    nodes: Vec<Node>,
    /// There are more entries than were visited.
    is_cut: bool,
}

#[derive(Debug)]
struct Node {
    name: String,
    kind: Kind,
    children: Vec<usize>,
    /// How many of the children are shown.
    shown: usize,
}

impl Kind {
    pub fn of(entry: &DirEntry) -> Self {
        match entry.file_type() {
            Some(kind) if kind.is_dir() => Self::Directory,
            Some(kind) if kind.is_symlink() => Self::Link,
            Some(_) | None => Self::File,
        }
    }
}

impl Node {
    fn new(name: String, kind: Kind) -> Self {
        Self {
            name,
            kind,
            children: Vec::new(),
            shown: 0,
        }
    }
}

impl Listing {
    pub fn new(mut found: Vec<Found>, is_cut: bool) -> Self {
        // Sorting puts a directory before its entries.
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut nodes = vec![Node::new(String::new(), Kind::Directory)];
        // The directories from the root to the previous entry.
        let mut open: Vec<(PathBuf, usize)> = vec![(PathBuf::new(), 0)];
        for Found { path, kind } in found {
            let above = path.parent().unwrap_or(Path::new(""));
            while open.len() > 1 && open.last().is_some_and(|(last, _)| last != above) {
                open.pop();
            }
            let parent = open.last().map_or(0, |(_, node)| *node);
            let name = names::show(Path::new(path.file_name().unwrap_or_default()));
            let index = nodes.len();
            nodes.push(Node::new(name, kind));
            nodes[parent].children.push(index);
            if kind == Kind::Directory {
                open.push((path, index));
            }
        }
        let mut listing = Self { nodes, is_cut };
        listing.sort();
        listing.choose();
        listing
    }

    /// Directories first, then by name.
    fn sort(&mut self) {
        for index in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[index].children);
            children.sort_by_key(|child| self.nodes[*child].kind != Kind::Directory);
            self.nodes[index].children = children;
        }
    }

    /// Gives the space to the upper levels first.
    fn choose(&mut self) {
        let mut room = MOST_SHOWN;
        let mut waiting = VecDeque::from([0]);
        while let Some(index) = waiting.pop_front() {
            let node = &mut self.nodes[index];
            node.shown = node.children.len().min(MOST_OF_A_DIRECTORY).min(room);
            room -= node.shown;
            waiting.extend(node.children[..node.shown].iter().copied());
        }
    }

    pub fn text(&self, root: &Path) -> String {
        let shown = names::show(root);
        let mut text = format!("- {}/", shown.trim_end_matches('/'));
        if self.nodes[0].children.is_empty() {
            text.push_str("\n  (empty)");
        }
        self.push_below(0, 1, &mut text);
        if self.is_cut {
            text.push_str("\n[The tree has more entries than were visited; list a subdirectory]");
        }
        text
    }

    fn push_below(&self, index: usize, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let node = &self.nodes[index];
        for child in &node.children[..node.shown] {
            let Node { name, kind, .. } = &self.nodes[*child];
            let sign = match kind {
                Kind::Directory => "/",
                Kind::Link => "@",
                Kind::File => "",
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{indent}- {name}{sign}");
            self.push_below(*child, depth + 1, text);
        }
        let left_out = node.children.len() - node.shown;
        if left_out > 0 {
            let more = if node.shown > 0 { "more " } else { "" };
            let entries = if left_out == 1 { "entry" } else { "entries" };
            let _ = write!(text, "\n{indent}[{left_out} {more}{entries} not shown]");
        }
    }
}

//! Finds out what the sandbox blocked: the kernel only returns an error, so the command's error message is read.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::Policy;

/// How programs report that access was denied.
const REFUSED: [&str; 2] = ["Permission denied", "Operation not permitted"];
/// How programs report that there is no network.
const NO_NETWORK: [&str; 5] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "socket: Permission denied",
];
const BAD_INTERPRETER: &str = "bad interpreter";
/// How programs report that they wanted to change something.
const CHANGES: [&str; 12] = [
    "create", "touch", "remove", "unlink", "write", "writing", "changing", "setting", "rename",
    "move", "link", "output",
];

/// What the sandbox blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedAccess {
    Read(String),
    Write(String),
    Run(String),
    Network,
}

impl fmt::Display for BlockedAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockedAccess::Read(path) => write!(f, "it tried to read `{path}`"),
            BlockedAccess::Write(path) => write!(f, "it tried to write `{path}`"),
            BlockedAccess::Run(path) => write!(f, "it tried to run `{path}`"),
            BlockedAccess::Network => f.write_str("it tried to use the network"),
        }
    }
}

/// What the sandbox blocked, judging by the command's output. A refusal that the person's own rights explain does not
/// come from the sandbox.
pub fn blocked_access(output: &str, policy: &Policy, cwd: &Path) -> Option<BlockedAccess> {
    output.lines().find_map(|line| {
        if NO_NETWORK.iter().any(|complaint| line.contains(complaint)) {
            return Some(BlockedAccess::Network);
        }
        let (before, after) = REFUSED.iter().find_map(|words| line.split_once(words))?;
        let name = path_in(before, after)?;
        blamed(name, before, policy, cwd)
    })
}

fn blamed(name: &str, complaint: &str, policy: &Policy, cwd: &Path) -> Option<BlockedAccess> {
    let path = resolved(&cwd.join(name));
    let below = |known: &PathBuf| path.starts_with(known);
    let (runs, writes) = (policy.runs().any(below), policy.writes.iter().any(below));
    let may = |path: &Path, access: Access| rustix::fs::access(path, access).is_ok();
    // The name itself may contain one of the words.
    let complaint = complaint.replacen(name, "", 1);
    let changes = CHANGES.iter().any(|word| complaint.contains(word));
    let readable = runs || writes || policy.reads().any(below);
    if !changes && !readable && may(&path, Access::READ_OK) {
        return Some(BlockedAccess::Read(name.to_owned()));
    }
    if !changes && path.is_file() && may(&path, Access::EXEC_OK) && !runs {
        return Some(BlockedAccess::Run(name.to_owned()));
    }
    let there = may(&path, Access::WRITE_OK);
    let parent = path
        .parent()
        .is_some_and(|parent| may(parent, Access::WRITE_OK));
    (!writes && (there || parent)).then(|| BlockedAccess::Write(name.to_owned()))
}

/// The path with its links followed, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// The path in an error message: in quotes, or before the last colon.
fn path_in<'l>(before: &'l str, after: &'l str) -> Option<&'l str> {
    // `bash: ./script: /bin/sh: bad interpreter`: the script is what must not run.
    if before.contains(BAD_INTERPRETER) {
        return before.split(": ").nth(1);
    }
    quoted(before).or_else(|| quoted(after)).or_else(|| {
        let before = before.trim_end_matches([':', ' ', '(']);
        let last = before.rsplit(": ").next()?;
        let name = without_verb(last);
        (!name.is_empty() && name.len() < before.len()).then_some(name)
    })
}

/// `cannot create file` is about `file`.
fn without_verb(text: &str) -> &str {
    let begun = ["cannot ", "can't ", "failed to ", "unable to "]
        .iter()
        .find_map(|words| text.strip_prefix(words));
    let behind = begun.and_then(|rest| rest.split_once(' '));
    behind.map_or(text, |(_, name)| name)
}

fn quoted(text: &str) -> Option<&str> {
    [('\'', '\''), ('‘', '’'), ('"', '"'), ('`', '\'')]
        .iter()
        .find_map(|&(open, close)| {
            let (_, inside) = text.split_once(open)?;
            let (name, _) = inside.split_once(close)?;
            (!name.is_empty()).then_some(name)
        })
}

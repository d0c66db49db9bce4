//! Branch and changes of the workspace, for the system prompt and the status line. The query starts early, and its
//! result is used when it is needed.

use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::inspection::{Extent, command, inspect, output};
use super::{Inspection, Repository};
use crate::process::Programs;

/// How long the first request waits for git.
const MAX_WAIT: Duration = Duration::from_millis(40);
const LONGEST_HEAD: u64 = 1_000;
const LONGEST_BRANCH: usize = 200;
/// How many changed files the prompt lists.
const MOST_CHANGES: usize = 20;

/// A running query.
pub struct StatusQuery {
    inspected: oneshot::Receiver<Inspection>,
    changes: JoinHandle<Option<String>>,
    until: Instant,
}

/// What git answered in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitStatus {
    pub branch: Option<String>,
    /// Lines for the system prompt.
    pub lines: String,
}

/// Starts the query. The repository is inspected first, because a hostile one must not start anything.
pub fn ask(programs: &Arc<Programs>, workspace: &Path) -> StatusQuery {
    ask_for(programs, workspace, MAX_WAIT)
}

/// Only the branch, however long git takes.
pub async fn branch_of(programs: &Programs, workspace: &Path) -> Option<String> {
    let inspection = inspect(programs, workspace, Extent::Configuration).await;
    inspection.repository.as_ref().map(branch)
}

pub(super) fn ask_for(
    programs: &Arc<Programs>,
    workspace: &Path,
    max_wait: Duration,
) -> StatusQuery {
    let until = Instant::now() + max_wait;
    let (sender, inspected) = oneshot::channel();
    let (programs, workspace) = (programs.clone(), workspace.to_owned());
    let changes = tokio::spawn(async move {
        let inspection = inspect(&programs, &workspace, Extent::Configuration).await;
        let harmless = inspection.repository.is_some() && inspection.objection.is_none();
        // If nobody waits any longer, the changes are not needed either.
        sender.send(inspection).ok()?;
        if harmless {
            status(&programs, &workspace).await
        } else {
            None
        }
    });
    StatusQuery {
        inspected,
        changes,
        until,
    }
}

impl StatusQuery {
    /// Branch and changes, as far as they are known in time.
    pub async fn finish(self) -> GitStatus {
        let Self {
            inspected,
            mut changes,
            until,
        } = self;
        let Ok(Ok(inspected)) = timeout_at(until, inspected).await else {
            changes.abort();
            return GitStatus::without_branch("- Git: not known yet");
        };
        let branch = match (inspected.repository, &inspected.objection) {
            (Some(repository), _) => branch(&repository),
            (None, None) => return GitStatus::without_branch("- Git: not a repository"),
            (None, Some(why)) => {
                return GitStatus::without_branch(&format!("- Git: not asked, because {why}"));
            }
        };
        let status = if let Some(why) = inspected.objection {
            format!("not asked for, because {why}")
        } else if let Ok(Ok(Some(known))) = timeout_at(until, &mut changes).await {
            known
        } else {
            changes.abort();
            "not known yet".to_owned()
        };
        GitStatus {
            lines: format!("- Git branch: {branch}\n- Git status: {status}"),
            branch: Some(branch),
        }
    }
}

impl GitStatus {
    fn without_branch(lines: &str) -> Self {
        Self {
            branch: None,
            lines: lines.to_owned(),
        }
    }
}

/// Runs `git status` with an option to ignore submodules, because they were not inspected.
async fn status(programs: &Programs, workspace: &Path) -> Option<String> {
    let mut command = command(programs.git()?, programs, workspace);
    command
        .args(["status", "--porcelain", "--ignore-submodules=all"])
        .stderr(Stdio::null());
    let answer = output(command).await.ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    answer.status.success().then(|| changes(&text))
}

/// The branch that the repository's `HEAD` names. What follows its first line is not part of the name.
fn branch(repository: &Repository) -> String {
    let head = repository.git_dir.join("HEAD");
    let head = crate::config::read_regular(&head, LONGEST_HEAD).unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let head: String = head
        .chars()
        .take_while(|letter| !letter.is_control())
        .take(LONGEST_BRANCH)
        .collect();
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        // This is the content if branches are stored in another format.
        Some("" | ".invalid") => "unknown".to_owned(),
        Some(branch) => branch.to_owned(),
        None if head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("detached at {}", &head[..12])
        }
        None => "unknown".to_owned(),
    }
}

fn changes(status: &str) -> String {
    let changes: Vec<&str> = status.lines().collect();
    let count = changes.len();
    if count == 0 {
        return "clean".to_owned();
    }
    let mut text = format!("{count} changed");
    for change in changes.iter().take(MOST_CHANGES) {
        let _ = write!(text, "\n  {change}");
    }
    if count > MOST_CHANGES {
        let _ = write!(text, "\n  … and {} more", count - MOST_CHANGES);
    }
    text
}

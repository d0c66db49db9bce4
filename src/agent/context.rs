//! The system prompt: who the model is, where it works, what the memory files say. Ordered from stable to changing, so
//! that a provider's prompt cache holds as long as it can.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::memory::{Standing, memory};

const PROMPT: &str = include_str!("../../assets/prompts/system.md");
/// How long the first request waits for git to say what has changed.
const GIT_PATIENCE: Duration = Duration::from_millis(40);
const LONGEST_HEAD: u64 = 1_000;
/// How many changed files the prompt lists.
const MOST_CHANGES: usize = 20;

pub struct Surroundings {
    pub workspace: PathBuf,
    pub config_dir: PathBuf,
    /// What the person has said about the project.
    pub standing: Standing,
    pub provider: String,
    pub model: String,
}

/// The parts of the system prompt.
pub async fn system_prompt(around: &Surroundings, git: Git) -> Vec<String> {
    let git = git.say().await;
    let mut parts = vec![PROMPT.trim_end().to_owned()];
    parts.extend(memory(
        &around.config_dir,
        &around.workspace,
        around.standing,
    ));
    parts.push(environment(around, &git));
    parts
}

fn environment(around: &Surroundings, git: &str) -> String {
    let date = jiff::Zoned::now().date();
    format!(
        "Environment\n- Workspace: {}\n- Platform: {} ({})\n- Date: {date}\n- Model: {} ({})\n{git}",
        around.workspace.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        around.model,
        around.provider,
    )
}

/// What git says about the workspace: asked early, heard when it is needed.
pub struct Git(Option<Asked>);

struct Asked {
    branch: String,
    status: Option<Status>,
}

/// A running `git status`, and until when its answer is waited for.
struct Status {
    process: JoinHandle<std::io::Result<std::process::Output>>,
    until: Instant,
}

impl Git {
    /// Starts asking.
    pub fn ask(workspace: &Path) -> Self {
        let Some(directory) = workspace
            .ancestors()
            .map(|path| path.join(".git"))
            .find(|path| path.exists())
        else {
            return Self(None);
        };
        let branch = branch(&directory);
        // A hostile repository must start nothing.
        let harmless = crate::permissions::repository::starts(workspace).is_none();
        let status = harmless.then(|| Status {
            process: tokio::spawn(status(workspace).output()),
            until: Instant::now() + GIT_PATIENCE,
        });
        Self(Some(Asked { branch, status }))
    }

    /// The branch, if there is a repository.
    pub fn branch(&self) -> Option<String> {
        self.0.as_ref().map(|asked| asked.branch.clone())
    }

    /// Branch and changes, as far as they are known soon enough.
    pub async fn say(self) -> String {
        let Some(Asked { branch, status }) = self.0 else {
            return "- Git: not a repository".to_owned();
        };
        let Some(Status { process, until }) = status else {
            return format!(
                "- Git branch: {branch}\n- Git status: not asked for, because its configuration runs programs"
            );
        };
        match tokio::time::timeout_at(until, process).await {
            Ok(Ok(Ok(output))) if output.status.success() => {
                let changes = changes(&String::from_utf8_lossy(&output.stdout));
                format!("- Git branch: {branch}\n- Git status: {changes}")
            }
            Ok(_) | Err(_) => format!("- Git branch: {branch}\n- Git status: not known yet"),
        }
    }
}

/// `git status` that starts nothing else and writes nothing.
fn status(workspace: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args([
            "--no-optional-locks",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(["status", "--porcelain", "--ignore-submodules=all"])
        .current_dir(workspace)
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

/// The branch, read without asking anyone.
fn branch(git_dir: &Path) -> String {
    let head = crate::config::read_regular(&git_dir.join("HEAD"), LONGEST_HEAD).unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None if head.trim().is_empty() => "unknown".to_owned(),
        None => format!(
            "detached at {}",
            head.trim().chars().take(12).collect::<String>()
        ),
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::Git;

    fn git(directory: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(["-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(directory)
            .status()
            .expect("git is there");
        assert!(status.success(), "{arguments:?}");
    }

    #[tokio::test]
    async fn cve_2026_19593_asking_for_the_status_runs_no_filter_of_the_repository() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (root, marker) = (dir.path().join("work"), dir.path().join("started"));
        std::fs::create_dir(&root).expect("mkdir");
        git(&root, &["init", "-q", "-b", "main"]);
        std::fs::write(root.join(".gitattributes"), "* filter=evil\n").expect("write");
        std::fs::write(root.join("a"), "old\n").expect("write");
        git(&root, &["add", "."]);
        git(&root, &["commit", "-qm", "one"]);
        std::fs::write(root.join("a"), "changed\n").expect("write");
        let clean = format!("touch {}; cat", marker.display());
        git(&root, &["config", "filter.evil.clean", &clean]);

        let said = Git::ask(&root).say().await;
        assert!(said.contains("its configuration runs programs"), "{said}");
        assert!(!marker.exists());
        // It would have run.
        git(&root, &["status", "--porcelain"]);
        assert!(marker.exists());
    }
}

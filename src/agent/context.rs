//! The system prompt: who the model is, where it works, what the memory files say. Ordered from stable to changing, so
//! that a provider's prompt cache holds as long as it can.

use std::path::{Path, PathBuf};

const PROMPT: &str = include_str!("../../assets/prompts/system.md");
/// A longer memory file is not read.
const LONGEST_MEMORY: u64 = 1_000_000;

pub struct Surroundings {
    pub workspace: PathBuf,
    pub config_dir: PathBuf,
    pub provider: String,
    pub model: String,
}

/// The parts of the system prompt; `git` is what git says about the workspace.
pub fn system_prompt(around: &Surroundings, git: &str) -> Vec<String> {
    let mut parts = vec![PROMPT.trim_end().to_owned()];
    let memory = memory(&around.config_dir, &around.workspace);
    if !memory.is_empty() {
        parts.push(memory);
    }
    parts.push(environment(around, git));
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

/// The user's memory file, then those of every directory from the repository's root to the workspace.
fn memory(config_dir: &Path, workspace: &Path) -> String {
    let directories = root_to(workspace);
    let root = directories
        .first()
        .and_then(|root| root.canonicalize().ok());
    let mut texts = Vec::from_iter(memory_of(&config_dir.join("AGENTS.md"), None));
    for directory in &directories {
        let own = memory_of(&directory.join("AGENTS.md"), root.as_deref());
        texts.extend(own.or_else(|| memory_of(&directory.join("CLAUDE.md"), root.as_deref())));
    }
    if texts.is_empty() {
        return String::new();
    }
    format!(
        "What the person wants you to keep in mind\n\n{}",
        texts.join("\n\n")
    )
}

/// A memory file with its name. One that is a link out of the repository is not read: it would be sent to the provider.
fn memory_of(file: &Path, within: Option<&Path>) -> Option<String> {
    let real = file.canonicalize().ok()?;
    if within.is_some_and(|root| !real.starts_with(root)) {
        return None;
    }
    let bytes = crate::config::read_regular(&real, LONGEST_MEMORY).ok()?;
    let content = String::from_utf8_lossy(&bytes);
    let content = content.trim_end();
    (!content.trim().is_empty()).then(|| format!("From `{}`:\n\n{content}", file.display()))
}

/// The directories from the repository's root down to the workspace; the workspace alone outside of a repository.
fn root_to(workspace: &Path) -> Vec<PathBuf> {
    let root = workspace
        .ancestors()
        .find(|directory| directory.join(".git").exists())
        .unwrap_or(workspace);
    let mut directories: Vec<PathBuf> = workspace
        .ancestors()
        .take_while(|directory| directory.starts_with(root))
        .map(Path::to_owned)
        .collect();
    directories.reverse();
    directories
}

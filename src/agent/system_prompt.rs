//! The system prompt: who the model is, where it works, what the memory files say. Ordered from stable to changing, so
//! that a provider's prompt cache holds as long as it can.

use std::path::PathBuf;

use crate::settings::memory::{Standing, memory};

const PROMPT: &str = include_str!("../../assets/prompts/system.md");

pub struct Surroundings {
    pub workspace: PathBuf,
    pub config_dir: PathBuf,
    /// What the person has said about the project.
    pub standing: Standing,
    pub provider: String,
    pub model: String,
}

/// What the model is told before anything else, and what a person should know about that.
pub struct SystemPrompt {
    pub parts: Vec<String>,
    pub notices: Vec<String>,
}

/// The system prompt; `git` is what git says about the workspace.
pub fn system_prompt(around: &Surroundings, git: &str) -> SystemPrompt {
    let memory = memory(&around.config_dir, &around.workspace, around.standing);
    let mut parts = vec![PROMPT.trim_end().to_owned()];
    parts.extend(memory.parts);
    parts.push(environment(around, git));
    SystemPrompt {
        parts,
        notices: memory.left_out,
    }
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

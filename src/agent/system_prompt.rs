//! The system prompt: the model's role, where it works, and the memory files. Ordered from stable to changing, so
//! that the provider's prompt cache stays valid as long as possible.

use std::path::{Path, PathBuf};

use crate::settings::memory::{ProjectTrust, memory};

const PROMPT: &str = include_str!("../../assets/prompts/system.md");

pub struct PromptContext {
    pub workspace: PathBuf,
    pub config_dir: PathBuf,
    /// Whether the person trusts the project.
    pub trust: ProjectTrust,
    pub provider: String,
    pub model: String,
}

/// The longest time zone file.
const LONGEST_ZONE: u64 = 1 << 20;

/// The system prompt, and notices for the person about it.
pub struct SystemPrompt {
    pub parts: Vec<String>,
    pub notices: Vec<String>,
}

/// The system prompt; `git` is git's description of the workspace.
pub fn system_prompt(context: &PromptContext, git: &str) -> SystemPrompt {
    let memory = memory(&context.config_dir, &context.workspace, context.trust);
    let mut parts = vec![PROMPT.trim_end().to_owned()];
    parts.extend(memory.parts);
    parts.push(environment(context, git));
    SystemPrompt {
        parts,
        notices: memory.left_out,
    }
}

fn environment(context: &PromptContext, git: &str) -> String {
    let date = today();
    format!(
        "Environment\n- Workspace: {}\n- Platform: {} ({})\n- Date: {date}\n- Model: {} ({})\n{git}",
        context.workspace.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        context.model,
        context.provider,
    )
}

/// The date in the person's time zone; in UTC if the time zone cannot be read.
fn today() -> jiff::civil::Date {
    let zone = std::env::var_os("TZ").unwrap_or_default();
    if is_readable_zone(&zone.to_string_lossy()) {
        return jiff::Zoned::now().date();
    }
    let now = jiff::Timestamp::now();
    now.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Whether the value of `TZ` can be read without waiting: it may name a pipe that nobody writes to.
fn is_readable_zone(zone: &str) -> bool {
    let name = Path::new(zone.strip_prefix(':').unwrap_or(zone));
    let directory = std::env::var_os("TZDIR").map(PathBuf::from);
    let file = match directory {
        Some(directory) => directory.join(name),
        None if name.is_absolute() => name.to_owned(),
        // A name from the system's own list.
        None => return true,
    };
    match std::fs::metadata(file) {
        Ok(found) => found.is_file() && found.len() <= LONGEST_ZONE,
        // The file does not exist, which does no harm.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_that_is_not_a_regular_file_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|made| made.success()));
        let file = directory.path().join("file");
        std::fs::write(&file, "TZif2").expect("written");
        for zone in [
            pipe.to_string_lossy(),
            format!(":{}", pipe.display()).into(),
        ] {
            assert!(!is_readable_zone(&zone), "{zone}");
        }
        assert!(!is_readable_zone(&directory.path().to_string_lossy()));
        assert!(is_readable_zone(&file.to_string_lossy()));
        for zone in ["", "UTC", "Europe/Berlin", "CET-1CEST", "/not/there"] {
            assert!(is_readable_zone(zone), "{zone}");
        }
    }
}

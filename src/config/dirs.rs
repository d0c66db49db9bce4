//! Where the program stores its files.

use std::fmt::Write as _;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Settings, memory, themes, keys.
    pub config: PathBuf,
    /// Sessions, checkpoints, large results, logs.
    pub data: PathBuf,
    pub home: PathBuf,
}

impl Dirs {
    /// The platform's directories, unless `AGENT_TUI_CONFIG_DIR` and `AGENT_TUI_DATA_DIR` are set. Without a home the
    /// program still starts: without configuration, because files in a world-writable place could come from anyone,
    /// and with a temporary directory for its data. A missing home directory is not created.
    pub fn find() -> Self {
        let platform = directories::ProjectDirs::from("", "", "agent-tui");
        let choose = |variable: &str, standard: Option<PathBuf>, otherwise: PathBuf| {
            let chosen = std::env::var_os(variable)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from);
            let path = chosen.or(standard).unwrap_or(otherwise);
            std::path::absolute(&path).unwrap_or(path)
        };
        let temporary = temporary();
        let nowhere = PathBuf::from("/dev/null/agent-tui");
        let (config, data) = platform
            .map(|dirs| (dirs.config_dir().to_owned(), dirs.data_dir().to_owned()))
            .unzip();
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        let missing = home.as_ref().filter(|home| !home.is_dir());
        let is_there = |path: &PathBuf| missing.is_none_or(|home| !path.starts_with(home));
        Self {
            config: choose("AGENT_TUI_CONFIG_DIR", config.filter(is_there), nowhere),
            data: choose(
                "AGENT_TUI_DATA_DIR",
                data.filter(is_there),
                temporary.clone(),
            ),
            home: home.unwrap_or(temporary),
        }
    }

    /// Problems of the environment: no home, nowhere to write, no `PATH`.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let no_home = if self.home.is_dir() && !self.config.starts_with("/dev/null") {
            None
        } else if self.home == temporary() {
            Some("no home directory".to_owned())
        } else {
            let home = self.home.display();
            Some(format!("the home directory `{home}` does not exist"))
        };
        if let Some(no_home) = no_home {
            let mut problem = no_home;
            if self.config.starts_with("/dev/null") {
                problem.push_str(", so your settings are not read");
            }
            let data = self.data.display();
            problems.push(format!(
                "{problem}; data goes to `{data}`; set HOME, or AGENT_TUI_CONFIG_DIR and AGENT_TUI_DATA_DIR"
            ));
        }
        if let Err(error) = create_private_dir(&self.data) {
            let data = self.data.display();
            problems.push(format!(
                "can't write to `{data}`, so nothing is saved: {error}; set AGENT_TUI_DATA_DIR to a writable directory"
            ));
        } else if rustix::fs::access(&self.data, rustix::fs::Access::WRITE_OK).is_err() {
            let data = self.data.display();
            problems.push(format!(
                "can't write to `{data}`, so nothing is saved; set AGENT_TUI_DATA_DIR to a writable directory"
            ));
        }
        if std::env::var_os("PATH").is_none_or(|path| path.is_empty()) {
            problems.push(
                "PATH is not set: commands are found in the system's standard places only"
                    .to_owned(),
            );
        }
        problems
    }

    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    pub fn results(&self) -> PathBuf {
        self.data.join("results")
    }

    pub fn checkpoints(&self) -> PathBuf {
        self.data.join("checkpoints")
    }

    /// Locks of running programs while they replace a file.
    pub fn locks(&self) -> PathBuf {
        self.data.join("locks")
    }

    /// The log of panics.
    pub fn panic_log(&self) -> PathBuf {
        self.logs().join("panic.log")
    }

    pub fn logs(&self) -> PathBuf {
        self.data.join("logs")
    }
}

/// Where data is stored without a home.
fn temporary() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("agent-tui-{user}"))
}

/// Creates a directory, with its parents, that only its owner may enter. A directory owned by another user is
/// refused.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let data = std::fs::metadata(path)?;
    if data.uid() != rustix::process::getuid().as_raw() {
        let problem = format!("`{}` is owned by another user", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    if data.mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The key of a workspace in file names, 32 hexadecimal digits. A prefix is enough if a collision costs little.
pub fn workspace_key(workspace: &Path) -> String {
    let hash = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    hash.iter().take(16).fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

/// The prefix of a [`workspace_key`], for file names that also contain another name.
pub fn short_workspace_key(workspace: &Path) -> String {
    let mut key = workspace_key(workspace);
    key.truncate(12);
    key
}

/// The name of the file with the data of a workspace.
pub fn name_for(workspace: &Path) -> String {
    format!("{}.json", workspace_key(workspace))
}

#[cfg(test)]
mod tests {
    use super::{name_for, short_workspace_key};
    use std::path::Path;

    /// Sessions, drafts, trust and rules are found by these names.
    #[test]
    fn the_names_of_a_workspace_never_change() {
        let workspace = Path::new("/home/me/shop");
        assert_eq!(name_for(workspace), "4a68c726aa051718fe4af11f691cc40e.json");
        assert_eq!(short_workspace_key(workspace), "4a68c726aa05");
    }
}

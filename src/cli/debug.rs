//! `--debug`, and what becomes of panics.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use super::UsageError;
use crate::config::Dirs;
use crate::config::dirs::create_private_dir;

/// A panic in a task is a bug that becomes an error result; it belongs into the log, not on the screen.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| tracing::error!("panic: {info}")));
}

/// Sends what the program says about itself to a file in the data directory.
pub fn log_to_file() -> Result<(), UsageError> {
    let folder = Dirs::find().logs();
    let path = folder.join("debug.log");
    let opened = create_private_dir(&folder).and_then(|()| {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
    });
    let file = opened.map_err(|error| {
        UsageError::new(format!(
            "the log `{}` cannot be written: {error}",
            path.display()
        ))
        .hint("set AGENT_TUI_DATA_DIR to a directory that can be written to")
    })?;
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(Mutex::new(WithoutKeys {
            file,
            keys: crate::config::keys(),
        }))
        .try_init()
        .map_err(|error| UsageError::new(format!("the log cannot be started: {error}")))
}

/// The log file, from which keys are kept away.
struct WithoutKeys {
    file: File,
    keys: Vec<String>,
}

impl Write for WithoutKeys {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut clean = bytes.to_vec();
        crate::config::without_keys(&mut clean, &self.keys);
        self.file.write_all(&clean)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

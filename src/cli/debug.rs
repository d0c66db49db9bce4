//! `--debug`, and what becomes of panics.

use std::backtrace::Backtrace;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use super::UsageError;
use crate::config::dirs::create_private_dir;
use crate::config::{Dirs, open_regular};

/// More of it helps nobody.
const LONGEST_PANIC_LOG: u64 = 1 << 20;

/// A panic in a task is a bug that becomes an error result; it belongs into the logs, not on the screen.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        tracing::error!("panic: {info}");
        let trace = Backtrace::force_capture();
        // Whoever tells the person of the panic looks whether there is a log.
        let _ = write_down(&Dirs::find().panic_log(), &format!("{info}\n{trace}\n"));
    }));
}

fn write_down(log: &Path, text: &str) -> io::Result<()> {
    let folder = log.parent().ok_or(io::ErrorKind::NotFound)?;
    create_private_dir(folder)?;
    let mut file = open_log(log)?;
    if file.metadata()?.len() > LONGEST_PANIC_LOG {
        file.set_len(0)?;
    }
    file.write_all(crate::config::hidden(text.to_owned()).as_bytes())
}

fn open_log(log: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    open_regular(log, &mut options)
}

/// Where the details of a panic are, if they could be written.
pub fn panic_note() -> String {
    let log = Dirs::find().panic_log();
    if log.exists() {
        format!("note: details are in `{}`", log.display())
    } else {
        "note: --debug writes down what happened".to_owned()
    }
}

/// Sends what the program says about itself to a file in the data directory.
pub fn log_to_file() -> Result<(), UsageError> {
    let folder = Dirs::find().logs();
    let path = folder.join("debug.log");
    let opened = create_private_dir(&folder).and_then(|()| open_log(&path));
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

//! `--debug`, and how panics are reported.

use std::backtrace::Backtrace;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::UsageError;
use crate::config::dirs::create_private_dir;
use crate::config::{Dirs, keys, logged, open_regular};
use crate::process::stderr::print_message;
use crate::provider::errors::redact;

/// A longer panic log is emptied before the next entry.
const LONGEST_PANIC_LOG: u64 = 1 << 20;
/// A log longer than this is renamed at the next start, and replaces the one renamed before.
const LONGEST_DEBUG_LOG: u64 = 64 << 20;

/// A panic in a task is a bug that becomes an error result; it is logged, not printed on the screen.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        tracing::error!("panic: {}", logged(info));
        let trace = Backtrace::force_capture();
        // The code that reports the panic checks whether there is a log.
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
        "note: --debug logs what happened".to_owned()
    }
}

/// Sends tracing output to a file in the data directory, and prints where that is.
pub fn log_to_file() -> Result<(), UsageError> {
    let folder = Dirs::find().logs();
    let path = folder.join("debug.log");
    let file = open(&folder, &path).map_err(|error| {
        UsageError::new(format!("can't write the log `{}`: {error}", path.display()))
            .hint("set AGENT_TUI_DATA_DIR to a writable directory")
    })?;
    let written = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Mutex::new(WithoutKeys::new(file)));
    tracing_subscriber::registry()
        // Messages of libraries don't help here, and may contain keys.
        .with(Targets::new().with_target(env!("CARGO_CRATE_NAME"), Level::DEBUG))
        .with(written)
        .try_init()
        .map_err(|error| UsageError::new(format!("can't start the log: {error}")))?;
    let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
    tracing::info!(version, process, "started");
    print_message(&format!("note: the debug log is `{}`", path.display()));
    Ok(())
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    create_private_dir(folder)?;
    if path
        .metadata()
        .is_ok_and(|log| log.len() > LONGEST_DEBUG_LOG)
    {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    open_log(path)
}

/// The log file without keys: those of this run, and anything that looks like one.
struct WithoutKeys<W> {
    file: W,
    keys: Vec<String>,
}

impl<W> WithoutKeys<W> {
    fn new(file: W) -> Self {
        let keys = keys();
        Self { file, keys }.and_as_json()
    }

    /// A key may be inside a command, which may be inside JSON.
    fn and_as_json(mut self) -> Self {
        let quoted = self.keys.iter().map(|key| format!("{key:?}"));
        let inner: Vec<String> = quoted.map(|key| key[1..key.len() - 1].to_owned()).collect();
        self.keys.extend(inner);
        self
    }
}

impl<W: Write> Write for WithoutKeys<W> {
    /// Each event arrives in a single write.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut clean = bytes.to_vec();
        crate::config::without_keys(&mut clean, &self.keys);
        let clean = redact(&String::from_utf8_lossy(&clean), None);
        self.file.write_all(clean.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_anywhere_in_a_text() {
        let mut log = WithoutKeys {
            file: Vec::new(),
            keys: vec!["secret\"key".to_owned()],
        }
        .and_as_json();
        let event = r#"a secret"key, {"command":"echo secret\"key"}, Bearer abcdefghijk, sk-0123456789 end"#;
        log.write_all(event.as_bytes()).expect("written");
        let text = String::from_utf8(log.file).expect("text");
        assert_eq!(
            text,
            r#"a [redacted], {"command":"echo [redacted]"}, Bearer [redacted], sk-[redacted] end"#
        );
    }
}

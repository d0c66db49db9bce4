//! Configuration: where files are, what the settings say. Every error names the file, the line and the column.

pub mod dirs;
pub mod document;
pub mod edit;
pub mod files;
pub mod json;
mod read;
pub mod save;
pub mod settings;
pub mod trust;

use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub use dirs::Dirs;
pub use document::{Document, Problem};
pub use settings::{Settings, SettingsError};

/// A longer settings file is refused: people do not write such.
pub const LONGEST_FILE: u64 = 4 << 20;

/// Reads a regular file of at most `limit` bytes. A project may put anything in its place: a pipe that nobody writes to, a
/// device that never ends.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(no_wait)
        .open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    if data.len() > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {limit} bytes"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The variables that hold keys of providers.
pub const KEY_VARIABLES: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
];

/// A shorter value could be a common word; hiding it would hide more than a key.
const SHORTEST_KEY: usize = 8;

/// The keys of this run: what must never be written down.
pub fn keys() -> Vec<String> {
    let values = KEY_VARIABLES
        .iter()
        .filter_map(|name| std::env::var(name).ok());
    values
        .map(|value| value.trim().to_owned())
        .filter(|value| value.len() >= SHORTEST_KEY)
        .collect()
}

/// The bytes without the keys in them.
pub fn without_keys(bytes: &mut Vec<u8>, keys: &[String]) {
    for key in keys {
        while let Some(at) = memchr::memmem::find(bytes, key.as_bytes()) {
            bytes.splice(at..at + key.len(), *b"[redacted]");
        }
    }
}

//! Configuration: where files are, what the settings say. Every error names the file, the line and the column.

pub mod dirs;
pub mod document;
pub mod edit;
pub mod files;
pub mod json;
mod read;
mod sandbox;
pub mod save;
pub mod secrets;
pub mod settings;
pub mod trust;

use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub use dirs::Dirs;
pub use document::{Document, Problem};
pub use sandbox::Unasked;
pub use secrets::{KEY_VARIABLES, hidden, keys, without_keys};
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

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

use std::fs::{File, OpenOptions};
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
/// device that never ends. Whatever is read from a place that others can write to is read through here, or from what
/// [`open_regular`] opens.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_long = || {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {limit} bytes"),
        )
    };
    let file = open_regular(path, OpenOptions::new().read(true))?;
    if file.metadata()?.len() > limit {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    // It may grow, and files of the kernel have a length that nobody knows before.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long());
    }
    Ok(bytes)
}

/// Opens a regular file, and nothing else; never waits for somebody at the other end of a pipe.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = options.custom_flags(no_wait).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

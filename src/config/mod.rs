//! Where the program stores its files, and how they are read and written: bounded, without secrets, and with errors
//! that name the file, the line and the column.

pub mod dirs;
pub mod document;
pub mod edit;
pub mod front_matter;
pub mod json;
mod logged;
pub mod save;
pub mod secrets;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub use dirs::Dirs;
pub use document::{Document, Problem};
pub use logged::logged;
pub use secrets::{
    KEY_VARIABLES, add_key_variable, add_keys, hidden, key_variables, keys, without_keys,
};

/// A longer settings file is refused.
pub const LONGEST_FILE: u64 = 4 << 20;

/// Reads a regular file of at most `limit` bytes. A project may contain anything under this name: a pipe that nobody
/// writes to, a device that never ends. Everything from a place that others can write to is read through this
/// function, or from a file that [`open_regular`] opened.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    if file.metadata()?.len() > limit {
        return Err(too_long(limit));
    }
    // It may grow, and the length of kernel files is not known in advance.
    read_bounded(file, limit)
}

/// Reads a file that the person names on the command line, which may be a pipe, but has an end.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_bounded(File::open(path)?, limit)
}

/// Reads to the end, which must come within `limit` bytes.
pub fn read_bounded(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut source = source.take(limit.saturating_add(1));
    source.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(limit));
    }
    Ok(bytes)
}

fn too_long(limit: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is longer than {limit} bytes"),
    )
}

/// Opens regular files only; never waits for the other end of a pipe.
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

/// Whether a read error means that the file does not exist.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The system's message for an error, without its number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text,
    }
}

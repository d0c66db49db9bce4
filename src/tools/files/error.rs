//! File errors, worded for the model: what happened, and what to do instead.

use std::io;
use std::path::Path;

use super::path::shown;
use crate::config::plain;
use crate::tools::ToolError;

/// Why a file tool failed. Nothing was written in any of these cases.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0}")]
    BadPath(String),
    #[error("File does not exist: {path}.{hint}")]
    Missing { path: String, hint: String },
    #[error("{path} is {kind}, not a regular file. {advice}")]
    NotAFile {
        path: String,
        kind: &'static str,
        advice: &'static str,
    },
    #[error("No permission to {action} {path}")]
    Denied { action: &'static str, path: String },
    #[error("Could not {action} {path}: {cause}")]
    Io {
        action: &'static str,
        path: String,
        cause: String,
    },
    #[error(
        "{path} has nothing to read at the moment and reading it would wait: use Bash with a timeout"
    )]
    WouldWait { path: String },
    #[error("{path} is too large for this tool ({size}, the limit is {limit}). {advice}")]
    TooLarge {
        path: String,
        size: String,
        limit: String,
        advice: &'static str,
    },
    #[error(
        "{path} is a binary file ({size}). Inspect it with Bash, for example with `file`, `xxd` or `strings`"
    )]
    Binary { path: String, size: String },
    #[error(
        "{path} is not valid UTF-8 (first invalid byte at offset {at}), so it could not be written back unchanged. \
         Convert it first, for example with `iconv`, or change it with Bash"
    )]
    NotUtf8 { path: String, at: usize },
    #[error("File has not been read yet: {path}. Read it first before writing to it")]
    NotRead { path: String },
    #[error(
        "Only a part of {path} has been read. Read the whole file before replacing it with Write, or change it with Edit"
    )]
    NotReadWhole { path: String },
    #[error(
        "The text to replace is at line {line} of {path}, which has not been read. Read it first, with offset={line}"
    )]
    NotSeen { path: String, line: usize },
    #[error(
        "{path} has changed since it was read, by the person, a command or a formatter. Read it again before writing to it"
    )]
    Changed { path: String },
    #[error("{path} was created after the call began. Read it before writing to it")]
    Appeared { path: String },
    #[error(
        "{path} leads somewhere else than when the call was decided on: a link or directory changed while it was being \
         decided; try again"
    )]
    Moved { path: String },
    #[error("Another agent-tui is still changing {path}. Nothing was written; try again")]
    Busy { path: String },
    #[error("The call was stopped before it changed anything")]
    GivenUp,
    #[error("{message}")]
    NoMatch {
        message: String,
        /// For the person.
        summary: String,
    },
    #[error("Could not {step} for {path}: {cause}. {state}")]
    Write {
        step: &'static str,
        path: String,
        cause: String,
        /// What is on the disk now.
        state: &'static str,
    },
    #[error("{0}")]
    BadContent(String),
    #[error("The call was cancelled before it finished")]
    Cancelled,
}

impl FileError {
    /// The error of an operation on `path`; `action` completes "could not …".
    pub fn io(action: &'static str, path: &Path, error: &io::Error) -> Self {
        let path = shown(path);
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { action, path },
            io::ErrorKind::WouldBlock => Self::WouldWait { path },
            io::ErrorKind::NotFound => Self::Missing {
                path,
                hint: String::new(),
            },
            _ => Self::Io {
                action,
                path,
                cause: plain(error),
            },
        }
    }

    /// What happened, for the person, who sees the path next to it.
    fn for_person(&self) -> String {
        match self {
            Self::BadPath(_) => "this path can't be used".to_owned(),
            Self::Missing { .. } => "the file doesn't exist".to_owned(),
            Self::NotAFile { kind, .. } => format!("this is {kind}, not a file"),
            Self::Denied { action, .. } => format!("no permission to {action} it"),
            Self::Io { action, cause, .. } => format!("could not {action} it: {cause}"),
            Self::WouldWait { .. } => "reading it would never end".to_owned(),
            Self::TooLarge { size, limit, .. } => format!("too large: {size}, at most {limit}"),
            Self::Binary { .. } => "this is a binary file".to_owned(),
            Self::NotUtf8 { .. } => "the file is not UTF-8 text".to_owned(),
            Self::NotRead { .. } => "the model has not read the file yet".to_owned(),
            Self::NotReadWhole { .. } => "the model has read only a part of the file".to_owned(),
            Self::NotSeen { line, .. } => format!("the model has not read line {line} yet"),
            Self::Changed { .. } => "the file changed since it was read".to_owned(),
            Self::Appeared { .. } => "the file was created in the meantime".to_owned(),
            Self::Moved { .. } => "a link or directory changed in the meantime".to_owned(),
            Self::Busy { .. } => "another agent-tui is changing the file".to_owned(),
            Self::GivenUp => "stopped before anything changed".to_owned(),
            Self::NoMatch {
                summary: in_short, ..
            } => in_short.clone(),
            Self::Write { step, cause, .. } => format!("could not {step}: {cause}"),
            Self::BadContent(_) => "this kind of file can't be used here".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
        }
    }

    pub fn not_read(path: &Path) -> Self {
        Self::NotRead { path: shown(path) }
    }

    pub fn changed(path: &Path) -> Self {
        Self::Changed { path: shown(path) }
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Cancelled => Self::cancelled(),
            error => Self::new(error.to_string()).with_sentence(error.for_person()),
        }
    }
}

/// A size in a readable form.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{FileError, human_size};
    use crate::config::plain;

    #[test]
    fn a_missing_permission_is_named_with_the_action() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
        assert_eq!(
            FileError::io("read", Path::new("/a/b"), &error).to_string(),
            "No permission to read /a/b"
        );
    }

    #[test]
    fn other_errors_use_the_words_of_the_system_without_error_numbers() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        assert_eq!(plain(&error), "no space left on device");
        assert_eq!(
            FileError::io("read", Path::new("/a\nb"), &error).to_string(),
            "Could not read /a\\nb: no space left on device"
        );
    }

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(human_size(12), "12 bytes");
        assert_eq!(human_size(1536), "1.5 kB");
        assert_eq!(human_size(10 << 30), "10.0 GB");
    }
}

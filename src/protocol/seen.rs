//! What a conversation has read of a file, as the log keeps it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A file, its state when it was read, and the parts that were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Without links.
    pub path: PathBuf,
    /// When it was last modified: seconds and nanoseconds.
    pub modified: (i64, i64),
    pub size: u64,
    pub parts: Vec<SeenPart>,
}

/// A byte range and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPart {
    pub from: u64,
    pub to: u64,
    pub hash: String,
}

//! What the file tools share: paths, guards, atomic writing, checkpoints.

/// What was read, per absolute path: mtime with nanoseconds, size and a content hash.
#[derive(Default)]
pub struct Ledger {}

/// Contents of files before a tool changed them, kept by hash.
pub struct Checkpoints {}

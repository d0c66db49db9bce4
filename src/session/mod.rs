//! Sessions: everything that happened, in an append-only file, written before it is shown.
//!
//! [`record`] is the format, [`log`] the file, and [`writer`] shares it among conversations. [`history`] is the fold
//! of the records, [`repair`] keeps it valid for sending, and [`events`] turns records into events, live or when a
//! session is resumed. Checkpoints of changed files are stored by `tools::files`, and referenced here by their hash.

pub mod events;
pub mod history;
mod lines;
pub mod log;
mod memory_copy;
pub mod record;
pub mod repair;
pub mod store;
pub mod subagents;
pub mod unfinished;
mod version1;
pub mod writer;

#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod resume_tests;

pub use history::History;
pub use log::Log;
pub use record::Record;
pub use store::{Found, Store};
pub use writer::Writer;

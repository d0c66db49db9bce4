//! Sessions: everything that happened, in an append-only file, written before it is shown.
//!
//! [`record`] is the format, [`log`] the file, [`writer`] shares it among conversations. [`history`] is the sum of the records,
//! which [`repair`] keeps fit to be sent, and [`telling`] what those who watch are told of them, now or when the session is opened again.
//! Checkpoints of changed files are kept by `tools::files`, and named here by their hash.

pub mod history;
mod kept;
mod lines;
pub mod log;
pub mod record;
pub mod repair;
pub mod store;
pub mod telling;
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

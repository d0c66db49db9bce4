//! Sessions: everything that happened, in an append-only file, written before it is shown.
//!
//! [`record`] is the format, [`log`] the file, [`history`] the sum of the records, which [`repair`] keeps fit to be sent. Checkpoints of changed files
//! are kept by `tools::files`, and named here by their hash.

pub mod history;
mod kept;
mod lines;
pub mod log;
pub mod record;
pub mod repair;
pub mod store;

#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod resume_tests;

pub use history::History;
pub use log::Log;
pub use record::Record;
pub use store::{Found, Store};

//! Sessions: everything that happened, in an append-only file, written before it is shown.
//!
//! [`record`] is the format, [`log`] the file, [`replay`] makes a conversation of it again. Checkpoints of changed files
//! are kept by `tools::files`, and named here by their hash.

mod kept;
mod lines;
pub mod log;
pub mod record;
pub mod replay;
pub mod store;
mod upgrade;

pub use log::Log;
pub use record::Record;
pub use store::{Found, Store};

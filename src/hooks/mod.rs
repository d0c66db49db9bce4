//! Hooks: the person's own programs, which are told about events and may influence them.
//!
//! [`config`] reads the settings, [`payload`] builds a hook's input, [`output`] interprets its exit code and output,
//! and [`answer`] combines several hooks: all pure. [`scripts`] finds the files that hooks name. [`process`] runs one
//! hook, [`runner`] all that match. `permissions` decides whether a hook's decision applies: it may make a decision
//! stricter, and never weaker.

pub mod answer;
pub mod config;
pub mod event;
pub mod matcher;
pub mod output;
pub mod payload;
pub mod process;
pub mod runner;
pub mod scripts;
mod trace;

#[cfg(test)]
pub(crate) mod rig;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use config::{Active, Hook, HooksFile};
pub use event::Event;
pub use payload::Payload;
pub use runner::{CommonFields, Runner};

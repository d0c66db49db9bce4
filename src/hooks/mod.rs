//! Hooks: the person's own programs, which are told what happens, and may have a say in it.
//!
//! [`config`] is what settings say, [`occasion`] what a hook reads, [`output`] what its exit code and output mean, and
//! [`answer`] what several of them say together: all pure. [`scripts`] finds the files that they name. [`process`] runs
//! one, [`runner`] all that match. Whether a hook's word counts is decided in `permissions`: it may tighten what rules say,
//! and never loosen it.

pub mod answer;
pub mod config;
pub mod event;
pub mod matcher;
pub mod occasion;
pub mod output;
pub mod process;
pub mod runner;
pub mod scripts;
mod trace;

#[cfg(test)]
pub(crate) mod rig;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use config::{Hook, HooksFile};
pub use event::Event;
pub use occasion::Occasion;
pub use runner::{Runner, Scene};

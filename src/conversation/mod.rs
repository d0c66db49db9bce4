//! A conversation with a model: one exchange after the other, its history, its running calls and its limits.
//!
//! The person's agent runs one, and so does each subagent. A session may have any number of them at once; they share
//! its rules, hooks, background commands and log, and nothing else. [`turn`] is pure and decides; [`driver`] awaits
//! the stream, the calls and the hooks, and does what the turn says; [`task`] runs one in a separate task;
//! [`journal`] writes a record of everything first and sends the event second.

pub mod driver;
pub mod hook_caller;
pub mod journal;
pub mod limits;
pub mod small_model;
pub mod spending;
pub mod task;
mod trace;
pub mod turn;
mod waiting;
mod words;

#[cfg(test)]
mod side_by_side_tests;
#[cfg(test)]
mod turn_endings_tests;
#[cfg(test)]
mod turn_prompt_tests;
#[cfg(test)]
mod turn_random_tests;
#[cfg(test)]
pub(crate) mod turn_tests;

pub use driver::{Conversation, Parts};
pub use journal::Journal;
pub use limits::Limits;
pub use task::{Beginning, Instruction};

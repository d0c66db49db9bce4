//! The streaming executor: tool calls from arrival to delivery, while the model is still writing.
//!
//! [`machine`] is pure and decides; [`schedule`] says which calls may start; [`pipeline`] runs one call, step by
//! step, with its [`permission`], its [`questions`] and its hooks; [`driver`] starts and stops the calls as the
//! machine says.
//!
//! Invariant: every call gets exactly one result, whether it ran, failed, was denied, skipped, interrupted or panicked.

mod blocked;
#[cfg(test)]
mod blocked_tests;
mod call_hooks;
pub mod context;
pub mod driver;
mod inner;
pub mod machine;
mod pace;
pub mod permission;
pub mod pipeline;
pub mod questions;
pub mod schedule;
pub mod shared;
mod stopped;
mod time_limit;

#[cfg(test)]
mod alone_tests;
#[cfg(test)]
mod asking_tests;
#[cfg(test)]
mod driver_tests;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod machine_tests;
#[cfg(test)]
mod outcome_tests;
#[cfg(test)]
mod pace_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod question_hook_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod stopping_tests;

pub use context::Context;
pub use driver::{Executor, Observed, Observer};
pub use machine::{Input, Machine, Order, Policy, Step};
pub use shared::{Asking, Live, Places, Reloaded, Shared};

//! Whether a tool call may run.
//!
//! [`decide`](decide::decide) is pure: a call, rules, a mode and a [`World`] go in, a [`Verdict`] comes out. Asking the
//! person, running hooks and saving rules are done elsewhere. A [`Grant`] is the proof that a call may run.

pub mod bash;
mod call;
pub mod check;
mod command;
mod cover;
pub mod decide;
pub mod grant;
mod mcp;
mod path;
mod pattern;
mod protected;
pub mod rule;
mod search;
#[cfg(test)]
mod tests;
mod web;
mod wildcard;
pub mod world;

pub use decide::{Asked, Cause, Decision, Verdict, decide};
pub use grant::Grant;
pub use rule::{Rule, RuleList, Rules, Source, Warning};
pub use world::{Links, NoLinks, RealLinks, World};

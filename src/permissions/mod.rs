//! Whether a tool call may run.
//!
//! [`decide`](decide::decide) is pure: a call, rules, a mode and a [`World`] go in, a [`Verdict`] comes out. Asking the
//! person and running hooks are done elsewhere; [`store`] saves rules. A [`Grant`] is the proof that a call may run.

mod address;
pub mod bash;
mod call;
pub mod check;
mod command;
mod coverage;
pub mod decide;
pub mod grant;
mod linked;
mod mcp;
pub mod names;
mod offer;
mod path;
mod pattern;
mod protected;
pub mod rule;
mod search;
pub mod store;
#[cfg(test)]
mod tests;
mod verdict;
mod web;
mod wildcard;
pub mod world;

pub use address::Inner;
pub use call::places;
pub use decide::{
    CallDetails, HookDecision, Reach, conclude, decide, decide_reading, judge, judge_writing,
    may_reveal, reach, with_hooks,
};
pub use grant::{Grant, Places};
pub use offer::{Offer, check_rule, offer, offer_for_blocked};
pub use rule::{Rule, RuleList, Rules, Source, Warning};
pub use store::Store;
pub use verdict::{Cause, Decision, Denied, Verdict};
pub use world::{Links, NoLinks, RealLinks, Remembered, World};

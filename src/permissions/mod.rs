//! Whether a tool call may run.
//!
//! [`decide`](decide::decide) is pure: a call, rules, a mode and a [`World`] go in, a [`Verdict`] comes out. Asking the
//! person, running hooks and saving rules are done elsewhere. A [`Grant`] is the proof that a call may run.

pub mod decide;
pub mod grant;
pub mod rule;
pub mod world;

pub use decide::{Asked, Cause, Decision, Verdict, decide};
pub use grant::Grant;
pub use rule::{Rule, RuleList, Rules, Source};
pub use world::{Links, NoLinks, RealLinks, World};

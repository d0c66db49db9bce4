//! How programs are found, started and ended, for tools, hooks, git and the program's own checks alike; and what this one
//! hears from the system and says beside its output.

pub mod child;
pub mod ending;
pub mod group;
pub mod output;
pub mod programs;
pub mod running;
pub mod sandbox;
pub mod scarce;
pub mod signals;
pub mod stderr;
pub mod stragglers;
mod variables;

pub use programs::Programs;
pub use variables::Variables;

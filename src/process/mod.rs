//! How programs are found, started and ended, for tools, hooks, git and the program's own checks alike.

pub mod programs;
pub mod running;
pub mod sandbox;
pub mod scarce;
pub mod stragglers;

pub use programs::Programs;

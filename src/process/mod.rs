//! How programs are found and started, for tools, hooks, git and the program's own checks alike.

pub mod programs;
pub mod sandbox;

pub use programs::Programs;

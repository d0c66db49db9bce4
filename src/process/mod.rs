//! How programs are found, started and ended, for tools, hooks, git and the program's own checks; also the signals
//! that the program receives, and its messages on stderr.

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

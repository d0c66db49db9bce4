//! What the tests share: a scripted model server, its three dialects, and the program in a home of its own, in a terminal or not.

pub mod program;
pub mod pty;
pub mod server;
pub mod wire;

pub use program::{Output, Program};
pub use pty::Pty;
pub use server::{Piece, Reply, Server};
pub use wire::Wire;

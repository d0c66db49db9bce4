//! What the tests share: a scripted model server, its three dialects, and the program in a home of its own.

pub mod program;
pub mod server;
pub mod wire;

pub use program::{Output, Program};
pub use server::{Piece, Reply, Server};
pub use wire::Wire;

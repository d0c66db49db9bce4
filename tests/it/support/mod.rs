//! What the tests share: a scripted model server, its three wire formats, and the program in its own home, with or
//! without a terminal.

pub mod program;
pub mod pty;
pub mod server;
pub mod wire;

pub use program::{Output, Program};
pub use pty::Pty;
pub use server::{Piece, Reply, Server};
pub use wire::Wire;

//! The Messages API of Anthropic, and of the servers that speak it too.

mod block;
mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::{Cache, Options, Thinking, body};

/// The name of this format in `Message::origin`.
const PROVIDER: &str = "anthropic";

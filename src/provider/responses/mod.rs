//! The Responses API of OpenAI, and of the servers that speak it too. Nothing is stored there: every request brings the
//! whole conversation.

mod decode;
mod encode;
mod item;

pub use decode::Decoder;
pub use encode::{Options, body};

/// The name of this format in `Message::origin`.
const PROVIDER: &str = "responses";

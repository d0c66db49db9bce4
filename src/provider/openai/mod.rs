//! Chat Completions, as used by OpenAI and compatible servers.

mod arguments;
mod calls;
mod decode;
mod encode;
mod reasoning;

pub use decode::Decoder;
pub use encode::{NoText, Options, Server, body};

/// The name of this format in `Message::origin`.
const PROVIDER: &str = "openai";

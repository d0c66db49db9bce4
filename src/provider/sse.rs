//! Server-sent events: bytes in, frames out.

/// One event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    pub event: Option<&'a str>,
    pub data: &'a str,
}

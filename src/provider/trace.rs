//! What the debug log says about a request and its response. While a response streams it is only counted.

use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Span;

use super::{Batch, Response};
use crate::config::logged;

/// Follows one response from its request to its end.
pub(super) struct ResponseTrace {
    /// The request that it answers.
    span: Span,
    sent: Instant,
    counts: Counts,
    is_over: bool,
}

/// What has come so far.
#[derive(Debug, Default)]
struct Counts {
    first_byte: Option<Duration>,
    bytes: usize,
    chunks: usize,
    events: usize,
}

impl ResponseTrace {
    /// The request is sent now, in the caller's span.
    pub fn begin() -> Self {
        Self {
            span: Span::current(),
            sent: Instant::now(),
            counts: Counts::default(),
            is_over: false,
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.sent.elapsed()
    }

    /// Part of the body has arrived.
    pub fn chunk(&mut self, bytes: usize) {
        self.counts.bytes += bytes;
        self.counts.chunks += 1;
        if self.counts.first_byte.is_none() {
            self.counts.first_byte = Some(self.elapsed());
        }
    }

    /// The connection is lost; all causes, without keys.
    pub fn disconnected(&self, causes: &str) {
        let _in_span = self.span.enter();
        tracing::warn!(took = ?self.elapsed(), causes = %logged(causes), "connection broke");
    }

    /// How many events are passed on.
    pub fn forwarded(&mut self, batch: &Batch) {
        match batch {
            Batch::Events(events) => self.counts.events += events.len(),
            Batch::Over(events, response) => {
                self.counts.events += events.len();
                self.ended(response);
            }
        }
    }

    fn ended(&mut self, response: &Response) {
        self.is_over = true;
        let _in_span = self.span.enter();
        let (took, counts) = (self.elapsed(), &self.counts);
        if !response.ignored_events.is_empty() {
            let kinds = response.ignored_events.join(", ");
            tracing::debug!(kinds = %logged(kinds), "events that the decoder does not know");
        }
        let blocks = response.blocks.len();
        match &response.error {
            None => tracing::info!(
                reason = ?response.stop_reason,
                complete = response.complete,
                id = response.id,
                ?took,
                ?counts,
                blocks,
                usage = ?response.usage,
                "response ended"
            ),
            Some(error) => tracing::warn!(
                kind = ?error.kind,
                code = %logged(&error.code),
                problem = %logged(&error.message),
                retryable = error.retryable,
                ?took,
                ?counts,
                blocks,
                "response failed"
            ),
        }
    }
}

impl Drop for ResponseTrace {
    fn drop(&mut self) {
        if !self.is_over && self.counts.chunks > 0 {
            let _in_span = self.span.enter();
            let (took, counts) = (self.elapsed(), &self.counts);
            tracing::info!(?took, ?counts, "response dropped before its end");
        }
    }
}

/// What caused an error, down to the system call. The outermost error only says that a URL could not be reached, which may
/// have a key in it.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut message = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push(error.to_string());
        cause = error.source();
    }
    if message.is_empty() {
        error.to_string()
    } else {
        message.join(": ")
    }
}

//! Calls that are a part of another call: checked, decided and run as if the model had made them itself.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::ToolCx;
use crate::protocol::Allows;

/// A call that is a part of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub tool: &'static str,
    pub input: Value,
    /// Its subject, for people and for the model.
    pub subject: String,
}

/// Its outcome: what it has printed or found, or why it did not run.
pub type PartResult = Result<String, String>;

/// What a call can do for its conversation.
#[derive(Clone)]
pub struct Inner {
    call: Arc<dyn Fn(Part) -> BoxFuture<'static, PartResult> + Send + Sync>,
    allow: Arc<dyn Fn(&Allows) + Send + Sync>,
}

impl Inner {
    pub fn new(
        call: impl Fn(Part) -> BoxFuture<'static, PartResult> + Send + Sync + 'static,
        allow: impl Fn(&Allows) + Send + Sync + 'static,
    ) -> Self {
        Self {
            call: Arc::new(call),
            allow: Arc::new(allow),
        }
    }

    /// For calls that cannot make other calls.
    pub fn nothing() -> Self {
        let call = |part: Part| async move { Err(format!("{} is not available", part.tool)) };
        Self::new(move |part| call(part).boxed(), |_| {})
    }
}

impl ToolCx {
    /// Makes a call that is a part of this one; it may ask the person.
    pub async fn call(&self, part: Part) -> PartResult {
        (self.inner.call)(part).await
    }

    /// Lets the calls of the conversation do this without asking until the turn ends. Only for tools that run alone.
    pub fn allow(&self, allows: &Allows) {
        (self.inner.allow)(allows);
    }
}

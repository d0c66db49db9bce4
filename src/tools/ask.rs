//! How a running call asks the person something.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::{ToolCx, ToolError};
use crate::protocol::{ChoiceRequest, Reply};

/// How a call asks the person. A call asks one question at a time.
#[derive(Clone)]
pub struct Asker(Arc<dyn Fn(ChoiceRequest) -> BoxFuture<'static, Reply> + Send + Sync>);

impl Asker {
    pub fn new(
        ask: impl Fn(ChoiceRequest) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(ask))
    }

    /// For runs in which no person can answer.
    pub fn nobody() -> Self {
        Self::new(|_| async { Reply::Nobody }.boxed())
    }
}

impl ToolCx {
    /// Asks the person and waits for the reply. The reply can be [`Reply::Nobody`]; the tool has to handle it. The
    /// permission to run the call was settled before. An error means that the call was told to stop.
    pub async fn ask(&self, question: ChoiceRequest) -> Result<Reply, ToolError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ToolError::cancelled()),
            reply = (self.asker.0)(question) => Ok(reply),
        }
    }
}

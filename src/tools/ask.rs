//! How a running call asks the person something.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::{ToolCx, ToolError};
use crate::protocol::{ChoiceRequest, FormRequest, QuestionKind, Reply};

/// How a call asks the person. Questions that are not asked together are asked one after the other.
#[derive(Clone)]
pub struct Asker(Arc<dyn Fn(QuestionKind) -> BoxFuture<'static, Reply> + Send + Sync>);

impl Asker {
    pub fn new(
        ask: impl Fn(QuestionKind) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
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
        self.ask_together(vec![question]).await
    }

    /// Asks all of these in one dialog: the person answers each of them, or none.
    pub async fn ask_together(&self, questions: Vec<ChoiceRequest>) -> Result<Reply, ToolError> {
        self.put(QuestionKind::Choice(questions)).await
    }

    /// Asks for the values of a form.
    pub async fn fill_in(&self, form: FormRequest) -> Result<Reply, ToolError> {
        self.put(QuestionKind::Form(form)).await
    }

    async fn put(&self, question: QuestionKind) -> Result<Reply, ToolError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ToolError::cancelled()),
            reply = (self.asker.0)(question) => Ok(reply),
        }
    }
}

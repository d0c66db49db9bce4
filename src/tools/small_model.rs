//! A small model that answers one question about one text, outside of every conversation.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::protocol::Spending;

/// Asks the model. Cheap to clone. Dropping the future stops the request.
#[derive(Clone)]
pub struct SmallModel {
    pub name: Arc<str>,
    ask: Arc<dyn Fn(Query) -> BoxFuture<'static, Answer> + Send + Sync>,
}

/// What the model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub question: String,
    pub text: String,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The answer, or why there is none.
    pub text: Result<String, String>,
    /// What all attempts have used.
    pub spending: Spending,
}

impl SmallModel {
    pub fn new(
        name: &str,
        ask: impl Fn(Query) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            ask: Arc::new(ask),
        }
    }

    pub async fn ask(&self, query: Query) -> Answer {
        (self.ask)(query).await
    }
}

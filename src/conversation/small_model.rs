//! The request to a small model: one message, no tools, no history.

use std::sync::Arc;

use futures_util::FutureExt;

use super::spending::Account;
use crate::protocol::{Block, Message, Price, StopReason};
use crate::provider::{
    Batch, Provider, ProviderError, ProviderErrorKind, Request, Response, retry,
};
use crate::text::shortened;
use crate::tools::small_model::{Answer, Query, SmallModel};

/// The longest answer, in tokens.
const MAX_OUTPUT_TOKENS: u32 = 4_000;
/// The longest text that is sent: about half of the context window of most small models.
const LONGEST_TEXT: usize = 400_000;

/// What the requests need.
pub struct Parts {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub price: Option<Price>,
    pub retry: retry::Policy,
    /// The session's name, for providers that use it as a cache key.
    pub session: String,
}

/// Asks a model of the session's provider.
pub fn small_model(parts: Parts) -> SmallModel {
    let name = parts.model.clone();
    let parts = Arc::new(parts);
    SmallModel::new(&name, move |query| {
        let parts = parts.clone();
        async move { parts.answer(query).await }.boxed()
    })
}

impl Parts {
    async fn answer(&self, query: Query) -> Answer {
        let request = self.request(query);
        let mut account = Account::new(self.price);
        let mut failures = 0;
        let text = loop {
            let problem = match self.attempt(&request, &mut account).await {
                Ok(text) => break Ok(text),
                Err(problem) => problem,
            };
            failures += 1;
            let wait = match problem.kind {
                ProviderErrorKind::Retry { after } => {
                    self.retry.wait(failures, after, fastrand::f64())
                }
                ProviderErrorKind::ContextFull | ProviderErrorKind::Final => None,
            };
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => break Err(problem.message),
            }
        };
        Answer {
            text,
            spending: account.spending(),
        }
    }

    fn request(&self, query: Query) -> Request {
        let Query { question, text } = query;
        let rest = "\n\n[the rest of the document is left out]";
        let text = shortened(&text, LONGEST_TEXT, rest);
        let prompt = format!("<document>\n{text}\n</document>\n\n{question}");
        Request {
            model: self.model.clone(),
            system: vec![include_str!("../../assets/prompts/page.md").to_owned()],
            messages: Arc::new(vec![Message::user(prompt)]),
            tools: Arc::default(),
            lasting_tools: 0,
            max_tokens: MAX_OUTPUT_TOKENS,
            session: self.session.clone(),
        }
    }

    async fn attempt(
        &self,
        request: &Request,
        account: &mut Account,
    ) -> Result<String, ProviderError> {
        let mut stream = self.provider.open(request).await?;
        let response = loop {
            match stream.next().await {
                Batch::Events(_) => {}
                Batch::Over(_, response) => break response,
            }
        };
        account.count(response.usage);
        text_of(*response)
    }
}

/// The text of a complete response.
fn text_of(response: Response) -> Result<String, ProviderError> {
    let failed = |kind, message: String| ProviderError {
        kind,
        message,
        hint: None,
    };
    if let Some(error) = response.error {
        let kind = if error.retryable {
            ProviderErrorKind::Retry { after: None }
        } else {
            ProviderErrorKind::Final
        };
        return Err(failed(kind, error.message));
    }
    if response.stop_reason == Some(StopReason::Refusal) {
        let message = "it declined to answer".to_owned();
        return Err(failed(ProviderErrorKind::Final, message));
    }
    let text = Block::texts(&response.blocks);
    if text.trim().is_empty() {
        let message = "it answered with nothing".to_owned();
        return Err(failed(ProviderErrorKind::Final, message));
    }
    Ok(text)
}

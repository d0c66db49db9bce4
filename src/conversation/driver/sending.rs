//! Sends a request: the history, the tools and the system prompt as they are at that moment.

use tracing::Instrument;

use super::Conversation;
use crate::conversation::trace;
use crate::conversation::waiting::Waiting;
use crate::executor::Executor;
use crate::protocol::Message;
use crate::provider::Request;
use crate::session::Record;
use crate::tools::offered::NewNames;

impl Conversation {
    /// Tells the person once if the cost limit has no effect.
    fn warn_of_no_price(&mut self) {
        let is_unbounded = self.limits.max_cost.is_some() && self.limits.price.is_none();
        if self.kind.is_none()
            && is_unbounded
            && !std::mem::replace(&mut self.warned_of_no_price, true)
        {
            let model = &self.request.model;
            let text = format!(
                "`maxCost` has no effect: no price known for {model}; set it under `prices`"
            );
            self.journal.notice(text);
        }
    }

    /// Sends the request once its tools are known: a server may be listing them again.
    pub(super) fn send_settled(&mut self, attempt: u32) {
        match (self.context.tools.settling(), &mut self.exchange) {
            (Some(settling), Some(exchange)) => {
                exchange.waiting = Waiting::Tools(Box::pin(settling), attempt);
            }
            (_, _) => self.send(attempt),
        }
    }

    /// Repairs the history if necessary, and sends it.
    pub(super) fn send(&mut self, attempt: u32) {
        self.warn_of_no_price();
        self.refresh_extensions();
        if !self.pending_notes.is_empty() {
            let message = Message::from_user(std::mem::take(&mut self.pending_notes));
            self.journal.append(Record::Told { message });
        }
        if let Some(what) = self.journal.history().repairs() {
            if !what.is_empty() {
                let notice = format!(
                    "repaired the conversation before sending: {}",
                    what.join("; ")
                );
                self.journal.notice(notice);
            }
            self.journal.append(Record::Repaired { what });
        }
        self.context.follow_policy();
        let (offered, names) = self.context.tools.send();
        if names != NewNames::default() {
            self.journal.append(Record::Offered {
                tools: names.offered,
                announced: names.announced,
            });
        }
        self.journal.append(Record::Request {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
            attempt,
        });
        let provider = self.provider.clone();
        let request = Request {
            messages: self.journal.history().messages().clone(),
            tools: offered.definitions().clone(),
            lasting_tools: offered.lasting(),
            system: with_tools(&self.request.system, offered.announcement()),
            ..self.request.clone()
        };
        if let Some(exchange) = &mut self.exchange {
            let context = self.context.clone();
            exchange.executor = Executor::new(context, self.policy, &exchange.token, offered);
            let opening = async move { provider.open(&request).await };
            let opening = opening.instrument(trace::request(self.agent, attempt));
            exchange.waiting = Waiting::Open(Box::pin(opening));
        }
    }
}

/// The system prompt, with the names of deferred tools after its first part: both stay the same in all requests.
fn with_tools(system: &[String], announcement: Option<String>) -> Vec<String> {
    let mut parts = system.to_vec();
    if let Some(announcement) = announcement {
        parts.insert(parts.len().min(1), announcement);
    }
    parts
}

//! Runs the hooks of a session for events other than tool calls: prompts, the end of a turn, waiting.
//!
//! Without hooks, nothing here waits and no timer runs.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::turn::{Fact, PromptCheck};
use crate::executor::Context;
use crate::executor::pipeline::Report;
use crate::hooks::payload::Notification;
use crate::hooks::{Answer, Event, Payload};
use crate::protocol::Block;

/// What the hooks of the session's start have to say to the model.
pub type Starting = Shared<BoxFuture<'static, Vec<String>>>;

/// Runs hooks for a conversation.
#[derive(Clone)]
pub struct HookCaller {
    context: Arc<Context>,
}

impl HookCaller {
    pub fn new(context: Arc<Context>) -> Self {
        Self { context }
    }

    pub fn has(&self, event: Event) -> bool {
        let hooks = self.context.shared.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has(event))
    }

    /// Runs the hooks of an event; `None` if the event has none.
    pub fn fire(
        &self,
        payload: Payload,
        token: CancellationToken,
    ) -> Option<BoxFuture<'static, Answer>> {
        let hooks = self.context.shared.hooks.as_ref()?;
        if !hooks.wants(payload.event, payload.subject()) {
            return None;
        }
        let (context, common) = (self.context.clone(), self.context.scene());
        let asking = async move {
            match &context.shared.hooks {
                Some(hooks) => hooks.fire(&payload, &common, &token).await,
                None => Answer::default(),
            }
        };
        Some(asking.boxed())
    }

    /// Runs the hooks for a message, once those of the session's start are done.
    pub fn check_prompt(
        &self,
        prompt: &[Block],
        starting: Option<Starting>,
        token: CancellationToken,
    ) -> BoxFuture<'static, Answer> {
        let looking = self.fire(Payload::user_prompt_submit(&Block::texts(prompt)), token);
        let asking = async move {
            let mut context = match starting {
                Some(starting) => starting.await,
                None => Vec::new(),
            };
            let mut answer = match looking {
                Some(looking) => looking.await,
                None => Answer::default(),
            };
            context.append(&mut answer.context);
            Answer { context, ..answer }
        };
        asking.boxed()
    }

    /// Runs the hooks that learn that the program waits for the person. Does not wait for them; their messages are
    /// reported.
    pub fn notify(
        &self,
        kind: Notification,
        message: &str,
        token: CancellationToken,
        reporter: mpsc::Sender<Report>,
    ) {
        let payload = Payload::notification(kind, message);
        let Some(asking) = self.fire(payload, token) else {
            return;
        };
        tokio::spawn(async move {
            for notice in asking.await.notices {
                // The receiver may be gone.
                let _ = reporter.send(Report::Notice(notice)).await;
            }
        });
    }
}

impl PromptCheck {
    /// What the answer of hooks means for their message.
    pub fn of(answer: Answer) -> Self {
        let problem = match (&answer.halt, answer.blocked()) {
            (Some(halt), _) => {
                let problem = halt.to_string();
                return Self::Halted { problem };
            }
            (None, Some(word)) => {
                format!("blocked by the hook {}: {}", word.by, word.reason)
            }
            (None, None) => {
                let context = answer.context;
                return Self::Fine { context };
            }
        };
        Self::Refused { problem }
    }
}

/// What hooks answer about the end of the turn.
pub(super) fn may_stop(journal: &mut Journal, answer: Answer) -> Fact {
    let answer = journal.note(answer);
    if let Some(halt) = answer.halt {
        journal.notice(halt.to_string());
        return Fact::MayStop;
    }
    let Some(word) = answer.blocked() else {
        return Fact::MayStop;
    };
    let notice = format!(
        "the hook {} keeps the model working: {}",
        word.by, word.reason
    );
    journal.notice(notice);
    Fact::MustContinue(word.reason.clone())
}

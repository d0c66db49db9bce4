//! What hooks have to say to a conversation: to its begin and its end, to prompts, to the end of a turn, to waiting.
//!
//! Without hooks nothing here waits, and no timer runs.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio_util::sync::CancellationToken;

use super::driver::{Agent, Exchange, Waiting};
use super::turn::{Fact, Next};
use crate::executor::pipeline::Report;
use crate::hooks::occasion::Notification;
use crate::hooks::{Answer, Event, Occasion};
use crate::protocol::{Block, Ending, Leaving, Message, QuestionKind, Role, TurnEvent};

/// More than the hooks of a session's end may take, with being killed.
const LAST_WORDS: Duration = Duration::from_millis(1100);

/// What the hooks of the session's begin have for the model.
pub(super) type Starting = Shared<BoxFuture<'static, Vec<String>>>;

/// A prompt that hooks look at.
pub(super) struct Prompting {
    pub prompt: Vec<Block>,
    asking: BoxFuture<'static, Answer>,
}

impl Prompting {
    /// Cancel-safe.
    pub async fn answer(&mut self) -> Answer {
        (&mut self.asking).await
    }
}

impl Agent {
    /// Starts the hooks of the session's begin. The first message waits for them; the person does not.
    pub(super) fn begin_session(&mut self) {
        if self.context.hooks.is_none() {
            return;
        }
        let occasion = Occasion::session_start(self.beginning, &self.request.model);
        let token = self.session.child_token();
        let Some(asking) = self.fire(occasion, token) else {
            return;
        };
        let reporter = self.asides.reporter();
        let task = tokio::spawn(async move {
            let mut answer = asking.await;
            answer
                .notices
                .extend(answer.halt.map(|halt| halt.to_string()));
            for notice in answer.notices {
                // Who is gone needs no notice.
                let _ = reporter.send(Report::Notice(notice)).await;
            }
            answer.context
        });
        let context = async move { task.await.unwrap_or_default() };
        self.starting = Some(context.boxed().shared());
    }

    /// The hooks of the session's end have their last words. They do not keep the program from ending.
    pub(super) async fn end_session(&mut self) {
        // Whatever still starts the session has come too late.
        self.session.cancel();
        let reason = match self.leaving {
            Some(Leaving::ForNew) => "clear",
            Some(Leaving::ForOther) => "resume",
            Some(Leaving::Quit) => "prompt_input_exit",
            None => "other",
        };
        let occasion = Occasion::session_end(reason);
        if let Some(asking) = self.fire(occasion, CancellationToken::new())
            && let Ok(answer) = tokio::time::timeout(LAST_WORDS, asking).await
        {
            self.note(answer);
        }
    }

    /// Whether a message must wait for hooks before it goes out.
    pub(super) fn looks_at_prompts(&self) -> bool {
        self.starting.is_some() || self.has(Event::UserPromptSubmit)
    }

    /// The first message of a turn.
    pub(super) fn prompt(&mut self, exchange: &mut Exchange, prompt: Vec<Block>) -> Vec<Next> {
        if self.looks_at_prompts() {
            self.look_at(exchange, prompt);
            return Vec::new();
        }
        exchange.prompted = true;
        self.add_user(prompt);
        vec![Next::Request]
    }

    /// Lets hooks look at a message.
    pub(super) fn look_at(&mut self, exchange: &mut Exchange, prompt: Vec<Block>) {
        let occasion = Occasion::user_prompt_submit(&text_of(&prompt));
        let looking = self.fire(occasion, exchange.token.child_token());
        let starting = self.starting.clone();
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
        exchange.waiting = Waiting::Prompting(Prompting {
            prompt,
            asking: asking.boxed(),
        });
    }

    /// Hooks have looked at a message: it goes out, or not.
    pub(super) fn prompt_seen(
        &mut self,
        exchange: &mut Exchange,
        mut prompt: Vec<Block>,
        answer: Answer,
    ) -> Vec<Next> {
        let answer = self.note(answer);
        let refused = match (&answer.halt, answer.blocked()) {
            (Some(halt), _) => Some(halt.to_string()),
            (None, Some(word)) => Some(format!(
                "the hook {} refuses the message: {}",
                word.by, word.reason
            )),
            (None, None) => None,
        };
        let Some(problem) = refused else {
            self.starting = None;
            if !answer.context.is_empty() {
                prompt.push(Block::by_hooks(&answer.context.join("\n")));
            }
            exchange.prompted = true;
            self.add_user(prompt);
            self.ask(exchange);
            return Vec::new();
        };
        self.journal.tell(TurnEvent::Refused);
        if exchange.prompted && answer.halt.is_none() {
            self.journal.notice(problem);
            self.ask(exchange);
            return Vec::new();
        }
        let hint = Some("the message was not sent to the model".to_owned());
        vec![Next::Finish(Ending::Failed { problem, hint })]
    }

    /// The turn stops while hooks look at a message: it does not go out.
    pub(super) fn drop_prompt(&mut self, exchange: &mut Exchange) {
        if let Waiting::Prompting(_) = exchange.waiting {
            self.journal.tell(TurnEvent::Refused);
            self.journal
                .notice("the message was not sent: it was stopped while hooks looked at it".into());
        }
    }

    pub(super) fn asks_to_stop(&self) -> bool {
        self.has(Event::Stop)
    }

    pub(super) fn ask_to_stop(&mut self, exchange: &mut Exchange, again: bool) {
        let mut messages = self.journal.history().messages().iter().rev();
        let last = messages.find(|message| message.role == Role::Assistant);
        let text = last.map(Message::text).unwrap_or_default();
        let asking = self.fire(Occasion::stop(again, &text), exchange.token.child_token());
        let asking = asking.unwrap_or_else(|| async { Answer::default() }.boxed());
        exchange.waiting = Waiting::Stopping(asking);
    }

    pub(super) fn stop_judged(&mut self, exchange: &mut Exchange, answer: Answer) -> Vec<Next> {
        let answer = self.note(answer);
        if let Some(halt) = answer.halt {
            self.journal.notice(halt.to_string());
            return exchange.turn.handle(Fact::MayStop);
        }
        let Some(word) = answer.blocked() else {
            return exchange.turn.handle(Fact::MayStop);
        };
        let notice = format!(
            "the hook {} makes the model go on: {}",
            word.by, word.reason
        );
        self.journal.notice(notice);
        let fact = Fact::MustGoOn(word.reason.clone());
        exchange.turn.handle(fact)
    }

    /// Tells hooks that a call waits for the person.
    pub(super) fn notify_asked(&self, report: &Report) {
        let Report::Asked(question, _) = report else {
            return;
        };
        match &question.kind {
            QuestionKind::Permission(request) => {
                let message = format!("agent-tui needs your permission to use {}", request.tool);
                self.notify(Notification::PermissionPrompt, &message);
            }
            QuestionKind::Choice(request) => {
                self.notify(Notification::ElicitationDialog, &request.question);
            }
        }
    }

    /// Comes once nothing has happened for a while, if anybody wants to know.
    pub(super) fn idle(&self) -> impl Future<Output = ()> + use<> {
        let hooks = self.context.hooks.as_ref();
        let wanted = hooks.filter(|hooks| hooks.wants(Event::Notification, "idle_prompt"));
        let after = wanted.map(|hooks| hooks.idle_after);
        async move {
            match after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        }
    }

    pub(super) fn notify_idle(&self) {
        self.notify(
            Notification::IdlePrompt,
            "agent-tui is waiting for your input",
        );
    }

    /// Nobody waits for the hooks that only hear of something.
    fn notify(&self, kind: Notification, message: &str) {
        let occasion = Occasion::notification(kind, message);
        let Some(asking) = self.fire(occasion, self.session.child_token()) else {
            return;
        };
        let reporter = self.asides.reporter();
        tokio::spawn(async move {
            for notice in asking.await.notices {
                let _ = reporter.send(Report::Notice(notice)).await;
            }
        });
    }

    fn has(&self, event: Event) -> bool {
        let hooks = self.context.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has(event))
    }

    /// Runs the hooks of an event; `None` if there are none for it.
    fn fire(
        &self,
        occasion: Occasion,
        token: CancellationToken,
    ) -> Option<BoxFuture<'static, Answer>> {
        let hooks = self.context.hooks.as_ref()?;
        if !hooks.wants(occasion.event, occasion.subject()) {
            return None;
        }
        let (context, scene) = (self.context.clone(), self.context.scene());
        let asking = async move {
            match &context.hooks {
                Some(hooks) => hooks.fire(&occasion, &scene, &token).await,
                None => Answer::default(),
            }
        };
        Some(asking.boxed())
    }

    /// Tells the person what hooks have for her.
    fn note(&mut self, mut answer: Answer) -> Answer {
        for notice in answer.notices.drain(..) {
            self.journal.notice(notice);
        }
        answer
    }
}

fn text_of(prompt: &[Block]) -> String {
    let texts = prompt.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

//! How an exchange begins, what holds for it alone, and what files add from then on.

use std::collections::VecDeque;

use super::{Conversation, Exchange, Executor, Fact, Turn, Waiting};
use crate::conversation::limits::{Hooked, Limits};
use crate::executor::Context;
use crate::protocol::{Block, Origin, Price, SessionEvent, Spending};

impl Conversation {
    /// Begins an exchange; [`next`](Self::next) brings it to its end.
    pub fn begin(&mut self, prompt: Vec<Block>) {
        self.open(None);
        self.prompt(prompt);
    }

    /// Begins an exchange whose message is not there yet; it may have a model of its own, at this price.
    pub fn open(&mut self, model: Option<(String, Option<Price>)>) {
        self.context.end_turn();
        if let Some(model) = model {
            self.usual_model = Some(self.switch_model(model));
        }
        self.journal.begin_turn();
        // Its hooks are those of the settings as they are now.
        for notice in self.context.shared.refresh() {
            self.journal.notice(notice);
        }
        self.used_by_others = Spending::nothing();
        let origin = Origin {
            provider: self.provider.name().to_owned(),
            model: self.request.model.clone(),
        };
        let limits = Limits {
            hooked: Hooked {
                prompts: self.starting.is_some() || self.asks_about_prompts(),
                end: self.hooks.has(self.stop_event()),
            },
            ..self.limits
        };
        let (offered, token) = (self.context.tools.snapshot(), self.token.child_token());
        let seed = fastrand::u64(..);
        self.exchange = Some(Exchange {
            turn: Turn::new(origin, limits, self.retry, self.numbers, seed),
            executor: Executor::new(self.context.clone(), self.policy, &token, offered),
            token,
            waiting: Waiting::Nothing,
            ending: None,
        });
    }

    /// What the exchange begins with.
    pub fn prompt(&mut self, prompt: Vec<Block>) {
        self.turn(Fact::Prompted(prompt));
    }

    /// There is nothing that the exchange could begin with; in words.
    pub fn refuse(&mut self, problem: String) {
        self.turn(Fact::Unsendable(problem));
    }

    /// Returns the model that was used until now.
    fn switch_model(&mut self, (model, price): (String, Option<Price>)) -> (String, Option<Price>) {
        let before = std::mem::replace(&mut self.request.model, model);
        self.account.reprice(price);
        (before, std::mem::replace(&mut self.limits.price, price))
    }

    /// What held for the exchange alone does so no longer.
    pub(super) fn close(&mut self) {
        self.context.end_turn();
        if let Some(usual) = self.usual_model.take() {
            self.switch_model(usual);
        }
    }

    /// Looks whether files add something else now.
    pub fn refresh_extensions(&mut self) {
        if let Some(problems) = self.context.refresh_extensions() {
            for problem in problems {
                self.journal.notice(problem);
            }
            let commands = self.context.shared.extensions().commands.clone();
            self.journal.tell_session(SessionEvent::Commands(commands));
        }
    }
}

/// The message that waits first. A custom command is left: it has a turn of its own, and what it allows ends with that.
pub(super) fn take_message(
    queue: &mut VecDeque<Vec<Block>>,
    context: &Context,
) -> Option<Vec<Block>> {
    let first = queue.front()?;
    if context.shared.typed_command(first).is_some() {
        return None;
    }
    queue.pop_front()
}

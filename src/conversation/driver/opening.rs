//! Begins an exchange, with what applies only to this exchange, and picks up changed extension files.

use std::collections::VecDeque;

use super::{Conversation, Exchange, Executor, Fact, Turn, Waiting};
use crate::conversation::limits::{HookedSteps, Limits};
use crate::executor::Context;
use crate::protocol::{Block, Origin, Price, SessionEvent, Spending};

impl Conversation {
    /// Begins an exchange; [`next`](Self::next) runs it to its end.
    pub fn begin(&mut self, prompt: Vec<Block>) {
        self.open(None);
        self.prompt(prompt);
    }

    /// Begins an exchange whose message is not known yet. It may have its own model.
    pub fn open(&mut self, model: Option<String>) {
        self.context.end_turn();
        if let Some(model) = model {
            self.use_model_for_turn(model);
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
            hooked: HookedSteps {
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

    /// Sets the first message of the exchange.
    pub fn prompt(&mut self, prompt: Vec<Block>) {
        self.turn(Fact::Prompted(prompt));
    }

    /// The exchange has no message to begin with, for this reason.
    pub fn refuse(&mut self, problem: String) {
        self.turn(Fact::Unsendable(problem));
    }

    /// From the next request until the turn ends, this model answers.
    pub(super) fn use_model_for_turn(&mut self, model: String) {
        let price = self.prices.get(&model).copied();
        let before = self.switch_model((model.clone(), price));
        self.usual_model.get_or_insert(before);
        self.turn(Fact::ModelIs { model, price });
    }

    /// Returns the previous model.
    fn switch_model(&mut self, (model, price): (String, Option<Price>)) -> (String, Option<Price>) {
        let before = std::mem::replace(&mut self.request.model, model);
        self.account.reprice(price);
        (before, std::mem::replace(&mut self.limits.price, price))
    }

    /// Ends what applied only to this exchange.
    pub(super) fn close(&mut self) {
        self.context.end_turn();
        if let Some(usual) = self.usual_model.take() {
            self.switch_model(usual);
        }
    }

    /// Checks whether extension files have changed.
    pub fn refresh_extensions(&mut self) {
        if let Some(problems) = self.context.refresh_extensions() {
            for problem in problems {
                self.journal.notice(problem);
            }
            let commands = self.context.shared.commands();
            self.journal.emit_session(SessionEvent::Commands(commands));
        }
    }
}

/// The first queued message. A custom command stays queued: it gets its own turn, and what it allows ends with that
/// turn.
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

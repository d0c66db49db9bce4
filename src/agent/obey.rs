//! What the person's commands do, while a turn runs and while none does.

use tokio::time::Instant;

use super::driver::{Agent, Exchange, Waiting};
use super::turn::{Fact, Next};
use crate::executor::permission::Authority;
use crate::protocol::{AgentEvent, Block, CallId, Command, ToolCall};

impl Agent {
    /// What a command means while no turn runs: perhaps a message to send.
    pub(super) fn obey_idle(&mut self, command: Command) -> Option<Vec<Block>> {
        match self.obey_anytime(command)? {
            Command::Submit(prompt) => {
                // What waits since an interrupt was written before it.
                self.queued.push_back(prompt);
                self.queued.pop_front()
            }
            Command::SendQueue => self.queued.pop_front(),
            Command::Interrupt => {
                self.asides.cancel_all();
                None
            }
            Command::RunAgain(id) => {
                self.run_again(&id, None);
                None
            }
            // Nothing is running that these could concern.
            Command::Answer(..)
            | Command::Cancel(_)
            | Command::AnswerByHand(..)
            | Command::Background(_)
            | Command::Run(_)
            | Command::TakeBack
            | Command::GoOn
            | Command::SetMode(_)
            | Command::Rules(_)
            | Command::Leave(_)
            | Command::RetryNow => None,
        }
    }

    /// What a command means while a turn runs.
    pub(super) fn obey(&mut self, exchange: &mut Exchange, command: Option<Command>) -> Vec<Next> {
        let Some(command) = command else {
            // Whoever could have waited for the answer is gone.
            self.deserted = true;
            return self.interrupt(exchange);
        };
        let Some(command) = self.obey_anytime(command) else {
            return Vec::new();
        };
        let executor = &mut exchange.executor;
        match command {
            Command::Submit(prompt) => self.queued.push_back(prompt),
            // It has gone out with a request meanwhile, or was taken back.
            Command::SendQueue if self.queued.is_empty() => {}
            Command::SendQueue => {
                executor.interrupt(&mut self.journal);
                return exchange.turn.handle(Fact::Interrupted);
            }
            Command::Interrupt => return self.interrupt(exchange),
            Command::GoOn => return exchange.turn.handle(Fact::GoneOn),
            Command::Answer(id, answer) => executor.answer(&id, answer),
            Command::Cancel(id) => executor.cancel(id, &mut self.journal),
            Command::AnswerByHand(id, text) => {
                executor.answer_by_hand(id, text, &mut self.journal);
            }
            Command::RunAgain(id) if executor.is_open(&id) => {
                executor.run_again(id, &mut self.journal);
            }
            Command::RunAgain(id) => {
                let call = executor.call(&id).cloned();
                self.run_again(&id, call);
            }
            Command::Background(id) => executor.background(&id, &mut self.journal),
            Command::RetryNow => {
                if let Waiting::NextTry(at) = &mut exchange.waiting {
                    *at = Instant::now();
                }
            }
            // Heard already.
            Command::Run(_)
            | Command::TakeBack
            | Command::SetMode(_)
            | Command::Rules(_)
            | Command::Leave(_) => {}
        }
        Vec::new()
    }

    /// Does what concerns no turn, and gives back what may concern one.
    fn obey_anytime(&mut self, command: Command) -> Option<Command> {
        match command {
            Command::SetMode(mode) => {
                self.context.set_mode(mode);
                self.journal.tell_agent(AgentEvent::ModeIs(mode));
            }
            Command::Rules(command) => self.obey_rules(command),
            Command::Leave(why) => self.leaving = Some(why),
            Command::TakeBack => {
                let queued = self.queued.drain(..).collect();
                self.journal.tell_agent(AgentEvent::TakenBack(queued));
            }
            Command::Run(command) => {
                let input = serde_json::json!({ "command": command });
                self.asides
                    .start("Bash", input, Authority::Typed, &mut self.journal);
            }
            Command::Answer(id, answer) if self.asides.is_running(&id) => {
                self.asides.answer(&id, answer);
            }
            Command::Cancel(id) if self.asides.is_running(&id) => self.asides.cancel(&id),
            Command::Background(id) if self.asides.is_running(&id) => self.asides.background(&id),
            Command::Cancel(id) => return self.kill_in_background(id),
            other => return Some(other),
        }
        None
    }

    /// Ends the command that a call has left in the background. A call that has left none is given back.
    fn kill_in_background(&self, call: CallId) -> Option<Command> {
        let groups = self.context.env.groups.clone();
        let Some(job) = groups.jobs.running(&call) else {
            return Some(Command::Cancel(call));
        };
        // It has its time to end; how it ended is told when it has.
        tokio::spawn(async move { groups.kill(&job).await });
        None
    }

    fn interrupt(&mut self, exchange: &mut Exchange) -> Vec<Next> {
        self.send_queue = false;
        self.asides.cancel_all();
        exchange.executor.interrupt(&mut self.journal);
        exchange.turn.handle(Fact::Interrupted)
    }

    /// Makes a call once more that has its result already. One that was denied, or allowed in part only, is asked about.
    fn run_again(&mut self, id: &CallId, call: Option<ToolCall>) {
        let (call, permitted) = match self.asides.past(id) {
            Some(past) => (Some(past.call.clone()), past.permitted),
            None => (
                call.or_else(|| self.call_of_history(id)),
                self.permitted.contains(id),
            ),
        };
        let by = if permitted {
            Authority::Person
        } else {
            Authority::Model
        };
        match call {
            Some(ToolCall { name, input, .. }) => {
                self.asides.start(&name, input, by, &mut self.journal);
            }
            None => self
                .journal
                .notice("there is no such call to run again".into()),
        }
    }

    fn call_of_history(&self, id: &CallId) -> Option<ToolCall> {
        let mut messages = self.messages.iter().rev();
        let call = messages.find_map(|message| message.tool_uses().find(|call| call.id == *id))?;
        Some(ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        })
    }
}

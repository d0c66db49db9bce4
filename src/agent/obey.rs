//! What the person's commands do, while a turn runs and while none does.

use tokio::time::Instant;

use super::driver::{Agent, Exchange, Waiting};
use super::turn::{Fact, Next};
use crate::executor::permission::Authority;
use crate::protocol::{
    AgentId, Block, CallCommand, CallRef, Command, SessionCommand, SessionEvent, ToolCall,
    TurnCommand,
};

impl Agent {
    /// What a command means while no turn runs: perhaps a message to send.
    pub(super) fn obey_idle(&mut self, command: Command) -> Option<Vec<Block>> {
        match command {
            Command::Session(SessionCommand::Submit(prompt)) => {
                // What waits since an interrupt was written before it.
                self.queued.push_back(prompt);
                self.queued.pop_front()
            }
            Command::Session(command) => {
                self.obey_session(command);
                None
            }
            Command::Turn(TurnCommand::SendQueue) => self.queued.pop_front(),
            Command::Turn(TurnCommand::Interrupt) => {
                self.asides.cancel_all();
                None
            }
            // There is no turn that these could concern.
            Command::Turn(TurnCommand::GoOn | TurnCommand::RetryNow) => None,
            Command::Call(call, command) => {
                self.obey_call(None, call, command);
                None
            }
        }
    }

    /// What a command means while a turn runs.
    pub(super) fn obey(&mut self, exchange: &mut Exchange, command: Option<Command>) -> Vec<Next> {
        match command {
            None => {
                // Whoever could have waited for the answer is gone.
                self.deserted = true;
                self.interrupt(exchange)
            }
            Some(Command::Session(command)) => {
                self.obey_session(command);
                Vec::new()
            }
            Some(Command::Turn(command)) => self.obey_turn(exchange, command),
            Some(Command::Call(call, command)) => {
                self.obey_call(Some(exchange), call, command);
                Vec::new()
            }
        }
    }

    fn obey_session(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Submit(prompt) => self.queued.push_back(prompt),
            SessionCommand::SetMode(mode) => {
                self.context.set_mode(mode);
                self.journal.tell_session(SessionEvent::ModeIs(mode));
            }
            SessionCommand::Rules(command) => self.obey_rules(command),
            SessionCommand::Leave(why) => self.leaving = Some(why),
            SessionCommand::TakeBack => {
                let queued = self.queued.drain(..).collect();
                self.journal.tell_session(SessionEvent::TakenBack(queued));
            }
            SessionCommand::Run(command) => {
                let offered = self.context.tools.snapshot();
                let Some((tool, field)) = offered.shell() else {
                    let notice = "no tool is offered that runs commands".to_owned();
                    self.journal.notice(notice);
                    return;
                };
                let input = serde_json::json!({ field: command });
                self.asides
                    .start(&tool.name, input, Authority::Typed, &mut self.journal);
            }
        }
    }

    fn obey_turn(&mut self, exchange: &mut Exchange, command: TurnCommand) -> Vec<Next> {
        match command {
            // It has gone out with a request meanwhile, or was taken back.
            TurnCommand::SendQueue if self.queued.is_empty() => Vec::new(),
            TurnCommand::SendQueue => {
                exchange.executor.interrupt(&mut self.journal);
                exchange.turn.handle(Fact::Interrupted)
            }
            TurnCommand::Interrupt => self.interrupt(exchange),
            TurnCommand::GoOn => exchange.turn.handle(Fact::GoneOn),
            TurnCommand::RetryNow => {
                if let Waiting::NextTry(at) = &mut exchange.waiting {
                    *at = Instant::now();
                }
                Vec::new()
            }
        }
    }

    fn obey_call(&mut self, exchange: Option<&mut Exchange>, call: CallRef, command: CallCommand) {
        if command == CallCommand::Cancel && self.kill_in_background(call) {
            return;
        }
        if call.agent == AgentId::PERSON {
            return self.obey_aside(call, command);
        }
        let executor = exchange.map(|exchange| &mut exchange.executor);
        match (command, executor) {
            (CallCommand::RunAgain, Some(executor)) if executor.is_open(call) => {
                executor.run_again(call, &mut self.journal);
            }
            (CallCommand::RunAgain, executor) => {
                let known = executor.and_then(|executor| executor.call(call).cloned());
                self.run_again(call, known);
            }
            (CallCommand::Answer(answer), Some(executor)) => executor.answer(call, answer),
            (CallCommand::Cancel, Some(executor)) => executor.cancel(call, &mut self.journal),
            (CallCommand::AnswerByHand(text), Some(executor)) => {
                executor.answer_by_hand(call, text, &mut self.journal);
            }
            (CallCommand::Background, Some(executor)) => {
                executor.background(call, &mut self.journal);
            }
            // The turn is over, and every call of it has its result.
            (
                CallCommand::Answer(_)
                | CallCommand::Cancel
                | CallCommand::AnswerByHand(_)
                | CallCommand::Background,
                None,
            ) => {}
        }
    }

    fn obey_aside(&mut self, call: CallRef, command: CallCommand) {
        match command {
            CallCommand::Answer(answer) => self.asides.answer(call, answer),
            CallCommand::Cancel => self.asides.cancel(call),
            CallCommand::Background => self.asides.background(call),
            CallCommand::RunAgain => self.run_again(call, None),
            // Nobody waits for its result.
            CallCommand::AnswerByHand(_) => {}
        }
    }

    /// Ends the command that a call has left in the background, if it has left one.
    fn kill_in_background(&self, call: CallRef) -> bool {
        let groups = self.context.env.groups.clone();
        let Some(job) = groups.jobs.running(call) else {
            return false;
        };
        // It has its time to end; how it ended is told when it has.
        tokio::spawn(async move { groups.kill(&job).await });
        true
    }

    fn interrupt(&mut self, exchange: &mut Exchange) -> Vec<Next> {
        self.send_queue = false;
        self.asides.cancel_all();
        exchange.executor.interrupt(&mut self.journal);
        exchange.turn.handle(Fact::Interrupted)
    }

    /// Makes a call once more that has its result already. One that was denied, or allowed in part only, is asked about.
    fn run_again(&mut self, id: CallRef, call: Option<ToolCall>) {
        let (call, permitted) = match self.asides.past(id) {
            Some(past) => (Some(past.call.clone()), past.permitted),
            None => (
                call.or_else(|| self.journal.history().call(id).cloned()),
                self.permitted.contains(&id),
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
}

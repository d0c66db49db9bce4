//! Handles the person's commands, during a turn and without one.

use super::asides::again;
use super::driver::Agent;
use crate::executor::permission::Authority;
use crate::protocol::{
    AgentId, Block, CallCommand, CallRef, Command, QueuedSelection, SessionCommand, SessionEvent,
    ToolCall, TurnCommand,
};
use crate::session::Record;

impl Agent {
    /// Handles a command while no turn runs. Returns a message to send, if any.
    pub(super) fn handle_command_when_idle(&mut self, command: Command) -> Option<Vec<Block>> {
        match command {
            Command::Session(command) => {
                let is_message = matches!(command, SessionCommand::Submit(_));
                self.handle_session(command);
                // Messages that have been queued since an interrupt are older, so they go first.
                is_message.then(|| self.conversation.queue().pop_front())?
            }
            Command::Turn(TurnCommand::SendQueue) => self.conversation.queue().pop_front(),
            Command::Turn(TurnCommand::Interrupt) => {
                self.asides.cancel_all(&mut self.conversation.journal);
                None
            }
            // These only concern a running turn.
            Command::Turn(TurnCommand::Continue | TurnCommand::RetryNow) => None,
            Command::Call(call, command) => {
                self.handle_call(call, command);
                None
            }
        }
    }

    /// Handles a command while a turn runs.
    pub(super) fn handle_command(&mut self, command: Command) {
        match command {
            Command::Session(command) => self.handle_session(command),
            Command::Turn(command) => self.handle_turn(command),
            Command::Call(call, command) => self.handle_call(call, command),
        }
    }

    fn handle_session(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Submit(prompt) => self.conversation.submit(prompt),
            SessionCommand::SetMode(mode) => {
                self.shared().set_mode(mode);
                self.conversation.context().follow_policy();
                self.journal().append(Record::Mode { mode });
            }
            SessionCommand::Rename(title) => {
                self.journal().append(Record::Renamed { title });
            }
            SessionCommand::Rules(command) => self.handle_rules(command),
            SessionCommand::Mcp(command) => self.handle_mcp(command),
            SessionCommand::ListAgents => self.list_agents(),
            SessionCommand::ListSkills => self.list_skills(),
            SessionCommand::ListHooks => self.list_hooks(),
            SessionCommand::FindCommands => drop(self.refresh_extensions()),
            SessionCommand::Leave(why) => self.leaving = Some(why),
            SessionCommand::TakeBack(QueuedSelection::All) => self.return_queued(),
            SessionCommand::TakeBack(QueuedSelection::One(message)) => self.return_one(&message),
            SessionCommand::Run(command) => {
                let offered = self.conversation.context().tools.snapshot();
                let journal = &mut self.conversation.journal;
                let Some((tool, field)) = offered.shell() else {
                    journal.notice("no tool for running commands is available".to_owned());
                    return;
                };
                let input = serde_json::json!({ field: command });
                self.asides
                    .start(&tool.name, input.into(), Authority::Typed, journal);
            }
        }
    }

    fn handle_turn(&mut self, command: TurnCommand) {
        match command {
            // The queue was sent or taken back in the meantime, or is about to be sent.
            TurnCommand::SendQueue if self.stopping || self.conversation.queue().is_empty() => {}
            TurnCommand::SendQueue => {
                self.stopping = true;
                self.conversation.interrupt();
            }
            TurnCommand::Interrupt => self.interrupt(),
            TurnCommand::Continue => self.conversation.continue_turn(),
            TurnCommand::RetryNow => {
                self.conversation.retry_now();
                self.subagents.retry_now();
            }
        }
    }

    fn handle_call(&mut self, call: CallRef, command: CallCommand) {
        if command == CallCommand::Cancel && self.kill_in_background(call) {
            return;
        }
        if call.agent.is_subagent() {
            if !self.subagents.send(call, command) {
                let text = "the subagent has ended; this call can't be changed any more";
                self.journal().emit_notice(text.into());
            }
            return;
        }
        if call.agent == AgentId::PERSON {
            let journal = &mut self.conversation.journal;
            self.asides.handle_command(call, command, journal);
        } else if command == CallCommand::RunAgain && !self.conversation.is_open(call) {
            self.run_again(call);
        } else {
            self.conversation.handle_command(call, command);
        }
    }

    /// Ends the background command or subagent of a call, if it has one.
    fn kill_in_background(&self, call: CallRef) -> bool {
        if self.shared().env.tasks.stop(call) {
            return true;
        }
        let groups = self.shared().env.groups.clone();
        let Some(job) = groups.jobs.running(call) else {
            return false;
        };
        // It gets time to end; its end is reported when it happens.
        tokio::spawn(async move { groups.kill(&job).await });
        true
    }

    /// Stops the turn. Messages that were queued before go back to the person; later ones are sent after the turn.
    pub(super) fn interrupt(&mut self) {
        if !std::mem::replace(&mut self.stopping, true) {
            self.return_queued();
        }
        self.subagents.force_stop();
        self.asides.cancel_all(&mut self.conversation.journal);
        self.conversation.interrupt();
    }

    /// Gives all queued messages back to the person.
    pub(super) fn return_queued(&mut self) {
        let waiting: Vec<Vec<Block>> = self.conversation.queue().drain(..).collect();
        let text = match waiting.len() {
            0 => return,
            1 => "Your queued message was not sent; it is back in the input".to_owned(),
            some => format!("{some} queued messages were not sent; they are back in the input"),
        };
        let journal = self.journal();
        journal.notice(text);
        journal.emit_session(SessionEvent::TakenBack(waiting));
    }

    /// Gives back a message that the person wants to edit, unless it was sent in the meantime.
    fn return_one(&mut self, wanted: &[Block]) {
        let queue = self.conversation.queue();
        let at = queue.iter().rposition(|message| message == wanted);
        let message = at.and_then(|at| queue.remove(at));
        let taken = SessionEvent::TakenBack(message.into_iter().collect());
        self.journal().emit_session(taken);
    }

    /// Runs a finished call of the model again, for the person.
    fn run_again(&mut self, call: CallRef) {
        let Some((call, permitted)) = self.conversation.past_call(call) else {
            self.journal().notice("that call can't be run again".into());
            return;
        };
        let ToolCall { name, input, .. } = call;
        let journal = &mut self.conversation.journal;
        self.asides.start(&name, input, again(permitted), journal);
    }
}

//! Runs one exchange of a conversation to its end, in a separate task that is controlled by [`Instruction`]s.

use std::collections::HashSet;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Conversation;
use crate::protocol::{Block, CallCommand, CallRef, Note, Spending, TurnSummary};

/// What a running conversation can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum Instruction {
    /// A command of the person about one of its calls.
    Call(CallRef, CallCommand),
    /// Also stop the calls that an interrupt lets finish.
    Interrupt,
    /// Skip the wait before the next attempt of a failed request.
    RetryNow,
    /// Other conversations have used this much of the shared limits.
    OthersSpent(Spending),
}

/// How the exchange begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Beginning {
    Prompt(Vec<Block>),
    /// With the calls that an earlier run of the program has left while it waited for the person.
    Reopened,
}

const CONTINUE: &str = "agent-tui was restarted. Continue with your task";

impl Conversation {
    /// Cancelling `stop` interrupts it, as the person would. Cancelling the token of the conversation ends everything
    /// that it has running. `spends` is called with what it uses, as it uses it.
    pub async fn run(
        &mut self,
        beginning: Beginning,
        stop: &CancellationToken,
        instructions: &mut mpsc::UnboundedReceiver<Instruction>,
        mut spends: impl FnMut(Spending),
    ) -> TurnSummary {
        match beginning {
            Beginning::Prompt(prompt) => self.begin(prompt),
            Beginning::Reopened => {
                // What it was about to ask may be allowed by now.
                if !self.reopen(&HashSet::new()).await.continues {
                    self.begin(vec![Block::note(Note::Program, CONTINUE)]);
                }
            }
        }
        let token = self.token.clone();
        let (mut stops, mut ends) = (false, false);
        loop {
            self.send_events().await;
            if let Some(spent) = self.take_spent() {
                spends(spent);
            }
            let ending = tokio::select! {
                ending = self.next() => ending,
                Some(instruction) = instructions.recv() => {
                    self.on_instruction(instruction);
                    None
                }
                () = stop.cancelled(), if !stops && !ends => {
                    stops = true;
                    self.interrupt();
                    None
                }
                () = token.cancelled(), if !ends => {
                    ends = true;
                    self.interrupt();
                    // The second interrupt is for calls that the first one lets finish.
                    self.interrupt();
                    None
                }
            };
            if let Some(ending) = ending {
                return self.finish(ending).await;
            }
        }
    }

    fn on_instruction(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Call(call, command) => self.handle_command(call, command),
            Instruction::Interrupt => self.interrupt(),
            Instruction::RetryNow => self.retry_now(),
            Instruction::OthersSpent(spending) => self.count_in_limits(spending),
        }
    }
}

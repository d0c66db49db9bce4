//! Runs one exchange of a conversation to its end, in a separate task that is controlled by [`Instruction`]s.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Conversation;
use crate::protocol::{Block, CallCommand, CallRef, Spending, TurnSummary};

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

impl Conversation {
    /// Cancelling `stop` interrupts it, as the person would. Cancelling the token of the conversation ends everything
    /// that it has running. `spends` is called with what it uses, as it uses it.
    pub async fn run(
        &mut self,
        prompt: Vec<Block>,
        stop: &CancellationToken,
        instructions: &mut mpsc::UnboundedReceiver<Instruction>,
        mut spends: impl FnMut(Spending),
    ) -> TurnSummary {
        self.begin(prompt);
        let token = self.token.clone();
        let (mut stops, mut ends) = (false, false);
        loop {
            self.tell().await;
            if let Some(spent) = self.take_spent() {
                spends(spent);
            }
            let ending = tokio::select! {
                ending = self.next() => ending,
                Some(word) = instructions.recv() => {
                    self.hear_word(word);
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

    fn hear_word(&mut self, word: Instruction) {
        match word {
            Instruction::Call(call, command) => self.handle_command(call, command),
            Instruction::Interrupt => self.interrupt(),
            Instruction::RetryNow => self.retry_now(),
            Instruction::OthersSpent(spending) => self.count_in_limits(spending),
        }
    }
}

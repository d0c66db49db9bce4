//! Runs a conversation to the end of one exchange, in a task of its own: with nobody who talks to it but by [`Word`]s.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Conversation;
use crate::protocol::{Block, CallCommand, CallRef, Spending, TurnSummary};

/// What is said to a conversation while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// What the person wants of one of its calls.
    Call(CallRef, CallCommand),
    /// Stop also the calls that an interrupt lets finish.
    Interrupt,
    /// Skip the wait before the next try of a failed request.
    RetryNow,
    /// Others have used so much of what all may use together.
    SpentBeside(Spending),
}

impl Conversation {
    /// Cancelling `stop` interrupts it, as the person would; cancelling the token that the conversation was given ends what it
    /// has running, whatever that is. What it uses is told to `spends` as it goes.
    pub async fn run(
        &mut self,
        prompt: Vec<Block>,
        stop: &CancellationToken,
        words: &mut mpsc::UnboundedReceiver<Word>,
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
                Some(word) = words.recv() => {
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
                    // The second one is for calls that the first one lets finish.
                    self.interrupt();
                    None
                }
            };
            if let Some(ending) = ending {
                return self.finish(ending).await;
            }
        }
    }

    fn hear_word(&mut self, word: Word) {
        match word {
            Word::Call(call, command) => self.handle_command(call, command),
            Word::Interrupt => self.interrupt(),
            Word::RetryNow => self.retry_now(),
            Word::SpentBeside(spending) => self.limit_beside(spending),
        }
    }
}

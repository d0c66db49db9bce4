//! Messages that wait for the running turn, in the order in which they are sent.
//!
//! The agent holds them: a message leaves this queue only when the agent says that it has sent it or given it back.

use crate::protocol::Block;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Queue(Vec<Waiting>);

#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// As it looked in the input: long pastes are folded.
    pub shown: String,
    message: Vec<Block>,
    /// The person took it back; it returns to the input unless it is sent first.
    returns: bool,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter()
    }

    pub fn push(&mut self, message: Vec<Block>, shown: String) {
        self.0.push(Waiting {
            shown,
            message,
            returns: false,
        });
    }

    /// The agent has accepted the next one; returns its text as it was shown.
    pub fn take_first(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0).shown)
    }

    /// Whether one is on its way to the input.
    pub fn returns(&self) -> bool {
        self.0.iter().any(|waiting| waiting.returns)
    }

    /// Whether one stays in the queue until it is sent.
    pub fn stays(&self) -> bool {
        self.0.iter().any(|waiting| !waiting.returns)
    }

    /// All of them are on their way to the input.
    pub fn return_all(&mut self) {
        for waiting in &mut self.0 {
            waiting.returns = true;
        }
    }

    /// Takes back the one with this index, or the last one; returns the message that the agent is to give back.
    pub fn ask_back(&mut self, number: Option<usize>) -> Option<Vec<Block>> {
        let stays = |waiting: &&mut Waiting| !waiting.returns;
        let waiting = match number {
            Some(number) => self.0.get_mut(number).filter(stays),
            None => self.0.iter_mut().rev().find(stays),
        }?;
        waiting.returns = true;
        Some(waiting.message.clone())
    }

    /// The agent has given these back.
    pub fn remove(&mut self, messages: &[Vec<Block>]) {
        for message in messages {
            let same = |waiting: &Waiting| waiting.message == *message;
            let asked = self.0.iter().rposition(|it| it.returns && same(it));
            let at = asked.or_else(|| self.0.iter().rposition(same));
            if let Some(at) = at {
                self.0.remove(at);
            }
        }
    }

    /// Removes all of them, because the agent that held them is gone.
    pub fn take(&mut self) -> Vec<String> {
        self.0.drain(..).map(|waiting| waiting.shown).collect()
    }
}

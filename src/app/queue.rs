//! Messages that wait for the running turn, in the order in which they are sent.
//!
//! The agent holds them: a message leaves this queue only when the agent says that it has sent it or given it back.

use crate::protocol::Block;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Queue {
    waiting: Vec<Waiting>,
    /// How many messages were ever queued.
    count: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Unique.
    pub number: u64,
    /// As it looked in the input: long pastes are folded.
    pub shown: String,
    message: Vec<Block>,
    plan: Plan,
}

/// What happens to a message, unless it is sent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Send,
    /// The person took it back into the input.
    Return,
    /// The person removed it.
    Drop,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    pub fn push(&mut self, message: Vec<Block>, shown: String) {
        self.count += 1;
        self.waiting.push(Waiting {
            number: self.count,
            shown,
            message,
            plan: Plan::Send,
        });
    }

    /// The agent has accepted the next one; returns its text as it was shown.
    pub fn take_first(&mut self) -> Option<String> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0).shown)
    }

    /// Whether one is on its way to the input.
    pub fn returns(&self) -> bool {
        self.waiting
            .iter()
            .any(|waiting| waiting.plan == Plan::Return)
    }

    /// Whether one stays in the queue until it is sent.
    pub fn stays(&self) -> bool {
        self.waiting
            .iter()
            .any(|waiting| waiting.plan == Plan::Send)
    }

    /// All of them are on their way to the input.
    pub fn return_all(&mut self) {
        for waiting in &mut self.waiting {
            if waiting.plan == Plan::Send {
                waiting.plan = Plan::Return;
            }
        }
    }

    /// Takes back the one with this number, or the last one; returns the message that the agent is to give back.
    pub fn take_back_queued(&mut self, number: Option<u64>) -> Option<Vec<Block>> {
        self.plan(number, Plan::Return)
    }

    /// Removes the one with this number for good; returns the message that the agent is to give back.
    pub fn ask_to_drop(&mut self, number: u64) -> Option<Vec<Block>> {
        self.plan(Some(number), Plan::Drop)
    }

    fn plan(&mut self, number: Option<u64>, plan: Plan) -> Option<Vec<Block>> {
        let is_it = |waiting: &&mut Waiting| number.is_none_or(|number| waiting.number == number);
        let stays = |waiting: &&mut Waiting| waiting.plan == Plan::Send;
        let mut last_first = self.waiting.iter_mut().rev();
        let waiting = last_first.find(|waiting| stays(waiting) && is_it(waiting))?;
        waiting.plan = plan;
        Some(waiting.message.clone())
    }

    /// The agent has given these back; returns those that go to the input.
    pub fn returned(&mut self, messages: &[Vec<Block>]) -> Vec<Vec<Block>> {
        let mut returned = Vec::new();
        for message in messages {
            let same = |waiting: &Waiting| waiting.message == *message;
            let asked = |waiting: &Waiting| waiting.plan != Plan::Send && same(waiting);
            let at = self.waiting.iter().rposition(asked);
            let at = at.or_else(|| self.waiting.iter().rposition(same));
            let dropped = at.is_some_and(|at| self.waiting.remove(at).plan == Plan::Drop);
            if !dropped {
                returned.push(message.clone());
            }
        }
        returned
    }

    /// Removes all of them, because the agent that held them is gone.
    pub fn take(&mut self) -> Vec<String> {
        self.waiting
            .drain(..)
            .map(|waiting| waiting.shown)
            .collect()
    }
}

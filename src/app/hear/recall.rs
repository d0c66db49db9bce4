//! A conversation that is gone on with, shown again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::app::AppState;
use crate::app::call::{Author, Completed, State};
use crate::app::transcript::{Answer, Cell, Progress};
use crate::protocol::{
    Block, CallId, CallOutcome, CallRef, Message, Role, Shown, ToolResult, ToolUse,
};

/// What the calls of the conversation are called.
struct Names {
    /// Those of the calls to come.
    known: std::vec::IntoIter<Option<CallRef>>,
    /// The next number for a call whose name is not known. They come from the end, where no call of the agent is.
    unknown: u32,
    /// The calls of the last answer that wait for their results, by what they are called on the wire.
    waiting: HashMap<CallId, VecDeque<CallRef>>,
}

impl Names {
    fn next(&mut self, id: CallId) -> CallRef {
        let call = self.known.next().flatten().unwrap_or_else(|| {
            self.unknown -= 1;
            CallRef::main(self.unknown)
        });
        self.waiting.entry(id).or_default().push_back(call);
        call
    }

    /// Whose result this is: of two calls with the same id the first has the first one.
    fn answered(&mut self, id: &CallId) -> Option<CallRef> {
        self.waiting.get_mut(id)?.pop_front()
    }
}

impl AppState {
    /// Shows a conversation that is gone on with.
    pub(super) fn recall(&mut self, history: Vec<Message>, calls: Vec<Option<CallRef>>) {
        let mut names = Names {
            known: calls.into_iter(),
            unknown: u32::MAX,
            waiting: HashMap::new(),
        };
        for message in history {
            match message.role {
                Role::User => {
                    for result in message.tool_results() {
                        let call = names.answered(&result.tool_use_id);
                        self.recall_result(call, result);
                    }
                    self.push_user(&message);
                }
                Role::Assistant => {
                    names.waiting.clear();
                    self.recall_answer(message, &mut names);
                }
            }
        }
    }

    fn recall_answer(&mut self, message: Message, names: &mut Names) {
        for block in message.content {
            match block {
                Block::Text { text, .. } | Block::Refusal { text } => {
                    let progress = Progress::Whole;
                    self.transcript
                        .push(Cell::Answer(Answer { text, progress }));
                }
                Block::Thinking { thinking, .. } if !thinking.is_empty() => {
                    self.transcript.push(Cell::Thinking {
                        text: thinking,
                        since: self.now,
                        took: Some(Duration::ZERO),
                    });
                }
                Block::ToolUse(ToolUse {
                    id, name, input, ..
                }) => {
                    let tool = self.session.tool(&name);
                    let key = self
                        .calls
                        .add(names.next(id), tool, Author::Model, self.now);
                    self.calls.change(key, |call| {
                        call.input = input;
                        call.state = State::Queued;
                    });
                    self.transcript.push(Cell::Call(key));
                }
                Block::Thinking { .. }
                | Block::Image(_)
                | Block::RedactedThinking { .. }
                | Block::ServerToolUse { .. }
                | Block::ToolResult(_)
                | Block::Other { .. } => {}
            }
        }
    }

    fn recall_result(&mut self, call: Option<CallRef>, result: &ToolResult) {
        let Some(key) = call.and_then(|call| self.calls.find(call)) else {
            return;
        };
        let outcome = if result.is_error {
            CallOutcome::Failed
        } else {
            CallOutcome::Succeeded
        };
        let completed = Completed::new(result, outcome, Shown::Nothing, Duration::ZERO);
        self.calls
            .change(key, |call| call.state = State::Yielded(completed));
    }
}

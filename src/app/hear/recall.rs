//! A conversation that is gone on with, shown again.

use std::time::Duration;

use crate::app::AppState;
use crate::app::call::{Author, Completed, State};
use crate::app::transcript::{Answer, Cell, Progress};
use crate::protocol::{Block, CallOutcome, Message, Role, ToolResult, ToolUse};

impl AppState {
    /// Shows a conversation that is gone on with.
    pub(super) fn recall(&mut self, history: Vec<Message>) {
        for message in history {
            match message.role {
                Role::User => {
                    for result in message.tool_results() {
                        self.recall_result(result);
                    }
                    self.push_user(&message);
                }
                Role::Assistant => self.recall_answer(message),
            }
        }
    }

    fn recall_answer(&mut self, message: Message) {
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
                    let key = self.calls.add(id, name, Author::Model, self.now);
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

    fn recall_result(&mut self, result: &ToolResult) {
        let Some(key) = self.calls.find(&result.tool_use_id) else {
            return;
        };
        let outcome = if result.is_error {
            CallOutcome::Failed
        } else {
            CallOutcome::Succeeded
        };
        let completed = Completed::new(result, outcome, None, Duration::ZERO);
        self.calls
            .change(key, |call| call.state = State::Yielded(completed));
    }
}

//! A conversation that is gone on with, shown again.

use std::collections::HashMap;
use std::time::Duration;

use crate::app::AppState;
use crate::app::call::{Author, Completed, State};
use crate::app::transcript::{Answer, Cell, Progress};
use crate::protocol::{Block, CallId, CallOutcome, CallRef, Message, Role, ToolResult, ToolUse};

struct Known {
    names: HashMap<CallId, CallRef>,
    next: u32,
}

impl AppState {
    /// Shows a conversation that is gone on with.
    pub(super) fn recall(&mut self, history: Vec<Message>) {
        let mut known = Known {
            names: HashMap::new(),
            next: u32::MAX,
        };
        for message in history {
            match message.role {
                Role::User => {
                    for result in message.tool_results() {
                        self.recall_result(result, &known);
                    }
                    self.push_user(&message);
                }
                Role::Assistant => self.recall_answer(message, &mut known),
            }
        }
    }

    fn recall_answer(&mut self, message: Message, known: &mut Known) {
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
                    known.next -= 1;
                    let call = CallRef::main(known.next);
                    known.names.insert(id, call);
                    let key =
                        self.calls
                            .add(call, self.session.tool(&name), Author::Model, self.now);
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

    fn recall_result(&mut self, result: &ToolResult, known: &Known) {
        let Some(key) = known
            .names
            .get(&result.tool_use_id)
            .and_then(|call| self.calls.find(*call))
        else {
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

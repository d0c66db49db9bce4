//! The answers of a scripted model.

use crate::protocol::{Block, StopReason, Usage};
use crate::provider::{ProviderErrorKind, Response, StreamError, StreamErrorKind, StreamEvent};

/// A model's answer to one request, and how it ends.
#[derive(Debug, Clone)]
pub struct Scripted {
    blocks: Vec<Block>,
    /// Events after the blocks that belong to an incomplete block.
    rest: Vec<StreamEvent>,
    /// Texts and inputs arrive in pieces, as on a wire.
    in_pieces: bool,
    pub(super) end: End,
}

#[derive(Debug, Clone)]
pub enum End {
    Well(StopReason),
    Broken {
        retryable: bool,
    },
    /// The server fails before it answers.
    Failed(ProviderErrorKind),
    /// It never ends.
    Never,
}

impl Scripted {
    pub fn new(blocks: Vec<Block>, rest: Vec<StreamEvent>, end: End) -> Self {
        Self {
            blocks,
            rest,
            in_pieces: true,
            end,
        }
    }

    pub(super) fn events(&self) -> Vec<StreamEvent> {
        let blocks = self.blocks.iter().flat_map(|block| {
            let mut events = if self.in_pieces {
                pieces(block)
            } else {
                Vec::new()
            };
            events.push(StreamEvent::BlockEnded(block.clone()));
            events
        });
        blocks.chain(self.rest.iter().cloned()).collect()
    }

    pub(super) fn response(&self, usage: Usage) -> Response {
        let (stop_reason, error) = match &self.end {
            End::Well(reason) => (Some(reason.clone()), None),
            End::Broken { retryable } => {
                let error = StreamError {
                    kind: StreamErrorKind::Truncated,
                    code: "cut".to_owned(),
                    message: "unexpected end".to_owned(),
                    retryable: *retryable,
                };
                (None, Some(error))
            }
            End::Failed(_) | End::Never => (None, None),
        };
        Response {
            blocks: self.blocks.clone(),
            stop_reason,
            complete: error.is_none(),
            error,
            usage,
            ..Response::default()
        }
    }
}

impl From<Vec<Block>> for Scripted {
    fn from(blocks: Vec<Block>) -> Self {
        Self {
            in_pieces: false,
            ..Self::new(blocks, Vec::new(), End::Well(StopReason::EndTurn))
        }
    }
}

/// The events of a block before its end.
fn pieces(block: &Block) -> Vec<StreamEvent> {
    match block {
        Block::Text { text, .. } => {
            let words = text.split_inclusive(' ').map(str::to_owned);
            words.map(StreamEvent::Text).collect()
        }
        Block::ToolUse(call) => {
            let (id, name) = (call.id.clone(), call.name.clone());
            let started = StreamEvent::ToolStarted { id, name };
            let (id, fragment) = (call.id.clone(), call.input.to_string());
            vec![started, StreamEvent::ToolInput { id, fragment }]
        }
        _ => Vec::new(),
    }
}

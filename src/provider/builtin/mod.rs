//! The built-in interpreter: works with no key and no server.
//!
//! A deterministic reader of plain requests (`search TODO in *.rs then run make`) that plans real tool calls; they go
//! through the same pipeline as any model's. It is not a language model and says so. It keeps no state: [`answer`]
//! reads the whole conversation for each response, so a session can be resumed, rewound or handed over at any point.
//!
//! `words` and `grammar` make a plan of a request, `progress` sees from the calls so far how far it has come, `calls`
//! knows the tools' inputs, `report` words the answer.

mod arguments;
mod calls;
mod demo;
mod grammar;
mod planner;
mod progress;
mod replace;
mod report;
mod verb;
mod words;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

pub use planner::answer;
pub use report::Form;

use super::playback::{Flow, Recording};
use super::{Provider, ProviderError, Request, ResponseStream};
use crate::protocol::Block;

const NAME: &str = "builtin";
/// A few words at a time are pleasant to read.
const PIECE_EVERY: Duration = Duration::from_millis(15);
const PIECE_WORDS: usize = 3;
/// Long results come in larger pieces, so that they do not take long.
const MOST_PIECES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    pub pace: Pace,
    pub form: Form,
}

/// How fast an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Full,
    /// A few words at a time.
    Human,
}

impl Builtin {
    /// For a person at the screen.
    pub const fn for_screen() -> Self {
        Self {
            pace: Pace::Human,
            form: Form::Markdown,
        }
    }

    /// For a pipe: bare results, at once.
    pub const fn headless() -> Self {
        Self {
            pace: Pace::Full,
            form: Form::Plain,
        }
    }

    fn flow(self, text: &str) -> Flow {
        match self.pace {
            Pace::Full => Flow::Whole,
            Pace::Human => {
                let words = text.split_whitespace().count();
                Flow::Words {
                    at_once: PIECE_WORDS.max(words.div_ceil(MOST_PIECES)),
                    every: PIECE_EVERY,
                }
            }
        }
    }

    fn respond(self, request: &Request) -> Box<dyn ResponseStream> {
        let mut recording = Recording::default();
        for block in answer(&request.messages, &request.tools, self.form) {
            match block {
                Block::Text { text, .. } => recording.text(&text, self.flow(&text)),
                Block::ToolUse(call) => recording.call(call, Flow::Whole),
                Block::Image(_)
                | Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::Refusal { .. }
                | Block::ServerToolUse { .. }
                | Block::ToolResult(_)
                | Block::Other { .. } => {}
            }
        }
        Box::new(recording.finish(NAME, None))
    }
}

impl Provider for Builtin {
    fn name(&self) -> &'static str {
        NAME
    }

    fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>> {
        std::future::ready(Ok(self.respond(request))).boxed()
    }
}

#[cfg(test)]
mod tests;

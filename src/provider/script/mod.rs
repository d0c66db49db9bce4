//! A scripted model: plays a file, so that rules, hooks and pipelines can be tried with no key and no network.
//!
//! The file is TOML, or JSONL with one turn a line; a file that begins with `{` is JSONL. A turn is one response of
//! the model: `text`, or a list of steps, or both, the text first.
//!
//! ```toml
//! [[turn]]
//! text = "I will look."
//! word_ms = 20                       # wait between the words of this turn; default 0
//! [[turn.step]]
//! call = "Bash"                      # a tool call
//! input = { command = "ls" }         # default: {}
//! id = "call_1"                      # default: script_TURN_STEP, counted from 1
//!
//! [[turn]]
//! step = [
//!   { thinking = "Hm." },
//!   { text = "Let me " },            # texts with only delays between them are one block
//!   { delay_ms = 500 },
//!   { text = "see." },
//!   { error = "overloaded_error" },  # the server fails here; `message` = its words, `times` = how often (default 1)
//!   { cut = true },                  # the connection breaks here; also with `times`
//!   { call = "Bash", raw = '{"com' },# an input that is no JSON object
//!   { stop_reason = "max_tokens" },  # ends the response; default: tool_use if there was a call, else end_turn
//! ]
//! ```
//!
//! A turn with `agent = "WORDS"` is one of the conversation whose first message has these words in it: so a call that starts a
//! subagent gets a script of its own. All other conversations play the turns without `agent`.
//!
//! The same second turn in JSONL begins `{"steps": [{"thinking": "Hm."}, …]}`.
//!
//! The conversation alone decides which turn plays: the one after as many assistant messages as it contains. So a
//! resumed session continues where it stopped. Failures are counted per process: once a step has failed `times` times,
//! the turn continues past it, and a retried request succeeds. After the last turn the answer is [`NO_MORE`].

mod file;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::playback::{Flow, Playback, Recording};
use super::{Provider, ProviderError, Request, ResponseStream, StreamError};
use crate::config::read_named;
use crate::protocol::{Message, Role, StopReason, ToolUse, WireId};

const NAME: &str = "script";
/// A longer script is refused.
const LONGEST_FILE: u64 = 64 << 20;
/// The answer after the last turn.
pub const NO_MORE: &str = "(the script has no more turns)";

#[derive(Debug)]
pub struct Script {
    turns: Vec<Turn>,
    /// How often each failing step has failed, by its turn and its place in it.
    failures: Mutex<HashMap<(usize, usize), u32>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("can't read the script `{path}`: {cause}")]
    Unreadable { path: String, cause: std::io::Error },
    #[error("{path}:{line}:{column}: {problem}")]
    Invalid {
        path: String,
        line: usize,
        column: usize,
        problem: String,
    },
    #[error(
        "the script `{path}` has no turns: it needs at least one `[[turn]]`, or a line of JSON with one"
    )]
    Empty { path: String },
}

/// One response of the model.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    /// Words in the first message of the conversation that it is for; `None` for all others.
    agent: Option<String>,
    steps: Vec<Step>,
    between_words: Duration,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Text(String),
    Thinking(String),
    /// Without an id, the place in the script makes one.
    Call {
        id: Option<WireId>,
        call: ScriptedCall,
    },
    Delay(Duration),
    Fail {
        error: StreamError,
        times: u32,
    },
    Stop(StopReason),
}

#[derive(Debug, Clone, PartialEq)]
struct ScriptedCall {
    tool: String,
    input: Input,
}

#[derive(Debug, Clone, PartialEq)]
enum Input {
    Object(serde_json::Map<String, serde_json::Value>),
    /// An input that is not an object, exactly as it arrives.
    Broken(String),
}

impl Script {
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let shown = path.display().to_string();
        let text = read_text(path).map_err(|cause| ScriptError::Unreadable {
            path: shown.clone(),
            cause,
        })?;
        Self::parse(&shown, &text)
    }

    fn parse(path: &str, text: &str) -> Result<Self, ScriptError> {
        let turns = file::parse(text).map_err(|problem| ScriptError::Invalid {
            path: path.to_owned(),
            line: problem.line,
            column: problem.column,
            problem: problem.message,
        })?;
        if turns.is_empty() {
            return Err(ScriptError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            turns,
            failures: Mutex::default(),
        })
    }

    fn play(&self, request: &Request) -> Playback {
        let is_answer = |role: Role| match role {
            Role::Assistant => true,
            Role::User => false,
        };
        let body_text = request
            .messages
            .iter()
            .filter(|message| is_answer(message.role));
        let number = body_text.count();
        let mut recording = Recording::default();
        let Some((at, turn)) = self.turns_of(request).nth(number) else {
            recording.text(NO_MORE, Flow::Whole);
            return recording.finish(NAME, None);
        };
        let flow = Flow::Words {
            at_once: 1,
            every: turn.between_words,
        };
        for (place, step) in turn.steps.iter().enumerate() {
            match step {
                Step::Text(text) => recording.text(text, flow),
                Step::Thinking(text) => recording.thinking(text, flow),
                Step::Call { id, call } => {
                    let made_up = || WireId(format!("script_{}_{}", number + 1, place + 1));
                    recording.call(call.with_id(id.clone().unwrap_or_else(made_up)), flow);
                }
                Step::Delay(delay) => recording.wait(*delay),
                Step::Fail { error, times } => {
                    if self.fails_again((at, place), *times) {
                        return recording.fail(NAME, error.clone());
                    }
                }
                Step::Stop(reason) => return recording.finish(NAME, Some(reason.clone())),
            }
        }
        recording.finish(NAME, None)
    }

    /// The turns of the conversation that a request is of, with their places in the script.
    fn turns_of(&self, request: &Request) -> impl Iterator<Item = (usize, &Turn)> {
        let first = request.messages.first().map(Message::text);
        let first = first.unwrap_or_default();
        let mut agents = self.turns.iter().filter_map(|turn| turn.agent.as_ref());
        let agent = agents.find(|words| first.contains(words.as_str()));
        let turns = self.turns.iter().enumerate();
        turns.filter(move |(_, turn)| turn.agent.as_ref() == agent)
    }

    fn fails_again(&self, place: (usize, usize), times: u32) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(place).or_default();
        *count = count.saturating_add(1);
        *count <= times
    }
}

impl ScriptedCall {
    fn with_id(&self, id: WireId) -> ToolUse {
        let (input, input_raw) = match &self.input {
            Input::Object(object) => (object.clone().into(), None),
            Input::Broken(raw) => (serde_json::Value::Null, Some(raw.clone())),
        };
        ToolUse {
            id,
            name: self.tool.clone(),
            input: input.into(),
            input_error: input_raw.as_ref().map(|_| "invalid_json".to_owned()),
            input_raw,
        }
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_named(path, LONGEST_FILE)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl Provider for Script {
    fn name(&self) -> &'static str {
        NAME
    }

    fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>> {
        let playback: Box<dyn ResponseStream> = Box::new(self.play(request));
        std::future::ready(Ok(playback)).boxed()
    }
}

#[cfg(test)]
mod tests;

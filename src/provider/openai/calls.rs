//! Puts tool calls together from their deltas.
//!
//! Servers disagree about `index` and `id`: one may be missing, repeated, empty or shared by several calls. Indexes are
//! keys and not positions, and the first id and name of a call that are not empty stay.
//!
//! No event marks the end of a call. A call with a complete object waits for what comes next: another call, the end of
//! the response, or a long enough silence (see `provider::pace`). More arguments would make it invalid.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::arguments::Arguments;
use crate::protocol::{Block, ToolUse, WireId};
use crate::provider::StreamEvent;
use crate::provider::wire::{self, WireIds};

#[derive(Deserialize)]
pub(super) struct CallDelta {
    #[serde(default, deserialize_with = "wire::lenient")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "wire::lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    #[serde(default, deserialize_with = "wire::lenient")]
    name: Option<String>,
    arguments: Option<Value>,
}

/// The calls of one response, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    ids: WireIds,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    wire_id: String,
    name: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not announced yet, because its name has not arrived.
    Nameless(String),
    Open(WireId, Arguments),
    /// The object is complete; nothing may follow.
    Complete(WireId, Arguments, Map<String, Value>),
    Ended(ToolUse),
}

/// What the end of a response means for a call without arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It takes none.
    Regular,
    /// The last call was cut before them: the token limit was reached.
    OutOfTokens,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn take(&mut self, delta: CallDelta, events: &mut Vec<StreamEvent>) {
        let id = delta.id.unwrap_or_default();
        let Function { name, arguments } = delta.function.unwrap_or_default();
        let name = name.unwrap_or_default();
        let piece = match arguments {
            Some(Value::String(piece)) => piece,
            Some(object @ Value::Object(_)) => object.to_string(),
            Some(Value::Null) | None => String::new(),
            // A piece is missing, and the others may make sense without it. JSON never contains a NUL, so such a call
            // is never run.
            Some(other) => format!("\0{other}"),
        };
        let at = match self.find(delta.index, &id, &name) {
            Some(at) => at,
            // An empty delta after the last call does not open another one, nor does one that belongs nowhere.
            None if id.is_empty()
                && name.is_empty()
                && (piece.is_empty() || delta.index.is_none()) =>
            {
                return;
            }
            None => {
                self.list.push(Call {
                    index: delta.index,
                    wire_id: String::new(),
                    name: String::new(),
                    state: State::Nameless(String::new()),
                });
                self.list.len() - 1
            }
        };
        self.settle(Some(at), events);
        let call = &mut self.list[at];
        if call.wire_id.is_empty() {
            call.wire_id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        if !call.name.is_empty() {
            call.start(&mut self.ids, events);
        }
        call.push(&piece, events);
    }

    /// Whether a call is complete, and only waits for what comes next.
    pub(super) fn is_waiting(&self) -> bool {
        let mut calls = self.list.iter();
        calls.any(|call| matches!(call.state, State::Complete(..)))
    }

    /// Ends the complete calls, except the one that a delta continues.
    pub(super) fn settle(&mut self, but: Option<usize>, events: &mut Vec<StreamEvent>) {
        for (at, call) in self.list.iter_mut().enumerate() {
            if Some(at) != but {
                call.settle(events);
            }
        }
    }

    /// The response is over: so are its calls.
    pub(super) fn end(&mut self, ending: Ending, events: &mut Vec<StreamEvent>) {
        self.settle(None, events);
        let last = self.list.len().checked_sub(1);
        for (at, call) in self.list.iter_mut().enumerate() {
            call.start(&mut self.ids, events);
            let was_cut = ending == Ending::OutOfTokens && Some(at) == last;
            call.end(was_cut, events);
        }
    }

    /// The calls as blocks; one that never ended cannot be run.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Block> {
        let mut ids = self.ids;
        self.list.into_iter().map(move |call| {
            Block::ToolUse(match call.state {
                State::Ended(call) => call,
                State::Open(id, arguments) | State::Complete(id, arguments, _) => {
                    wire::cut_tool_use(id, call.name, arguments.into_string())
                }
                State::Nameless(raw) => {
                    wire::cut_tool_use(ids.claim(&call.wire_id), call.name, raw)
                }
            })
        })
    }

    /// The call that a delta continues; `None` if it opens a new one.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        if index.is_some() {
            // Older servers give all calls the same index: then the id distinguishes them.
            return self.list.iter().rposition(|call| {
                let same_id = id.is_empty() || call.wire_id.is_empty() || call.wire_id == id;
                call.index == index && same_id
            });
        }
        if !id.is_empty() {
            return self.list.iter().rposition(|call| call.wire_id == id);
        }
        if name.is_empty() {
            return self.list.len().checked_sub(1);
        }
        None
    }
}

impl Call {
    /// Announces the call, with whatever came before its name.
    fn start(&mut self, ids: &mut WireIds, events: &mut Vec<StreamEvent>) {
        let State::Nameless(raw) = &mut self.state else {
            return;
        };
        let raw = std::mem::take(raw);
        let id = ids.claim(&self.wire_id);
        events.push(StreamEvent::ToolStarted {
            id: id.clone(),
            name: self.name.clone(),
        });
        self.state = State::Open(id, Arguments::default());
        self.push(&raw, events);
    }

    fn push(&mut self, piece: &str, events: &mut Vec<StreamEvent>) {
        if piece.is_empty() {
            return;
        }
        match &mut self.state {
            State::Nameless(raw) => raw.push_str(piece),
            State::Open(id, arguments) => {
                let before = arguments.as_str().len();
                let input = arguments.push(piece);
                events.push(StreamEvent::ToolInput {
                    id: id.clone(),
                    fragment: arguments.as_str()[before..].to_owned(),
                });
                if let Some(input) = input {
                    let (id, arguments) = (id.clone(), std::mem::take(arguments));
                    self.state = State::Complete(id, arguments, input);
                }
            }
            State::Complete(id, arguments, _) => {
                if !arguments.accepts(piece) {
                    let (id, arguments) = (id.clone(), std::mem::take(arguments));
                    events.push(StreamEvent::ToolInput {
                        id: id.clone(),
                        fragment: piece.to_owned(),
                    });
                    self.state = State::Open(id, arguments);
                }
            }
            // It may run already, with the object that was complete, and that is what the history says of it.
            State::Ended(_) => {}
        }
    }

    fn settle(&mut self, events: &mut Vec<StreamEvent>) {
        if let State::Complete(id, _, input) = &mut self.state {
            let (id, input) = (id.clone(), std::mem::take(input));
            let call = wire::whole_tool_use(id, self.name.clone(), input);
            self.finish(call, events);
        }
    }

    fn end(&mut self, was_cut: bool, events: &mut Vec<StreamEvent>) {
        let State::Open(id, arguments) = &mut self.state else {
            return;
        };
        let raw = std::mem::take(arguments).into_string();
        let (id, name) = (id.clone(), self.name.clone());
        let call = match raw.trim_ascii() {
            "" if was_cut => wire::cut_tool_use(id, name, raw),
            "null" => wire::tool_use(id, name, String::new()),
            _ => wire::tool_use(id, name, raw),
        };
        self.finish(call, events);
    }

    fn finish(&mut self, call: ToolUse, events: &mut Vec<StreamEvent>) {
        wire::push_ended(events, &Block::ToolUse(call.clone()));
        self.state = State::Ended(call);
    }
}

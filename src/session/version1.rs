//! Reads logs of version 1, in which calls were named by the model's ids, and in which texts contained what the types
//! express now: who adds a note, and that a result is an error.
//!
//! Lines are read in order, because the meaning of a name depends on earlier lines. A log that was begun in version 1
//! and resumed by this program has lines of both versions: each run says which version it writes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::record::{Line, Record, VERSION};
use crate::protocol::{
    AgentId, Block, CallNumbers, CallOutcome, CallRef, ForPerson, Note, Phase, ResultBlock, Seq,
    ToolCall, ToolResult, WireId,
};

#[cfg(test)]
mod tests;

/// How notes to the model began.
const NOTES: [(&str, Note); 2] = [("<user-ran>", Note::Aside), ("<hook>", Note::Hooks)];

/// The records that have changed.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Old {
    Call {
        call: OldCall,
    },
    Begun {
        call: WireId,
    },
    Rewritten {
        call: WireId,
        input: Value,
        by: String,
    },
    Decision {
        call: WireId,
        decision: String,
        reason: String,
        cause: String,
    },
    Change {
        call: WireId,
        path: PathBuf,
        before: Option<String>,
        after: String,
    },
    Result {
        result: ToolResult,
    },
    Delivered {
        calls: Vec<WireId>,
        then: Vec<Block>,
    },
    /// A command of the person; written a second time when it had ended.
    Aside {
        call: OldCall,
        #[serde(default)]
        result: Option<ToolResult>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldCall {
    id: WireId,
    name: String,
    input: Value,
}

/// Reads lines of both versions.
#[derive(Debug, PartialEq)]
pub struct Converter {
    /// The version of the following lines; `None` if the beginning of the log is missing.
    version: Option<u32>,
    calls: Names,
    asides: Names,
    /// When the current turn began.
    turn_began: Option<u64>,
}

/// The references of one agent's calls so far.
#[derive(Debug, PartialEq)]
struct Names {
    numbers: CallNumbers,
    known: HashMap<WireId, CallRef>,
}

impl Default for Converter {
    fn default() -> Self {
        Self {
            version: None,
            calls: Names::of(AgentId::MAIN),
            asides: Names::of(AgentId::PERSON),
            turn_began: None,
        }
    }
}

impl Converter {
    /// The records of a line, each with the line's number, and that number; `None` if it is not a record.
    pub fn read(&mut self, line: &[u8]) -> Option<(Seq, Vec<Line>)> {
        if self.version == Some(1) {
            return self.read_old(line).or_else(|| self.read_new(line));
        }
        self.read_new(line).or_else(|| self.read_old(line))
    }

    /// Whether the following lines are, or may be, of version 1.
    fn is_old(&self) -> bool {
        self.version.is_none_or(|version| version < 2)
    }

    fn read_new(&mut self, line: &[u8]) -> Option<(Seq, Vec<Line>)> {
        let mut line: Line = serde_json::from_slice(line).ok()?;
        match &mut line.record {
            Record::Session { version, .. } => self.version = Some(*version),
            Record::Run { version, .. } => {
                self.version = Some(*version);
                // A copy of the log is written entirely in the current format.
                *version = VERSION.max(*version);
                self.turn_began = None;
            }
            Record::User { message } => {
                self.turn_began.get_or_insert(line.at_ms);
                if self.is_old() {
                    mark_notes(&mut message.content);
                }
            }
            Record::Delivered { then, .. } if self.is_old() => mark_notes(then),
            Record::End { took_ms, .. } => {
                let began = self.turn_began.take();
                // A missing time is computed from the times of the lines.
                let has_time = *took_ms > 0 || !self.is_old();
                if let Some(began) = began.filter(|_| !has_time) {
                    *took_ms = line.at_ms.saturating_sub(began);
                }
            }
            Record::Call { call } => match call.call.agent {
                AgentId::PERSON => self.asides.count(call.call),
                _ => self.calls.count(call.call),
            },
            _ => {}
        }
        Some((line.seq, vec![line]))
    }

    fn read_old(&mut self, line: &[u8]) -> Option<(Seq, Vec<Line>)> {
        let Line {
            seq,
            at_ms,
            agent,
            record,
        }: Line<Old> = serde_json::from_slice(line).ok()?;
        let records = self.converted(record).into_iter();
        let lines = records.map(|record| Line {
            seq,
            at_ms,
            agent,
            record,
        });
        Some((seq, lines.collect()))
    }

    /// Records about an unknown call are dropped.
    fn converted(&mut self, old: Old) -> Vec<Record> {
        let known = |id: &WireId| self.calls.known.get(id).copied();
        let record = match old {
            Old::Call { call } => Some(Record::Call {
                call: self.calls.admit(call),
            }),
            // Version 1 did not say when the work began: it may have had effects from here on.
            Old::Begun { call } => {
                let begun = known(&call).map(|call| {
                    let phase = Phase::Running;
                    [Record::Begun { call }, Record::Reached { call, phase }]
                });
                return begun.into_iter().flatten().collect();
            }
            Old::Rewritten { call, input, by } => known(&call).map(|call| Record::Rewritten {
                call,
                input: input.into(),
                by,
            }),
            Old::Decision {
                call,
                decision,
                reason,
                cause,
            } => known(&call).map(|call| Record::Decision {
                call,
                by: summary(&decision, &reason, &cause),
                settled: decision != "ask",
                note: None,
                decision,
                reason,
                cause,
            }),
            Old::Change {
                call,
                path,
                before,
                after,
            } => known(&call).map(|call| Record::Change {
                call,
                path,
                before,
                after,
            }),
            Old::Result { result } => {
                known(&result.tool_use_id).map(|call| result_of(call, result))
            }
            Old::Delivered { calls, mut then } => {
                mark_notes(&mut then);
                let calls = calls.iter().filter_map(known).collect();
                Some(Record::Delivered { calls, then })
            }
            Old::Aside { call, result } => return self.aside(call, result),
        };
        record.into_iter().collect()
    }

    fn aside(&mut self, call: OldCall, result: Option<ToolResult>) -> Vec<Record> {
        let begun = result
            .as_ref()
            .and_then(|_| self.asides.known.remove(&call.id));
        let mut records = Vec::new();
        let name = begun.unwrap_or_else(|| {
            let call = self.asides.admit(call);
            let name = call.call;
            records.extend([Record::Call { call }, Record::Begun { call: name }]);
            name
        });
        records.extend(result.map(|result| result_of(name, result)));
        records
    }
}

impl Names {
    fn of(agent: AgentId) -> Self {
        Self {
            numbers: CallNumbers::after(agent, 0),
            known: HashMap::new(),
        }
    }

    fn admit(&mut self, OldCall { id, name, input }: OldCall) -> ToolCall {
        let call = self.numbers.next();
        self.known.insert(id.clone(), call);
        ToolCall {
            call,
            id,
            name,
            input: input.into(),
        }
    }

    /// Counts a call that already has its reference.
    fn count(&mut self, call: CallRef) {
        self.numbers = CallNumbers::after(call.agent, call.number);
    }
}

/// Version 1 did not log the outcome, only whether the result is an error.
fn result_of(call: CallRef, mut result: ToolResult) -> Record {
    untag(&mut result);
    let outcome = if result.is_error {
        CallOutcome::Failed
    } else {
        CallOutcome::Succeeded
    };
    Record::Result {
        call,
        result,
        ran_ms: 0,
        outcome,
        for_person: ForPerson::default(),
        changed: Vec::new(),
    }
}

fn summary(decision: &str, reason: &str, cause: &str) -> String {
    let decided = match decision {
        "allow" => "allowed",
        "deny" => "denied",
        _ => "asked",
    };
    match cause {
        "person" => reason.to_owned(),
        "classifier" => "read-only command".to_owned(),
        cause if cause.starts_with("rule ") || cause.starts_with("mode ") => {
            format!("{decided} by {cause}")
        }
        cause if cause.starts_with("hook ") => format!("{decided} by {cause}"),
        _ if decided == "asked" => format!("{decided}, because {reason}"),
        _ => format!("{decided}: {reason}"),
    }
}

fn mark_notes(blocks: &mut [Block]) {
    for block in blocks {
        if let Block::Text { text, note, .. } = block {
            let mut notes = NOTES.iter();
            let found = notes.find(|(begins, _)| text.starts_with(begins));
            *note = note.or(found.map(|(_, note)| *note));
        }
    }
}

/// Error texts contained the tag with which they are sent to the model.
fn untag(result: &mut ToolResult) {
    if !result.is_error {
        return;
    }
    let first = Arc::make_mut(&mut result.content).first_mut();
    if let Some(ResultBlock::Text { text }) = first {
        let inside = text.strip_prefix("<tool_use_error>");
        let inside = inside.and_then(|text| text.strip_suffix("</tool_use_error>"));
        if let Some(inside) = inside {
            *text = inside.to_owned();
        }
    }
}

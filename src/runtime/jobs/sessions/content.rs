//! The content of a session, for the list.

use std::collections::HashMap;
use std::path::Path;

use crate::app::job::SessionContent;
use crate::app::page::{Line, Tone};
use crate::protocol::{AgentId, Block, CallOutcome, CallRef, Message, ToolCall, ToolInfo, WireId};
use crate::session::{Record, log};
use crate::text::beginning;

/// Longer logs are not read for this.
const LONGEST: u64 = 16 << 20;
/// How many of the last lines are kept, to show and to search.
const MOST_LINES: usize = 300;
const LONGEST_LINE: usize = 400;

pub fn read(path: &Path, id: &str) -> Option<SessionContent> {
    let length = std::fs::metadata(path).ok()?.len();
    if length > LONGEST {
        return None;
    }
    let contents = log::read_file(path).ok()?;
    let mut reader = Reader::default();
    let main = contents.lines.iter();
    let main = main.filter(|line| line.agent == AgentId::MAIN);
    for record in main.map(|line| &line.record) {
        reader.take(record);
    }
    Some(SessionContent {
        id: id.to_owned(),
        end: reader.lines(),
        ..reader.content
    })
}

/// Reads the records in their order. Calls run while the answer is still being written, so they are logged before the
/// complete answer; the answer says where each of them belongs.
#[derive(Default)]
struct Reader {
    content: SessionContent,
    parts: Vec<Part>,
    /// Where the parts of the current answer begin.
    answer: usize,
    calls: HashMap<CallRef, Line>,
    /// The calls of the current answer.
    named: HashMap<WireId, CallRef>,
}

enum Part {
    Person(String),
    Model(String),
    Call(CallRef),
}

impl Reader {
    fn take(&mut self, record: &Record) {
        match record {
            Record::Run { model, branch, .. } => {
                self.content.model.clone_from(model);
                self.content.branch.clone_from(branch);
            }
            Record::Renamed { title } => self.content.title = Some(title.clone()),
            Record::User { message } => {
                self.content.messages += 1;
                self.parts.push(Part::Person(message.text()));
                self.begin_answer();
            }
            Record::Request { .. } => self.begin_answer(),
            Record::Text { text } => match self.parts.last_mut() {
                Some(Part::Model(before)) => before.push_str(text),
                _ => self.parts.push(Part::Model(text.clone())),
            },
            Record::Discarded => self.discard(),
            Record::Assistant { message, .. } => self.complete(message),
            Record::Call { call } => self.call(call),
            Record::Result {
                call,
                outcome,
                changed,
                ..
            } => {
                self.content.added += changed.iter().map(|it| it.added).sum::<usize>();
                self.content.removed += changed.iter().map(|it| it.removed).sum::<usize>();
                if let Some(line) = self.calls.get_mut(call) {
                    (line.lead, line.lead_tone) = match outcome {
                        CallOutcome::Succeeded => ("✓ ".to_owned(), Tone::Good),
                        _ => ("✗ ".to_owned(), Tone::Bad),
                    };
                }
            }
            Record::Spent { spending } => self.content.cost = spending.cost,
            _ => {}
        }
    }

    fn begin_answer(&mut self) {
        self.answer = self.parts.len();
        self.named.clear();
    }

    /// The text of the answer is void; calls that have begun stay.
    fn discard(&mut self) {
        let parts = self.parts.split_off(self.answer);
        let calls = parts.into_iter();
        self.parts
            .extend(calls.filter(|part| matches!(part, Part::Call(_))));
    }

    /// Replaces what has arrived of the answer by the whole, in its order.
    fn complete(&mut self, message: &Message) {
        self.parts.truncate(self.answer);
        for block in &message.content {
            match block {
                Block::Text { text, .. } => self.parts.push(Part::Model(text.clone())),
                Block::ToolUse(call) => {
                    let known = self.named.get(&call.id);
                    self.parts.extend(known.copied().map(Part::Call));
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.content.calls += 1;
        let about = ToolInfo::unknown(&call.name).subject;
        let subject = about.of(&call.input).unwrap_or_default();
        let subject = subject.lines().next().unwrap_or_default();
        let words = format!("{} {subject}", call.name);
        let words = beginning(&words, LONGEST_LINE);
        let line = Line::muted(words).lead(Tone::Muted, "■ ");
        self.calls.insert(call.call, line);
        self.named.insert(call.id.clone(), call.call);
        self.parts.push(Part::Call(call.call));
    }

    /// The last lines, with an empty one before each message of the person.
    fn lines(&self) -> Vec<Line> {
        let mut page: Vec<Line> = Vec::new();
        for part in &self.parts {
            match part {
                Part::Person(text) => {
                    if !page.is_empty() {
                        page.push(Line::blank());
                    }
                    push_text(text, Tone::Person, Some("▌ "), &mut page);
                }
                Part::Model(text) => push_text(text, Tone::Text, None, &mut page),
                Part::Call(call) => page.extend(self.calls.get(call).cloned()),
            }
        }
        page.split_off(page.len().saturating_sub(MOST_LINES))
    }
}

fn push_text(text: &str, tone: Tone, mark: Option<&str>, page: &mut Vec<Line>) {
    for line in text.lines() {
        let line = Line::new(tone, beginning(line, LONGEST_LINE));
        page.push(match mark {
            Some(mark) => line.lead(Tone::Person, mark),
            None => line,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Reader;
    use crate::app::page::Line;
    use crate::protocol::CallRef;
    use crate::session::Record;

    /// The lines of the preview of these records.
    fn preview(records: impl IntoIterator<Item = serde_json::Value>) -> Vec<String> {
        let mut reader = Reader::default();
        for record in records {
            let record: Record = serde_json::from_value(record).expect("a record");
            reader.take(&record);
        }
        reader.lines().iter().map(Line::plain).collect()
    }

    fn call(number: u32, id: &str, command: &str) -> serde_json::Value {
        json!({"kind": "call", "call": {
            "call": CallRef::main(number), "id": id, "name": "Bash",
            "input": {"command": command},
        }})
    }

    fn result(number: u32, outcome: &str) -> serde_json::Value {
        json!({"kind": "result", "call": CallRef::main(number), "ran_ms": 1, "outcome": outcome,
            "result": {"tool_use_id": "x", "content": []}})
    }

    #[test]
    fn calls_and_texts_are_in_the_order_of_the_answer() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let uses = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
        let lines = preview([
            json!({"kind": "user", "message": {"role": "user", "content": [text("do it")]}}),
            json!({"kind": "request", "provider": "p", "model": "m", "attempt": 0}),
            json!({"kind": "text", "text": "First "}),
            call(1, "a", "one"),
            result(1, "succeeded"),
            call(2, "b", "two"),
            json!({"kind": "assistant", "stop_reason": null, "usage": {}, "message": {
                "role": "assistant", "content": [text("First this."), uses("a"), text("Then that."), uses("b")],
            }}),
            result(2, "failed"),
            json!({"kind": "request", "provider": "p", "model": "m", "attempt": 0}),
            json!({"kind": "text", "text": "Nearly "}),
            json!({"kind": "text", "text": "done"}),
            call(3, "a", "three"),
        ]);
        assert_eq!(
            lines,
            [
                "▌ do it",
                "First this.",
                "✓ Bash one",
                "Then that.",
                "✗ Bash two",
                "Nearly done",
                "■ Bash three",
            ]
        );
    }
}

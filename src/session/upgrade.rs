//! Logs of the first format: what the types say now, they had in their texts.

use super::record::{Record, VERSION};
use crate::protocol::{Block, Note, ResultBlock, ToolResult};

/// How notes to the model began.
const NOTES: [(&str, Note); 2] = [("<user-ran>", Note::Aside), ("<hook>", Note::Hooks)];

/// Makes the records of a log, one after the other, what this program would have written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Upgrade {
    /// The format of the records that follow.
    version: u32,
}

impl Default for Upgrade {
    fn default() -> Self {
        Self { version: 1 }
    }
}

impl Upgrade {
    pub fn apply(&mut self, record: &mut Record) {
        if let Record::Session { version, .. } | Record::Run { version, .. } = record {
            self.version = *version;
            // A copy of the log has all of it in the format of now.
            if let Record::Run { version, .. } = record {
                *version = VERSION.max(*version);
            }
        }
        if self.version >= 2 {
            return;
        }
        match record {
            Record::User { message } => mark_notes(&mut message.content),
            Record::Delivered { then, .. } => mark_notes(then),
            Record::Result { result, .. }
            | Record::Aside {
                result: Some(result),
                ..
            } => untag(result),
            _ => {}
        }
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

/// Errors had the tag with which they go to the model in their text.
fn untag(result: &mut ToolResult) {
    let first = result.content.first_mut().filter(|_| result.is_error);
    if let Some(ResultBlock::Text { text }) = first {
        let inside = text.strip_prefix("<tool_use_error>");
        let inside = inside.and_then(|text| text.strip_suffix("</tool_use_error>"));
        if let Some(inside) = inside {
            *text = inside.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::session::log;

    fn user(text: &str) -> Value {
        let content = json!([{"type": "text", "text": text}]);
        json!({"kind": "user", "message": {"role": "user", "content": content}})
    }

    /// The records of a log with these lines.
    fn records(lines: &[Value]) -> Vec<Record> {
        let mut bytes = Vec::new();
        for (seq, line) in lines.iter().enumerate() {
            let mut line = line.clone();
            line["seq"] = json!(seq);
            line["at_ms"] = json!(0);
            bytes.extend(line.to_string().into_bytes());
            bytes.push(b'\n');
        }
        let contents = log::read(&bytes);
        assert_eq!(contents.passed_over, 0);
        contents.records
    }

    fn notes(records: &[Record]) -> Vec<Option<Note>> {
        let texts = records.iter().flat_map(|record| match record {
            Record::User { message } => message.content.clone(),
            Record::Delivered { then, .. } => then.clone(),
            _ => Vec::new(),
        });
        texts
            .filter_map(|block| match block {
                Block::Text { note, .. } => Some(note),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn notes_of_the_first_format_are_known_by_how_they_begin() {
        let hook = json!([{"type": "text", "text": "<hook>\nlate\n</hook>"}]);
        let read = records(&[
            json!({"kind": "session", "version": 1, "id": "s", "cwd": "/w"}),
            json!({"kind": "run", "provider": "p", "model": "m"}),
            user("hello"),
            user("<user-ran>\nls\n</user-ran>"),
            json!({"kind": "delivered", "calls": [], "then": hook}),
        ]);
        assert_eq!(notes(&read), [None, Some(Note::Aside), Some(Note::Hooks)]);
    }

    #[test]
    fn the_tag_of_an_error_is_no_more_in_its_text() {
        let result = |is_error: bool| {
            let content = "<tool_use_error>no</tool_use_error>";
            let result = json!({"tool_use_id": "a", "content": content, "is_error": is_error});
            json!({"kind": "result", "result": result})
        };
        let call = json!({"id": "b", "name": "Bash", "input": {}});
        let aside = json!({"kind": "aside", "call": call, "result": result(true)["result"]});
        let run = |version: u32| json!({"kind": "run", "provider": "p", "model": "m", "version": version});
        let lines = [
            run(1),
            result(true),
            result(false),
            aside,
            run(2),
            result(true),
        ];
        let read = records(&lines);
        let texts = read.iter().filter_map(|record| match record {
            Record::Result { result, .. }
            | Record::Aside {
                result: Some(result),
                ..
            } => Some(result.as_text()),
            _ => None,
        });
        let tagged = "<tool_use_error>no</tool_use_error>";
        assert_eq!(texts.collect::<Vec<_>>(), ["no", tagged, "no", tagged]);
    }

    #[test]
    fn what_a_person_writes_is_hers_also_in_an_old_log_that_is_gone_on_with() {
        let read = records(&[
            json!({"kind": "session", "version": 1, "id": "s", "cwd": "/w"}),
            json!({"kind": "run", "provider": "p", "model": "m"}),
            user("<hook>\nlate\n</hook>"),
            json!({"kind": "run", "provider": "p", "model": "m", "version": 2}),
            user("<hook> is what I wrote"),
        ]);
        assert_eq!(notes(&read), [Some(Note::Hooks), None]);
        let read = records(&[
            json!({"kind": "session", "version": 2, "id": "s", "cwd": "/w"}),
            user("<hook> is what I wrote"),
        ]);
        assert_eq!(notes(&read), [None]);
    }

    #[test]
    fn a_copy_of_an_old_log_is_read_as_what_it_has_become() {
        let mut copied = records(&[
            json!({"kind": "run", "provider": "p", "model": "m"}),
            user("<hook>\nlate\n</hook>"),
        ]);
        let before = copied.clone();
        let mut upgrade = Upgrade::default();
        for record in &mut copied {
            upgrade.apply(record);
        }
        assert_eq!(copied, before);
        assert!(matches!(
            copied[0],
            Record::Run {
                version: VERSION,
                ..
            }
        ));
    }
}

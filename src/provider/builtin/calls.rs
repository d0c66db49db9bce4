//! The tool calls that carry out a plan, in the form that their tools expect.

use serde_json::{Map, Value, json};

use super::grammar::Scope;
use crate::protocol::ToolUse;

/// How many files `replace` changes at once; a longer list would be cut.
pub(super) const MAX_FILES: usize = 100;

/// A call that has no id yet. Equal calls ask for the same thing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Map<String, Value>,
}

impl Call {
    fn new(tool: &'static str, input: Value) -> Self {
        let input = match input {
            Value::Object(input) => input,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        Self { tool, input }
    }

    pub(super) fn is(&self, made: &ToolUse) -> bool {
        self.tool == made.name && made.input.as_object() == Some(&self.input)
    }
}

pub(super) fn read(file: &str) -> Call {
    Call::new("Read", json!({ "file_path": named(file) }))
}

/// The name of a file: people may write it with the `@` of the completion.
fn named(file: &str) -> &str {
    file.strip_prefix('@')
        .map_or(file, |file| file.trim_matches('"'))
}

pub(super) fn find(glob: &str) -> Call {
    Call::new("Glob", json!({ "pattern": glob }))
}

pub(super) fn search(regex: &str, scope: Option<&Scope>) -> Call {
    let input = json!({ "pattern": regex, "output_mode": "content", "-n": true });
    within(Call::new("Grep", input), scope)
}

/// The files that contain `text`, one more than [`MAX_FILES`] to know whether there are more.
pub(super) fn files_with(text: &str, scope: Option<&Scope>) -> Call {
    let mut call = Call::new(
        "Grep",
        json!({
            "pattern": escape(text),
            "output_mode": "files_with_matches",
            "head_limit": MAX_FILES + 1,
        }),
    );
    if text.contains('\n') {
        call.input.insert("multiline".into(), true.into());
    }
    within(call, scope)
}

pub(super) fn run(command: &str) -> Call {
    let description = format!("Run {}", super::report::short(command));
    Call::new(
        "Bash",
        json!({ "command": command, "description": description }),
    )
}

pub(super) fn edit(file: &str, old: &str, new: &str) -> Call {
    let input = json!({ "file_path": named(file), "old_string": old, "new_string": new });
    Call::new("Edit", input)
}

pub(super) fn edit_all(file: &str, old: &str, new: &str) -> Call {
    let mut call = edit(file, old, new);
    call.input.insert("replace_all".into(), true.into());
    call
}

pub(super) fn todo(todos: &[Value]) -> Call {
    Call::new("TodoWrite", json!({ "todos": todos }))
}

pub(super) fn todo_item(text: &str) -> Value {
    json!({ "content": text, "status": "pending", "activeForm": text })
}

pub(super) fn fetch(url: &str) -> Call {
    let prompt = "Give the text of the page as it is.";
    Call::new("WebFetch", json!({ "url": url, "prompt": prompt }))
}

/// A subagent that only reads. It is this interpreter again, so its prompt is a request.
pub(super) fn explore(description: &str, prompt: &str) -> Call {
    let input = json!({
        "description": description,
        "prompt": prompt,
        "subagent_type": "explore",
    });
    Call::new("Task", input)
}

pub(super) fn ask(questions: &Value) -> Call {
    Call::new("AskUserQuestion", json!({ "questions": questions }))
}

pub(super) fn enter_plan_mode() -> Call {
    Call::new("EnterPlanMode", json!({}))
}

pub(super) fn exit_plan_mode(plan: &str) -> Call {
    Call::new("ExitPlanMode", json!({ "plan": plan }))
}

pub(super) fn undo() -> Call {
    Call::new("Undo", json!({}))
}

fn within(mut call: Call, scope: Option<&Scope>) -> Call {
    match scope {
        Some(Scope::Glob(glob)) => call.input.insert("glob".into(), glob.as_str().into()),
        Some(Scope::Path(path)) => call.input.insert("path".into(), path.as_str().into()),
        None => None,
    };
    call
}

/// The regex that matches `text` and nothing else.
fn escape(text: &str) -> String {
    let mut regex = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            regex.push('\\');
        }
        regex.push(character);
    }
    regex
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn an_escaped_text_means_itself() {
        assert_eq!(escape("a.b(c) [d]*"), r"a\.b\(c\) \[d\]\*");
        assert_eq!(escape("plain_text größe"), "plain_text größe");
    }
}

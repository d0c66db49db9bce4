//! `TodoWrite`: the model's list of planned steps.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ContextChange, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::todo::{Todo, TodoStatus, progress};
use crate::protocol::{ForPerson, Level, OutputFormat, SubjectFields, Touches};

/// The longest list.
const MOST: usize = 100;

pub struct TodoWrite;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The whole list; it replaces the previous one
    pub todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            label: Some("Todos".into()),
            doing: "planning".into(),
            output: OutputFormat::ForModel,
            ruled: None,
            subject: SubjectFields::todos("todos"),
            ..ToolSpec::new(
                "TodoWrite",
                include_str!("../../assets/tools/todo_write.md"),
                Level::Safe,
                "todos",
            )
        }
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    fn sample(&self) -> Value {
        json!({ "todos": [
            { "content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests" }
        ] })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        let active: Vec<String> = input
            .todos
            .iter()
            .filter(|todo| todo.status == TodoStatus::InProgress)
            .map(|todo| format!("`{}`", todo.content))
            .collect();
        if active.len() > 1 {
            return Err(ToolError::new(format!(
                "At most one step can be `in_progress`, but these are: {}. Mark the others as `pending` or `completed`",
                active.join(", ")
            )).with_sentence("several steps are in progress at once"));
        }
        if let Some(at) = input
            .todos
            .iter()
            .position(|todo| todo.content.trim().is_empty())
        {
            return Err(
                ToolError::new(format!("The `content` of step {} is empty", at + 1))
                    .with_sentence("a step is empty"),
            );
        }
        if input.todos.len() > MOST {
            return Err(ToolError::new(format!(
                "The list has {} steps; the limit is {MOST}",
                input.todos.len()
            ))
            .with_sentence("the list is too long"));
        }
        Ok(Validated::Fine)
    }

    async fn call(
        &self,
        input: Input,
        _grant: Grant,
        _cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let mut text = match progress(&input.todos) {
            None => "The list is empty now.".to_owned(),
            Some(progress) => format!("The list is updated: {progress}"),
        };
        for todo in &input.todos {
            let mark = match todo.status {
                TodoStatus::Pending => ' ',
                TodoStatus::InProgress => '~',
                TodoStatus::Completed => 'x',
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[{mark}] {}", todo.content);
        }
        Ok(ToolOutput {
            changes: vec![ContextChange::Todos(input.todos)],
            // The subject of the call already says it.
            for_person: ForPerson {
                output: Some(0..0),
                ..ForPerson::default()
            },
            ..ToolOutput::text(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::TodoWrite;
    use crate::tools::files::scratch::{Scratch, text};
    use crate::tools::{ContextChange, Tool};

    fn todos(states: &[(&str, &str)]) -> Value {
        let todos = states.iter().map(|(content, status)| {
            json!({"content": content, "status": status, "activeForm": format!("Doing {content}")})
        });
        json!({ "todos": todos.collect::<Vec<Value>>() })
    }

    #[tokio::test]
    async fn the_whole_list_is_stored_and_returned() {
        let scratch = Scratch::new();
        let input = todos(&[("a", "completed"), ("b", "in_progress"), ("c", "pending")]);
        let output = scratch.run(&TodoWrite, input).await.expect("written");
        assert_eq!(
            text(&output),
            "The list is updated: 1 of 3 · Doing b\n[x] a\n[~] b\n[ ] c"
        );
        assert_eq!(output.for_person.output, Some(0..0), "it is for the model");
        let [ContextChange::Todos(kept)] = output.changes.as_slice() else {
            panic!("{:?}", output.changes);
        };
        assert_eq!(kept.len(), 3);
        let output = scratch.run(&TodoWrite, todos(&[])).await.expect("cleared");
        assert_eq!(text(&output), "The list is empty now.");
    }

    #[test]
    fn a_call_is_named_by_its_progress() {
        let input = todos(&[("a", "completed"), ("b", "in_progress")]);
        let subject = TodoWrite.spec().subject.of(&input);
        assert_eq!(subject.as_deref(), Some("1 of 2 · Doing b"));
    }

    #[tokio::test]
    async fn two_steps_in_progress_and_empty_steps_are_refused() {
        let scratch = Scratch::new();
        for (input, reason) in [
            (
                todos(&[("a", "in_progress"), ("b", "in_progress")]),
                "these are: `a`, `b`",
            ),
            (
                todos(&[("a", "pending"), (" ", "pending")]),
                "`content` of step 2 is empty",
            ),
            (todos(&vec![("a", "pending"); 101]), "101 steps"),
        ] {
            let error = scratch.run(&TodoWrite, input).await.expect_err("refused");
            assert!(error.message.contains(reason), "{}", error.message);
        }
    }
}

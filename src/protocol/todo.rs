//! The model's planned steps, which the person can follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// The step in the imperative: `Run the tests`
    pub content: String,
    pub status: TodoStatus,
    /// The same while it is in progress: `Running the tests`
    #[serde(rename = "activeForm")]
    pub active_form: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The progress of a list: `3 of 7 · Writing tests`.
pub fn progress(todos: &[Todo]) -> Option<String> {
    if todos.is_empty() {
        return None;
    }
    let with = |status: TodoStatus| todos.iter().filter(move |todo| todo.status == status);
    let done = with(TodoStatus::Completed).count();
    let mut text = format!("{done} of {}", todos.len());
    let current = with(TodoStatus::InProgress).map(|todo| &todo.active_form);
    let next = with(TodoStatus::Pending).map(|todo| &todo.content);
    if let Some(doing) = current.chain(next).next() {
        text.push_str(" · ");
        text.push_str(doing);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::TodoStatus::{Completed, InProgress, Pending};
    use super::{Todo, TodoStatus, progress};

    #[test]
    fn progress_counts_completed_steps_and_names_the_current_one() {
        let todo = |status| Todo {
            content: "Run the tests".into(),
            status,
            active_form: "Running the tests".into(),
        };
        assert_eq!(progress(&[]), None);
        let of = |all: &[TodoStatus]| progress(&all.iter().copied().map(todo).collect::<Vec<_>>());
        assert_eq!(
            of(&[Completed, InProgress, Pending]).as_deref(),
            Some("1 of 3 · Running the tests")
        );
        assert_eq!(
            of(&[Completed, Pending]).as_deref(),
            Some("1 of 2 · Run the tests")
        );
        assert_eq!(of(&[Completed]).as_deref(), Some("1 of 1"));
    }
}

//! What a tool says of itself to the screen, which knows no tool by its name.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::offering::ToolState;
use super::todo::{Todo, progress};
use super::tool::{Level, ToolDefinition};

/// A tool as the screen knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInfo {
    pub name: Arc<str>,
    /// What goes on while it runs, in a few words: `reading a file`.
    pub doing: Arc<str>,
    pub subject: SubjectFields,
    pub preview: PreviewFields,
    /// The field of the input that permission rules look at, if they look at one.
    pub ruled: Option<Arc<str>>,
    /// A running call of it can continue without being waited for.
    pub can_background: bool,
    /// How much harm it can do; what is not known can do any.
    pub level: Level,
    /// Who brings it; `None` for the program itself.
    pub guest_of: Option<Arc<str>>,
    /// What requests do with it.
    pub state: ToolState,
    /// What the model is told about it, where that is known.
    pub definition: Option<Arc<ToolDefinition>>,
    /// Calls of it that went well may share a line: they only read, and show nothing that must be seen.
    pub folds: bool,
    pub output: OutputFormat,
}

/// What the output of a tool is, so that it can be shown well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputFormat {
    #[default]
    Text,
    /// Lines of the file that the call is about, each behind its number and a tab.
    NumberedFile,
}

/// The fields of an input that say what a call is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectFields {
    /// The best one first: the first that is there counts. One that begins with a slash is a JSON pointer.
    pub what: Vec<Arc<str>>,
    /// A list of todos: how far it is says more than how long it is.
    pub todos: Option<Arc<str>>,
    /// Where that is, if the call says so.
    pub place: Option<Arc<str>>,
}

/// The fields of an input that can be shown as they are being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PreviewFields {
    #[default]
    Nothing,
    /// In a file, `old` gives way to `new`.
    Edit {
        path: Arc<str>,
        old: Arc<str>,
        new: Arc<str>,
    },
    /// `content` is all that a file will hold.
    Write { path: Arc<str>, content: Arc<str> },
    /// A command of the shell.
    Command { command: Arc<str> },
}

/// Fields that often say what a call is about.
const GUESSES: [&str; 9] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "description",
    "path",
    "name",
];

impl ToolInfo {
    /// A tool that nobody has described: one that is not offered any more, or never was.
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.into(),
            doing: format!("running {name}").into(),
            subject: SubjectFields::guessed(),
            preview: PreviewFields::Nothing,
            ruled: None,
            can_background: false,
            folds: false,
            output: OutputFormat::Text,
            level: Level::Dangerous,
            guest_of: None,
            state: ToolState::Off,
            definition: None,
        }
    }

    /// Who brings it, for people.
    pub fn source(&self) -> &str {
        self.guest_of.as_deref().unwrap_or("built in")
    }

    /// Whether it runs commands of the shell.
    pub fn is_shell(&self) -> bool {
        matches!(self.preview, PreviewFields::Command { .. })
    }

    /// Whether what it does is best seen as a change of a file.
    pub fn changes_files(&self) -> bool {
        match self.preview {
            PreviewFields::Edit { .. } | PreviewFields::Write { .. } => true,
            PreviewFields::Nothing | PreviewFields::Command { .. } => false,
        }
    }
}

impl SubjectFields {
    pub fn field(what: &str) -> Self {
        Self {
            what: vec![what.into()],
            ..Self::default()
        }
    }

    /// What tools that nobody has described are most likely about.
    fn guessed() -> Self {
        Self {
            what: GUESSES.map(Into::into).to_vec(),
            ..Self::default()
        }
    }

    pub fn todos(field: &str) -> Self {
        Self {
            todos: Some(field.into()),
            ..Self::field(field)
        }
    }

    pub fn field_in(what: &str, place: &str) -> Self {
        Self {
            place: Some(place.into()),
            ..Self::field(what)
        }
    }

    /// The call in a few words: a path, a command, a pattern; of todos how far they are, of another list how long it is, as
    /// in `3 files`.
    pub fn of(&self, input: &Value) -> Option<String> {
        let todos = self.todos.as_ref().and_then(|field| input.get(&**field));
        let todos = todos.and_then(|todos| Vec::<Todo>::deserialize(todos).ok());
        if let Some(progress) = todos.and_then(|todos| progress(&todos)) {
            return Some(progress);
        }
        let value = |field: &str| {
            if field.starts_with('/') {
                input.pointer(field)
            } else {
                input.get(field)
            }
        };
        self.with(|field| match value(field)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(values) => Some(format!("{} {field}", values.len())),
            _ => None,
        })
    }

    /// The same where fields are known in another way.
    pub fn with(&self, get: impl Fn(&str) -> Option<String>) -> Option<String> {
        let what = self.what.iter().find_map(|field| get(field))?;
        let place = self.place.as_deref().and_then(get);
        Some(match place {
            Some(place) => format!("{what} in {place}"),
            None => what,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SubjectFields;

    #[test]
    fn a_pointer_leads_into_the_input_and_the_next_field_counts_where_it_leads_nowhere() {
        let subject = SubjectFields {
            what: vec!["/questions/0/question".into(), "questions".into()],
            ..SubjectFields::default()
        };
        let asked = json!({"questions": [{"question": "Where?"}, {"question": "Which?"}]});
        assert_eq!(subject.of(&asked).as_deref(), Some("Where?"));
        let empty = json!({"questions": []});
        assert_eq!(subject.of(&empty).as_deref(), Some("0 questions"));
    }

    #[test]
    fn todos_say_how_far_they_are_and_what_is_no_list_of_todos_how_long_it_is() {
        let subject = SubjectFields::todos("todos");
        let todos = json!({"todos": [
            {"content": "Read", "status": "completed", "activeForm": "Reading"},
            {"content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests"},
            {"content": "Write", "status": "pending", "activeForm": "Writing"},
        ]});
        assert_eq!(
            subject.of(&todos).as_deref(),
            Some("1 of 3 · Running the tests")
        );
        let others = json!({"todos": ["Read", "Write"]});
        assert_eq!(subject.of(&others).as_deref(), Some("2 todos"));
        assert_eq!(
            subject.of(&json!({"todos": []})).as_deref(),
            Some("0 todos")
        );
    }
}

//! What a tool tells the screen about itself, because the screen knows no tool by name.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::offering::ToolState;
use super::served::ServerTool;
use super::todo::{Todo, progress};
use super::tool::{Level, ToolDefinition};

/// A tool as the screen knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInfo {
    pub name: Arc<str>,
    /// The name for people, if the tool's own is only meant for models.
    pub label: Option<Arc<str>>,
    /// What a running call does, in a few words: `reading a file`.
    pub doing: Arc<str>,
    pub subject: SubjectFields,
    pub preview: PreviewFields,
    /// The field of the input that permission rules match, if any.
    pub ruled: Option<Arc<str>>,
    /// A running call can continue in the background.
    pub can_background: bool,
    /// How much harm it can do. An unknown tool can do any.
    pub level: Level,
    /// What added it; `None` for a built-in tool.
    pub guest_of: Option<Arc<str>>,
    /// What requests do with it.
    pub state: ToolState,
    /// Its definition for the model, if known.
    pub definition: Option<Arc<ToolDefinition>>,
    /// Successful calls may share a line: they only read, and show nothing that must be seen.
    pub folds: bool,
    pub output: OutputFormat,
    /// The tool of providers that does the same: their calls are shown as calls of this one.
    pub server: Option<ServerTool>,
}

/// The format of a tool's output, so that the screen can show it well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputFormat {
    #[default]
    Text,
    /// Lines of the file that the call is about, each with its number and a tab.
    NumberedFile,
    Markdown,
    /// Only the model needs it: for the person, the call itself and its outcome say everything.
    ForModel,
}

/// The fields of an input that name the subject of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectFields {
    /// In order of preference; the first one in the input is used. A field that begins with a slash is a JSON
    /// pointer.
    pub what: Vec<Arc<str>>,
    /// A list of todos, whose progress is shown.
    pub todos: Option<Arc<str>>,
    /// A list of questions with answers to choose from.
    pub questions: Option<Arc<str>>,
    /// Where the subject is, if the input says so.
    pub place: Option<Arc<str>>,
    /// The subject is Markdown, of which only the title is shown.
    pub is_markdown: bool,
}

/// The fields of an input that can be shown while the model writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PreviewFields {
    #[default]
    Nothing,
    /// In a file, `new` replaces `old`.
    Edit {
        path: Arc<str>,
        old: Arc<str>,
        new: Arc<str>,
    },
    /// `content` is the whole content of a file.
    Write { path: Arc<str>, content: Arc<str> },
    /// A shell command.
    Command { command: Arc<str> },
}

/// Fields that often name the subject of a call.
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
    /// A tool without a description: it is no longer offered, or never was.
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.into(),
            label: None,
            doing: format!("running {name}").into(),
            subject: SubjectFields::guessed(),
            preview: PreviewFields::Nothing,
            ruled: None,
            can_background: false,
            folds: false,
            output: OutputFormat::Text,
            server: None,
            level: Level::Dangerous,
            guest_of: None,
            state: ToolState::Off,
            definition: None,
        }
    }

    /// Its name in the rows of its calls.
    pub fn shown_name(&self) -> &str {
        self.label.as_ref().unwrap_or(&self.name)
    }

    /// What added it, for people.
    pub fn source(&self) -> &str {
        self.guest_of.as_deref().unwrap_or("built in")
    }

    /// Whether it runs shell commands.
    pub fn is_shell(&self) -> bool {
        matches!(self.preview, PreviewFields::Command { .. })
    }

    /// Whether its calls are best shown as a change of a file.
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

    /// The likely subject of tools without a description.
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

    /// A text in Markdown.
    pub fn markdown(what: &str) -> Self {
        Self {
            is_markdown: true,
            ..Self::field(what)
        }
    }

    pub fn field_in(what: &str, place: &str) -> Self {
        Self {
            place: Some(place.into()),
            ..Self::field(what)
        }
    }

    /// The call in a few words: a path, a command, a pattern; for todos their progress, for another list its length,
    /// as in `3 files`.
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

    /// The same, with another way to look up fields.
    pub fn with(&self, get: impl Fn(&str) -> Option<String>) -> Option<String> {
        let what = self.what.iter().find_map(|field| get(field))?;
        let what = if self.is_markdown { title(&what) } else { what };
        let place = self.place.as_deref().and_then(get);
        Some(match place {
            Some(place) => format!("{what} in {place}"),
            None => what,
        })
    }
}

/// The first heading of a text in Markdown, or else its first line, without marks.
fn title(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading = lines().find(|line| line.starts_with('#'));
    let line = heading.or_else(|| lines().next()).unwrap_or_default();
    let line = line.trim_start_matches('#').trim();
    line.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SubjectFields;

    #[test]
    fn a_pointer_finds_a_nested_field_and_the_next_field_is_used_if_it_finds_nothing() {
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
    fn of_a_text_in_markdown_the_title_is_shown_without_marks() {
        let subject = SubjectFields::markdown("plan");
        for (plan, title) in [
            (
                "\nIntro\n\n## Skip **bad** rows\n\n1. look",
                "Skip bad rows",
            ),
            ("1. read `app.py`\n2. change it", "1. read app.py"),
            ("", ""),
        ] {
            let input = json!({ "plan": plan });
            assert_eq!(subject.of(&input).as_deref(), Some(title));
        }
    }

    #[test]
    fn todos_show_their_progress_and_other_lists_their_length() {
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

//! What a call touches. Tools say it of their calls; rules, hooks and grants go by it, and need not know any tool.

use serde_json::Value;

/// What a call touches, as its input says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// Whatever a command of the shell touches.
    Command(String),
    Reads(Paths),
    Writes(Paths),
    /// What an address of the web leads to; the address may be none.
    Web(Option<String>),
    /// Nothing that has a place of its own.
    Nothing,
    /// The input lacks what would say it.
    Unclear(Lacks),
}

/// Paths as they are written; relative ones start where the shell stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    Files(Vec<String>),
    /// What lies below a directory, or where the shell stands; a glob in it may lead out of it.
    Below {
        directory: Option<String>,
        glob: Option<String>,
    },
}

/// What an input does not have in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    Command,
    FileToRead,
    FileToWrite,
}

/// From an input that may be any JSON: also a call that does not fit its schema can be decided about.
impl Touches {
    /// The command in this field.
    pub fn command(input: &Value, field: &str) -> Self {
        text(input, field).map_or(Self::Unclear(Lacks::Command), Self::Command)
    }

    /// Reads the file in this field.
    pub fn reading(input: &Value, field: &str) -> Self {
        file(input, field).map_or(Self::Unclear(Lacks::FileToRead), Self::Reads)
    }

    /// Writes the file in this field.
    pub fn writing(input: &Value, field: &str) -> Self {
        file(input, field).map_or(Self::Unclear(Lacks::FileToWrite), Self::Writes)
    }

    /// Reads below the directory in `directory`, or what the glob in `glob` finds there.
    pub fn searching(input: &Value, directory: &str, glob: Option<&str>) -> Self {
        below(input, directory, glob).map_or(Self::Unclear(Lacks::FileToRead), Self::Reads)
    }

    /// Writes below the directory in `directory`, or what the glob in `glob` finds there.
    pub fn replacing(input: &Value, directory: &str, glob: Option<&str>) -> Self {
        below(input, directory, glob).map_or(Self::Unclear(Lacks::FileToWrite), Self::Writes)
    }

    /// The address in this field.
    pub fn web(input: &Value, field: &str) -> Self {
        Self::Web(text(input, field))
    }

    /// The one file that is read or written.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Reads(Paths::Files(files)) | Self::Writes(Paths::Files(files)) => {
                match &files[..] {
                    [file] => Some(file),
                    _ => None,
                }
            }
            Self::Reads(Paths::Below { .. })
            | Self::Writes(Paths::Below { .. })
            | Self::Command(_)
            | Self::Web(_)
            | Self::Nothing
            | Self::Unclear(_) => None,
        }
    }
}

fn text(input: &Value, field: &str) -> Option<String> {
    input.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn file(input: &Value, field: &str) -> Option<Paths> {
    let path = text(input, field).filter(|path| !path.is_empty())?;
    Some(Paths::Files(vec![path]))
}

fn below(input: &Value, directory: &str, glob: Option<&str>) -> Option<Paths> {
    let directory = match input.get(directory) {
        None | Some(Value::Null) => None,
        Some(Value::String(path)) => Some(path.clone()),
        Some(_) => return None,
    };
    let glob = glob.and_then(|field| text(input, field));
    Some(Paths::Below { directory, glob })
}

//! What a call touches. Tools report it for their calls; rules, hooks and grants use it, and do not have to know any
//! tool.

use serde_json::Value;

/// What a call touches, according to its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// Whatever a shell command touches.
    Command(String),
    Reads(Paths),
    Writes(Paths),
    /// A web address, which may be missing or invalid.
    Web(Option<String>),
    /// Nothing that permissions could check.
    Nothing,
    /// The input lacks the field that would say it.
    Unclear(MissingInput),
}

/// Paths as written in the input; relative ones start at the shell's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    Files(Vec<String>),
    /// What is below a directory, or below the shell's directory; a glob may lead outside of it.
    Below {
        directory: Option<String>,
        glob: Option<String>,
    },
}

/// What an input lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingInput {
    Command,
    FileToRead,
    FileToWrite,
}

/// The input may be any JSON, because a call that does not match its schema must be decided too.
impl Touches {
    /// Runs the command in this field.
    pub fn command(input: &Value, field: &str) -> Self {
        text(input, field).map_or(Self::Unclear(MissingInput::Command), Self::Command)
    }

    /// Reads the file in this field.
    pub fn reading(input: &Value, field: &str) -> Self {
        file(input, field).map_or(Self::Unclear(MissingInput::FileToRead), Self::Reads)
    }

    /// Writes the file in this field.
    pub fn writing(input: &Value, field: &str) -> Self {
        file(input, field).map_or(Self::Unclear(MissingInput::FileToWrite), Self::Writes)
    }

    /// Reads below the directory in `directory`, or what the glob in `glob` matches there.
    pub fn searching(input: &Value, directory: &str, glob: Option<&str>) -> Self {
        below(input, directory, glob).map_or(Self::Unclear(MissingInput::FileToRead), Self::Reads)
    }

    /// Writes below the directory in `directory`, or what the glob in `glob` matches there.
    pub fn replacing(input: &Value, directory: &str, glob: Option<&str>) -> Self {
        below(input, directory, glob).map_or(Self::Unclear(MissingInput::FileToWrite), Self::Writes)
    }

    /// Fetches the address in this field.
    pub fn web(input: &Value, field: &str) -> Self {
        Self::Web(text(input, field))
    }

    /// The single file that is read or written.
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

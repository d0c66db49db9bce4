//! Slash commands: each is a Markdown file, named after the file and its folders.

use super::files::File;
use super::{allows, description, empty, for_model, is_name};
use crate::config::front_matter::{FrontMatter, Mistake, Value};
use crate::protocol::CustomCommand;

pub(super) fn command(
    text: &str,
    file: &File,
    built_in: &[String],
    problems: &mut Vec<String>,
) -> Result<CustomCommand, Mistake> {
    let found = FrontMatter::read(text)?;
    let name = name(file);
    let mistake = |problem: String| Mistake { line: 1, problem };
    if !is_name(&name) {
        return Err(mistake(format!(
            "`/{name}` can't be typed; name the file with letters, digits, - and _"
        )));
    }
    if built_in.contains(&name) {
        return Err(mistake(format!(
            "`/{name}` is a built-in command; rename the file to use it"
        )));
    }
    if found.body.is_empty() {
        return Err(empty());
    }
    let hint = found
        .field("argument-hint")
        .map(|field| match &field.value {
            Value::Text(text) => text.clone(),
            // `[file] [line]` looks like a list.
            Value::List(items) => format!("[{}]", items.join(", ")),
        });
    Ok(CustomCommand {
        name: name.into(),
        arguments: hint.unwrap_or_default().into(),
        about: description(&found).unwrap_or_default().into(),
        prompt: found.body.as_str().into(),
        allows: allows(&found, file, problems),
        model: found.text("model").filter(|model| model != "inherit"),
        for_model: for_model(&found, file, problems),
        skill: None,
    })
}

/// `git/commit.md` is `git:commit`.
fn name(file: &File) -> String {
    let inner = file.inner.with_extension("");
    let parts = inner.iter().map(|part| part.to_string_lossy().into_owned());
    parts.collect::<Vec<_>>().join(":")
}

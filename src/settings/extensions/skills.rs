//! Skills: a folder with a file `SKILL.md`, which says what to do and when.

use super::files::File;
use super::{allows, description, empty, for_model, is_name};
use crate::config::front_matter::{FrontMatter, Mistake};
use crate::protocol::{CustomCommand, Skill};

pub(super) fn skill(text: &str, file: &File, problems: &mut Vec<String>) -> Result<Skill, Mistake> {
    let found = FrontMatter::read(text)?;
    let folder = file.path.parent().unwrap_or(&file.path);
    let called = found.text("name").unwrap_or_else(|| {
        let name = folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    if !is_name(&called) {
        return Err(Mistake {
            line: found.field("name").map_or(1, |field| field.line),
            problem: format!("`name` has letters, digits, - and _ only, not `{called}`"),
        });
    }
    let description = description(&found).ok_or_else(empty)?;
    Ok(Skill {
        name: called.into(),
        description: description.into(),
        instructions: found.body.as_str().into(),
        folder: folder.to_owned(),
        allows: allows(&found, file, problems),
        for_model: for_model(&found, file, problems),
    })
}

/// The skill as a command that the person can type.
pub(super) fn typed(skill: &Skill) -> CustomCommand {
    CustomCommand {
        name: skill.name.clone(),
        arguments: "".into(),
        about: skill.description.clone(),
        prompt: skill.instructions.clone(),
        allows: skill.allows.clone(),
        model: None,
        // The model has a tool for skills.
        for_model: false,
        skill: Some(skill.folder.clone()),
    }
}

//! `Skill`: instructions for a kind of task, which the model reads when it needs them.

use std::fmt::Write;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Grant, names};
use crate::protocol::{Allows, Extensions, ForPerson, Level, OutputFormat, Touches};
use crate::text::{first_line, nearest};

pub const NAME: &str = "Skill";
/// The longest list of descriptions in a request.
const MOST_LISTED: usize = 12_000;
/// The longest description in that list.
const LONGEST_LISTED: usize = 400;

pub struct Skill;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The name of a skill that the description lists
    pub skill: String,
    /// What the skill is to work on
    #[serde(default)]
    pub args: Option<String>,
}

impl Tool for Skill {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "reading a skill".into(),
            output: OutputFormat::Markdown,
            // The calls that its instructions lead to ask for permission themselves.
            ..ToolSpec::new(
                NAME,
                include_str!("../../assets/tools/skill.md"),
                Level::Safe,
                "skill",
            )
        }
    }

    fn description(&self, about: &DescribeCx) -> String {
        let skills = for_model(&about.extensions);
        let lines = skills.map(|skill| (skill.name.to_string(), &*skill.description));
        format!("{}{}", self.spec().description, list(lines))
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        for_model(&about.extensions).next().is_some()
    }

    fn sample(&self) -> Value {
        json!({ "skill": "release-notes", "args": "since v1.2" })
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let skill = find(&input.skill, &cx.extensions)?;
        Ok(confirmed_if_it_allows(&skill.allows))
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let skill = find(&input.skill, &cx.extensions)?;
        cx.allow(&with_folder(&skill.allows, &skill.folder));
        let arguments = input.args.unwrap_or_default();
        let text = text(&skill.folder, &skill.instructions, arguments.trim());
        Ok(ToolOutput {
            for_person: ForPerson {
                sentence: Some(skill.allows.file.name.clone()),
                ..ForPerson::default()
            },
            ..ToolOutput::text(text)
        })
    }
}

/// The text of a skill for the model.
pub fn text(folder: &Path, instructions: &str, arguments: &str) -> String {
    let folder = folder.display();
    let mut text =
        format!("The folder of this skill is {folder}; relative paths in it start there.\n\n");
    if instructions.contains("$ARGUMENTS") {
        text.push_str(&instructions.replace("$ARGUMENTS", arguments));
    } else {
        text.push_str(instructions);
        if !arguments.is_empty() {
            let _ = write!(text, "\n\nArguments: {arguments}");
        }
    }
    text
}

/// What a skill allows, including reading the files next to it.
pub fn with_folder(allows: &Allows, folder: &Path) -> Allows {
    let mut allows = allows.clone();
    allows.rules.extend(names::reading_below(folder));
    allows
}

/// A person who starts a skill or command grants what its file allows. The model must not grant it to itself.
pub fn confirmed_if_it_allows(allows: &Allows) -> Validated {
    if allows.rules.is_empty() {
        return Validated::Fine;
    }
    Validated::Ask(format!(
        "it allows {} for the rest of this turn",
        allows.rules.join(", ")
    ))
}

/// Lines of names and descriptions, cut if they are too long together.
pub fn list<'a>(items: impl Iterator<Item = (String, &'a str)>) -> String {
    let (mut list, mut left_out) = (String::new(), 0);
    for (name, about) in items {
        let line = format!("- {name}: {}\n", first_line(about.trim(), LONGEST_LISTED));
        if left_out > 0 || list.len() + line.len() > MOST_LISTED {
            left_out += 1;
        } else {
            list.push_str(&line);
        }
    }
    if left_out > 0 {
        let _ = writeln!(list, "- and {left_out} more that are not listed");
    }
    list
}

fn for_model(extensions: &Extensions) -> impl Iterator<Item = &crate::protocol::Skill> {
    extensions.skills.iter().filter(|skill| skill.for_model)
}

fn find<'e>(
    name: &str,
    extensions: &'e Extensions,
) -> Result<&'e crate::protocol::Skill, ToolError> {
    let name = name.trim().trim_start_matches('/');
    match extensions.skill(name) {
        Some(skill) if skill.for_model => Ok(skill),
        Some(_) => Err(ToolError::new(format!(
            "Only the user can start the skill `{name}`. Ask them to type /{name}"
        ))
        .with_sentence(format!("only you can start it: type /{name}"))),
        None => {
            let names: Vec<&str> = for_model(extensions).map(|skill| &*skill.name).collect();
            let near =
                nearest(name, names.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
            Err(ToolError::new(format!(
                "Unknown skill `{name}`.{} The skills are: {}",
                near.unwrap_or_default(),
                names.join(", ")
            ))
            .with_sentence("unknown skill"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Allows, MOST_LISTED, Validated, confirmed_if_it_allows, list, text};
    use crate::protocol::NamedFile;

    #[test]
    fn the_text_names_the_folder_and_has_the_arguments() {
        let folder = Path::new("/skills/notes");
        let begin =
            "The folder of this skill is /skills/notes; relative paths in it start there.\n\n";
        for (instructions, arguments, expected) in [
            ("Write.", "", "Write."),
            ("Write.", "v2", "Write.\n\nArguments: v2"),
            ("Write $ARGUMENTS.", "v2", "Write v2."),
        ] {
            let text = text(folder, instructions, arguments);
            assert_eq!(text, format!("{begin}{expected}"));
        }
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let long = "x".repeat(1_000);
        let few = list([("a".to_owned(), "Short"), ("b".to_owned(), long.as_str())].into_iter());
        assert!(few.starts_with("- a: Short\n- b: xxx"), "{few}");
        assert!(few.len() < 500, "{}", few.len());
        let many = list((0..500).map(|number| (format!("s{number}"), long.as_str())));
        assert!(many.len() < MOST_LISTED + 100, "{}", many.len());
        assert!(many.ends_with("more that are not listed\n"), "{many}");
    }

    #[test]
    fn a_file_that_allows_something_is_confirmed_first() {
        let mut allows = Allows {
            rules: Vec::new(),
            file: NamedFile {
                path: "/c.md".into(),
                name: "c.md".into(),
            },
        };
        assert!(matches!(confirmed_if_it_allows(&allows), Validated::Fine));
        allows.rules = vec!["Bash(make:*)".into(), "Edit".into()];
        let Validated::Ask(reason) = confirmed_if_it_allows(&allows) else {
            panic!("not confirmed");
        };
        assert_eq!(
            reason,
            "it allows Bash(make:*), Edit for the rest of this turn"
        );
    }
}

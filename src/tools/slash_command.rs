//! `SlashCommand`: lets the model use a custom command as the person would type it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::skill::{confirmed_if_it_allows, list};
use super::template::Template;
use super::{ContextChange, DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{CustomCommand, Extensions, ForPerson, Level, Touches};
use crate::text::nearest;

pub struct SlashCommand;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The command with its arguments, as in `/review 12`
    pub command: String,
}

impl Tool for SlashCommand {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "reading a command".into(),
            // The commands in it ask for permission themselves.
            ..ToolSpec::new(
                "SlashCommand",
                include_str!("../../assets/tools/slash_command.md"),
                Level::Safe,
                "command",
            )
        }
    }

    fn description(&self, about: &DescribeCx) -> String {
        let commands = for_model(&about.extensions).map(|command| {
            let usage = format!("/{} {}", command.name, command.arguments);
            (usage.trim_end().to_owned(), &*command.about)
        });
        format!("{}{}", self.spec().description, list(commands))
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        for_model(&about.extensions).next().is_some()
    }

    fn sample(&self) -> Value {
        json!({ "command": "/review 12" })
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn validate(&self, input: &Input, cx: &ToolCx) -> Result<Validated, ToolError> {
        let (command, _) = find(&input.command, &cx.extensions)?;
        Ok(confirmed_if_it_allows(&command.allows))
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let (command, arguments) = find(&input.command, &cx.extensions)?;
        cx.allow(&command.allows);
        let template = Template::new(command, arguments, &cx.cwd);
        let mut outputs = Vec::new();
        for part in template.parts() {
            let subject = part.subject.clone();
            let output = cx.call(part).await.map_err(|problem| {
                if cx.cancel.is_cancelled() {
                    return ToolError::cancelled();
                }
                ToolError::new(format!(
                    "/{} needs `{subject}`, which did not run: {problem}",
                    command.name
                ))
                .with_sentence(format!("{subject} did not run"))
            })?;
            outputs.push(output);
        }
        Ok(ToolOutput {
            for_person: ForPerson {
                sentence: Some(command.allows.file.name.clone()),
                ..ForPerson::default()
            },
            changes: command
                .model
                .clone()
                .map(ContextChange::Model)
                .into_iter()
                .collect(),
            ..ToolOutput::text(template.filled(&outputs))
        })
    }
}

fn for_model(extensions: &Extensions) -> impl Iterator<Item = &CustomCommand> {
    extensions
        .commands
        .iter()
        .filter(|command| command.for_model)
}

fn find<'e, 'l>(
    line: &'l str,
    extensions: &'e Extensions,
) -> Result<(&'e CustomCommand, &'l str), ToolError> {
    let Some((name, arguments)) = CustomCommand::split(line) else {
        return Err(
            ToolError::new("`command` begins with a slash, as in `/review 12`")
                .with_sentence("the command lacks its slash"),
        );
    };
    match extensions.command(name) {
        Some(command) if command.for_model => Ok((command, arguments)),
        Some(_) => Err(ToolError::new(format!(
            "Only the user can use /{name}. Ask them to type it"
        ))
        .with_sentence(format!("only you can use it: type /{name}"))),
        None => {
            let names: Vec<&str> = for_model(extensions).map(|it| &*it.name).collect();
            let near = nearest(name, names.iter().copied());
            let near = near.map(|near| format!(" Did you mean /{near}?"));
            Err(ToolError::new(format!(
                "Unknown custom command /{name}. The commands of the program are for the user only.{}",
                near.unwrap_or_default()
            ))
            .with_sentence("unknown command"))
        }
    }
}

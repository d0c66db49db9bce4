//! Slash commands: the built-in ones and the person's own.

use std::sync::Arc;

use crate::protocol::CustomCommand;
use crate::text::first_line;

/// One command, as completion, palette and help show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: Arc<str>,
    /// Its arguments, as the help shows them.
    pub arguments: Arc<str>,
    pub about: Arc<str>,
    pub does: Slash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    Help,
    Clear,
    Model,
    Theme,
    Tools,
    Hooks,
    Mcp,
    Agents,
    Skills,
    Tasks,
    Sessions,
    Rename,
    Diff,
    Permissions,
    Why,
    Cost,
    Todos,
    Init,
    Doctor,
    Vim,
    Quit,
    /// Send it as it was typed: the agent fills it in.
    Custom,
}

/// All commands that exist now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands(Arc<[SlashCommand]>);

const BUILT_IN: [(&str, &str, &str, Slash); 22] = [
    ("help", "", "keys and commands", Slash::Help),
    ("model", "[NAME]", "show or switch the model", Slash::Model),
    ("sessions", "", "resume an earlier session", Slash::Sessions),
    ("clear", "", "start a new session", Slash::Clear),
    (
        "diff",
        "",
        "show everything changed in this session",
        Slash::Diff,
    ),
    (
        "permissions",
        "[add | test …]",
        "view and edit permission rules",
        Slash::Permissions,
    ),
    (
        "why",
        "[CALL]",
        "why a call was allowed or denied",
        Slash::Why,
    ),
    ("tools", "", "list the tools", Slash::Tools),
    ("tasks", "", "list background commands", Slash::Tasks),
    ("todos", "", "what the model plans to do", Slash::Todos),
    ("cost", "", "tokens and cost so far", Slash::Cost),
    ("theme", "[NAME]", "change the theme", Slash::Theme),
    ("init", "", "have the model write AGENTS.md", Slash::Init),
    (
        "doctor",
        "",
        "check the setup and suggest fixes",
        Slash::Doctor,
    ),
    ("mcp", "", "MCP servers and their tools", Slash::Mcp),
    ("agents", "", "list the types of subagents", Slash::Agents),
    ("skills", "", "list the skills", Slash::Skills),
    ("hooks", "", "list active hooks", Slash::Hooks),
    (
        "rename",
        "TITLE",
        "give this session a title",
        Slash::Rename,
    ),
    ("resume", "[ID]", "same as /sessions", Slash::Sessions),
    ("vim", "", "toggle vim keys in the input", Slash::Vim),
    ("quit", "", "quit", Slash::Quit),
];

/// How much of a custom command's description is shown.
const LONGEST_ABOUT: usize = 200;

impl Default for Commands {
    fn default() -> Self {
        Self::with(&[])
    }
}

impl Commands {
    /// The built-in commands and these. A custom command never replaces a built-in one.
    pub fn with(custom: &[CustomCommand]) -> Self {
        let mut commands: Vec<SlashCommand> = BUILT_IN
            .into_iter()
            .map(|(name, arguments, about, does)| SlashCommand {
                name: name.into(),
                arguments: arguments.into(),
                about: about.into(),
                does,
            })
            .collect();
        for command in custom {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(SlashCommand {
                    name: command.name.clone(),
                    arguments: command.arguments.clone(),
                    about: first_line(&command.about, LONGEST_ABOUT).into(),
                    does: Slash::Custom,
                });
            }
        }
        Self(commands.into())
    }

    pub fn all(&self) -> &[SlashCommand] {
        &self.0
    }

    /// What can follow a draft that ends after a command: its arguments, as the help shows them.
    pub fn arguments_after(&self, draft: &str) -> Option<&str> {
        let (name, typed) = draft.strip_prefix('/')?.split_once(' ')?;
        let command = self.find(name)?;
        match (&command.does, typed) {
            (Slash::Permissions, "add ") => {
                Some("allow|ask|deny RULE, such as allow Bash(cargo test:*)")
            }
            (Slash::Permissions, "test ") => Some("TOOL WHAT, such as Bash git push"),
            (_, "") => Some(&*command.arguments).filter(|arguments| !arguments.is_empty()),
            _ => None,
        }
    }

    pub fn find(&self, name: &str) -> Option<&SlashCommand> {
        self.0.iter().find(|command| *command.name == *name)
    }
}

impl SlashCommand {
    /// The command as it is typed, with its arguments.
    pub fn usage(&self) -> String {
        usage(&self.name, &self.arguments)
    }
}

/// How a command is typed.
pub fn usage(name: &str, arguments: &str) -> String {
    format!("/{name} {arguments}").trim_end().to_owned()
}

/// The headings of the commands, in order.
pub const GROUPS: [&str; 5] = [
    "Session",
    "Model and tools",
    "Permissions",
    "Setup",
    "Your commands",
];

impl Slash {
    /// The heading that lists the command.
    pub fn group(&self) -> &'static str {
        match self {
            Slash::Clear
            | Slash::Sessions
            | Slash::Tasks
            | Slash::Rename
            | Slash::Diff
            | Slash::Cost
            | Slash::Todos
            | Slash::Quit => "Session",
            Slash::Model
            | Slash::Tools
            | Slash::Hooks
            | Slash::Mcp
            | Slash::Agents
            | Slash::Skills
            | Slash::Init => "Model and tools",
            Slash::Permissions | Slash::Why => "Permissions",
            Slash::Help | Slash::Theme | Slash::Doctor | Slash::Vim => "Setup",
            Slash::Custom => "Your commands",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Commands;

    #[test]
    fn the_arguments_of_a_typed_command_are_known() {
        let commands = Commands::default();
        for (draft, arguments) in [
            ("/model ", Some("[NAME]")),
            (
                "/permissions add ",
                Some("allow|ask|deny RULE, such as allow Bash(cargo test:*)"),
            ),
            ("/permissions add deny", None),
            ("/model x", None),
            ("/model", None),
            ("/cost ", None),
            ("/nonsense ", None),
            ("model ", None),
        ] {
            assert_eq!(commands.arguments_after(draft), arguments, "{draft}");
        }
    }
}

//! The commands that begin with a slash, and what each does.

/// One command, as completion and help show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: &'static str,
    /// What may follow it, for people.
    pub arguments: &'static str,
    pub about: &'static str,
    pub does: Slash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    Help,
    Clear,
    Model,
    Theme,
    Tools,
    Sessions,
    Diff,
    Cost,
    Init,
    Vim,
    Quit,
}

pub const COMMANDS: &[SlashCommand] = &[
    command("help", "", "keys and commands", Slash::Help),
    command("clear", "", "start a new conversation", Slash::Clear),
    command("model", "[NAME]", "show the model, or go on with another one", Slash::Model),
    command("theme", "[NAME]", "choose how it looks", Slash::Theme),
    command("tools", "", "what the model can use", Slash::Tools),
    command("sessions", "", "go on with an earlier conversation", Slash::Sessions),
    command("resume", "[ID]", "the same as /sessions", Slash::Sessions),
    command("diff", "", "all changes of this conversation", Slash::Diff),
    command("cost", "", "tokens and money used so far", Slash::Cost),
    command("init", "", "let the model write an AGENTS.md for this project", Slash::Init),
    command("vim", "", "edit the input with the keys of vim, or no longer", Slash::Vim),
    command("quit", "", "leave", Slash::Quit),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    does: Slash,
) -> SlashCommand {
    SlashCommand {
        name,
        arguments,
        about,
        does,
    }
}

pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name)
}

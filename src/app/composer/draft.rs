//! What a draft becomes when it is sent: a message, a command, or a note.

use crate::app::commands::Commands;
use crate::protocol::Block;
use crate::text::nearest;

/// A draft that was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Draft {
    Message {
        blocks: Vec<Block>,
        /// As it looked in the input, with pastes folded.
        shown: String,
    },
    Slash {
        name: String,
        arguments: String,
    },
    /// `!command`
    Shell(String),
    /// `#note`
    Note(String),
}

/// What the first character says about a draft that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prompt {
    #[default]
    Message,
    Shell,
    Note,
}

impl Prompt {
    pub fn of(lines: &[String]) -> Self {
        match lines.first().and_then(|line| line.chars().next()) {
            Some('!') => Self::Shell,
            // Several lines are more likely a text that begins with a Markdown heading.
            Some('#') if lines.len() == 1 => Self::Note,
            _ => Self::Message,
        }
    }
}

/// Reads a draft whose first character makes it more than a message. The error tells the person why it can't be sent.
pub fn special(text: &str, commands: &Commands) -> Result<Option<Draft>, String> {
    let text = text.trim();
    let lines: Vec<String> = text.lines().take(2).map(str::to_owned).collect();
    let behind = || text.chars().skip(1).collect::<String>().trim().to_owned();
    match Prompt::of(&lines) {
        Prompt::Shell if behind().is_empty() => Err("type a command after !".into()),
        Prompt::Shell => Ok(Some(Draft::Shell(behind()))),
        Prompt::Note if behind().is_empty() => Err("type a note after #".into()),
        Prompt::Note => Ok(Some(Draft::Note(behind()))),
        Prompt::Message => slash(text, commands),
    }
}

fn slash(text: &str, commands: &Commands) -> Result<Option<Draft>, String> {
    let Some(behind) = text.strip_prefix('/') else {
        return Ok(None);
    };
    // Several lines, perhaps pasted, are a message: the first one is not meant to be run.
    if behind.contains('\n') {
        return Ok(None);
    }
    let (name, arguments) = behind
        .split_once(char::is_whitespace)
        .unwrap_or((behind, ""));
    let is_name = |letter: char| letter.is_alphanumeric() || "-_:".contains(letter);
    if name.is_empty() || !name.chars().all(is_name) {
        // A path, or a comment.
        return Ok(None);
    }
    if commands.find(name).is_some() {
        return Ok(Some(Draft::Slash {
            name: name.to_owned(),
            arguments: arguments.trim().to_owned(),
        }));
    }
    let known = commands.all().iter().map(|command| &*command.name);
    Err(match nearest(name, known) {
        Some(meant) => format!("unknown command /{name}; did you mean /{meant}?"),
        None => format!("unknown command /{name}; see /help"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Draft, special};
    use crate::app::commands::Commands;

    fn slash(name: &str, arguments: &str) -> Draft {
        Draft::Slash {
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn the_first_character_decides_what_a_draft_is() {
        for (text, expected) in [
            ("hello", None),
            ("/help", Some(slash("help", ""))),
            ("/model  big one ", Some(slash("model", "big one"))),
            ("! ls -l", Some(Draft::Shell("ls -l".into()))),
            (
                "!for a in b\ndo c",
                Some(Draft::Shell("for a in b\ndo c".into())),
            ),
            ("#use tabs", Some(Draft::Note("use tabs".into()))),
            ("# Heading\n\ntext", None),
            ("//x", None),
            ("// a comment", None),
            ("/usr/bin is full", None),
            ("/", None),
        ] {
            assert_eq!(special(text, &Commands::default()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_unknown_command_is_not_sent_but_corrected() {
        for (text, problem) in [
            ("/hlep", "unknown command /hlep; did you mean /help?"),
            ("/zzz", "unknown command /zzz; see /help"),
            ("!", "type a command after !"),
            ("#  ", "type a note after #"),
        ] {
            assert_eq!(
                special(text, &Commands::default()),
                Err(problem.into()),
                "{text}"
            );
        }
    }
}

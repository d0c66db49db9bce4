//! The specifier of a Bash rule: a command, exact or with wildcards.

use super::rule::RuleList;
use super::wildcard::Wildcard;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    text: Wildcard,
    /// The bare command that a lone trailing ` *` also matches.
    bare: Option<String>,
}

impl CommandPattern {
    /// `:*` at the end equals ` *`. In deny and ask, commands are compared with single blanks, so the pattern gets
    /// single blanks as well.
    pub fn parse(specifier: &str, list: RuleList) -> Result<Self, String> {
        let mut pattern = match specifier.strip_suffix(":*") {
            Some("") => return Err("missing command before `:*`".to_owned()),
            Some(command) => format!("{command} *"),
            None => specifier.to_owned(),
        };
        match list {
            RuleList::Deny | RuleList::Ask => {
                pattern = pattern
                    .split_ascii_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
            }
            RuleList::Allow => {}
        }
        let bare = pattern
            .strip_suffix(" *")
            .filter(|command| Wildcard::with_literal_colon_star(command).is_exact())
            .map(str::to_owned);
        Ok(Self {
            text: Wildcard::with_literal_colon_star(&pattern),
            bare,
        })
    }

    /// The pattern of the bare tool name.
    pub fn everything() -> Self {
        Self {
            text: Wildcard::new("*"),
            bare: None,
        }
    }

    pub fn is_exact(&self) -> bool {
        self.text.is_exact()
    }

    /// Whether its author wrote quotes, which means that it applies to the command as written.
    pub fn is_quoted(&self) -> bool {
        self.text.contains(&['\'', '"', '\\'])
    }

    /// Whether its author wrote an operator, which means that it applies to a whole command line.
    pub fn joins_commands(&self) -> bool {
        self.text.contains(&['|', '&', ';', '\n'])
    }

    pub fn matches(&self, command: &str) -> bool {
        self.bare.as_deref() == Some(command) || self.text.matches(command)
    }
}

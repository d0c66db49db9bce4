//! What was decided about a call, and what decided it.

use std::fmt;

use super::grant::Grant;
use super::rule::Rule;
use crate::protocol::Mode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl Decision {
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// One sentence for the person and, when denied, for the model.
    pub reason: String,
    pub cause: Cause,
}

/// What made a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    Rule(Rule),
    /// The built-in list of commands that never run, or a critical removal.
    BuiltIn,
    /// The path is one that grants rights or runs code.
    ProtectedPath,
    Mode(Mode),
    /// The command was proved read-only.
    Classifier,
    /// The tool's own default.
    Default,
    Hook(String),
    /// The kernel kept a command that nobody was asked about from something.
    HeldBack,
    Person,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Rule(rule) => write!(f, "rule `{}` of {}", rule.text, rule.source.0),
            Cause::BuiltIn => f.write_str("built-in list"),
            Cause::ProtectedPath => f.write_str("protected path"),
            Cause::Mode(mode) => write!(f, "mode {}", mode.name()),
            Cause::Classifier => f.write_str("classifier"),
            Cause::Default => f.write_str("the tool's default"),
            Cause::Hook(name) => write!(f, "hook {name}"),
            Cause::HeldBack => f.write_str("held back by the kernel"),
            Cause::Person => f.write_str("person"),
        }
    }
}

impl Verdict {
    /// What was decided and what decided it, in one line for the person.
    pub fn in_short(&self) -> String {
        let decided = match self.decision {
            Decision::Allow => "allowed",
            Decision::Ask => "asked about",
            Decision::Deny => "denied",
        };
        match &self.cause {
            Cause::Rule(rule) => format!("{decided} by rule {} in {}", rule.text, rule.source.0),
            Cause::Mode(mode) => format!("{decided} by mode {}", mode.name()),
            Cause::Classifier => "read-only command".to_owned(),
            Cause::Hook(name) => format!("{decided} by hook {name}"),
            Cause::BuiltIn | Cause::ProtectedPath | Cause::Default | Cause::HeldBack => {
                format!("{decided}: {}", self.reason)
            }
            Cause::Person => self.reason.clone(),
        }
    }

    /// The grant of an allowed call.
    pub fn grant(&self) -> Option<Grant> {
        (self.decision == Decision::Allow).then(|| Grant::new(self.cause.clone()))
    }
}

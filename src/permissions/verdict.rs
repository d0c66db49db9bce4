//! What was decided about a call, and what decided it.

use std::fmt;

use super::grant::Grant;
use super::rule::Rule;
use crate::protocol::{Answer, Mode};

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

/// Its fields can be read everywhere and written only in `permissions`: other code can deny a call or make it ask, but
/// not allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub(super) decision: Decision,
    /// One sentence for the person and, when denied, for the model.
    pub(super) reason: String,
    pub(super) cause: Cause,
}

/// Why an edit asks that nothing else is known about.
pub(super) const EDITS_ASK: &str = "edits need approval in this mode";

/// Why a person's answer does not let a call run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// It was denied already, for this reason, and the person cannot allow it.
    Before(String),
    /// They said no, with a reason or without.
    ByPerson(Option<String>),
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
    /// The sandbox blocked something in a command that ran without asking.
    Blocked,
    Person,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Rule(rule) => write!(f, "rule `{}` of {}", rule.text, rule.source),
            Cause::BuiltIn => f.write_str("built-in list"),
            Cause::ProtectedPath => f.write_str("protected path"),
            Cause::Mode(mode) => write!(f, "mode {}", mode.name()),
            Cause::Classifier => f.write_str("classifier"),
            Cause::Default => f.write_str("the tool's default"),
            Cause::Hook(name) => write!(f, "hook {name}"),
            Cause::Blocked => f.write_str("held back by the kernel"),
            Cause::Person => f.write_str("person"),
        }
    }
}

impl Verdict {
    pub fn deny(cause: Cause, reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Deny,
            reason: reason.into(),
            cause,
        }
    }

    pub fn ask(cause: Cause, reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Ask,
            reason: reason.into(),
            cause,
        }
    }

    /// Any verdict, for tests.
    #[cfg(test)]
    pub fn forged(decision: Decision, cause: Cause, reason: &str) -> Self {
        Self {
            decision,
            reason: reason.to_owned(),
            cause,
        }
    }

    pub fn decision(&self) -> Decision {
        self.decision
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether it asks only because every edit does in this mode, which needs no explanation.
    pub fn asks_as_every_edit(&self) -> bool {
        (self.decision, &self.cause) == (Decision::Ask, &Cause::Default) && self.reason == EDITS_ASK
    }

    /// Whether it allows the call only because nothing speaks against it: no rule and no mode allows it.
    pub fn allows_by_default(&self) -> bool {
        self.decision == Decision::Allow
            && match self.cause {
                Cause::Rule(_) | Cause::Mode(_) | Cause::Person => false,
                Cause::BuiltIn
                | Cause::ProtectedPath
                | Cause::Classifier
                | Cause::Default
                | Cause::Hook(_)
                | Cause::Blocked => true,
            }
    }

    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// What was decided and what decided it, in one line for the person.
    pub fn summary(&self) -> String {
        let decided = match self.decision {
            Decision::Allow => "allowed",
            Decision::Ask => "asked",
            Decision::Deny => "denied",
        };
        let why = match self.decision {
            Decision::Ask => ", because",
            Decision::Allow | Decision::Deny => ":",
        };
        match &self.cause {
            Cause::Rule(rule) => format!("{decided} by rule {} in {}", rule.text, rule.source),
            Cause::Mode(mode) => format!("{decided} by mode {}", mode.name()),
            Cause::Classifier => "read-only command".to_owned(),
            Cause::Hook(name) => format!("{decided} by hook {name}"),
            Cause::BuiltIn | Cause::ProtectedPath | Cause::Default | Cause::Blocked => {
                format!("{decided}{why} {}", self.reason)
            }
            Cause::Person => self.reason.clone(),
        }
    }

    /// The grant of a call that is allowed without asking.
    pub fn grant(&self) -> Option<Grant> {
        (self.decision == Decision::Allow).then(|| Grant::new(self.cause.clone()))
    }

    /// The grant of a call that the person allows. Nobody is asked about a denied call.
    pub fn answered(&self, answer: &Answer) -> Result<Grant, Denied> {
        match (self.decision, answer) {
            (Decision::Deny, _) => Err(Denied::Before(self.reason.clone())),
            (Decision::Allow | Decision::Ask, Answer::Deny { reason }) => {
                Err(Denied::ByPerson(reason.clone()))
            }
            (
                Decision::Allow | Decision::Ask,
                Answer::Allow
                | Answer::AllowForSession { .. }
                | Answer::AllowAlways { .. }
                | Answer::AllowPart { .. },
            ) => Ok(Grant::new(Cause::Person)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_allowed_call_has_a_grant_of_its_own() {
        for (decision, granted) in [
            (Decision::Allow, Some(Cause::Classifier)),
            (Decision::Ask, None),
            (Decision::Deny, None),
        ] {
            let verdict = Verdict::forged(decision, Cause::Classifier, "so");
            let grant = verdict.grant();
            assert_eq!(grant.map(|grant| grant.cause().clone()), granted);
        }
    }

    #[test]
    fn a_person_allows_what_was_not_denied_before() {
        let denial = || Answer::Deny {
            reason: Some("later".to_owned()),
        };
        let no = Denied::ByPerson(Some("later".to_owned()));
        let before = Denied::Before("so".to_owned());
        for (decision, answer, granted) in [
            (Decision::Ask, Answer::Allow, Ok(Cause::Person)),
            (Decision::Allow, Answer::Allow, Ok(Cause::Person)),
            (Decision::Deny, Answer::Allow, Err(before.clone())),
            (Decision::Ask, denial(), Err(no.clone())),
            (Decision::Allow, denial(), Err(no)),
            (Decision::Deny, denial(), Err(before)),
        ] {
            let verdict = Verdict::forged(decision, Cause::Default, "so");
            let grant = verdict.answered(&answer);
            assert_eq!(
                grant.map(|grant| grant.cause().clone()),
                granted,
                "{answer:?}"
            );
        }
    }
}

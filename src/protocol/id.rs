//! Ids of sessions, records, agents, turns and tool calls.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The id that the model gave to a tool call. It ties the call to its result inside messages and is used nowhere
/// else: a model may reuse an id, and two models may use the same one. Everywhere else a call is a [`CallRef`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireId(pub String);

/// The id of a session, which is also the name of its log file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// The number of a record in its session's log, which identifies a moment of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// Who makes calls: the person, the person's conversation with the model, or a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub u32);

impl AgentId {
    /// The person, who runs commands independently of the turns.
    pub const PERSON: Self = Self(0);
    /// The person's conversation with the model.
    pub const MAIN: Self = Self(1);

    pub const fn main() -> Self {
        Self::MAIN
    }

    /// The name of a subagent for models and hooks.
    pub fn task(self) -> String {
        format!("task_{}", self.0.saturating_sub(Self::MAIN.0))
    }

    /// Whether it is a subagent.
    pub const fn is_subagent(self) -> bool {
        self.0 > Self::MAIN.0
    }

    pub const fn is_main(&self) -> bool {
        self.0 == Self::MAIN.0
    }
}

/// The program's own id of a tool call: assigned when the call is first seen, and unique in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CallRef {
    pub agent: AgentId,
    pub number: u32,
}

/// Counts the exchanges of an agent in one run of the program. An exchange is everything between a prompt and the end
/// of the loop that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId {
    pub agent: AgentId,
    pub number: u64,
}

/// Assigns the numbers of one agent's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallNumbers {
    agent: AgentId,
    last: u32,
}

impl CallNumbers {
    /// Continues after the call with the number `last`.
    pub const fn after(agent: AgentId, last: u32) -> Self {
        Self { agent, last }
    }

    #[expect(
        clippy::should_implement_trait,
        reason = "numbers never run out, so it returns no Option"
    )]
    pub fn next(&mut self) -> CallRef {
        self.last = self.last.saturating_add(1);
        CallRef {
            agent: self.agent,
            number: self.last,
        }
    }
}

impl CallRef {
    /// A call of the person's conversation with the model.
    pub const fn main(number: u32) -> Self {
        Self {
            agent: AgentId::MAIN,
            number,
        }
    }
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.agent.0, self.number)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a call: expected two numbers with a dot between them")]
pub struct NoCallRef(String);

impl FromStr for CallRef {
    type Err = NoCallRef;

    fn from_str(text: &str) -> Result<Self, NoCallRef> {
        let parts = text.split_once('.');
        let numbers =
            parts.and_then(|(agent, number)| Some((agent.parse().ok()?, number.parse().ok()?)));
        let (agent, number) = numbers.ok_or_else(|| NoCallRef(text.to_owned()))?;
        Ok(Self {
            agent: AgentId(agent),
            number,
        })
    }
}

impl TryFrom<String> for CallRef {
    type Error = NoCallRef;

    fn try_from(text: String) -> Result<Self, NoCallRef> {
        text.parse()
    }
}

impl From<CallRef> for String {
    fn from(call: CallRef) -> Self {
        call.to_string()
    }
}

impl From<&str> for WireId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl fmt::Display for WireId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tests name a call with a word, which always gives the same number. `person_2` is the second call of the person;
/// any other word is a call of the model.
#[cfg(test)]
impl From<&str> for CallRef {
    fn from(word: &str) -> Self {
        let of_person = word.strip_prefix("person_");
        if let Some(number) = of_person.and_then(|number| number.parse().ok()) {
            return Self {
                agent: AgentId::PERSON,
                number,
            };
        }
        let number = word.bytes().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(257).wrapping_add(byte.into())
        });
        Self::main(number)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentId, CallNumbers, CallRef};

    #[test]
    fn a_call_is_written_as_two_numbers_and_parsed_again() {
        let mut numbers = CallNumbers::after(AgentId(3), 6);
        let call = numbers.next();
        assert_eq!(serde_json::to_string(&call).expect("JSON"), "\"3.7\"");
        assert_eq!(serde_json::from_str::<CallRef>("\"3.7\"").ok(), Some(call));
        for wrong in ["toolu_1", "3", "3.", ".7", "3.7.1", "-1.7", "1.4294967296"] {
            assert!(wrong.parse::<CallRef>().is_err(), "{wrong}");
        }
    }
}

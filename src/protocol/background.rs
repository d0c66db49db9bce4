//! How a command or a subagent that a call left in the background ended.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundEnd {
    /// The command's exit code.
    Exited(i32),
    Signalled(i32),
    /// The person or the model stopped it.
    Stopped,
    /// The subagent has finished.
    Done,
    TurnLimit,
    /// The subagent failed with this problem.
    Failed(String),
    /// The program ended first.
    WithProgram,
}

impl BackgroundEnd {
    pub fn is_success(&self) -> bool {
        match self {
            Self::Exited(code) => *code == 0,
            Self::Done => true,
            Self::Signalled(_)
            | Self::Stopped
            | Self::TurnLimit
            | Self::Failed(_)
            | Self::WithProgram => false,
        }
    }

    /// Reads what a log says. Logs of earlier versions say it in words.
    pub fn logged<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let words = value.as_str().map(Self::of_words);
        let typed = Self::deserialize(value);
        typed.or_else(|_| words.ok_or_else(|| serde::de::Error::custom("no end of a command")))
    }

    fn of_words(words: &str) -> Self {
        let number = |prefix: &str| words.strip_prefix(prefix)?.parse().ok();
        if let Some(code) = number("exited with code ") {
            return Self::Exited(code);
        }
        if let Some(signal) = number("ended by signal ") {
            return Self::Signalled(signal);
        }
        match words.strip_prefix("failed: ").unwrap_or(words) {
            "killed" => Self::Stopped,
            "reached its turn limit" => Self::TurnLimit,
            problem => Self::Failed(problem.to_owned()),
        }
    }
}

impl fmt::Display for BackgroundEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(0) => write!(f, "finished (exit 0)"),
            Self::Exited(code) => write!(f, "failed (exit {code})"),
            Self::Signalled(signal) => write!(f, "ended by signal {signal}"),
            Self::Stopped => write!(f, "stopped"),
            Self::Done => write!(f, "done"),
            Self::TurnLimit => write!(f, "reached its turn limit"),
            Self::Failed(problem) => write!(f, "failed: {problem}"),
            Self::WithProgram => write!(f, "ended with agent-tui"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde_json::{Value, json};

    use super::BackgroundEnd;

    fn logged(value: Value) -> Option<BackgroundEnd> {
        BackgroundEnd::logged(value.into_deserializer()).ok()
    }

    #[test]
    fn every_end_is_read_as_it_was_written() {
        for end in [
            BackgroundEnd::Exited(3),
            BackgroundEnd::Signalled(9),
            BackgroundEnd::Stopped,
            BackgroundEnd::Done,
            BackgroundEnd::TurnLimit,
            BackgroundEnd::Failed("no".to_owned()),
            BackgroundEnd::WithProgram,
        ] {
            let written = serde_json::to_value(&end).expect("it is plain data");
            assert_eq!(logged(written), Some(end));
        }
    }

    #[test]
    fn the_words_of_earlier_logs_are_understood() {
        for (words, end) in [
            ("exited with code 0", BackgroundEnd::Exited(0)),
            ("ended by signal 15", BackgroundEnd::Signalled(15)),
            ("killed", BackgroundEnd::Stopped),
            ("stopped", BackgroundEnd::Stopped),
            ("done", BackgroundEnd::Done),
            ("reached its turn limit", BackgroundEnd::TurnLimit),
            ("failed: no key", BackgroundEnd::Failed("no key".to_owned())),
        ] {
            assert_eq!(logged(json!(words)), Some(end), "{words}");
        }
        assert_eq!(logged(json!(7)), None);
    }
}

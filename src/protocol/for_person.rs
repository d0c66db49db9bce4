//! The result of a call for people. The model gets the result itself.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The person's side of a result. It is logged, so that a resumed session shows the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForPerson {
    /// What happened, in one sentence; `None` if the outcome says enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The byte range of the result's text that the call itself printed or found, if that is not all of it. The rest
    /// is for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Range<usize>>,
}

/// A part of the output of a running call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// The newest output.
    pub text: String,
    /// How many lines have ended since the last part, including those that `text` leaves out.
    pub lines: usize,
}

impl ForPerson {
    /// Only this sentence: nothing of the result's text is for the person.
    pub fn sentence(sentence: impl Into<String>) -> Self {
        Self {
            sentence: Some(sentence.into()),
            exit: None,
            output: Some(0..0),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The part of a result's text that the call itself printed or found.
    pub fn output_in<'t>(&self, text: &'t str) -> &'t str {
        match &self.output {
            Some(range) => text.get(range.clone()).unwrap_or(text),
            None => text,
        }
    }
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        let lines = text.matches('\n').count();
        Self { text, lines }
    }
}

impl From<&str> for Printed {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::ForPerson;

    #[test]
    fn an_invalid_range_means_the_whole_text() {
        let part = |range| ForPerson {
            output: Some(range),
            ..ForPerson::default()
        };
        assert_eq!(part(2..4).output_in("ab\u{e9}"), "\u{e9}");
        assert_eq!(part(0..0).output_in("ab"), "");
        for outside in [0..9, 2..3] {
            assert_eq!(part(outside).output_in("ab\u{e9}"), "ab\u{e9}");
        }
    }
}

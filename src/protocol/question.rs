//! What a call asks the person, and what the person says to it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::id::CallRef;
use super::input::CallInput;
use super::shown::FileDiff;

/// A call asks one question at a time, so a reply needs no more than the call to find it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: CallRef,
    /// What people call the conversation that asks; `None` for the one that they have themselves.
    pub asker: Option<String>,
    pub kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// Whether the call may run.
    Permission(PermissionRequest),
    /// One or more questions of its tool, asked together.
    Choice(Vec<ChoiceRequest>),
}

/// What the person says to a [`Question`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Permission(Answer),
    /// An answer to each of the questions, in their order.
    Chosen(Vec<Chosen>),
    /// The person does not want to answer, or was not waited for.
    Dismissed,
    /// No person is there to answer.
    Nobody,
}

impl Reply {
    /// The answer to the only question.
    pub fn only(&self) -> Option<&Chosen> {
        match self {
            Reply::Chosen(chosen) => chosen.first(),
            Reply::Permission(_) | Reply::Dismissed | Reply::Nobody => None,
        }
    }

    /// Whether the only question was answered with this option.
    pub fn picks(&self, option: usize) -> bool {
        self.only().is_some_and(|chosen| chosen.options == [option])
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub tool: String,
    pub input: CallInput,
    /// Why it asks; empty where the call itself says it.
    pub reason: String,
    /// What the call would change, as far as that can be told beforehand.
    pub changes: Vec<FileDiff>,
    /// The rules that "always" could save and the file it would go to; `None` where no rule may cover such a call.
    pub rule: Option<RuleOffer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOffer {
    pub rule: String,
    /// A rule that covers similar calls, too, for the person to change to.
    pub wider: Option<String>,
    pub file: PathBuf,
}

/// A person's answer to a [`PermissionRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Allow,
    /// Allow it, and what the rule covers until the program ends.
    AllowForSession {
        rule: String,
    },
    /// Allow it, and write the rule into the settings file that the request named.
    AllowAlways {
        rule: String,
    },
    /// Allow a change of files in part: these are the files that it may change, and what they are to hold. The others stay as
    /// they are.
    AllowPart {
        files: Vec<PartOfFile>,
        left_out: LeftOut,
    },
    Deny {
        reason: Option<String>,
    },
}

/// How many of the changes that were picked from the person did not want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub count: usize,
    pub of: usize,
}

/// What an answer did besides letting the call run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerNote {
    /// The rule counts until the program ends.
    ForSession {
        rule: String,
    },
    /// The rule is in this file now.
    Saved {
        rule: String,
        file: String,
    },
    LeftOut(LeftOut),
}

/// What one file is to hold when a change of it was allowed, whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOfFile {
    /// As the change that was shown calls it.
    pub path: String,
    pub after: String,
}

/// A question with answers to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChoiceRequest {
    /// What it is about, in a few words; may be empty.
    pub title: String,
    /// A word or two for its tab, where several are asked together; may be empty.
    pub header: String,
    pub question: String,
    /// A text to read before the answer, as Markdown, which the person may change.
    pub body: Option<String>,
    pub options: Vec<ChoiceOption>,
    /// More than one of them can be chosen.
    pub several: bool,
    /// The person may write something instead of choosing, or beside it where several can be chosen.
    pub free_text: bool,
    /// What the person's own words are for; empty where they are just another answer.
    pub own_words: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOption {
    pub label: String,
    /// What choosing it means; may be empty.
    pub about: String,
}

/// The person's answer to a [`ChoiceRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The chosen options by their number from 0, in their order.
    pub options: Vec<usize>,
    pub text: Option<String>,
    /// The text of the request as the person has changed it.
    pub edited: Option<String>,
}

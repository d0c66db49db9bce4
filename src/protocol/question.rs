//! Questions of calls to the person, and the person's replies.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::form::{FormReply, FormRequest};
use super::id::CallRef;
use super::input::CallInput;
use super::shown::FileDiff;

/// A call asks one question at a time, so the call is enough to match a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: CallRef,
    /// The name of the conversation that asks; `None` for the person's own.
    pub asker: Option<String>,
    pub kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// Whether the call may run.
    Permission(PermissionRequest),
    /// One or more questions of its tool, asked together.
    Choice(Vec<ChoiceRequest>),
    /// Values of several kinds, filled in together.
    Form(FormRequest),
}

/// The reply to a [`Question`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Permission(Answer),
    /// An answer to each of the questions, in their order; [skipped](Chosen::is_skipped) ones are empty.
    Chosen(Vec<Chosen>),
    Form(FormReply),
    /// The person did not answer, or was not waited for.
    Dismissed,
    /// No person is there to answer.
    Nobody,
}

impl Reply {
    /// The answer to the only question.
    pub fn only(&self) -> Option<&Chosen> {
        match self {
            Reply::Chosen(chosen) => chosen.first(),
            Reply::Permission(_) | Reply::Form(_) | Reply::Dismissed | Reply::Nobody => None,
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
    /// Whether it runs a shell command, in the field `command`.
    pub is_command: bool,
    /// The program that the call starts, if the input does not show it.
    pub program: Option<Box<Program>>,
    /// Why it asks; empty if the call itself makes that clear.
    pub reason: String,
    /// What the call would change, if that is known in advance.
    pub changes: Vec<FileDiff>,
    /// The rules that "always" could save and the file for them; `None` if no rule may allow this call.
    pub rule: Option<RuleOffer>,
}

/// What a tool that was added from outside starts on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The shell command.
    pub command: String,
    /// The directory that it starts in.
    pub directory: String,
    /// How it gets the input of the call, in words.
    pub input: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOffer {
    pub rule: String,
    /// A wider rule that also covers similar calls, which the person can switch to.
    pub wider: Option<String>,
    pub file: PathBuf,
}

/// The person's answer to a [`PermissionRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Allow,
    /// Allow it, and everything that the rule covers until the program ends.
    AllowForSession {
        rule: String,
    },
    /// Allow it, and save the rule in the settings file that the request named.
    AllowAlways {
        rule: String,
    },
    /// Allow a change of files in part: the files that it may change, and their new contents. All others stay
    /// unchanged.
    AllowPart {
        files: Vec<PartOfFile>,
        left_out: LeftOut,
    },
    Deny {
        reason: Option<String>,
    },
}

/// How many of the changes the person left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub count: usize,
    pub of: usize,
}

/// What an answer did in addition to allowing the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerNote {
    /// The rule applies until the program ends.
    ForSession {
        rule: String,
    },
    /// The rule was saved in this file.
    Saved {
        rule: String,
        file: String,
    },
    LeftOut(LeftOut),
}

/// The new content of one file, after the person allowed a change as a whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOfFile {
    /// As named in the change that was shown.
    pub path: String,
    pub after: String,
}

/// A question with answers to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChoiceRequest {
    /// The subject in a few words; may be empty.
    pub title: String,
    /// A word or two for its tab, where several are asked together; may be empty.
    pub header: String,
    pub question: String,
    /// A Markdown text to read before answering, which the person may edit.
    pub body: Option<String>,
    pub options: Vec<ChoiceOption>,
    /// More than one option can be chosen.
    pub several: bool,
    /// The person may write something instead of choosing, or in addition if several can be chosen.
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
    /// The chosen options, by their index, in order.
    pub options: Vec<usize>,
    pub text: Option<String>,
    /// The text of the request as edited by the person.
    pub edited: Option<String>,
}

impl Chosen {
    /// Whether the person answered other questions of the same call, but not this one.
    pub fn is_skipped(&self) -> bool {
        self.options.is_empty() && self.text.is_none()
    }
}

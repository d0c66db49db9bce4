//! Work that the screen asks for and that may wait: done by the runtime, beside the event loop.

use std::path::PathBuf;

use super::page::Line;
use crate::protocol::{Block, CallRef, Price};
use crate::theme::Theme;

/// A request; its answer comes back as a [`JobResult`].
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// Find files whose path matches; a later query makes an earlier one worthless.
    CompletePath {
        query: String,
        generation: u64,
    },
    /// Let the person edit the draft in `$EDITOR`.
    EditDraft(String),
    /// The same with the text of a question that this call asks.
    EditAsked {
        call: CallRef,
        text: String,
    },
    /// Read what was typed in earlier sessions.
    LoadHistory,
    /// Keep what was sent, for later sessions.
    KeepInHistory(String),
    /// Keep what is not sent yet, so that a crash does not lose it.
    KeepDraft(String),
    /// Add a line to the project's memory file.
    Remember(String),
    /// Read an image to send it with the next message.
    Attach(PathBuf),
    /// Read the themes of the configuration folder.
    ListThemes,
    /// Keep the chosen theme.
    KeepTheme(String),
    /// Keep whether the tool panel stays although nothing runs.
    KeepPanel {
        pinned: bool,
    },
    /// The sessions of this directory, or of all; the newest first, then what is in each.
    ListSessions {
        everywhere: bool,
    },
    DeleteSession(String),
    /// The models that are known for a provider.
    ListModels {
        provider: String,
    },
    /// See what is configured and what is missing.
    Examine,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JobResult {
    Paths {
        generation: u64,
        /// The best ones.
        paths: Vec<Candidate>,
        /// How many there are.
        found: usize,
        /// Whether the walk over the workspace has seen everything.
        complete: bool,
    },
    Edited(Result<String, String>),
    EditedAsked {
        call: CallRef,
        result: Result<String, String>,
    },
    History(Vec<String>),
    /// A draft that an earlier run left behind.
    Draft(String),
    Remembered(Result<PathBuf, String>),
    Attached {
        path: PathBuf,
        result: Result<Block, String>,
    },
    Themes(Vec<Theme>),
    Sessions(Vec<SessionRow>),
    /// What is in one of them.
    SessionRead(Box<SessionContent>),
    SessionDeleted {
        id: String,
        result: Result<(), String>,
    },
    Models(Vec<ModelRow>),
    /// What is configured, what is missing and what to do about it.
    Examined(Vec<Line>),
    /// Something went wrong that the person should know.
    Failed(String),
}

/// A path that matches what was typed, with the characters that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub path: String,
    pub matched: Vec<u32>,
}

/// A session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRow {
    pub id: String,
    /// When it was last written to, for people.
    pub when: String,
    /// The heading for that time.
    pub age: &'static str,
    pub title: String,
    /// The directory it was begun in, where that may be another one.
    pub place: String,
}

/// What is in a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionContent {
    pub id: String,
    pub model: String,
    /// How many messages of the person, and how many calls.
    pub messages: usize,
    pub calls: usize,
    /// In dollars, where it is known.
    pub cost: Option<f64>,
    /// Lines.
    pub added: usize,
    pub removed: usize,
    /// The end of what was said and done.
    pub end: Vec<Line>,
}

/// A model that can be asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRow {
    pub name: String,
    /// How many tokens it takes in, where that is known.
    pub context: Option<u64>,
    pub price: Option<Price>,
    /// Who names it.
    pub source: String,
}

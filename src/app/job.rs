//! Slow work that the screen asks for; the runtime does it outside the event loop.

use std::path::PathBuf;

use super::page::Line;
use crate::protocol::{Block, CallRef, Price};
use crate::theme::Theme;

/// A request; its answer comes back as a [`JobResult`].
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// Find matching files; a later query replaces an earlier one.
    CompletePath {
        query: String,
        generation: u64,
    },
    /// Let the person edit the draft in `$EDITOR`.
    EditDraft(String),
    /// The same with the text of a question of this call.
    EditAsked {
        call: CallRef,
        text: String,
    },
    /// Load what was typed in earlier sessions.
    LoadHistory,
    /// Save what was sent, for later sessions.
    KeepInHistory(String),
    /// Save what is not sent yet, so that a crash does not lose it.
    KeepDraft(String),
    /// Add a line to the project's memory file.
    Remember(String),
    /// Read an image to send it with the next message.
    Attach(PathBuf),
    /// Read the themes in the configuration directory.
    ListThemes,
    /// Save the chosen theme.
    KeepTheme(String),
    /// Save whether the tool panel stays open when nothing runs.
    KeepPanel {
        pinned: bool,
    },
    /// List the sessions of this directory or of all, newest first; then read each one's content.
    ListSessions {
        everywhere: bool,
    },
    DeleteSession(String),
    RenameSession {
        id: String,
        title: String,
    },
    /// List the known models of a provider.
    ListModels {
        provider: String,
    },
    /// Check what is configured and what is missing.
    Examine,
    /// Find out which branch the workspace is on.
    FindBranch,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JobResult {
    Paths {
        generation: u64,
        /// The best matches.
        paths: Vec<Candidate>,
        /// How many match in total.
        found: usize,
        /// Whether the whole workspace has been searched.
        complete: bool,
    },
    Edited(Result<String, String>),
    EditedAsked {
        call: CallRef,
        result: Result<String, String>,
    },
    History(Vec<String>),
    /// A draft saved by an earlier run.
    Draft(String),
    Remembered(Result<PathBuf, String>),
    Attached {
        path: PathBuf,
        result: Result<Block, String>,
    },
    Themes(Vec<Theme>),
    Sessions(Vec<SessionRow>),
    /// The content of one session.
    SessionRead(Box<SessionContent>),
    SessionDeleted {
        id: String,
        result: Result<(), String>,
    },
    /// The session's new title.
    SessionRenamed {
        id: String,
        result: Result<String, String>,
    },
    Models(Vec<ModelRow>),
    /// What is configured, what is missing and what to do about it.
    Examined(Vec<Line>),
    /// The workspace is on this branch.
    Branch(String),
    /// Something failed that the person should know about.
    Failed(String),
}

/// A path that matches the query, with the matching characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub path: String,
    pub matched: Vec<u32>,
}

/// A session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRow {
    pub id: String,
    /// When it was last written to, as text.
    pub when: String,
    /// The heading for that time.
    pub age: &'static str,
    pub title: String,
    /// The directory that it was started in, if it may differ from this one.
    pub place: String,
    /// A program has it open: this one or another.
    pub is_open: bool,
}

/// The content of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionContent {
    pub id: String,
    /// The title that the person gave it.
    pub title: Option<String>,
    pub model: String,
    pub branch: Option<String>,
    /// How many messages the person sent, and how many calls were made.
    pub messages: usize,
    pub calls: usize,
    /// In dollars, if known.
    pub cost: Option<f64>,
    /// Lines.
    pub added: usize,
    pub removed: usize,
    /// The end of the conversation.
    pub end: Vec<Line>,
}

/// A model that can be asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRow {
    pub name: String,
    /// The size of its context window in tokens, if known.
    pub context: Option<u64>,
    pub price: Option<Price>,
    /// Where its name comes from.
    pub source: String,
}

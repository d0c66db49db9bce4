//! What a call's result looks like to a person.

use std::sync::Arc;

/// The result as a person sees it, where that is more than the text that the model reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shown {
    /// The text says it all.
    #[default]
    Nothing,
    /// Files were changed, each of them once in here.
    Changes(Vec<FileDiff>),
    /// Parts of files were changed, each under a name of its own: a cell of a notebook. Both texts of each are among the
    /// checkpoints.
    Excerpts(Vec<FileDiff>),
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileDiff {
    pub path: String,
    /// `None` for a file that is new.
    pub before: Option<Arc<str>>,
    pub after: Arc<str>,
}

impl Shown {
    /// What was changed, file by file or part by part.
    pub fn changes(&self) -> &[FileDiff] {
        match self {
            Shown::Nothing => &[],
            Shown::Changes(changes) | Shown::Excerpts(changes) => changes,
        }
    }

    /// How long the texts in it are together.
    pub fn size(&self) -> usize {
        match self {
            Shown::Nothing => 0,
            Shown::Changes(changes) | Shown::Excerpts(changes) => {
                changes.iter().map(FileDiff::size).sum()
            }
        }
    }
}

impl FileDiff {
    fn size(&self) -> usize {
        self.before.as_ref().map_or(0, |before| before.len()) + self.after.len()
    }
}

/// Nothing, where no file was changed.
impl From<Vec<FileDiff>> for Shown {
    fn from(changes: Vec<FileDiff>) -> Self {
        if changes.is_empty() {
            Shown::Nothing
        } else {
            Shown::Changes(changes)
        }
    }
}

impl From<FileDiff> for Shown {
    fn from(change: FileDiff) -> Self {
        Shown::Changes(vec![change])
    }
}

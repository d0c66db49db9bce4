//! What a person sees of a call's result.

use std::sync::Arc;

/// What a person sees of a result, if that is more than the text for the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shown {
    /// The text is enough.
    #[default]
    Nothing,
    /// Changed files, each of them once.
    Changes(Vec<FileDiff>),
    /// Changed parts of files, each with its own name, such as a cell of a notebook. Both texts of each are
    /// checkpoints.
    Excerpts(Vec<FileDiff>),
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileDiff {
    pub path: String,
    /// `None` for a new file.
    pub before: Option<Arc<str>>,
    pub after: Arc<str>,
}

impl Shown {
    /// The changes, file by file or part by part.
    pub fn changes(&self) -> &[FileDiff] {
        match self {
            Shown::Nothing => &[],
            Shown::Changes(changes) | Shown::Excerpts(changes) => changes,
        }
    }

    /// The total size of the texts in it.
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

/// `Nothing` if no file was changed.
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

//! What the file tools share: paths, checks, atomic writing, checkpoints.
//!
//! A tool that changes a text file uses [`Document`]: it opens the file and checks it against the [`Ledger`], changes
//! the text in memory, and saves it atomically, with the old content in [`Checkpoints`].

pub mod atomic;
mod attributes;
mod checkpoint;
pub mod document;
pub mod error;
pub mod image;
mod ledger;
mod lock;
pub mod matching;
mod near_miss;
pub mod notebook;
pub mod numbered;
pub mod open;
pub mod page;
pub mod part;
pub mod path;
#[cfg_attr(not(feature = "pdf"), path = "pdf_absent.rs")]
pub mod pdf;
pub mod place;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod race;
pub mod saved;
#[cfg(test)]
pub mod scratch;
mod stamp;
pub mod text;
mod weave;

pub use checkpoint::Checkpoints;
pub use document::{Document, FileChange};
pub use error::{FileError, human_size};
pub use ledger::{Ledger, Novelty, Part, Seen, Stale, View};
pub use lock::Locks;
pub use stamp::{ContentHash, NotAHash, Stamp};

use std::path::Path;

use super::{ToolCx, ToolError};

/// Runs work that waits for the disk on a thread for blocking work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is shutting down.
        Err(_) => Err(ToolError::cancelled()),
    }
}

/// Runs `work` on the file that a call names, on a thread for blocking work. For validations and previews, which only
/// borrow the input.
pub async fn on_file<I: Clone + Send + 'static, T: Send + 'static>(
    input: &I,
    path: &str,
    cx: &ToolCx,
    work: impl FnOnce(&I, &Path, &ToolCx) -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    let path = path::resolve_file(path, &cx.cwd)?;
    let (input, cx) = (input.clone(), cx.clone());
    blocking(move || work(&input, &path, &cx)).await
}

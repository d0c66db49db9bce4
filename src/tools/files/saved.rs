//! A change that was written to the disk, in words for the model and as a diff for the screen.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::atomic::{self, Expected};
use super::attributes::LostOwner;
use super::lock::PathLock;
use super::numbered::{changed_range, snippet};
use super::part::left_out;
use super::path::shown;
use super::place::Place;
use super::{FileChange, FileError, Seen, Stamp};
use crate::protocol::{FileDiff, ForPerson, ResultBlock};
use crate::tools::{ToolCx, ToolOutput};

/// The result of a call if the person allowed no part of it.
pub const NOTHING_ALLOWED: &str = "The user did not allow any part of this change, so nothing was written. Do not try it again; ask how to continue";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The path from the call, made absolute.
    pub path: PathBuf,
    /// The name for the screen.
    pub name: String,
    /// `None` for a file that was created.
    pub before: Option<String>,
    pub after: String,
    pub change: FileChange,
    pub stamp: Stamp,
    /// Other names of the file, which keep the old content.
    pub other_links: u64,
    /// The owner that the file had and lost.
    pub lost_owner: Option<LostOwner>,
}

impl Saved {
    /// What the file looks like now.
    pub fn description(&self) -> String {
        let path = shown(&self.path);
        match &self.before {
            None => format!("File created successfully at: {path}"),
            Some(before) => format!(
                "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{}",
                snippet(&self.after, &changed_range(before, &self.after))
            ),
        }
    }

    /// The output of a call that the person allowed only in part; `planned` is what the file would have contained.
    pub fn into_part(self, planned: &str) -> ToolOutput {
        let text = match left_out(&self.after, planned) {
            None => self.description(),
            Some(diff) => format!(
                "The user allowed only a part of this change. {}\n\nThis is missing, as a diff from what the file has now to what you \
                 asked for. The user does not want it; do not try it again:\n{diff}",
                self.description()
            ),
        };
        self.into_output(text)
    }

    /// The output of a call with this as its only effect: `text` for the model, the diff for the screen.
    pub fn into_output(self, text: String) -> ToolOutput {
        ToolOutput {
            for_model: vec![ResultBlock::text(text + &self.remarks())],
            // The person sees the diff.
            for_person: ForPerson {
                output: Some(0..0),
                ..ForPerson::default()
            },
            shown: self.into_diff().into(),
            ..ToolOutput::default()
        }
    }

    pub fn into_diff(self) -> FileDiff {
        FileDiff {
            path: self.name,
            before: self.before.map(Arc::from),
            after: Arc::from(self.after),
        }
    }

    /// What the model has to know besides the change itself.
    pub fn remarks(&self) -> String {
        let mut text = String::new();
        if self.other_links > 0 {
            let _ = write!(
                text,
                "\n<system-reminder>The file had {} (hard links), which keep the old content.</system-reminder>",
                match self.other_links {
                    1 => "another name".to_owned(),
                    count => format!("{count} other names"),
                }
            );
        }
        if let Some(lost) = self.lost_owner {
            let _ = write!(text, "\n<system-reminder>{lost}.</system-reminder>");
        }
        text
    }

    /// Restores the old content of a file that existed before, unless another program has changed it since.
    pub fn take_back(&self, cx: &ToolCx) -> Result<(), FileError> {
        let FileChange {
            path,
            before: Some(before),
            after,
        } = &self.change
        else {
            return Err(FileError::GivenUp);
        };
        let failed = |error: std::io::Error| FileError::io("restore", path, &error);
        let _lock = PathLock::acquire(path);
        let old = cx.env.checkpoints.get(before).map_err(failed)?;
        // Restore it even if the log no longer accepts entries.
        let _ = cx.journal.announce(FileChange {
            path: path.clone(),
            before: Some(*after),
            after: *before,
        });
        let expected = Expected::File {
            stamp: self.stamp,
            hash: *after,
        };
        let place = Place::of(path).map_err(failed)?;
        let written = atomic::replace(&place, &old, expected, &cx.env.locks)?;
        cx.ledger
            .record_write(path, written.stamp, &old, &Seen::new([]));
        Ok(())
    }
}

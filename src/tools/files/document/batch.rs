//! Saves several existing files and waits for the disk in parallel.
//!
//! File systems combine syncs that happen at the same time, so that many of them take little longer than one. First all
//! checkpoints are stored, then all changes are announced, then all new contents are written to temporary files. Only
//! then the files are replaced, one after the other, each with the same checks as in [`Document::save`].

use std::panic::resume_unwind;
use std::thread;

use super::super::atomic::{self, Expected, Written};
use super::super::saved::Saved;
use super::super::{FileChange, FileError};
use super::{Document, Origin, announce};
use crate::tools::ToolCx;

/// How many files are saved together. Each has an open temporary file meanwhile, and a process may only have 1,024 open
/// files on many systems.
pub const SIZE: usize = 64;
/// How many threads wait for the disk.
const THREADS: usize = 32;

/// Saves the documents in order until one fails or the call is cancelled. Returns those that were saved, also if there
/// is an error. Blocks: not for an async thread.
pub fn save(documents: Vec<Document>, cx: &ToolCx) -> (Vec<Saved>, Result<(), FileError>) {
    let orders: Vec<(Document, Vec<u8>)> = documents
        .into_iter()
        .map(|document| {
            let bytes = document.text.encode();
            (document, bytes)
        })
        .collect();
    let (mut announced, mut written) = (Vec::with_capacity(orders.len()), Vec::new());
    let result = write(&orders, &mut announced, &mut written, cx);
    for change in announced.iter().skip(written.len()) {
        // The log says that this was about to be written. Now it says that the old content stays.
        if let Some(before) = change.before {
            let _ = cx.journal.announce(FileChange {
                path: change.path.clone(),
                before: Some(change.after),
                after: before,
            });
        }
    }
    let saved =
        orders.into_iter().zip(announced).zip(written).map(
            |(((document, bytes), change), written)| document.saved(&bytes, change, written, cx),
        );
    (saved.collect(), result)
}

/// Adds to `announced` and `written` what was done, in the order of the documents.
fn write(
    orders: &[(Document, Vec<u8>)],
    announced: &mut Vec<FileChange>,
    written: &mut Vec<Written>,
    cx: &ToolCx,
) -> Result<(), FileError> {
    let unless_cancelled = || {
        if cx.cancel.is_cancelled() {
            Err(FileError::Cancelled)
        } else {
            Ok(())
        }
    };
    unless_cancelled()?;
    let files = in_parallel(orders, |(document, bytes)| match &document.origin {
        Origin::File {
            place,
            stamp,
            bytes: old,
        } => {
            let hash = document.store(old, cx)?;
            let stamp = *stamp;
            Ok((place, bytes, hash, Expected::File { stamp, hash }))
        }
        Origin::Nothing { .. } => Err(FileError::changed(&document.path)),
    })?;
    // Before the temporary files: after a crash, they are removed from the directories of announced changes.
    for (place, bytes, hash, _) in &files {
        unless_cancelled()?;
        announced.push(announce(place, Some(*hash), bytes, cx)?);
    }
    let prepared = in_parallel(&files, |(place, bytes, _, expected)| {
        atomic::prepare(place, bytes, *expected)
    })?;
    for file in prepared {
        unless_cancelled()?;
        written.push(file.finish(&cx.env.locks)?);
    }
    Ok(())
}

/// The results of `work` in the order of the items, or the first error.
fn in_parallel<'a, T: Sync, R: Send>(
    items: &'a [T],
    work: impl Fn(&'a T) -> Result<R, FileError> + Sync,
) -> Result<Vec<R>, FileError> {
    let share = items.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items
            .chunks(share)
            .map(|items| {
                let run = move || items.iter().map(work).collect::<Result<Vec<R>, _>>();
                // If the system has no thread left, this one does it.
                thread::Builder::new()
                    .spawn_scoped(scope, run)
                    .map_err(|_| run())
            })
            .collect();
        let mut results = Vec::with_capacity(items.len());
        for thread in threads {
            results.extend(match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                Err(done) => done?,
            });
        }
        Ok(results)
    })
}

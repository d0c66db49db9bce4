//! Writes what was planned: all files, or none.
//!
//! Every file is opened and checked before the first one is written. They are written in batches, because waiting for
//! the disk once per file would take seconds. If a later step fails or the call is cancelled, the files that were
//! already written are restored.

use std::collections::HashMap;
use std::fmt::Write;

use super::plan::{Plan, Planned};
use super::report;
use crate::permissions::Places;
use crate::protocol::{FileDiff, PartOfFile, ResultBlock};
use crate::tools::files::FileError;
use crate::tools::files::document::{Document, Need, batch};
use crate::tools::files::matching::Splice;
use crate::tools::files::part::{left_out, splices};
use crate::tools::files::saved::{NOTHING_ALLOWED, Saved};
use crate::tools::{ToolCx, ToolOutput};

/// For how many files the model is told what the person left out.
const MOST_LEFT_OUT: usize = 10;

/// Writes everything.
pub fn whole(plan: &Plan, cx: &ToolCx) -> Result<ToolOutput, FileError> {
    let files: Vec<&Planned> = plan.files.iter().filter(|file| file.changes()).collect();
    if files.is_empty() {
        let text = match plan.count() {
            0 => report::applied(plan, &[])
                .replace("Replaced 0 matches in 0 files:", "No matches found"),
            count => format!(
                "The replacement equals the text at all {count} matches: nothing was written"
            ),
        };
        return Ok(ToolOutput::text(text));
    }
    let orders = files.iter().map(|file| (*file, file.splices.clone()));
    let saved = save(orders.collect(), cx)?;
    let names = files
        .iter()
        .map(|file| (file.name(&plan.cwd), file.matches.len()));
    let names: Vec<(String, usize)> = names.collect();
    Ok(output(report::applied(plan, &names), saved))
}

/// Writes the part that the person allowed.
pub fn part(plan: &Plan, allowed: Vec<PartOfFile>, cx: &ToolCx) -> Result<ToolOutput, FileError> {
    let workspace = &cx.env.workspace;
    let mut allowed: HashMap<String, String> = allowed
        .into_iter()
        .map(|part| (part.path, part.after))
        .collect();
    let (mut orders, mut names, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for file in plan.files.iter().filter(|file| file.changes()) {
        let name = file.name(workspace);
        let planned = file.after();
        let after = allowed.remove(&name).unwrap_or_else(|| file.before.clone());
        if let Some(diff) = left_out(&after, &planned) {
            missing.push((name.clone(), diff));
        }
        let changes = splices(&file.before, &after);
        if !changes.is_empty() {
            names.push((name, changes.len()));
            orders.push((file, changes));
        }
    }
    if orders.is_empty() {
        return Ok(ToolOutput::text(NOTHING_ALLOWED));
    }
    let saved = save(orders, cx)?;
    let mut text = report::applied(plan, &names);
    if !missing.is_empty() {
        text.push_str(
            "\n\nThe user allowed only a part of this change. This is missing, as diffs from what the files have now to what \
             you asked for. The user does not want it; do not try it again:",
        );
        for (name, diff) in missing.iter().take(MOST_LEFT_OUT) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{name}:\n{diff}");
        }
        if missing.len() > MOST_LEFT_OUT {
            let more = missing.len() - MOST_LEFT_OUT;
            let _ = write!(text, "\n[and changes in {more} more files]");
        }
    }
    Ok(output(text, saved))
}

fn output(text: String, saved: Vec<Saved>) -> ToolOutput {
    let mut remarks = String::new();
    let diffs: Vec<FileDiff> = saved
        .into_iter()
        .map(|saved| {
            remarks.push_str(&saved.remarks());
            saved.into_diff()
        })
        .collect();
    ToolOutput {
        for_model: vec![ResultBlock::text(text + &remarks)],
        shown: diffs.into(),
        ..ToolOutput::default()
    }
}

/// Writes the files with their changes, or none of them if anything fails.
fn save(orders: Vec<(&Planned, Vec<Splice>)>, cx: &ToolCx) -> Result<Vec<Saved>, FileError> {
    let total = orders.len();
    let mut documents = Vec::with_capacity(total);
    // The search has already checked that they are where the call may look.
    let found_below = Places::default();
    // In the order of their paths: everyone who locks several files uses this order, so that two calls cannot
    // deadlock.
    for (file, changes) in orders {
        let mut document = Document::open(&file.real, Need::Exactly(file.hash), cx, &found_below)?;
        document.splice_unseen(&changes);
        if let Some(last) = documents.last() {
            document.share_directory(last);
        }
        documents.push(document);
    }
    let mut saved: Vec<Saved> = Vec::with_capacity(total);
    let mut documents = documents.into_iter();
    while documents.len() > 0 {
        let next = documents.by_ref().take(batch::SIZE).collect();
        let (written, result) = batch::save(next, cx);
        saved.extend(written);
        if let Err(error) = result {
            return Err(take_back(&saved, error, cx));
        }
        let done = saved.len();
        cx.progress
            .report(format!("{done} of {total} files written"));
    }
    Ok(saved)
}

/// Restores the old contents, and says what went wrong.
fn take_back(saved: &[Saved], error: FileError, cx: &ToolCx) -> FileError {
    let stuck: Vec<String> = saved
        .iter()
        .rev()
        .filter(|saved| saved.take_back(cx).is_err())
        .map(|saved| saved.name.clone())
        .collect();
    match (stuck.is_empty(), error) {
        (true, FileError::Cancelled) => FileError::Cancelled,
        (true, error) => FileError::BadContent(format!("{error}. No file was changed")),
        (false, error) => FileError::BadContent(format!(
            "{error}. These files were changed and could not be restored, because another program has changed them \
             since: {}",
            stuck.join(", ")
        )),
    }
}

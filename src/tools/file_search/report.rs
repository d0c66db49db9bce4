//! The texts for the model about a search and about what was changed. Pure.

use std::fmt::Write;
use std::ops::Range;

use super::Input;
use super::plan::{Plan, Planned};
use crate::text::shortened;
use crate::tools::files::numbered::line_number;
use crate::tools::tree::names;

/// Further matches are only counted.
const MOST_MATCHES: usize = 500;
/// Longer lines are cut.
const LONGEST_LINE: usize = 500;

/// The matches, each with its line, and with the line after the change.
pub fn matches(plan: &Plan, input: &Input) -> String {
    let total = plan.count();
    if total == 0 {
        let mut text = "No matches found".to_owned();
        push_remarks(&mut text, plan);
        return text;
    }
    let mut text = format!("Found {}:", counted(total, plan.files.len()));
    let mut left = MOST_MATCHES;
    for file in &plan.files {
        push_file(&mut text, file, plan, &mut left);
    }
    if total > MOST_MATCHES {
        let _ = write!(
            text,
            "\n\n[{} more matches are not shown; narrow `path`, `file_glob` or `pattern`]",
            total - MOST_MATCHES
        );
    }
    push_remarks(&mut text, plan);
    if input.replace_with.is_some() {
        text.push_str(
            "\n\nPreview only: nothing was written. To apply it, call FileSearch again with `preview_only: false`.",
        );
    }
    text
}

/// The matches in a few words, for the person.
pub fn summary(plan: &Plan) -> String {
    match plan.count() {
        0 => "no matches".to_owned(),
        count => counted(count, plan.files.len()),
    }
}

/// What was written.
pub fn applied(plan: &Plan, files: &[(String, usize)]) -> String {
    let total = files.iter().map(|(_, count)| count).sum();
    let mut text = format!("Replaced {}:", counted(total, files.len()));
    for (name, count) in files {
        let _ = write!(text, "\n{name}: {count}");
    }
    push_remarks(&mut text, plan);
    text
}

fn counted(matches: usize, files: usize) -> String {
    let plural = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    format!(
        "{} in {}",
        plural(matches, "match", "matches"),
        plural(files, "file", "files")
    )
}

/// Adds what the model has to know about the search besides its matches.
fn push_remarks(text: &mut String, plan: &Plan) {
    if !plan.kept.is_empty() {
        let kept = plan.kept.iter().take(5).map(|path| names::show(path));
        let kept: Vec<String> = kept.collect();
        let _ = write!(
            text,
            "\n[{} with matches may not be changed and stay as they are: {}{}]",
            if plan.kept.len() == 1 {
                "1 file".to_owned()
            } else {
                format!("{} files", plan.kept.len())
            },
            kept.join(", "),
            if plan.kept.len() > 5 { ", …" } else { "" }
        );
    }
    if plan.more {
        text.push_str("\n[There are more files with matches than were looked at; narrow `path` or `file_glob`]");
    }
    if plan.stopped {
        text.push_str(
            "\n[The search took too long and was stopped: files are missing; narrow `path` or `file_glob`]",
        );
    }
    if let Some(line) = plan.unread.line() {
        text.push('\n');
        text.push_str(&line);
    }
}

/// One entry for all matches that share lines.
fn push_file(text: &mut String, file: &Planned, plan: &Plan, left: &mut usize) {
    let name = file.name(&plan.cwd);
    let mut index = 0;
    while index < file.matches.len() && *left > 0 {
        let mut lines = lines_around(&file.before, &file.matches[index]);
        let mut end = index + 1;
        while let Some(next) = file.matches.get(end).filter(|next| next.start < lines.end) {
            lines.end = lines.end.max(lines_around(&file.before, next).end);
            end += 1;
        }
        let number = line_number(&file.before, lines.start);
        let _ = write!(text, "\n\n{name}:{number}");
        push_lines(text, "  ", &file.before[lines.clone()]);
        if !file.splices.is_empty() {
            push_lines(text, "→ ", &replaced(file, index..end, &lines));
        }
        *left -= (end - index).min(*left);
        index = end;
    }
}

/// The whole lines of a match, without the last line end.
fn lines_around(text: &str, found: &Range<usize>) -> Range<usize> {
    let start = text[..found.start].rfind('\n').map_or(0, |at| at + 1);
    // A match that ends with a line end does not reach into the next line.
    let last = found.end.saturating_sub(1).max(found.start);
    let last = (0..=last)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at);
    start..end.max(start)
}

fn replaced(file: &Planned, matches: Range<usize>, lines: &Range<usize>) -> String {
    let mut text = String::new();
    let mut done = lines.start;
    for splice in &file.splices[matches] {
        text.push_str(&file.before[done..splice.range.start.max(done)]);
        text.push_str(&splice.with);
        done = splice.range.end;
    }
    text.push_str(&file.before[done.min(lines.end)..lines.end]);
    text
}

fn push_lines(text: &mut String, mark: &str, lines: &str) {
    for line in lines.lines() {
        let _ = write!(
            text,
            "\n{mark}{}",
            shortened(line.trim_end_matches('\r'), LONGEST_LINE, "…")
        );
    }
    if lines.is_empty() {
        let _ = write!(text, "\n{}", mark.trim_end());
    }
}

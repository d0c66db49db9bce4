//! Builds the text for the model from the result of a search.

use std::fmt::Write;

use super::query::Cut;
use super::search::Found;
use super::{OutputMode, Query};
use crate::tools::tree::names;

pub(super) const NOTHING: &str = "No matches found";

/// The lines of the answer, followed by remarks in brackets.
pub(super) fn text(query: &Query, found: &Found) -> String {
    let mut text = String::new();
    let mut more = found.more;
    let mut left = query.limit.lines;
    for file in &found.files {
        let path = file.key.path();
        // Writing to a string cannot fail.
        match query.mode {
            OutputMode::FilesWithMatches => {
                let _ = writeln!(text, "{}", names::show(path));
                left = left.saturating_sub(1);
            }
            OutputMode::Count => {
                let shown = names::show(path.strip_prefix(&query.cwd).unwrap_or(path));
                let _ = writeln!(text, "{shown}:{}", file.value.count);
                left = left.saturating_sub(1);
            }
            OutputMode::Content => {
                if query.has_context() && !text.is_empty() && left > 0 {
                    text.push_str("--\n");
                    left -= 1;
                }
                more |= push_lines(&mut text, &file.value.text, &mut left);
            }
        }
    }
    if text.is_empty() {
        text.push_str(if found.searched == 0 && query.is_filtered() {
            "No matches found: no file has a name that `glob` and `type` allow"
        } else {
            NOTHING
        });
        text.push('\n');
    }
    if more && query.cut == Cut::Ours {
        text.push_str(
            "[The result was cut here; narrow `path`, `glob` or `pattern` to see the rest]\n",
        );
    }
    if found.stopped {
        text.push_str("[The search took too long and was stopped: files are missing; narrow `path` or `glob`]\n");
    }
    if let Some(line) = found.unread.line() {
        text.push_str(&line);
        text.push('\n');
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Adds as many of the lines as fit. Returns whether some did not fit.
fn push_lines(text: &mut String, lines: &str, left: &mut usize) -> bool {
    for line in lines.split_inclusive('\n') {
        if *left == 0 {
            return true;
        }
        text.push_str(line);
        *left -= 1;
    }
    false
}

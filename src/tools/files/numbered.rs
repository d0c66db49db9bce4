//! Lines as `cat -n` shows them, the form in which models are used to seeing files.

use std::fmt::Write;
use std::ops::Range;

use crate::text::shortened;

/// Longer lines are cut, and marked.
pub const MAX_LINE_CHARS: usize = 2_000;
/// The mark at the end of a cut line.
pub const CUT_MARK: &str = "… [line cut]";
/// How many lines a snippet shows before and after the change.
const CONTEXT: usize = 4;
/// How many changed lines a snippet shows from each end.
const MOST_CHANGED: usize = 60;

/// Adds a line with its number, cut if it is too long. `line` has no line ending.
pub fn push_line(out: &mut String, number: u64, line: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    let _ = write!(out, "{number:>6}\t");
    out.push_str(&shortened(line, MAX_LINE_CHARS, CUT_MARK));
}

/// The lines around the byte range `changed` of `text`, numbered.
pub fn snippet(text: &str, changed: &Range<usize>) -> String {
    let lines = split(text);
    let first = line_of(&lines, changed.start);
    // The end of a range is after its last character: an empty line after a final newline was not changed.
    let last = line_of(&lines, changed.end.saturating_sub(1).max(changed.start));
    let shown = first.saturating_sub(CONTEXT)..(last + CONTEXT + 1).min(lines.len());
    let left_out = first + MOST_CHANGED..(last + 1).saturating_sub(MOST_CHANGED);
    let mut out = String::new();
    for index in shown {
        if left_out.contains(&index) {
            if index == left_out.start {
                let _ = write!(out, "\n   ... ({} lines)", left_out.len());
            }
            continue;
        }
        let (start, end) = lines[index];
        push_line(&mut out, index as u64 + 1, &text[start..end]);
    }
    out
}

/// The range of `after` that differs from `before`, in whole lines.
pub fn changed_range(before: &str, after: &str) -> Range<usize> {
    let same = |lines: &mut dyn Iterator<Item = (&str, &str)>| -> usize {
        lines
            .take_while(|(old, new)| old == new)
            .map(|(_, new)| new.len())
            .sum()
    };
    let (old, new) = (before.split_inclusive('\n'), after.split_inclusive('\n'));
    let start = same(&mut old.clone().zip(new.clone()));
    let end = same(&mut old.rev().zip(new.rev()));
    start..after.len().saturating_sub(end).max(start)
}

/// The number of the line with the byte at `position`, from 1.
pub fn line_number(text: &str, position: usize) -> usize {
    line_of(&split(text), position) + 1
}

/// The line numbers of these positions, which are in order. One pass, however many there are.
pub fn line_numbers(text: &str, positions: &[usize]) -> Vec<usize> {
    let lines = split(text);
    positions
        .iter()
        .map(|position| line_of(&lines, *position) + 1)
        .collect()
}

fn line_of(lines: &[(usize, usize)], position: usize) -> usize {
    lines
        .partition_point(|(start, _)| *start <= position)
        .saturating_sub(1)
}

/// Start and end of every line, without its ending. A final newline does not begin another line.
fn split(text: &str) -> Vec<(usize, usize)> {
    let terminator = super::text::terminator(text.as_bytes());
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(terminator, bytes) {
        let without_cr = end - usize::from(end > start && bytes[end - 1] == b'\r');
        lines.push((start, without_cr));
        start = end + 1;
    }
    if start < text.len() {
        lines.push((start, text.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{CUT_MARK, changed_range, line_number, push_line, snippet};

    fn numbered(count: usize) -> String {
        let lines: Vec<String> = (1..=count).map(|line| format!("line {line}\n")).collect();
        lines.concat()
    }

    #[test]
    fn a_snippet_has_four_lines_on_both_sides() {
        let text = numbered(20);
        let start = text.find("line 10").expect("there");
        let shown = snippet(&text, &(start..start + 7));
        assert!(
            shown.starts_with("     6\tline 6\n     7\tline 7"),
            "{shown}"
        );
        assert!(shown.ends_with("    14\tline 14"), "{shown}");
    }

    #[test]
    fn the_middle_of_a_long_change_is_left_out() {
        let text = numbered(1000);
        let shown = snippet(&text, &(0..text.len()));
        assert!(
            shown.contains("    60\tline 60\n   ... (880 lines)\n   941\tline 941"),
            "{shown}"
        );
        assert!(shown.ends_with("  1000\tline 1000"));
    }

    #[test]
    fn endings_of_all_kinds_end_lines() {
        for text in ["a\nb\nc", "a\r\nb\r\nc\r\n", "a\rb\rc"] {
            let expected = "     1\ta\n     2\tb\n     3\tc";
            assert_eq!(snippet(text, &(0..1)), expected, "{text:?}");
        }
        assert_eq!(line_number("a\r\nb\r\nc", 3), 2);
        assert_eq!(line_number("", 0), 1);
        assert_eq!(snippet("", &(0..0)), "");
    }

    #[test]
    fn the_changed_range_excludes_equal_lines_on_both_sides() {
        for (before, after, expected) in [
            ("a\nb\nc\n", "a\nx\nc\n", 2..4),
            ("a\na\n", "a\n", 2..2),
            ("a\n", "a\na\n", 2..2),
            ("", "a\n", 0..2),
        ] {
            assert_eq!(
                changed_range(before, after),
                expected,
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut out = String::new();
        push_line(&mut out, 7, &"é".repeat(2001));
        assert_eq!(out, format!("     7\t{}{CUT_MARK}", "é".repeat(2000)));
    }
}

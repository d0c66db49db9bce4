//! Changes that a person allowed only in part: from the current text to the allowed one. Pure.

use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, DiffTag, TextDiff};

use super::matching::Splice;
use crate::protocol::PartOfFile;
use crate::text::shortened;
use crate::tools::ToolError;

/// After this time a comparison becomes coarser.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The longest diff of what was left out.
const LONGEST_DIFF: usize = 4_000;
const CONTEXT: usize = 2;

/// The new content for a call that changes only one file.
pub fn only(files: Vec<PartOfFile>) -> Result<String, ToolError> {
    match <[PartOfFile; 1]>::try_from(files) {
        Ok([PartOfFile { after, .. }]) => Ok(after),
        Err(files) => Err(ToolError::new(format!(
            "The call changes 1 file, and the user's answer is about {}: nothing was done",
            files.len()
        ))
        .with_sentence("this call can't be done in part")),
    }
}

/// The splices that turn `before` into `after`. They cover only what differs, line by line.
pub fn splices(before: &str, after: &str) -> Vec<Splice> {
    let diff = TextDiff::configure()
        .timeout(MAX_WAIT)
        .diff_lines(before, after);
    let (old, new) = (
        starts(diff.iter_old_slices()),
        starts(diff.iter_new_slices()),
    );
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed
        .map(|op: &DiffOp| {
            let range = bytes(&old, op.old_range());
            let with = &after[bytes(&new, op.new_range())];
            trimmed(before, range, with)
        })
        .collect()
}

/// A unified diff from `now` to `planned`, cut to a limit; `None` if they are the same.
pub fn left_out(now: &str, planned: &str) -> Option<String> {
    if now == planned {
        return None;
    }
    let diff = TextDiff::configure()
        .timeout(MAX_WAIT)
        .diff_lines(now, planned);
    let text = diff.unified_diff().context_radius(CONTEXT).to_string();
    let mark = "…\n[the rest of the diff is not shown]";
    Some(shortened(&text, LONGEST_DIFF, mark).into_owned())
}

/// The start of each line, and the end of the last one.
fn starts<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<usize> {
    let mut end = 0;
    let ends = lines.map(|line| {
        end += line.len();
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn bytes(starts: &[usize], lines: Range<usize>) -> Range<usize> {
    starts[lines.start]..starts[lines.end]
}

/// The splice without the common beginning and end of both sides.
fn trimmed(text: &str, range: Range<usize>, with: &str) -> Splice {
    let old = &text[range.clone()];
    let common = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        let same = pairs.take_while(|(old, new)| old == new);
        same.map(|(letter, _)| letter.len_utf8()).sum()
    };
    let start = common(&mut old.chars().zip(with.chars()));
    let (old, with) = (&old[start..], &with[start..]);
    let end = common(&mut old.chars().rev().zip(with.chars().rev()));
    Splice {
        range: range.start + start..range.end - end,
        with: with[..with.len() - end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{left_out, splices};
    use crate::tools::files::matching::{Splice, apply};

    #[test]
    fn only_what_differs_is_spliced() {
        let expected = [
            Splice {
                range: 2..3,
                with: "B".into(),
            },
            Splice {
                range: 8..8,
                with: "e\n".into(),
            },
        ];
        assert_eq!(splices("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"), expected);
    }

    #[test]
    fn what_was_left_out_is_a_diff() {
        assert_eq!(left_out("a\n", "a\n"), None);
        let diff = left_out("a\nb\n", "a\nB\n").expect("they differ");
        assert_eq!(diff, "@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
        let long = left_out("", &"long\n".repeat(10_000)).expect("they differ");
        assert!(long.ends_with("[the rest of the diff is not shown]"));
    }

    proptest! {
        #[test]
        fn the_splices_turn_one_text_into_the_other(before in "[aä\r\n]{0,30}", after in "[aä\r\n]{0,30}") {
            prop_assert_eq!(apply(&before, &splices(&before, &after)).0, after);
        }
    }
}

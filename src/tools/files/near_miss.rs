//! What the model probably meant when the text to replace is not in the file.
//!
//! Checked in this order: line numbers copied from Read, text that differs only in whitespace, a first line that
//! matches followed by a line that does not, and a line that is nearly the same.

use std::fmt::Write;

/// How many lines of a file are compared.
const MOST_LINES: usize = 100_000;
/// How much of a line is shown.
const MOST_SHOWN: usize = 200;

/// A hint that follows "not found", or nothing.
pub fn describe(text: &str, old: &str) -> String {
    let file: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let wanted: Vec<&str> = old.lines().collect();
    line_numbers_included(text, &wanted)
        .or_else(|| blanks_differ(&file, &wanted))
        .or_else(|| continues_differently(&file, &wanted))
        .or_else(|| nearly_the_same(&file, &wanted))
        .unwrap_or_else(|| " Read the file again to see its exact text".into())
}

fn line_numbers_included(text: &str, wanted: &[&str]) -> Option<String> {
    let without_number = |line: &&str| {
        let (number, rest) = line.split_once('\t')?;
        number.trim_start().parse::<u64>().ok()?;
        Some(rest.to_owned())
    };
    let stripped: Vec<String> = wanted.iter().map(without_number).collect::<Option<_>>()?;
    let first = stripped.first().filter(|line| !line.is_empty())?;
    text.contains(first.as_str()).then(|| {
        " `old_string` begins its lines with the line numbers that Read shows: leave out the number and the tab".into()
    })
}

fn blanks_differ(file: &[&str], wanted: &[&str]) -> Option<String> {
    let squeezed: Vec<String> = wanted.iter().map(|line| squeeze(line)).collect();
    if squeezed.iter().all(String::is_empty) {
        return None;
    }
    let mut places = file
        .windows(squeezed.len())
        .enumerate()
        .filter(|(_, window)| {
            window
                .iter()
                .zip(&squeezed)
                .all(|(line, wanted)| squeeze(line) == *wanted)
        });
    let (index, window) = places.next()?;
    let others = places.count();
    // The first differing line shows the problem; if there is none, it is the end of the text.
    let differing = window
        .iter()
        .zip(wanted)
        .position(|(have, want)| have != want);
    let at = differing.unwrap_or(wanted.len() - 1);
    let mut hint = format!(
        " Line {} differs from it only in whitespace (· is a blank, → a tab)",
        index + at + 1
    );
    match others {
        0 => {}
        1 => hint.push_str(", and so does 1 other place"),
        _ => {
            let _ = write!(hint, ", and so do {others} other places");
        }
    }
    let _ = write!(hint, ":\n{}", compared(window[at], wanted[at]));
    if differing.is_none() {
        hint.push_str("\n`old_string` ends with a line break that the file does not have");
    }
    Some(hint)
}

fn continues_differently(file: &[&str], wanted: &[&str]) -> Option<String> {
    let first = wanted.first().filter(|line| line.trim().len() > 2)?;
    if wanted.len() < 2 {
        return None;
    }
    // Of all places with the same first line, the one with the longest match.
    let same_lines = |index: usize| {
        let lines = file[index..].iter().zip(wanted);
        lines
            .take_while(|(have, want)| have.trim() == want.trim())
            .count()
    };
    let (same, index) = (0..file.len())
        .filter(|index| file[*index].trim() == first.trim())
        .map(|index| (same_lines(index), index))
        .max_by_key(|(same, index)| (*same, std::cmp::Reverse(*index)))?;
    let (have, want) = (file.get(index + same), wanted.get(same)?);
    Some(match have {
        Some(have) => format!(
            " Its first line is at line {}, but line {} differs:\n{}",
            index + 1,
            index + same + 1,
            compared(have, want)
        ),
        None => format!(
            " Its first line is at line {}, but the file ends at line {}",
            index + 1,
            file.len()
        ),
    })
}

fn nearly_the_same(file: &[&str], wanted: &[&str]) -> Option<String> {
    let wanted = wanted.iter().find(|line| line.trim().len() > 5)?.trim();
    let (score, index) = file
        .iter()
        .enumerate()
        .map(|(index, line)| (likeness(line.trim(), wanted), index))
        .max_by_key(|(score, index)| (*score, std::cmp::Reverse(*index)))?;
    // 60 percent in common is far more than chance.
    (score >= 60).then(|| {
        format!(
            " The most similar line is line {}:\n{}",
            index + 1,
            compared(file[index].trim(), wanted)
        )
    })
}

/// The length of the common beginning and end, in percent of the longer line.
fn likeness(a: &str, b: &str) -> usize {
    let common = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let (longer, shorter) = (a.len().max(b.len()), a.len().min(b.len()));
    let start = common(&mut a.bytes(), &mut b.bytes());
    let end = common(&mut a.bytes().rev(), &mut b.bytes().rev()).min(shorter - start);
    (start + end) * 100 / longer.max(1)
}

fn compared(have: &str, want: &str) -> String {
    format!(
        "the file has:     {}\n`old_string` has: {}",
        visible(have),
        visible(want)
    )
}

/// A line with its whitespace made visible.
fn visible(line: &str) -> String {
    let mut shown = String::new();
    for (count, character) in line.chars().enumerate() {
        if count == MOST_SHOWN {
            shown.push('…');
            break;
        }
        match character {
            ' ' => shown.push('·'),
            '\t' => shown.push('→'),
            other if other.is_whitespace() || other.is_control() => {
                shown.extend(other.escape_unicode());
            }
            other => shown.push(other),
        }
    }
    shown
}

/// The line without whitespace, so that `a( b )` equals `a(b)`.
fn squeeze(line: &str) -> String {
    line.chars()
        .filter(|character| !character.is_whitespace())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn tabs_and_blanks_are_made_visible() {
        assert_eq!(
            describe("fn a() {\n\treturn  1;\n}\n", "    return 1;"),
            " Line 2 differs from it only in whitespace (· is a blank, → a tab):\n\
             the file has:     →return··1;\n`old_string` has: ····return·1;"
        );
    }

    #[test]
    fn the_line_that_differs_is_the_one_shown() {
        let hint = describe("if x {\n    y\n}\nif x {\n    y\n}\n", "if x {\n  y\n}");
        assert_eq!(
            hint,
            " Line 2 differs from it only in whitespace (· is a blank, → a tab), and so does 1 other place:\n\
             the file has:     ····y\n`old_string` has: ··y"
        );
    }

    #[test]
    fn an_extra_line_break_at_the_end_is_named() {
        let hint = describe("a\nlast", "last\n");
        assert!(hint.ends_with("that the file does not have"), "{hint}");
    }

    #[test]
    fn copied_line_numbers_are_recognised() {
        let hint = describe(
            "let a = 1;\nlet b = 2;\n",
            "     1\tlet a = 1;\n     2\tlet b = 2;",
        );
        assert!(hint.contains("leave out the number"), "{hint}");
    }

    #[test]
    fn a_text_with_a_correct_first_line_is_shown_where_it_differs() {
        assert_eq!(
            describe(
                "fn a() {\n    one();\n    two();\n}\n",
                "fn a() {\n    one();\n    three();\n}"
            ),
            " Its first line is at line 1, but line 3 differs:\n\
             the file has:     ····two();\n`old_string` has: ····three();"
        );
    }

    #[test]
    fn a_typing_error_is_found() {
        let hint = describe("let total = sum(items);\n", "let totl = sum(items);");
        assert!(
            hint.starts_with(" The most similar line is line 1:"),
            "{hint}"
        );
    }

    #[test]
    fn an_unrelated_text_gets_no_guess() {
        assert_eq!(
            describe("alpha\nbeta\n", "something else entirely"),
            " Read the file again to see its exact text"
        );
    }
}

//! Shortens long texts. Lengths are in characters.

use std::borrow::Cow;

/// At most this many characters of a text.
pub fn beginning(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most);
    end.map_or(text, |(end, _)| &text[..end])
}

/// At most this many characters of a text, followed by `mark` if it was cut.
pub fn shortened<'t>(text: &'t str, most: usize, mark: &str) -> Cow<'t, str> {
    let kept = beginning(text, most);
    if kept.len() == text.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{kept}{mark}"))
    }
}

/// The first line of a text, or its beginning, with a mark if it was cut.
pub fn first_line(text: &str, most: usize) -> String {
    let text = text.trim();
    let line = beginning(text.lines().next().unwrap_or_default(), most);
    let mark = if line.len() < text.len() { "…" } else { "" };
    format!("{line}{mark}")
}

#[cfg(test)]
mod tests {
    use super::{beginning, first_line, shortened};

    #[test]
    fn omitted_text_is_marked() {
        assert_eq!(beginning("äöü", 2), "äö");
        assert_eq!(shortened("äöü", 3, "…"), "äöü");
        assert_eq!(shortened("äöü", 2, "… [cut]"), "äö… [cut]");
    }

    #[test]
    fn a_message_of_several_lines_is_shown_by_its_first() {
        assert_eq!(first_line("one\ntwo", 80), "one…");
        assert_eq!(first_line(" one \n", 80), "one");
        assert_eq!(
            first_line(&"é".repeat(81), 80),
            format!("{}…", "é".repeat(80))
        );
        assert_eq!(first_line("", 80), "");
    }
}

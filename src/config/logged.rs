//! Text from outside in the debug log: without secrets, on one line, and of limited length.

use std::fmt::{self, Display, Write};

use super::hidden;

/// Longer texts are cut in the middle, because errors are at the end.
const HEAD: usize = 1_500;
const TAIL: usize = 500;

/// Formatted when it is written, so that it costs nothing if logging is off.
pub struct Logged<T>(T);

pub fn logged<T: Display>(text: T) -> Logged<T> {
    Logged(text)
}

impl<T: Display> Display for Logged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Before cutting, because a part of a key is not recognised.
        let text = hidden(self.0.to_string());
        let length = text.chars().count();
        if length <= HEAD + TAIL {
            return on_one_line(f, text.chars());
        }
        on_one_line(f, text.chars().take(HEAD))?;
        write!(f, "[… {length} characters in all …]")?;
        on_one_line(f, text.chars().skip(length - TAIL))
    }
}

/// The log must not contain control sequences that change the terminal of its reader.
fn on_one_line(f: &mut fmt::Formatter<'_>, characters: impl Iterator<Item = char>) -> fmt::Result {
    for character in characters {
        if character.is_control() || turns_direction(character) {
            write!(f, "{}", character.escape_default())?;
        } else {
            f.write_char(character)?;
        }
    }
    Ok(())
}

fn turns_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_that_changes_nothing_in_a_terminal() {
        let shown = logged("one\ntwo\u{1b}[31m \u{202e}three é \"x\"").to_string();
        assert_eq!(shown, "one\\ntwo\\u{1b}[31m \\u{202e}three é \"x\"");
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        let text = format!("begin {} end", "é".repeat(5_000));
        let shown = logged(&text).to_string();
        assert!(shown.starts_with("begin é") && shown.ends_with("é end"));
        assert!(shown.contains("[… 5010 characters in all …]"), "{shown}");
        assert!(shown.chars().count() < HEAD + TAIL + 50);
    }
}

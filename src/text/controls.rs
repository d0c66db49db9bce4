//! Control characters.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::picture;

/// JSON with all control characters escaped. JSON itself requires that only for those below the space; terminals also
/// interpret those from 0x7f on.
pub fn without_controls(json: &str) -> Cow<'_, str> {
    let is_control = |letter: char| matches!(letter, '\u{7f}'..='\u{9f}');
    if !json.contains(is_control) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_control(letter) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Text with its control characters made visible, in the same way as on the screen.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            // Controls, and marks that change the direction of the text around them.
            letter if letter.is_control() => clean.push_str(&picture(letter)),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.push_str(&picture(letter)),
            letter => clean.push(letter),
        }
    }
    clean
}

/// Text for a single line, such as a title or a name, without control characters.
pub fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{clean, without_controls};

    #[test]
    fn c7_json_contains_no_control_characters() {
        let value = json!({ "result": "a\u{9b}31m\u{7f}\u{1b}[0m\u{85}é" });
        let text = without_controls(&value.to_string()).into_owned();
        assert_eq!(text, r#"{"result":"a\u009b31m\u007f\u001b[0m\u0085é"}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn c7_text_for_a_terminal_shows_escape_sequences() {
        assert_eq!(clean("a\u{1b}[2J\u{9b}b\n"), "a␛[2J<U+009B>b\n");
        assert_eq!(clean("a\u{202e}b\r"), "a<U+202E>b␍");
    }
}

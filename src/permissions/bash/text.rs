//! The first look at a command, before anything parses it: characters that hide or fake text, and length.

/// Longer commands are never approved without asking.
pub const MAX_CHARACTERS: usize = 10_000;

/// Why this text is never approved without asking.
pub fn refusal(text: &str) -> Option<String> {
    // The common case costs one pass over bytes.
    if text.len() <= MAX_CHARACTERS
        && text
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return None;
    }
    if let Some(found) = text.chars().find(|&character| is_deceptive(character)) {
        return Some(format!(
            "it contains the hidden or control character U+{:04X}",
            u32::from(found)
        ));
    }
    (text.chars().nth(MAX_CHARACTERS).is_some())
        .then(|| "it is longer than 10,000 characters".to_owned())
}

/// Control characters except newline and tab, blanks other than the ASCII ones, zero-width and bidirectional marks, and
/// the planes that contain only private and invisible code points.
pub fn is_deceptive(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        _ if character.is_control() || character.is_whitespace() => true,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => true,
        _ => u32::from(character) >= 0x4_0000,
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn ordinary_text_in_any_script_is_fine() {
        for text in ["ls -la\n\tpwd", "echo 'naïve café 日本語 – ✓ 😀'", ""] {
            assert_eq!(refusal(text), None, "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_are_named() {
        for (text, code) in [
            ("ls\r", "U+000D"),
            ("ls\u{a0}", "U+00A0"),
            ("\u{85}", "U+0085"),
            ("\u{2028}", "U+2028"),
            ("\u{3000}", "U+3000"),
            ("\u{200d}", "U+200D"),
            ("\u{2066}", "U+2066"),
            ("\u{7f}", "U+007F"),
            ("\u{9b}", "U+009B"),
            ("\u{e0041}", "U+E0041"),
            ("\u{40000}", "U+40000"),
        ] {
            let reason = refusal(text).unwrap_or_default();
            assert!(reason.contains(code), "{text:?}: {reason}");
        }
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(refusal(&"é".repeat(10_000)), None);
        assert!(refusal(&"é".repeat(10_001)).is_some());
        assert!(refusal(&"a".repeat(10_001)).is_some());
    }
}

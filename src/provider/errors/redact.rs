//! Takes keys out of what servers say, before a person, a log or a session sees it.

const MASK: &str = "[redacted]";

/// Shorter keys (`x`, `none`: local servers take anything) are no secret, and would make holes in ordinary words.
const SHORTEST_KEY: usize = 8;

/// `text` without `key` and without anything that looks like a key: `sk-…` and what follows `Bearer`.
pub fn redact(text: &str, key: Option<&str>) -> String {
    let mut clean = match key {
        Some(key) if key.len() >= SHORTEST_KEY => text.replace(key, MASK),
        _ => text.to_owned(),
    };
    for marker in ["sk-", "Bearer ", "bearer "] {
        clean = mask_after(&clean, marker);
    }
    clean
}

/// Masks every run of key characters that follows `marker`, where the marker starts a word.
fn mask_after(text: &str, marker: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(marker) {
        let (before, found) = rest.split_at(at);
        let tail = &found[marker.len()..];
        let end = tail.find(|c| !is_key_character(c)).unwrap_or(tail.len());
        let inside_a_word = before.ends_with(|c: char| c.is_ascii_alphanumeric());
        clean.push_str(before);
        clean.push_str(marker);
        if end >= SHORTEST_KEY && !inside_a_word {
            clean.push_str(MASK);
            rest = &tail[end..];
        } else {
            rest = tail;
        }
    }
    clean.push_str(rest);
    clean
}

/// Servers show keys with stars or dots in the middle.
fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.' | '…' | '+' | '/' | '=')
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn the_key_itself_never_survives() {
        let text = "key gsk_0123456789 is wrong (gsk_0123456789)";
        assert_eq!(
            redact(text, Some("gsk_0123456789")),
            "key [redacted] is wrong ([redacted])"
        );
    }

    #[test]
    fn things_that_look_like_keys_are_masked_too() {
        let cases = [
            (
                "bad key: sk-proj-abc***************xyz.",
                "bad key: sk-[redacted]",
            ),
            ("(sk-ant-api03-AAAABBBB)", "(sk-[redacted])"),
            (
                "sent Bearer eyJhbGciOi.x-y_z, sk-1234567890",
                "sent Bearer [redacted], sk-[redacted]",
            ),
        ];
        for (text, clean) in cases {
            assert_eq!(redact(text, None), clean);
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "ask-me-anything-now",
            "task-12345678901",
            "a disk-",
            "Bearer token",
            "sk-é",
        ] {
            assert_eq!(redact(text, Some("x")), text);
        }
    }
}

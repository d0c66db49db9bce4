//! File names as text: characters that cannot be shown, or that a terminal would interpret, are escaped.
//!
//! A name is always one line, whatever its bytes are.

use std::fmt::Write;
use std::path::Path;

/// The path as one line of text.
pub fn show(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_unshowable) => text.to_owned(),
        _ => escape_bytes(bytes),
    }
}

/// The text, escaped as in [`show`].
pub fn escape(text: &str) -> String {
    escape_bytes(text.as_bytes())
}

fn escape_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_unshowable(character) {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Control characters, and marks that reorder the text around them.
fn is_unshowable(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

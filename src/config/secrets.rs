//! API keys of providers: they must never be logged, and never reach a command.

use std::sync::{OnceLock, PoisonError, RwLock};

/// The variables with API keys of providers.
pub const KEY_VARIABLES: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
];

/// A shorter value could be a common word; hiding it would hide more than a key.
const SHORTEST_KEY: usize = 8;
const INSTEAD: &[u8] = b"[redacted]";

/// Variables with keys that the settings name, and the keys in them.
static NAMED: RwLock<Vec<(String, Option<String>)>> = RwLock::new(Vec::new());

/// This variable holds a key, too: the settings say so.
pub fn add_key_variable(name: &str) {
    let mut named = NAMED.write().unwrap_or_else(PoisonError::into_inner);
    if named.iter().all(|(known, _)| known != name) {
        named.push((name.to_owned(), key_in(name)));
    }
}

/// These values are secrets, too: the configuration of an MCP server contains them.
pub fn add_keys(values: impl IntoIterator<Item = String>) {
    let mut named = NAMED.write().unwrap_or_else(PoisonError::into_inner);
    for value in values {
        let value = value.trim();
        if value.len() >= SHORTEST_KEY && named.iter().all(|(_, key)| key.as_deref() != Some(value))
        {
            named.push((String::new(), Some(value.to_owned())));
        }
    }
}

/// All variables that hold keys.
pub fn key_variables() -> Vec<String> {
    let named = NAMED.read().unwrap_or_else(PoisonError::into_inner);
    let named = named.iter().map(|(name, _)| name.clone());
    let named = named.filter(|name| !name.is_empty());
    KEY_VARIABLES
        .map(str::to_owned)
        .into_iter()
        .chain(named)
        .collect()
}

/// The keys of this run.
pub fn keys() -> Vec<String> {
    static KEYS: OnceLock<Vec<String>> = OnceLock::new();
    let read = || {
        KEY_VARIABLES
            .iter()
            .filter_map(|name| key_in(name))
            .collect()
    };
    let mut keys = KEYS.get_or_init(read).clone();
    let named = NAMED.read().unwrap_or_else(PoisonError::into_inner);
    keys.extend(named.iter().filter_map(|(_, key)| key.clone()));
    keys
}

fn key_in(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok()?;
    Some(value.trim().to_owned()).filter(|value| value.len() >= SHORTEST_KEY)
}

/// Removes the keys from some bytes.
pub fn without_keys(bytes: &mut Vec<u8>, keys: &[String]) {
    for key in keys {
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&bytes[from..], key.as_bytes()) {
            let at = from + at;
            bytes.splice(at..at + key.len(), INSTEAD.iter().copied());
            from = at + INSTEAD.len();
        }
    }
}

/// A text without the keys of this run.
pub fn hidden(text: String) -> String {
    let keys = keys();
    if keys.iter().all(|key| !text.contains(key.as_str())) {
        return text;
    }
    let mut bytes = text.into_bytes();
    without_keys(&mut bytes, &keys);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes keys from bytes that arrive in pieces. What may be the beginning of a key is held back until the rest
/// arrives.
#[derive(Debug, Default)]
pub struct KeyRedactor {
    keys: Vec<String>,
    held: Vec<u8>,
}

impl KeyRedactor {
    /// For the keys of this run.
    pub fn new() -> Self {
        Self::over(keys())
    }

    fn over(keys: Vec<String>) -> Self {
        let held = Vec::new();
        Self { keys, held }
    }

    /// The part of the input so far that can be shown.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        without_keys(&mut all, &self.keys);
        let begins = self.keys.iter().map(|key| beginning_at_end(&all, key));
        let keep = all.len() - begins.max().unwrap_or(0);
        self.held = all.split_off(keep);
        all
    }

    /// The held back bytes, when no more input follows.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// How many bytes at the end are the beginning of a key.
fn beginning_at_end(bytes: &[u8], key: &str) -> usize {
    let key = key.as_bytes();
    let longest = key.len().saturating_sub(1).min(bytes.len());
    let ends = |length: &usize| bytes.ends_with(&key[..*length]);
    (1..=longest).rev().find(ends).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str, keys: &[&str]) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        without_keys(&mut bytes, &keys);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn every_key_is_removed_wherever_it_is() {
        assert_eq!(
            cleaned("key-1key-1 key-2", &["key-1", "key-2"]),
            "[redacted][redacted] [redacted]"
        );
        assert_eq!(cleaned("a redacted b", &["redacted"]), "a [redacted] b");
    }

    #[test]
    fn a_key_that_arrives_in_pieces_is_found() {
        let text = "sekret-1 sekret-1sekre sekret-";
        for size in 1..text.len() {
            let mut redactor = KeyRedactor::over(vec!["sekret-1".to_owned()]);
            let mut seen = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                seen.extend(redactor.pass(piece));
            }
            assert!(!seen.ends_with(b"sekret-"), "it could be one");
            seen.extend(redactor.rest());
            assert_eq!(
                String::from_utf8(seen).expect("text"),
                "[redacted] [redacted]sekre sekret-",
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn bytes_that_cannot_be_a_key_are_not_held_back() {
        let mut redactor = KeyRedactor::over(vec!["sekret-1".to_owned()]);
        assert_eq!(redactor.pass(b"hello\n"), b"hello\n");
    }
}

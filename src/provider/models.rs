//! What is known about models by their names. Only certain facts: a wrong number is worse than none.

/// The beginning of a model's name, and the size of its context window in tokens. The first match is used.
const WINDOWS: [(&str, u64); 11] = [
    ("claude-", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-5", 400_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-", 1_048_576),
    ("deepseek-", 128_000),
];

/// The context window of a model, as far as its name tells. A gateway puts the maker's name before it.
pub fn context_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    let known = WINDOWS.iter().find(|(start, _)| name.starts_with(start));
    known.map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::context_window;

    #[test]
    fn known_families_have_a_window_and_others_do_not() {
        assert_eq!(context_window("claude-sonnet-4-5"), Some(200_000));
        assert_eq!(context_window("anthropic/Claude-opus-4"), Some(200_000));
        assert_eq!(context_window("gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(context_window("o3"), Some(200_000));
        assert_eq!(context_window("llama3.2:3b"), None);
        assert_eq!(context_window(""), None);
    }
}

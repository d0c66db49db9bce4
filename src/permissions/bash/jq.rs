//! jq: flags, and filters that neither look at the environment, nor load code, nor loop for ever.

use super::flags::{Flags, Named};
use super::script::Word;

const FLAGS: Flags = Flags::new(
    "acCeMnrsSjhV",
    "ascii-output compact-output color-output exit-status monochrome-output null-input raw-output raw-output0 slurp sort-keys \
     join-output tab indent= unbuffered seq stream raw-input help version",
);

/// Functions and keywords that read the environment, load files or may not end.
const REFUSED: [&str; 12] = [
    "env",
    "ENV",
    "import",
    "include",
    "modulemeta",
    "def",
    "repeat",
    "while",
    "until",
    "range",
    "recurse",
    "get_search_list",
];

/// The files that jq reads; the error says what is not accepted.
pub fn check(words: &[Word]) -> Result<Vec<Named<'_>>, String> {
    let mut kept: Vec<&Word> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        // Two values follow; the second one is data.
        if word.text == "--arg" || word.text == "--argjson" {
            if rest.next().and_then(|_| rest.next()).is_none() {
                return Err(format!("`jq` has `{}` without its values", word.text));
            }
        } else {
            kept.push(word);
        }
    }
    let refused = |flag: &str| format!("`jq` is not known to only read with the flag `{flag}`");
    let mut paths = Vec::new();
    let mut filter = None;
    let mut flags = true;
    let mut kept = kept.into_iter();
    while let Some(word) = kept.next() {
        let text = word.text.as_str();
        if flags && text == "--" {
            flags = false;
        } else if flags && text == "--indent" {
            kept.next();
        } else if flags && text.len() > 1 && text.starts_with('-') {
            FLAGS.read(std::slice::from_ref(word)).map_err(refused)?;
        } else if filter.is_none() {
            filter = Some(text);
        } else {
            paths.push(Named { text, word });
        }
    }
    match filter {
        Some(filter) if !is_plain(filter) => {
            Err(format!("the jq filter `{filter}` may do more than select"))
        }
        Some(_) => Ok(paths),
        None => Err("jq needs a filter".to_owned()),
    }
}

/// Looks at every name in the filter, also inside strings: `"\(env)"` is code. A field `.env` is no function.
fn is_plain(filter: &str) -> bool {
    let mut rest = filter;
    while let Some(start) = rest.find(|first: char| first.is_ascii_alphabetic() || first == '_') {
        let (before, name) = rest.split_at(start);
        let end = name
            .find(|other: char| !other.is_ascii_alphanumeric() && other != '_')
            .unwrap_or(name.len());
        let field = before.ends_with('.') && !before.ends_with("..");
        if !field && (REFUSED.contains(&&name[..end]) || name.starts_with("__")) {
            return false;
        }
        rest = &name[end..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn filters_that_select_are_accepted() {
        for filter in [
            ".",
            ".a.b[0]",
            ".env",
            ".scripts | keys",
            ".[] | select(.environment == \"x\")",
            "map(.name) | sort",
        ] {
            assert!(is_plain(filter), "{filter}");
        }
    }

    #[test]
    fn filters_that_reach_further_are_not() {
        for filter in [
            "env",
            "$ENV",
            "$ENV.HOME",
            "\"\\(env)\"",
            "..env",
            "[env]",
            "import \"a\" as a; .",
            "range(1e9)",
            "def f: f; f",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }
}

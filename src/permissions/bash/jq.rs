//! jq: flags, and filters that neither look at the environment, nor load code, nor loop for ever.

use super::flags::{Flags, Named};
use super::script::Word;

const FLAGS: Flags = Flags::new(
    "acCeMnrRsSjhV",
    "ascii-output compact-output color-output exit-status monochrome-output null-input raw-output raw-output0 slurp sort-keys \
     join-output tab indent= unbuffered seq stream raw-input help version",
);

/// Functions and keywords that read the environment, load files or may not end.
const REFUSED: [&str; 10] = [
    "env",
    "ENV",
    "import",
    "include",
    "modulemeta",
    "def",
    "repeat",
    "while",
    "until",
    "get_search_list",
];

/// The files that jq reads; the error says what is not accepted.
pub fn check(words: &[Word]) -> Result<Vec<Named<'_>>, String> {
    let refused = |flag: &str| format!("`jq` is not known to only read with the flag `{flag}`");
    let mut paths = Vec::new();
    let mut filter: Option<&Word> = None;
    let mut flags = true;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if flags && text == "--" {
            flags = false;
        } else if flags && text.len() > 1 && text.starts_with('-') {
            let values = match text {
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => 2,
                "--indent" => 1,
                _ => {
                    FLAGS.read(std::slice::from_ref(word)).map_err(refused)?;
                    0
                }
            };
            let values: Vec<&Word> = rest.by_ref().take(values).collect();
            if let ("--slurpfile" | "--rawfile", [_, file]) = (text, values.as_slice()) {
                paths.push(Named {
                    text: &file.text,
                    word: file,
                });
            }
        } else if filter.is_none() {
            filter = Some(word);
        } else {
            paths.push(Named { text, word });
        }
    }
    match filter {
        None => Err("jq needs a filter".to_owned()),
        Some(filter) if !filter.is_literal() || !is_plain(&filter.text) => Err(format!(
            "the jq filter `{}` may do more than select",
            filter.raw
        )),
        Some(_) => Ok(paths),
    }
}

/// Looks at every name in the filter, also at those inside strings that are code: `"\(env)"`. A field `.env` is no
/// function.
fn is_plain(filter: &str) -> bool {
    // For each string that code is nested in, how many parentheses were open there.
    let mut strings: Vec<usize> = Vec::new();
    let mut open = 0_usize;
    let mut in_string = false;
    let mut at = 0;
    while let Some(character) = filter[at..].chars().next() {
        let rest = &filter[at..];
        let mut step = character.len_utf8();
        match character {
            '\\' if in_string && rest.starts_with("\\(") => {
                strings.push(open);
                (open, in_string, step) = (0, false, 2);
            }
            '\\' if in_string => step += rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => in_string = !in_string,
            _ if in_string => {}
            // Where a comment ends differs between versions.
            '#' => return false,
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => match strings.pop() {
                Some(before) => (open, in_string) = (before, true),
                None => return false,
            },
            'a'..='z' | 'A'..='Z' | '_' => {
                step = rest
                    .find(|other: char| !other.is_ascii_alphanumeric() && other != '_')
                    .unwrap_or(rest.len());
                let before = &filter[..at];
                let field = before.ends_with('.') && !before.ends_with("..");
                if !field && !is_harmless(&rest[..step], &rest[step..]) {
                    return false;
                }
            }
            _ => {}
        }
        at += step;
    }
    !in_string
}

/// Whether a name, with what follows it, neither looks around nor goes on for ever.
fn is_harmless(name: &str, behind: &str) -> bool {
    let arguments = behind.trim_start().strip_prefix('(');
    match name {
        "recurse" => arguments.is_none(),
        // Only a few numbers: what a file holds may be any number.
        "range" => arguments
            .and_then(|behind| behind.split_once(')'))
            .is_some_and(|(numbers, _)| {
                let small = |number: &str| {
                    let number = number.trim();
                    number == "length"
                        || (1..=7).contains(&number.len())
                            && number.bytes().all(|byte| byte.is_ascii_digit())
                };
                numbers.split(';').count() <= 2 && numbers.split(';').all(small)
            }),
        _ => !REFUSED.contains(&name) && !name.starts_with("__"),
    }
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
            ".[\"env\"]",
            "\"env: \\(.a | length) def\"",
            "[range(3)], [range(1; length)]",
            "[recurse | numbers]",
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
            "range(.n)",
            "range(0; 9; 0)",
            "recurse(.)",
            "\"\\(\"\\(env)\")\"",
            "# \"\nenv",
            "\"a\" | env",
            "\"",
            ")",
            "def f: f; f",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }
}

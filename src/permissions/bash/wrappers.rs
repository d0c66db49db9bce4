//! Programs that run the rest of their words as a command, and can be skipped when deciding.

use super::script::{Assignment, Word};

/// Variables that change how output looks, not what runs.
const KNOWN_SAFE: [&str; 15] = [
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "CI",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Whether this assignment may precede an approved command.
pub fn is_known_safe(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let locale = matches!(name, "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_");
    assignment.simple
        && assignment.value.is_literal()
        && (KNOWN_SAFE.contains(&name) || locale)
        // A path would load message catalogues or time zones from there; programs use their texts as formats.
        && (!locale || assignment.value.text.bytes().all(is_locale))
}

fn is_locale(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.@:-".contains(&byte)
}

/// A command with its wrappers removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwrapped<'w> {
    pub words: &'w [Word],
    /// It is run by `xargs`, which adds operands that are not known.
    pub fed: bool,
}

/// Removes `time`, `timeout`, `nice`, `nohup`, `stdbuf`, `command`, `builtin` and bare `xargs`, if they are written
/// plainly. The rest begins with the command that runs.
pub fn unwrap(words: &[Word]) -> Unwrapped<'_> {
    let mut unwrapped = Unwrapped { words, fed: false };
    while let Some((name, rest)) = unwrapped.words.split_first() {
        if !name.is_bare() {
            break;
        }
        let inner = match name.text.as_str() {
            "time" => match rest {
                [flag, inner @ ..] if flag.is_bare() && flag.text == "-p" => inner,
                _ => rest,
            },
            "timeout" => match timeout(rest) {
                Some(inner) => inner,
                None => break,
            },
            "nice" => match nice(rest) {
                Some(inner) => inner,
                None => break,
            },
            "stdbuf" => match stdbuf(rest) {
                Some(inner) => inner,
                None => break,
            },
            "nohup" | "command" | "builtin" | "xargs" => rest,
            _ => break,
        };
        // A flag of the wrapper that is not known here, or nothing to run.
        let Some(next) = inner.first() else { break };
        if next.text.starts_with('-') || next.text.contains('=') {
            break;
        }
        unwrapped.fed |= name.text == "xargs";
        unwrapped.words = inner;
    }
    unwrapped
}

fn timeout(mut words: &[Word]) -> Option<&[Word]> {
    loop {
        let (first, rest) = words.split_first()?;
        if !first.is_literal() {
            return None;
        }
        words = match first.text.as_str() {
            "--foreground" | "-f" | "--preserve-status" | "-p" | "-v" | "--verbose" => rest,
            "-k" | "--kill-after" | "-s" | "--signal" => {
                let (value, rest) = rest.split_first()?;
                if !is_setting(value) {
                    return None;
                }
                rest
            }
            text if text.starts_with("--kill-after=") || text.starts_with("--signal=") => rest,
            text if text.starts_with("-k") || text.starts_with("-s") => {
                if !text[2..].bytes().all(is_plain) {
                    return None;
                }
                rest
            }
            text => return is_duration(text).then_some(rest),
        };
    }
}

fn nice(words: &[Word]) -> Option<&[Word]> {
    let (first, rest) = words.split_first()?;
    if !first.is_literal() {
        return None;
    }
    match first.text.strip_prefix("-n") {
        None => Some(words),
        Some("") => {
            let (value, rest) = rest.split_first()?;
            (value.is_literal() && is_integer(&value.text)).then_some(rest)
        }
        Some(value) => is_integer(value).then_some(rest),
    }
}

fn stdbuf(mut words: &[Word]) -> Option<&[Word]> {
    loop {
        let (first, rest) = words.split_first()?;
        if !first.is_literal() {
            return None;
        }
        words = match first.text.as_str() {
            "-i" | "-o" | "-e" | "--input" | "--output" | "--error" => {
                let (value, rest) = rest.split_first()?;
                if !is_setting(value) {
                    return None;
                }
                rest
            }
            text if ["--input=", "--output=", "--error="]
                .iter()
                .any(|flag| text.starts_with(flag)) =>
            {
                rest
            }
            text if ["-i", "-o", "-e"].iter().any(|flag| text.starts_with(flag)) => rest,
            _ => return Some(words),
        };
    }
}

fn is_setting(word: &Word) -> bool {
    word.is_literal() && !word.text.is_empty() && word.text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.'
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    number.starts_with(|first: char| first.is_ascii_digit())
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Word, unwrap};

    fn unwrapped(text: &str) -> String {
        let words: Vec<Word> = text.split(' ').map(Word::plain).collect();
        let left = unwrap(&words).words;
        left.iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn wrappers_and_their_options_are_removed() {
        for text in [
            "time ls",
            "time -p ls",
            "timeout 5 ls",
            "timeout -k 5 -s KILL 30s ls",
            "timeout --signal=9 1.5m ls",
            "timeout -k5 -sKILL -v 9 ls",
            "nice ls",
            "nice -n 10 ls",
            "nice -n-5 ls",
            "nohup ls",
            "stdbuf -oL -e 0 ls",
            "command ls",
            "builtin ls",
            "xargs ls",
            "nohup timeout 9 nice -n 1 time ls",
        ] {
            assert_eq!(unwrapped(text), "ls", "{text}");
        }
    }

    #[test]
    fn what_is_not_written_plainly_stays() {
        for text in [
            "timeout ls",
            "timeout -x 5 ls",
            "timeout -s$X 5 ls",
            "timeout 5",
            "nice -20 ls",
            "nohup",
            "command -p ls",
            "xargs -n1 ls",
            "xargs --null ls",
            "time -o x ls",
            "time A=1 ls",
            "stdbuf -x ls",
            "env ls",
            "sudo ls",
        ] {
            assert_eq!(unwrapped(text), text, "{text}");
        }
    }
}

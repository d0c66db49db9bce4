//! ps: without the BSD `e`, which shows the environment of processes.

use super::script::Word;

/// Dash options without a value.
const DASHED: &str = "AadfFlLjHTwyMZcNe";
/// Dash options with a value.
const DASHED_VALUE: &str = "opCuUgGtsOq";
/// BSD options, without a dash and without `e`.
const BSD: &str = "axujlvfrhTSwmLX";
const BSD_VALUE: &str = "opUk";
const LONG: [&str; 6] = [
    "--forest",
    "--no-headers",
    "--no-heading",
    "--headers",
    "--help",
    "--version",
];
const LONG_VALUE: [&str; 9] = [
    "--sort=",
    "--pid=",
    "--ppid=",
    "--cols=",
    "--columns=",
    "--width=",
    "--format=",
    "--user=",
    "--lines=",
];

/// The error says what is not accepted.
pub fn check(words: &[Word]) -> Result<(), String> {
    let refused = |text: &str| format!("`ps` is not known to only list processes with `{text}`");
    let mut every = false;
    let mut doubtful = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if LONG.contains(&text) {
            continue;
        }
        if LONG_VALUE.iter().any(|flag| text.starts_with(flag)) {
            if text.contains("env") {
                return Err(refused(text));
            }
            continue;
        }
        let (letters, plain, valued) = match text.strip_prefix('-') {
            // Not a `-u` with the value `x`: ps reads it as `aux`, with a warning.
            Some("aux") => ("aux", BSD, BSD_VALUE),
            Some(letters) => (letters, DASHED, DASHED_VALUE),
            None if !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b',') =>
            {
                continue;
            }
            None => (text, BSD, BSD_VALUE),
        };
        every |= text.starts_with('-') && letters.contains('e');
        doubtful |= plain == BSD || letters.contains(['C', 'u', 'U', 'g', 'G', 't', 's', 'O', 'q']);
        let Some(last) = letters.chars().next_back() else {
            return Err(refused(text));
        };
        let takes_value = valued.contains(last);
        let before = if takes_value {
            &letters[..letters.len() - 1]
        } else {
            letters
        };
        if !before.chars().all(|letter| plain.contains(letter)) {
            return Err(refused(text));
        }
        if takes_value {
            match rest.next() {
                Some(value) if is_list(&value.text) => {}
                _ => return Err(refused(text)),
            }
        }
    }
    // ps reads its options again as BSD ones when the first reading fails; `-e` would then be that `e`.
    if every && doubtful {
        Err(refused("-e beside these options"))
    } else {
        Ok(())
    }
}

fn is_list(text: &str) -> bool {
    !text.contains("env")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_,%=:.-+".contains(&byte))
        && !text.starts_with('-')
}

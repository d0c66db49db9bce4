//! What a paste is: a few words, a long text to fold, or the paths of images.

use std::path::PathBuf;

const LONGEST_LINES: usize = 10;
const LONGEST_LENGTH: usize = 1_000;

/// A longer paste is not checked for paths.
const LONGEST_PATHS: usize = 8_000;

/// Whether a paste would fill the input and is therefore folded.
pub fn is_long(text: &str) -> bool {
    text.chars().nth(LONGEST_LENGTH).is_some() || text.lines().nth(LONGEST_LINES).is_some()
}

/// A path as it was pasted, and the path that it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePath {
    pub raw: String,
    pub path: PathBuf,
}

/// The images that a paste names; empty if it contains anything else.
pub fn image_paths(text: &str) -> Vec<ImagePath> {
    if text.len() > LONGEST_PATHS {
        return Vec::new();
    }
    let paths: Option<Vec<_>> = words(text).into_iter().map(Word::into_image).collect();
    let whole = || {
        // Some file managers copy a path without escaping its blanks.
        let raw = text.trim();
        let word = Word {
            raw: raw.to_owned(),
            meant: raw.to_owned(),
        };
        let is_line = !raw.contains(['\n', '\\', '"', '\'']);
        is_line.then(|| word.into_image()).flatten()
    };
    paths.unwrap_or_else(|| whole().into_iter().collect())
}

/// Whether the path has the extension of an image.
pub fn is_image(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        let known = ["png", "jpg", "jpeg", "gif", "webp"];
        known.iter().any(|known| ending.eq_ignore_ascii_case(known))
    })
}

struct Word {
    raw: String,
    meant: String,
}

impl Word {
    fn into_image(self) -> Option<ImagePath> {
        let meant = match self.meant.strip_prefix("file://") {
            Some(url) => unescape_url(url.strip_prefix("localhost").unwrap_or(url)),
            None => self.meant,
        };
        let rooted = ["/", "~/", "./", "../"];
        let is_path = rooted.iter().any(|root| meant.starts_with(root));
        (is_path && is_image(&meant)).then(|| ImagePath {
            raw: self.raw,
            path: PathBuf::from(meant),
        })
    }
}

/// Splits like a shell: at blanks, except in quotes or after a backslash.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (meant, length) = first_word(rest);
        let raw = rest[..length].to_owned();
        words.push(Word { raw, meant });
        rest = rest[length..].trim_start();
    }
    words
}

fn first_word(text: &str) -> (String, usize) {
    let mut meant = String::new();
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None | Some('"'), '\\') => meant.extend(letters.next().map(|(_, next)| next)),
            (None, letter) if letter.is_whitespace() => return (meant, at),
            (_, letter) => meant.push(letter),
        }
    }
    (meant, text.len())
}

fn unescape_url(url: &str) -> String {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = (*first == b'%')
            .then(|| behind.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{image_paths, is_long};

    fn paths(text: &str) -> Vec<String> {
        let paths = image_paths(text).into_iter();
        paths
            .map(|image| image.path.display().to_string())
            .collect()
    }

    #[test]
    fn image_paths_are_known_in_every_form_in_which_terminals_paste_them() {
        for (pasted, meant) in [
            ("/tmp/a.png", "/tmp/a.png"),
            (" /tmp/a.PNG\n", "/tmp/a.PNG"),
            ("'/tmp/my shot.jpg'", "/tmp/my shot.jpg"),
            ("\"/tmp/my shot.jpeg\"", "/tmp/my shot.jpeg"),
            ("/tmp/my\\ shot.webp", "/tmp/my shot.webp"),
            ("/tmp/my shot.gif", "/tmp/my shot.gif"),
            ("file:///tmp/my%20shot.png", "/tmp/my shot.png"),
            ("file://localhost/tmp/a%zz.png", "/tmp/a%zz.png"),
            ("~/a.png", "~/a.png"),
        ] {
            assert_eq!(paths(pasted), [meant], "{pasted}");
        }
        assert_eq!(paths("/a.png '/b c.png'"), ["/a.png", "/b c.png"]);
    }

    #[test]
    fn text_that_only_mentions_an_image_is_text() {
        for text in [
            "",
            "a.png",
            "see /tmp/a.png",
            "/tmp/a.rs",
            "/a.png\nand more",
            "\"",
            "\\",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_paste_is_long_from_eleven_lines_or_a_thousand_characters_on() {
        assert!(!is_long(&"line\n".repeat(10)));
        assert!(is_long(&"line\n".repeat(11)));
        assert!(!is_long(&"ä".repeat(1_000)));
        assert!(is_long(&"ä".repeat(1_001)));
    }
}

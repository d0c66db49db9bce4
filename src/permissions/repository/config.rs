//! git's configuration format, as far as it takes to find keys that name programs.
//!
//! A line that is not understood is a danger: git may understand it otherwise.

/// What speaks against running git unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// A key that names a program, leads out of the work tree, or takes more configuration from elsewhere.
    Key(String),
    /// Hooks are looked for in this directory.
    Hooks(String),
}

/// All dangers in a configuration file.
pub fn dangers(text: &str) -> Vec<Danger> {
    let mut found = Vec::new();
    let mut section = String::new();
    // A value that goes on in the next line is not followed: that line is then looked at as one of its own, so that
    // nothing hides in it.
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        let mut rest = line.trim();
        while let Some(header) = rest.strip_prefix('[') {
            let Some((name, behind)) = read_header(header) else {
                found.push(Danger::Key(line.trim().to_owned()));
                break;
            };
            section = name;
            rest = behind.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, value.trim()),
            None => (rest.split(['#', ';']).next().unwrap_or(rest), "true"),
        };
        let key = key.trim().to_lowercase();
        let plain = !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain {
            found.push(Danger::Key(rest.to_owned()));
        } else if let Some(danger) = danger(&section, &key, value) {
            found.push(danger);
        }
    }
    found
}

/// The section's name in lower case, and what follows the header.
fn read_header(text: &str) -> Option<(String, &str)> {
    let end = text.find(['"', ']'])?;
    let name = text[..end].trim().to_lowercase();
    // `[diff.driver]` is an old spelling of `[diff "driver"]`.
    let name = name.split('.').next().unwrap_or_default().to_owned();
    if text[end..].starts_with(']') {
        return Some((name, &text[end + 1..]));
    }
    let mut escaped = false;
    for (at, character) in text[end + 1..].char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let behind = text[end + 1 + at + 1..].trim_start();
                return Some((name, behind.strip_prefix(']')?));
            }
            _ => {}
        }
    }
    None
}

fn danger(section: &str, key: &str, value: &str) -> Option<Danger> {
    let is_false = || matches!(value.to_lowercase().as_str(), "false" | "no" | "off" | "0");
    let dangerous = match (section, key) {
        ("core", "hookspath") => {
            let path = value.trim_matches('"');
            return Some(if path.starts_with('~') || path.contains('\\') {
                Danger::Key("core.hookspath".to_owned())
            } else {
                Danger::Hooks(path.to_owned())
            });
        }
        // `true` is git's own daemon.
        ("core", "fsmonitor") => !is_false() && value != "true",
        ("include" | "includeif", _)
        | ("core", "worktree" | "alternaterefscommand")
        | ("diff", "external" | "command" | "textconv")
        | ("filter", "clean" | "smudge" | "process")
        | ("gpg", "program")
        | ("remote", "promisor" | "partialclonefilter")
        | ("extensions", "partialclone") => true,
        ("log", "showsignature") => !is_false(),
        // Such a format may verify signatures with a program.
        ("format", "pretty") | ("pretty", _) => value.contains('G'),
        _ => false,
    };
    dangerous.then(|| Danger::Key(format!("{section}.{key}")))
}

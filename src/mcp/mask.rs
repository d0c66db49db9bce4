//! How a server's command line and address are shown: as the file spells them, and without secrets. Pure.
//!
//! Variables stay unexpanded, so their values are never part of the shown text. What the file itself contains is
//! masked where it is likely to be a secret: passwords and parameters of an address, and arguments after flags such
//! as `--token`.

/// Replaces a secret.
pub const MASK: &str = "****";

/// Words in the name of a variable, header or flag whose value is a secret.
const SECRET_WORDS: [&str; 9] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "auth",
    "credential",
    "cookie",
    "bearer",
];

/// Whether the value under this name is likely to be a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// A value that may be a secret: only its variables are shown.
pub fn value(text: &str) -> String {
    use super::expand::{Piece, pieces};
    let has_text = |pieces: &[Piece<'_>]| pieces.iter().any(|it| matches!(it, Piece::Text(_)));
    let pieces = pieces(text);
    if pieces.is_empty() {
        return String::new();
    }
    let mut shown: Vec<String> = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Text(text) if is_scheme(text) => shown.push((*text).to_owned()),
            Piece::Text(_) => shown.push(MASK.to_owned()),
            Piece::Variable {
                name,
                default: None,
            } => shown.push(format!("${{{name}}}")),
            Piece::Variable {
                name,
                default: Some(_),
            } => shown.push(format!("${{{name}:-{MASK}}}")),
        }
    }
    if has_text(&pieces) && pieces.len() == 1 {
        return MASK.to_owned();
    }
    shown.concat()
}

/// `Bearer ` before a variable is no secret.
fn is_scheme(text: &str) -> bool {
    ["bearer ", "basic ", "token "].contains(&text.to_lowercase().as_str())
}

/// A command line.
pub fn command_line(command: &str, arguments: &[String]) -> String {
    let mut shown = vec![quoted(command)];
    let mut hides_next = false;
    for argument in arguments {
        if std::mem::take(&mut hides_next) && !argument.starts_with('-') {
            shown.push(value(argument));
            continue;
        }
        if let Some((flag, text)) = argument.split_once('=') {
            let hides = is_secret(flag) && !text.is_empty();
            let text = if hides { value(text) } else { address(text) };
            shown.push(quoted(&format!("{flag}={text}")));
            continue;
        }
        if let Some((name, text)) = argument.split_once(':')
            && is_secret(name)
            && !text.starts_with("//")
        {
            // A header in one argument.
            shown.push(quoted(&format!("{name}: {}", value(text.trim_start()))));
            continue;
        }
        hides_next = argument.starts_with('-') && is_secret(argument);
        shown.push(quoted(&address(argument)));
    }
    shown.join(" ")
}

/// An address without the password and the values of its parameters. Any other text stays as it is.
pub fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => host.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let parameters: Vec<String> = query
                .split('&')
                .map(|parameter| match parameter.split_once('=') {
                    Some((name, text)) => format!("{name}={}", value(text)),
                    None => value(parameter),
                })
                .collect();
            format!("{path}?{}", parameters.join("&"))
        }
        None => path.to_owned(),
    };
    format!("{scheme}://{host}{path}")
}

/// An argument as a shell would take it.
fn quoted(argument: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:=@,+%~${}*?&".contains(it);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        command_line(&words[0], &words[1..])
    }

    #[test]
    fn a_command_line_shows_no_secret() {
        for (words, shown) in [
            (
                &["npx", "-y", "@playwright/mcp"][..],
                "npx -y @playwright/mcp",
            ),
            (&["a b", "c d"], "'a b' 'c d'"),
            (
                &["x", "--token", "hunter22", "--port", "1"],
                "x --token **** --port 1",
            ),
            (&["x", "--token", "${TOKEN}"], "x --token ${TOKEN}"),
            (&["x", "--api-key=hunter22"], "x --api-key=****"),
            (&["x", "API_KEY=hunter22"], "x API_KEY=****"),
            (&["x", "--auth", "--verbose"], "x --auth --verbose"),
            (
                &["x", "--header", "Authorization: Bearer hunter22"],
                "x --header 'Authorization: ****'",
            ),
            (
                &["x", "--header", "Authorization: Bearer ${T}"],
                "x --header 'Authorization: Bearer ${T}'",
            ),
            (
                &["x", "postgres://me:hunter22@db/x"],
                "x postgres://****@db/x",
            ),
            (
                &["x", "--db=postgres://me:hunter22@db/x"],
                "x --db=postgres://****@db/x",
            ),
        ] {
            assert_eq!(line(words), shown);
        }
    }

    #[test]
    fn an_address_shows_no_secret() {
        for (text, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            (
                "https://me:hunter22@a.example/mcp",
                "https://****@a.example/mcp",
            ),
            (
                "https://a/mcp?key=hunter22&x=${X}",
                "https://a/mcp?key=****&x=${X}",
            ),
            ("https://a/mcp?hunter22", "https://a/mcp?****"),
            (
                "https://a/mcp?k=${K:-hunter22}",
                "https://a/mcp?k=${K:-****}",
            ),
        ] {
            assert_eq!(address(text), shown);
        }
    }
}

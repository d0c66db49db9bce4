//! The argument of a verb: from the words after it to an [`Action`].
//!
//! Commands, and texts that go into files, are used exactly as written; a name loses the punctuation of the sentence
//! around it. Quotes make everything exact.

use super::grammar::{Action, Scope};
use super::verb::Verb;
use super::words::{Words, unquoted};

/// What the verb is to do; `None` if its argument is not understood.
pub(super) fn action(verb: Verb, argument: &str) -> Option<Action> {
    Some(match verb {
        Verb::Read => Action::Read {
            file: name(argument, &['.', ',', ';', '!', '?'])?,
        },
        Verb::Find => Action::Find {
            glob: name(argument, &['.', ',', ';', '!'])?,
        },
        Verb::Search => search(argument)?,
        Verb::Replace => replace(argument)?,
        Verb::Run => Action::Run {
            command: Some(exact(argument)).filter(|command| !command.trim().is_empty())?,
        },
        Verb::Edit => edit(argument)?,
        Verb::Todo => todo(argument)?,
        Verb::Fetch => Action::Fetch {
            url: url(&name(argument, &['.', ',', ';', '!', '?'])?),
        },
        Verb::Undo => nothing(argument).then_some(Action::Undo)?,
        Verb::Agents => Action::Agents {
            regex: or_else(argument, "TODO"),
        },
        Verb::Ask => nothing(argument).then_some(Action::Ask)?,
        Verb::Plan => Action::Plan {
            task: or_else(argument, "tidy the project"),
        },
    })
}

fn nothing(argument: &str) -> bool {
    argument.trim_matches(['.', ',', ';', '!', '?']).is_empty()
}

/// What was written, or what is meant if nothing was.
fn or_else(argument: &str, usual: &str) -> String {
    if nothing(argument) {
        return usual.to_owned();
    }
    exact(argument)
}

fn search(argument: &str) -> Option<Action> {
    let (pattern, scope) = split_scope(argument);
    let pattern = without_for(pattern);
    let regex = match unquoted(pattern) {
        Some(quoted) => quoted,
        // The full stop of the sentence; an intended dot follows another character, or is in quotes.
        None => pattern
            .strip_suffix('.')
            .filter(|rest| scope.is_none() && rest.ends_with(char::is_alphanumeric))
            .unwrap_or(pattern)
            .to_owned(),
    };
    (!regex.is_empty()).then_some(Action::Search { regex, scope })
}

/// `search for X` is `search X`, but `search for` looks for `for`.
fn without_for(pattern: &str) -> &str {
    match pattern.split_once(char::is_whitespace) {
        Some((word, rest)) if word.eq_ignore_ascii_case("for") => rest.trim_start(),
        Some(_) | None => pattern,
    }
}

fn replace(argument: &str) -> Option<Action> {
    let (old, rest) = Words::new(argument).split_at_word("with")?;
    let (new, scope) = split_scope(rest);
    let (old, new) = (exact(old), replacement(new)?);
    (!old.is_empty() && old != new).then_some(Action::Replace { old, new, scope })
}

fn edit(argument: &str) -> Option<Action> {
    let colon = colon(argument)?;
    let (file, rest) = (&argument[..colon], &argument[colon + 1..]);
    let all = file.trim_end().strip_suffix(" all");
    let file = name(all.unwrap_or(file), &[])?;
    let (at, length) = arrow(rest)?;
    let (old, new) = (exact(&rest[..at]), replacement(&rest[at + length..])?);
    (!old.is_empty() && old != new).then_some(Action::Edit {
        file,
        old,
        new,
        all: all.is_some(),
    })
}

/// The colon after the file: one followed by a space, because `C:\notes.txt` has another one.
fn colon(text: &str) -> Option<usize> {
    let colons = Words::new(text).positions(":");
    let spaced = colons
        .iter()
        .find(|at| text[**at + 1..].starts_with(char::is_whitespace));
    spaced.or(colons.first()).copied()
}

/// The one arrow between old and new, with its length. Two of them need quotes to be told apart.
fn arrow(text: &str) -> Option<(usize, usize)> {
    let words = Words::new(text);
    // `->` is common in code, so it is the arrow only if there is none of the others.
    for arrows in [&["=>", "⇒"][..], &["->", "→"][..]] {
        let found: Vec<(usize, usize)> = arrows
            .iter()
            .flat_map(|arrow| {
                words
                    .positions(arrow)
                    .into_iter()
                    .map(|at| (at, arrow.len()))
            })
            .collect();
        match found.as_slice() {
            [] => {}
            [one] => return Some(*one),
            [_, _, ..] => return None,
        }
    }
    None
}

fn todo(argument: &str) -> Option<Action> {
    let whole = exact(argument);
    let items: Vec<String> = whole
        .split([';', '\n'])
        .map(|item| item.trim().trim_start_matches(['-', '*']).trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect();
    (!items.is_empty()).then_some(Action::Todo { items })
}

fn url(text: &str) -> String {
    if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    }
}

fn split_scope(text: &str) -> (&str, Option<Scope>) {
    let split = Words::new(text).split_off_last("in");
    let scoped = split.and_then(|(before, place)| {
        let place = name(place, &['.', ',', ';', '!'])?;
        Some((before, scope(place)))
    });
    match scoped {
        Some((before, scope)) => (before, Some(scope)),
        None => (text, None),
    }
}

fn scope(place: String) -> Scope {
    let is_pattern = place.contains(['*', '?', '[', '{', '!']);
    let is_bare_file = place.contains('.') && !place.contains(['/', '\\']) && place != ".";
    if is_pattern || (is_bare_file && place != "..") {
        Scope::Glob(place)
    } else {
        Scope::Path(place)
    }
}

/// Text exactly as written, without the quotes around it.
fn exact(text: &str) -> String {
    unquoted(text).unwrap_or_else(|| text.trim().to_owned())
}

/// An empty replacement is a mistake; `""` deletes.
fn replacement(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| exact(text))
}

/// One word, or anything in quotes. Several words are prose, or a name with an unclear end.
fn name(text: &str, punctuation: &[char]) -> Option<String> {
    // The input line completes files after an `@`.
    let text = text.trim().strip_prefix('@').unwrap_or(text);
    let text = text.trim();
    if let Some(quoted) = unquoted(text) {
        return Some(quoted).filter(|name| !name.is_empty());
    }
    if text.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    let bare = text.trim_end_matches(punctuation);
    // `.`, `..` and `src/..` are names.
    let is_dots = bare.is_empty() || bare.ends_with(['/', '\\']);
    Some(if is_dots { text } else { bare }.to_owned())
}

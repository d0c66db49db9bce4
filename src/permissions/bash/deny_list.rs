//! Commands that never run, and removals that always ask.

use super::base_name;
use super::commands::Found;
use super::files::redirected;
use super::script::{Joint, Script, Traits, Word};
use crate::permissions::path::names;

/// The directories whose removal is critical, as absolute paths.
pub struct Landmarks<'l> {
    pub home: &'l str,
    pub cwd: &'l str,
    /// Where relative paths start.
    pub shell: &'l str,
}

/// Why this command never runs.
pub fn denied(found: &Found<'_>, landmarks: &Landmarks<'_>) -> Option<&'static str> {
    let (name, arguments) = found.words.split_first()?;
    let name = base_name(&name.text);
    let root =
        || operands(arguments).any(|word| landmarks.aim(word, found.directories) == Aim::Root);
    match name {
        "rm" if is_recursive(arguments, &['r', 'R']) && root() => {
            Some("it deletes the whole file system")
        }
        "chmod" if is_recursive(arguments, &['R']) && opens_all(arguments) && root() => {
            Some("it makes the whole file system writable for everyone")
        }
        "dd" if writes_device(found, arguments) => Some("it overwrites a device"),
        "perl" | "python" | "python3" | "ruby"
            if arguments.iter().any(|word| is_fork_loop(&word.text)) =>
        {
            Some("it is a fork bomb")
        }
        name if name.starts_with("mkfs") || name == "mke2fs" => Some("it formats a device"),
        _ => None,
    }
}

/// Whether a function calls itself twice at once, in a pipe or in the background.
pub fn is_fork_bomb(script: &Script) -> bool {
    script.functions.iter().any(|function| {
        let body = &script.parts[function.body.clone()];
        let calls = |index: usize| {
            body.get(index)
                .and_then(|part| part.words.first())
                .is_some_and(|word| word.text == function.name)
        };
        (0..body.len()).any(|index| {
            let joint = body[index].joint;
            calls(index)
                && (joint == Joint::Background || (joint == Joint::Pipe && calls(index + 1)))
        })
    })
}

/// The critical path that an `rm` or `rmdir` removes.
pub fn critical_removal<'f>(found: &Found<'f>, landmarks: &Landmarks<'_>) -> Option<&'f str> {
    let (name, arguments) = found.words.split_first()?;
    if !matches!(base_name(&name.text), "rm" | "rmdir") {
        return None;
    }
    let critical = operands(arguments)
        .find(|word| landmarks.aim(word, found.directories) != Aim::Elsewhere)?;
    Some(&critical.raw)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Aim {
    Elsewhere,
    Critical,
    /// `/` or `/*`.
    Root,
}

impl Landmarks<'_> {
    fn aim(&self, word: &Word, directories: &[String]) -> Aim {
        // `$DIR/*` is everything when the variable is empty.
        if word.traits.has(Traits::EXPANSION.or(Traits::PLACE)) {
            let rest = without_expansions(&word.text);
            if rest.starts_with('/')
                && rest.split('/').all(is_everything)
                && !self.is_home(&word.text)
            {
                return Aim::Critical;
            }
        }
        // Any user's home, or the previous directory.
        if word.traits.has(Traits::TILDE)
            && let Some(rest) = word.text.strip_prefix('~')
            && !matches!(rest.split('/').next(), Some("" | "+"))
            && rest.split('/').skip(1).all(is_everything)
        {
            return Aim::Critical;
        }
        let text = self.expand(&word.text);
        let here = self.aim_of(&text, self.shell);
        let Some((likeliest, others)) = directories.split_last().filter(|_| !text.starts_with('/'))
        else {
            return here;
        };
        let there = |directory: &String| {
            self.aim_of(&format!("{}/{text}", self.expand(directory)), self.shell)
        };
        // If a `cd` fails, the command runs in another directory. That doubt makes the call ask; it does not deny it.
        let doubt = others.iter().map(there).max().unwrap_or(here).max(here);
        there(likeliest).max(doubt.min(Aim::Critical))
    }

    fn aim_of(&self, text: &str, base: &str) -> Aim {
        let absolute = if text.starts_with('/') {
            text.to_owned()
        } else {
            format!("{base}/{text}")
        };
        let mut names = names(&absolute);
        if names
            .last()
            .is_some_and(|name| name.contains('*') && is_everything(name))
        {
            names.pop();
        }
        match names.as_slice() {
            [] => Aim::Root,
            [_] => Aim::Critical,
            names => {
                let path = format!("/{}", names.join("/"));
                let above = |place: &str| place == path || place.starts_with(&format!("{path}/"));
                if path == self.home || above(self.cwd) || above(self.shell) {
                    Aim::Critical
                } else {
                    Aim::Elsewhere
                }
            }
        }
    }

    fn expand(&self, text: &str) -> String {
        let known = [
            ("~", self.home),
            ("$HOME", self.home),
            // Relative to the shell's directory at that point, like any relative path.
            ("~+", "."),
            ("$PWD", "."),
            ("$(pwd)", "."),
            ("`pwd`", "."),
        ];
        // `${HOME:?}` and similar forms are the home directory, or nothing.
        let braced = ["${HOME", "${PWD"].into_iter().find_map(|name| {
            let (operator, rest) = text.strip_prefix(name)?.split_once('}')?;
            let other =
                operator.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
            let place = if name == "${HOME" { self.home } else { "." };
            (!other).then_some((rest, place))
        });
        let plain = known
            .into_iter()
            .filter_map(|(name, place)| Some((text.strip_prefix(name)?, place)));
        plain
            .chain(braced)
            .find(|(rest, _)| rest.is_empty() || rest.starts_with('/'))
            .map_or_else(|| text.to_owned(), |(rest, place)| format!("{place}{rest}"))
    }

    fn is_home(&self, text: &str) -> bool {
        self.expand(text) != text
    }
}

/// A last component that matches everything in the directory.
fn is_everything(name: &str) -> bool {
    name.chars()
        .all(|character| matches!(character, '*' | '?' | '.'))
}

fn without_expansions(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(at) = rest.find(['$', '`']) {
        kept.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let length = match behind.chars().next() {
            Some('{') => behind.find('}').map_or(behind.len(), |end| end + 1),
            Some('(') => behind.rfind(')').map_or(behind.len(), |end| end + 1),
            _ if rest[at..].starts_with('`') => {
                behind.rfind('`').map_or(behind.len(), |end| end + 1)
            }
            _ => behind
                .find(|other: char| !other.is_ascii_alphanumeric() && other != '_')
                .unwrap_or(behind.len()),
        };
        rest = &behind[length..];
    }
    kept + rest
}

fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let end = arguments
        .iter()
        .position(|word| word.text == "--")
        .unwrap_or(arguments.len());
    let behind = arguments.get(end + 1..).unwrap_or_default();
    arguments[..end]
        .iter()
        .filter(|word| !word.text.starts_with('-'))
        .chain(behind)
}

fn is_recursive(arguments: &[Word], letters: &[char]) -> bool {
    arguments
        .iter()
        .any(|word| match word.text.strip_prefix("--") {
            Some(long) => long.len() > 2 && "recursive".starts_with(long),
            None => word.text.starts_with('-') && word.text.contains(letters),
        })
}

fn opens_all(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| {
        let text = word.text.as_str();
        let octal = text.trim_start_matches('0');
        octal == "777"
            || octal.len() == 4 && octal.ends_with("777")
            || matches!(
                text,
                "a+rwx" | "a=rwx" | "ugo+rwx" | "ugo=rwx" | "+rwx" | "=rwx"
            )
    })
}

fn writes_device(found: &Found<'_>, arguments: &[Word]) -> bool {
    let targets = arguments
        .iter()
        .filter_map(|word| word.text.strip_prefix("of="));
    let redirects = found
        .redirects
        .iter()
        .filter_map(redirected)
        .filter(|access| access.kind == super::files::Kind::Write);
    targets.map(str::to_owned).chain(redirects.map(|access| access.text)).any(|target| {
        let names: Vec<&str> = target.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        target.starts_with('/') && matches!(names.as_slice(), ["dev", device, ..] if !matches!(*device, "null" | "stdout" | "stderr" | "fd"))
    })
}

fn is_fork_loop(text: &str) -> bool {
    text.contains("fork while fork")
        || text.contains("while True: os.fork()")
        || text.contains("while 1: os.fork()")
}

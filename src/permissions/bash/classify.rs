//! The read-only classifier: is it certain, from the text alone, that a command only reads and ends?
//!
//! Closed lists all the way: anything not proved harmless is not read-only. Where a path points does not matter here;
//! [`Classified::paths`] passes the named paths to the code that decides that.

use std::path::{Component, Path, PathBuf};

pub use super::everyday::LONGEST_SLEEP;
use super::everyday::sleep_seconds;
use super::feeding::{Feed, Separator, past_xargs};
use super::flags::Named;
use super::lists::Lists;
use super::programs::{Command, is_special};
use super::script::{Descriptor, Joint, Operator, Part, Redirect, Script, Word};
use super::wrappers::{is_known_safe, unwrap};
use super::{Reading, read};

/// Whether a command certainly changes nothing, and why or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    pub read_only: bool,
    pub reason: String,
}

/// Classifies a command that runs in a trusted work tree. A `cd` has to be relative to be followed.
pub fn classify(command: &str) -> Classification {
    classify_in(command, Path::new("."))
}

/// Classifies a command that runs in `cwd`.
pub fn classify_in(command: &str, cwd: &Path) -> Classification {
    match classify_reading(&read(command), cwd) {
        Ok(()) => Classification {
            read_only: true,
            reason: "every command in it is read-only".to_owned(),
        },
        Err(reason) => Classification {
            read_only: false,
            reason,
        },
    }
}

/// Whether a command may run beside others: it only reads or sleeps, and does not move the working directory.
pub fn is_concurrency_safe(command: &str) -> bool {
    let reading = read(command);
    let waits = |part: &Part| part.joint != Joint::Background && sleeps(part);
    let plain =
        |part: &Part| waits(part) || (!moves(part) && classify_part(part, Lists::Everyday).is_ok());
    reading.refused.is_none()
        && reading.script.structure.is_none()
        && !reading.script.parts.is_empty()
        && reading.script.parts.iter().all(plain)
        && check_feeding(&reading.script, Lists::Everyday).is_ok()
}

/// Whether every part is read-only by the agreed list. The error says which one is not.
pub fn classify_reading(reading: &Reading, cwd: &Path) -> Result<(), String> {
    classify_by(reading, cwd, Lists::Agreed)
}

/// The same, with the given lists.
pub fn classify_by(reading: &Reading, cwd: &Path, lists: Lists) -> Result<(), String> {
    if let Some(refused) = &reading.refused {
        return Err(refused.clone());
    }
    if let Some(structure) = reading.script.structure {
        return Err(format!(
            "it contains {structure}, so it can't be checked automatically"
        ));
    }
    if reading.script.parts.is_empty() {
        return Err("it contains no command".to_owned());
    }
    let mut waits = 0.0;
    for part in &reading.script.parts {
        classify_part(part, lists)?;
        waits += seconds(part);
    }
    if waits > LONGEST_SLEEP {
        return Err("it waits longer than a minute".to_owned());
    }
    check_feeding(&reading.script, lists)?;
    follow_directories(&reading.script, cwd)
}

/// Whether every `xargs` reads a list of files that all lie below the paths named in the command.
fn check_feeding(script: &Script, lists: Lists) -> Result<(), String> {
    let mut feed = Feed::default();
    for part in &script.parts {
        if let Ok(Classified {
            fed: Some(separator),
            ..
        }) = classify_part(part, lists)
        {
            feed.reaches(part, separator)?;
        }
        feed = feed.after(part);
    }
    Ok(())
}

/// What is known about a read-only part.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Classified<'p> {
    pub paths: Vec<Named<'p>>,
    /// It gets more operands from `xargs`, split at this separator.
    pub fed: Option<Separator>,
}

/// Whether one part is read-only. A `cd` is; the caller checks where it goes.
pub fn classify_part(part: &Part, lists: Lists) -> Result<Classified<'_>, String> {
    if part.joint == Joint::Background {
        return Err("it starts a background job".to_owned());
    }
    if !part.nested.is_empty() {
        return Err("it contains a command substitution".to_owned());
    }
    if let Some(other) = part
        .assignments
        .iter()
        .find(|assignment| !is_known_safe(assignment))
    {
        return Err(format!("it sets the variable `{}`", other.name));
    }
    if let Some(effect) = part.side_effect() {
        return Err(format!("it contains {effect}"));
    }
    let mut classified = Classified::default();
    for redirect in &part.redirects {
        classified.paths.extend(check_redirect(redirect)?);
    }
    if let [query, flag, names @ ..] = part.words.as_slice()
        && query.raw == "command"
        && flag.raw == "-v"
    {
        let plain = names
            .iter()
            .all(|word| word.is_literal() && !word.text.starts_with('-'));
        return if plain {
            Ok(classified)
        } else {
            Err("`command -v` has arguments that can't be checked".to_owned())
        };
    }
    let behind = past_xargs(&part.words);
    let Some((name, arguments)) = behind.words.split_first() else {
        return Err("it has no command".to_owned());
    };
    if !name.is_bare() {
        return Err(format!(
            "the command name `{}` is not a plain word",
            name.raw
        ));
    }
    if name.text == "cd" && in_shell(&part.words).len() > behind.words.len() {
        return Err("only the shell itself can run `cd`".to_owned());
    }
    let command = Command {
        name: &name.text,
        arguments,
        fed: behind.fed.is_some(),
        lists,
    };
    classified.fed = behind.fed;
    let before = part.words.len() - behind.words.len();
    let directly = behind.fed != Some(Separator::Blank) || part.words[before - 1].text == "xargs";
    if !directly || (behind.flags && lists == Lists::Agreed) {
        return Err("`xargs` is only accepted directly before a read-only command".to_owned());
    }
    classified.paths.extend(command.check()?);
    match classified.paths.iter().find(|path| is_special(path)) {
        Some(path) => Err(format!(
            "`{}` is a device or shows a process's environment",
            path.text
        )),
        None => Ok(classified),
    }
}

/// The directory that a part changes to, if it is a `cd` with one literal operand.
pub fn cd_target(part: &Part) -> Option<&Word> {
    match in_shell(&part.words) {
        [name, target]
            if name.text == "cd" && target.is_literal() && !target.text.starts_with('-') =>
        {
            Some(target)
        }
        // `cd -- -` also goes to the previous directory.
        [name, end, target]
            if name.text == "cd"
                && end.raw == "--"
                && target.is_literal()
                && !target.text.starts_with('-') =>
        {
            Some(target)
        }
        _ => None,
    }
}

/// The directory that a command may change to, whatever flags it has. For deny rules.
pub fn likely_target(words: &[Word]) -> Option<String> {
    let (name, arguments) = unwrap(words).words.split_first()?;
    let target = arguments.last()?;
    let text = target.text.as_str();
    if !matches!(name.text.as_str(), "cd" | "pushd") || text.starts_with('-') {
        return None;
    }
    if target.is_literal() {
        return Some(text.to_owned());
    }
    // Places that do not depend on the shell's directory.
    let known = [
        ("$PWD", "."),
        ("${PWD}", "."),
        ("~+", "."),
        ("$HOME", "~"),
        ("${HOME}", "~"),
    ];
    let known = known.iter().find_map(|(name, place)| {
        let rest = text.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{place}{rest}"))
    });
    Some(known.unwrap_or_else(|| text.to_owned()))
}

/// Whether the working directory changes or may change.
pub fn moves(part: &Part) -> bool {
    let mut words = part.words.as_slice();
    while let Some((name, rest)) = words.split_first() {
        if !matches!(name.text.as_str(), "command" | "builtin" | "time") {
            return matches!(name.text.as_str(), "cd" | "pushd" | "popd");
        }
        let flags = rest.iter().take_while(|word| word.text.starts_with('-'));
        let flags = &rest[..flags.count()];
        // `command -v cd` only prints where `cd` is.
        if flags
            .iter()
            .any(|flag| matches!(flag.text.as_str(), "-v" | "-V"))
        {
            return false;
        }
        words = &rest[flags.len()..];
    }
    false
}

/// The words behind `command`, `builtin` and `time`, which leave the command to the shell itself. Behind every other
/// wrapper even `cd` is a program.
fn in_shell(words: &[Word]) -> &[Word] {
    let mut words = words;
    while let Some((name, rest)) = words.split_first() {
        let inner = match (name.raw.as_str(), rest) {
            ("time", [flag, inner @ ..]) if flag.raw == "-p" => inner,
            ("time" | "command" | "builtin", inner) => inner,
            _ => break,
        };
        words = inner;
    }
    words
}

/// Whether a part runs git.
pub fn is_git(part: &Part) -> bool {
    unwrap(&part.words)
        .words
        .first()
        .is_some_and(|name| super::base_name(&name.text) == "git")
}

fn check_redirect(redirect: &Redirect) -> Result<Option<Named<'_>>, String> {
    let target = &redirect.target;
    let literal = target.is_literal();
    let accepted = match redirect.operator {
        _ if redirect.descriptor == Descriptor::Named => false,
        Operator::Read => literal,
        Operator::LiteralHeredoc => true,
        Operator::Write | Operator::WriteBoth => literal && target.text == "/dev/null",
        Operator::DuplicateInput | Operator::DuplicateOutput => {
            matches!(target.raw.as_str(), "0" | "1" | "2")
        }
        Operator::ReadWrite | Operator::Heredoc | Operator::Herestring => false,
    };
    if !accepted {
        return Err(format!("it redirects to or from `{}`", target.raw));
    }
    Ok((redirect.operator == Operator::Read).then_some(Named {
        text: &target.text,
        word: target,
    }))
}

/// `cd` has to stay below the workspace, and git must not run in another directory: that may be another repository.
fn follow_directories(script: &Script, cwd: &Path) -> Result<(), String> {
    let mut here = PathBuf::new();
    let mut elsewhere = false;
    for part in &script.parts {
        let Some(target) = cd_target(part) else {
            continue;
        };
        let target = Path::new(&target.text);
        here = match target.strip_prefix(cwd) {
            Ok(below) if target.is_absolute() => lexically_below(below),
            _ => lexically_below(&here.join(target)),
        }
        .ok_or("`cd` leaves the workspace")?;
        elsewhere |= !here.as_os_str().is_empty();
    }
    if elsewhere && script.parts.iter().any(is_git) {
        return Err("git runs in another directory".to_owned());
    }
    Ok(())
}

/// The path without `.` and `..`, if it never leaves where it starts.
fn lexically_below(path: &Path) -> Option<PathBuf> {
    let mut below = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => below.push(name),
            Component::ParentDir if below.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(below)
}

/// How long a part waits.
pub fn seconds(part: &Part) -> f64 {
    match past_xargs(&part.words).words.split_first() {
        Some((name, durations)) if name.text == "sleep" => {
            sleep_seconds(durations).unwrap_or_default()
        }
        Some(_) | None => 0.0,
    }
}

/// It may take long, but it blocks nothing.
fn sleeps(part: &Part) -> bool {
    let plain = part.assignments.is_empty() && part.redirects.is_empty();
    match part.words.as_slice() {
        [name, durations @ ..] => {
            plain && name.raw == "sleep" && sleep_seconds(durations).is_some()
        }
        [] => false,
    }
}

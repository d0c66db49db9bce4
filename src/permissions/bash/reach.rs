//! How far a command reaches beyond the words it is written with: what it lists, passes on, and goes down into.

use super::flags::Named;
use super::script::{Part, Word};
use super::wrappers::unwrap;

/// Whether a part prints nothing but names of files below the paths it names: what `xargs` may then read.
pub fn lists_files(part: &Part) -> bool {
    let words = unwrap(&part.words).words;
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.text.as_str()));
    let invents = ["-printf", "-ls", "--label", "--path-separator", "--format"];
    if words
        .iter()
        .any(|word| invents.iter().any(|flag| word.text.starts_with(flag)))
    {
        return false;
    }
    match words.first().map(|word| word.text.as_str()) {
        Some("find") => true,
        Some("ls") => !words
            .iter()
            .any(|word| word.text.starts_with('-') && word.text != "-1"),
        Some("git") => words.get(1).is_some_and(|word| word.text == "ls-files"),
        Some("rg") => has(&[
            "--files",
            "-l",
            "--files-with-matches",
            "--files-without-match",
        ]),
        Some("grep") => has(&[
            "-l",
            "-rl",
            "-lr",
            "-L",
            "--files-with-matches",
            "--files-without-match",
        ]),
        _ => false,
    }
}

/// Whether links may be among the files that such a part lists.
pub fn lists_links(part: &Part) -> bool {
    let words = unwrap(&part.words).words;
    let Some((name, arguments)) = words.split_first() else {
        return true;
    };
    match name.text.as_str() {
        "find" => {
            let chooses = ["-o", "-or", "-not", "!", ",", "-L", "-follow"];
            let files = |pair: &[Word]| pair[0].text == "-type" && pair[1].text == "f";
            !arguments.windows(2).any(files)
                || arguments
                    .iter()
                    .any(|word| chooses.contains(&word.text.as_str()))
        }
        "rg" | "grep" => follows(&name.text, arguments),
        _ => true,
    }
}

/// Whether a command follows the links that it finds on its way down.
fn follows(name: &str, arguments: &[Word]) -> bool {
    let has = |letter: char, long: &str| {
        arguments
            .iter()
            .any(|word| match word.text.strip_prefix("--") {
                Some(name) => name.starts_with(long),
                None => word.text.starts_with('-') && word.text.contains(letter),
            })
    };
    match name {
        "grep" | "egrep" | "fgrep" => has('R', "dereference-recursive"),
        "find" => arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "-L" | "-follow")),
        "rg" => has('L', "follow"),
        "tree" => has('l', "fflinks"),
        "du" => has('L', "dereference"),
        "ls" => has('R', "recursive") && has('L', "dereference"),
        // It compares what lies in two directories even without being told to go further down.
        "diff" => !arguments.iter().any(|word| word.text == "--no-dereference"),
        _ => false,
    }
}

/// Where a command that follows links on its way down starts.
pub fn followed<'p>(part: &'p Part, paths: &[Named<'p>]) -> Option<Descent<'p>> {
    let (name, arguments) = unwrap(&part.words).words.split_first()?;
    follows(&name.text, arguments).then(|| Descent {
        starts: paths.to_vec(),
        here: name.text != "diff" && (paths.is_empty() || has_file_flag(arguments)),
    })
}

/// Whether a part passes on some of the lines that it is fed, as they are.
pub fn only_chooses(part: &Part) -> bool {
    match unwrap(&part.words).words.split_first() {
        Some((name, flags)) if matches!(name.text.as_str(), "sort" | "head" | "tail" | "uniq") => {
            flags.iter().all(|word| {
                word.text.starts_with('-') || word.text.bytes().all(|byte| byte.is_ascii_digit())
            }) && !flags.iter().any(|word| word.text.contains('c'))
        }
        Some((name, arguments)) if name.text == "grep" => {
            matches!(arguments, [pattern] if !pattern.text.starts_with('-'))
                || matches!(arguments, [flag, pattern] if flag.text == "-v" && !pattern.text.starts_with('-'))
        }
        Some(_) | None => false,
    }
}

/// What a command does with the directories that it starts at.
#[derive(Debug, PartialEq, Eq)]
pub struct Descent<'p> {
    pub starts: Vec<Named<'p>>,
    /// It starts where the shell stands, too.
    pub here: bool,
}

/// Where a command that reads or lists everything below starts; `paths` are those that it names.
pub fn descent<'p>(part: &'p Part, paths: &[Named<'p>]) -> Option<Descent<'p>> {
    let (name, arguments) = unwrap(&part.words).words.split_first()?;
    let has = |letters: &[char], long: &[&str]| {
        arguments
            .iter()
            .any(|word| match word.text.strip_prefix("--") {
                Some(name) => long.iter().any(|flag| name.starts_with(flag)),
                None => word.text.starts_with('-') && word.text.contains(letters),
            })
    };
    let recurse = |word: &Word| word.text.ends_with("recurse");
    let descends = match name.text.as_str() {
        "rg" | "find" | "tree" => true,
        "grep" | "egrep" | "fgrep" => {
            has(&['r', 'R'], &["recursive", "dereference-recursive"])
                || arguments.iter().any(recurse)
        }
        "ls" => has(&['R'], &["recursive"]),
        "du" => has(&['a'], &["all"]),
        "diff" => has(&['r'], &["recursive"]),
        "git" => arguments.iter().any(|word| word.text == "grep"),
        _ => false,
    };
    descends.then(|| Descent {
        starts: paths.to_vec(),
        here: paths.is_empty() || has_file_flag(arguments) || name.text == "git",
    })
}

/// A path that is the value of a flag is no start, so the start may be left out.
fn has_file_flag(arguments: &[Word]) -> bool {
    arguments
        .iter()
        .any(|word| match word.text.strip_prefix("--") {
            Some(name) => ["file", "ignore-file", "exclude-from"]
                .iter()
                .any(|flag| name.starts_with(flag)),
            None => word.text.starts_with('-') && word.text.contains(['f', 'X']),
        })
}

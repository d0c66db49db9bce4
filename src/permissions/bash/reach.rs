//! What a command reaches beyond its words: what it lists, passes on and descends into.

use super::feeding::past_xargs;
use super::flags::Named;
use super::git;
use super::script::{Part, Word};

/// Whether the files that such a part lists may include links.
pub fn lists_links(part: &Part) -> bool {
    let words = past_xargs(&part.words).words;
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

/// Whether a part follows the links that it finds on its way down.
pub fn follows_links(part: &Part) -> bool {
    match past_xargs(&part.words).words.split_first() {
        Some((name, arguments)) => follows(&name.text, arguments),
        None => false,
    }
}

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
        "find" => arguments.iter().any(|word| follows_in_find(&word.text)),
        "rg" => has('L', "follow"),
        "tree" => has('l', "fflinks"),
        // `ls` shows what the links in a directory point to, even without descending.
        "du" | "ls" => has('L', "dereference"),
        // It compares the files of two directories even without descending further.
        "diff" => !arguments.iter().any(|word| word.text == "--no-dereference"),
        _ => false,
    }
}

/// `-xtype` and `%Y` look at the target of a link, and `-lname` prints it.
fn follows_in_find(text: &str) -> bool {
    matches!(text, "-L" | "-follow" | "-xtype" | "-lname" | "-ilname") || text.contains("%Y")
}

/// Where a command that follows links on its way down starts.
pub fn followed<'p>(part: &'p Part, paths: &[Named<'p>]) -> Option<Descent<'p>> {
    let (name, arguments) = past_xargs(&part.words).words.split_first()?;
    follows(&name.text, arguments).then(|| Descent {
        starts: paths.to_vec(),
        here: name.text != "diff" && (paths.is_empty() || has_file_flag(arguments)),
        reach: Reach::Starts,
    })
}

/// What a command does with the directories that it starts at.
#[derive(Debug, PartialEq, Eq)]
pub struct Descent<'p> {
    pub starts: Vec<Named<'p>>,
    /// It also starts in the shell's directory.
    pub here: bool,
    pub reach: Reach,
}

/// Where a command that descends starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// At the paths it is given.
    Starts,
    /// At the root of the repository, which may be further up.
    Repository,
    /// The same, but it prints only what it names, relative to the root.
    NamedInRepository,
}

/// Where a command that reads or lists everything below starts; `paths` are the paths it names.
pub fn descent<'p>(part: &'p Part, paths: &[Named<'p>]) -> Option<Descent<'p>> {
    let (name, arguments) = past_xargs(&part.words).words.split_first()?;
    let has = |letters: &[char], long: &[&str]| {
        arguments
            .iter()
            .any(|word| match word.text.strip_prefix("--") {
                Some(name) => long.iter().any(|flag| name.starts_with(flag)),
                None => word.text.starts_with('-') && word.text.contains(letters),
            })
    };
    if name.text == "git" {
        return match git::shown(arguments) {
            git::Shown::Named => None,
            git::Shown::InCommit => Some(Descent {
                starts: Vec::new(),
                here: false,
                reach: Reach::NamedInRepository,
            }),
            git::Shown::Below(starts) => Some(Descent {
                starts,
                here: false,
                reach: Reach::Starts,
            }),
            git::Shown::Anything => Some(Descent {
                starts: paths.to_vec(),
                here: true,
                reach: Reach::Repository,
            }),
        };
    }
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
        _ => false,
    };
    descends.then(|| Descent {
        starts: paths.to_vec(),
        here: paths.is_empty() || has_file_flag(arguments),
        reach: Reach::Starts,
    })
}

/// A path that is the value of a flag is not a start, so the start may be missing.
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

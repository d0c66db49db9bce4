//! find: a closed list of tests and printing actions.

use super::flags::Named;
use super::programs::pads_conversions;
use super::script::Word;

/// Tests, operators and printing actions without an argument.
const BARE: [&str; 28] = [
    "(",
    ")",
    "!",
    ",",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "-true",
    "-false",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-depth",
    "-mount",
    "-xdev",
    "-daystart",
    "-follow",
    "-noleaf",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-nowarn",
];

/// Tests and options with one argument that is data.
const WITH_DATA: [&str; 33] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-maxdepth",
    "-mindepth",
    "-fstype",
    "-lname",
    "-ilname",
    "-used",
    "-printf",
    "-context",
];

/// The paths that a find with tests and printing only names; the error says what is not accepted.
pub fn check(words: &[Word]) -> Result<Vec<Named<'_>>, String> {
    let option = |word: &Word| matches!(word.text.as_str(), "-H" | "-L" | "-P");
    let start = words.iter().take_while(|word| option(word)).count();
    let starts = words[start..]
        .iter()
        .take_while(|word| !begins_expression(&word.text))
        .count();
    let mut paths: Vec<Named<'_>> = words[start..start + starts].iter().map(path).collect();
    let mut rest = &words[start + starts..];
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let text = word.text.as_str();
        if BARE.contains(&text) {
            continue;
        }
        if let Some(does) = action(text) {
            return Err(format!("`find` with `{text}` {does}"));
        }
        let Some((argument, behind)) = rest.split_first() else {
            return Err(format!("`find` has `{text}` without its argument"));
        };
        rest = behind;
        if text == "-samefile"
            || text == "-anewer"
            || text == "-cnewer"
            || text.starts_with("-newer")
        {
            // `-newerXt` takes a time; treating it as a path is harmless.
            paths.push(path(argument));
        } else if text == "-printf" && pads_conversions(&argument.text) {
            return Err("`find` would print too much".to_owned());
        } else if !WITH_DATA.contains(&text) {
            return Err(format!("`find` is not known to be read-only with `{text}`"));
        }
    }
    Ok(paths)
}

fn path(word: &Word) -> Named<'_> {
    Named {
        text: &word.text,
        word,
    }
}

/// What an action does besides printing. A rule with a wildcard never covers these.
fn action(text: &str) -> Option<&'static str> {
    match text {
        "-delete" => Some("removes files"),
        "-exec" | "-execdir" | "-ok" | "-okdir" => Some("runs a command"),
        "-fls" => Some("writes a file"),
        _ => text.starts_with("-fprint").then_some("writes a file"),
    }
}

/// Whether a find runs, removes or writes something.
pub fn acts(words: &[Word]) -> bool {
    words.iter().any(|word| action(&word.text).is_some())
}

fn begins_expression(text: &str) -> bool {
    (text.len() > 1 && text.starts_with('-')) || matches!(text, "(" | ")" | "!" | ",")
}

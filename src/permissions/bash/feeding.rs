//! The input of `xargs`: pipelines that pass on only names of files below the paths they name.
//!
//! A list that comes from anywhere else (a file, a here-document, an error message, the contents of files) may name any
//! file on the disk, so `xargs` with such a list asks.

use super::find;
use super::flags::{Arguments, Flags, Named};
use super::lists::Lists;
use super::programs::holds_special;
use super::readers::reader_named;
use super::script::{Joint, Operator, Part, Word};
use super::wrappers::unwrap;

/// The separator between the names of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// Blanks and newlines; quotes and backslashes are special as well.
    Blank,
    Nul,
}

/// The words of a command, past its wrappers and `xargs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past<'w> {
    pub words: &'w [Word],
    /// How `xargs` splits the operands that it adds.
    pub fed: Option<Separator>,
    /// `xargs` has flags other than the one for NUL.
    pub flags: bool,
}

/// Skips wrappers, and `xargs` without flags or with harmless ones.
pub fn past_xargs(words: &[Word]) -> Past<'_> {
    let unwrapped = unwrap(words);
    let plain = Past {
        words: unwrapped.words,
        fed: unwrapped.fed.then_some(Separator::Blank),
        flags: false,
    };
    match unwrapped.words.split_first() {
        Some((name, rest)) if name.raw == "xargs" && plain.fed.is_none() => {
            nul_separated(rest).unwrap_or(plain)
        }
        _ => plain,
    }
}

/// `-0`, and perhaps `-r`, `-n N`, `-I {}`.
fn nul_separated(words: &[Word]) -> Option<Past<'_>> {
    let (mut nul, mut flags, mut replaced) = (false, false, false);
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first() {
        if !first.text.starts_with('-') {
            break;
        }
        rest = behind;
        let known = first.is_literal();
        match first.text.as_str() {
            "-0" | "--null" => nul = true,
            "-r" | "--no-run-if-empty" | "-t" => flags = true,
            "-0r" | "-r0" => (nul, flags) = (true, true),
            "-I{}" | "-0I{}" => {
                (flags, replaced) = (true, true);
                nul |= first.text.starts_with("-0");
            }
            "-I" | "-n" | "-L" => {
                let (value, behind) = rest.split_first()?;
                let fits = match first.text.as_str() {
                    "-I" => value.text == "{}",
                    _ => is_count(&value.text),
                };
                if !fits || !value.is_literal() {
                    return None;
                }
                replaced |= first.text == "-I";
                (flags, rest) = (true, behind);
            }
            text => {
                let count = text.strip_prefix("-n").or(text.strip_prefix("-L"))?;
                is_count(count).then_some(())?;
                flags = true;
            }
        }
        known.then_some(())?;
    }
    // A name that is inserted into a word may turn it into another path.
    let whole = |word: &Word| word.text == "{}" || !word.text.contains("{}");
    (nul && !rest.is_empty() && (!replaced || rest.iter().all(whole))).then_some(Past {
        words: rest,
        fed: Some(Separator::Nul),
        flags,
    })
}

fn is_count(text: &str) -> bool {
    (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What the parts of a pipeline so far pass on.
#[derive(Debug, Clone, Default)]
pub struct Feed<'p> {
    /// The parts that list files; none if anything else may be in the list.
    pub listers: Vec<&'p Part>,
    separator: Option<Separator>,
}

impl<'p> Feed<'p> {
    /// What is passed on after `part`.
    pub fn after(self, part: &'p Part) -> Self {
        let feeds_nothing = |operator: Operator| match operator {
            Operator::Write | Operator::WriteBoth => true,
            Operator::Read
            | Operator::ReadWrite
            | Operator::DuplicateInput
            | Operator::DuplicateOutput
            | Operator::LiteralHeredoc
            | Operator::Heredoc
            | Operator::Herestring => false,
        };
        // Only discarded errors are accepted: other redirections replace the input or add to it.
        let plain = part.redirects.iter().all(|redirect| {
            feeds_nothing(redirect.operator)
                && redirect.target.is_literal()
                && redirect.target.text == "/dev/null"
        });
        if part.joint != Joint::Pipe || !plain || !part.nested.is_empty() {
            return Self::default();
        }
        let behind = past_xargs(&part.words);
        match listing(behind.words) {
            Some(listing) => {
                let mut listers = match behind.fed {
                    None => Vec::new(),
                    Some(separator) if self.separator == Some(separator) => self.listers,
                    Some(_) => return Self::default(),
                };
                listers.push(part);
                Self {
                    listers,
                    separator: Some(listing),
                }
            }
            None if behind.fed.is_none() && chooses(behind.words, self.separator) => self,
            None => Self::default(),
        }
    }

    /// Whether the `xargs` of `part` reads such a list, with the separator it was written with.
    pub fn reaches(&self, part: &Part, separator: Separator) -> Result<(), String> {
        let from_pipe = part
            .redirects
            .iter()
            .all(|redirect| match redirect.operator {
                Operator::Write | Operator::WriteBoth | Operator::DuplicateOutput => true,
                Operator::Read
                | Operator::ReadWrite
                | Operator::DuplicateInput
                | Operator::LiteralHeredoc
                | Operator::Heredoc
                | Operator::Herestring => false,
            });
        if from_pipe && self.separator == Some(separator) {
            Ok(())
        } else {
            Err("`xargs` would read files that the command does not name".to_owned())
        }
    }
}

const GIT_LIST: Flags = Flags::new(
    "zcmod",
    "cached modified others deleted exclude-standard exclude= deduplicate",
);
const RG_LIST: Flags = Flags::new(
    "l0iwFSse:g:t:T:uUPvxaL.",
    "files files-with-matches files-without-match null ignore-case word-regexp fixed-strings smart-case case-sensitive \
     regexp= glob= iglob= type= type-not= hidden no-ignore no-ignore-vcs unrestricted sort= sortr= max-depth= follow text",
);
const GREP_LIST: Flags = Flags::new(
    "lLrRiwFEGPe:xvIsZa",
    "files-with-matches files-without-match recursive dereference-recursive ignore-case word-regexp fixed-strings \
     extended-regexp perl-regexp regexp= line-regexp invert-match no-messages null include= exclude= exclude-dir=",
);
const LISTS: [&str; 5] = [
    "L",
    "l",
    "files",
    "files-with-matches",
    "files-without-match",
];

/// The separator between the names that a command prints; `None` if it may print anything but names of files below its
/// operands.
fn listing(words: &[Word]) -> Option<Separator> {
    let (name, arguments) = words.split_first()?;
    let (nul, operands) = match name.raw.as_str() {
        "find" => {
            let starts = find::check(arguments).ok()?;
            let has = |flag: &str| arguments.iter().any(|word| word.text == flag);
            if has("-printf") || has("-ls") || (has("-print0") && has("-print")) {
                return None;
            }
            (has("-print0"), starts)
        }
        "ls" => (false, Flags::new("1", "").read(arguments).ok()?.operands),
        "git" => {
            let (subcommand, arguments) = arguments.split_first()?;
            let read = GIT_LIST.read(arguments).ok()?;
            // `:/` also lists files above this directory.
            let magic = |operand: &Named<'_>| operand.text.starts_with(':');
            if subcommand.raw != "ls-files" || read.operands.iter().any(magic) {
                return None;
            }
            (read.has(&["z"]), read.operands)
        }
        "rg" => {
            let read = RG_LIST.read(arguments).ok()?;
            // Here -L follows links.
            if !read.has(&LISTS[1..]) {
                return None;
            }
            let pattern = !read.has(&["e", "regexp", "files"]);
            (read.has(&["0", "null"]), behind_pattern(read, pattern))
        }
        "grep" => {
            let read = GREP_LIST.read(arguments).ok()?;
            if !read.has(&LISTS) {
                return None;
            }
            let pattern = !read.has(&["e", "regexp"]);
            (read.has(&["Z", "null"]), behind_pattern(read, pattern))
        }
        _ => return None,
    };
    let odd =
        |operand: &Named<'_>| holds_special(operand) || (!nul && operand.text.chars().any(splits));
    (!operands.iter().any(odd)).then_some(if nul {
        Separator::Nul
    } else {
        Separator::Blank
    })
}

fn behind_pattern(read: Arguments<'_>, pattern: bool) -> Vec<Named<'_>> {
    let skipped = usize::from(pattern).min(read.operands.len());
    read.operands.into_iter().skip(skipped).collect()
}

/// Whether a character in a name makes `xargs` without flags split it or change it.
pub fn splits(character: char) -> bool {
    character.is_whitespace() || character.is_control() || matches!(character, '\'' | '"' | '\\')
}

/// Whether a command passes on some of its input names unchanged.
fn chooses(words: &[Word], separator: Option<Separator>) -> bool {
    let Some((name, arguments)) = words.split_first() else {
        return false;
    };
    let (letters, operands) = match name.raw.as_str() {
        "sort" => ("rnufVdbhgisktz", 0),
        "head" | "tail" => ("nqz", 0),
        "uniq" => ("udiz", 0),
        "grep" => ("viwxEFPez", 1),
        _ => return false,
    };
    let Some(read) =
        reader_named(&name.raw, Lists::Agreed).and_then(|reader| reader.flags.read(arguments).ok())
    else {
        return false;
    };
    let operands = operands - usize::from(operands > 0 && read.has(&["e"]));
    let known = |flag: &&str| {
        flag.bytes().all(|byte| byte.is_ascii_digit())
            || (flag.len() == 1 && letters.contains(*flag))
    };
    read.operands.len() == operands
        && read.paths.is_empty()
        && read.given.iter().all(known)
        && read.has(&["z"]) == (separator == Some(Separator::Nul))
}

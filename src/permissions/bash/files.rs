//! Which files a command reads and writes, as far as its words tell.
//!
//! Used by deny and ask rules and for protected paths, so it assumes the worst: a command with unknown flags is assumed
//! to touch every operand.

use std::sync::LazyLock;

use super::flags::{Arguments, Flags, Named};
use super::lists::Lists;
use super::programs::named_paths;
use super::script::{Descriptor, Operator, Redirect, Word};

/// How many directories of a path in a commit may lie above the shell's directory.
const MOST_LEVELS: usize = 32;

static HERE: LazyLock<Word> = LazyLock::new(|| Word::plain("."));

/// One file that a command touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access<'w> {
    pub kind: Kind,
    pub text: String,
    /// The word it comes from, for its quoting.
    pub word: &'w Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
}

const COPY: Flags = Flags::new(
    "abdfgHiLlnPpRrS:sTt/uvxZ",
    "archive attributes-only backup? copy-contents debug force interactive dereference link no-clobber no-dereference \
     preserve? no-preserve= parents recursive remove-destination sparse= strip-trailing-slashes symbolic-link suffix= \
     target-directory/ no-target-directory update? verbose one-file-system reflink? exchange no-copy",
);
const MAKE_DIRECTORY: Flags = Flags::new("m:pvZ", "mode= parents verbose");
const TOUCH: Flags = Flags::new(
    "acd:fhmr/t:",
    "no-create date= no-dereference reference/ time=",
);
const REMOVE: Flags = Flags::new(
    "dfiIRrpv",
    "force interactive? one-file-system no-preserve-root preserve-root? recursive dir verbose \
     ignore-fail-on-non-empty parents",
);
const CHANGE: Flags = Flags::new(
    "cfhvRHLP",
    "changes silent quiet verbose dereference no-dereference recursive reference/ from= \
     preserve-root no-preserve-root",
);
const TRUNCATE: Flags = Flags::new("cos:r/", "no-create io-blocks size= reference/");
const TEE: Flags = Flags::new("aip", "append ignore-interrupts output-error?");

/// The files that `name` with these arguments touches; empty for commands that do not work on files.
pub fn accesses<'w>(name: &str, arguments: &'w [Word]) -> Vec<Access<'w>> {
    let flags = match name {
        "cp" | "mv" | "ln" | "install" => return copies(name, arguments),
        "sed" if edits_in_place(arguments) => return edited(arguments),
        "dd" => return dd(arguments),
        "git" => return revisions(arguments),
        "mkdir" => MAKE_DIRECTORY,
        "touch" => TOUCH,
        "rm" | "rmdir" | "unlink" | "shred" => REMOVE,
        "truncate" => TRUNCATE,
        "tee" => TEE,
        "chmod" | "chown" | "chgrp" => CHANGE,
        _ => {
            return match named_paths(name, arguments) {
                Some(Ok(paths)) if paths.is_empty() && reads_shell_directory(name, arguments) => {
                    vec![Access {
                        kind: Kind::Read,
                        text: ".".to_owned(),
                        word: &HERE,
                    }]
                }
                Some(Ok(paths)) => paths
                    .into_iter()
                    .map(|path| access(Kind::Read, path))
                    .collect(),
                Some(Err(_)) => operands(arguments, Kind::Read),
                None => Vec::new(),
            };
        }
    };
    let Ok(mut read) = flags.read(arguments) else {
        return operands(arguments, Kind::Write);
    };
    let skipped =
        usize::from(matches!(name, "chmod" | "chown" | "chgrp") && !read.has(&["reference"]));
    read.operands.drain(..skipped.min(read.operands.len()));
    let references = read.paths.into_iter().map(|path| access(Kind::Read, path));
    read.operands
        .into_iter()
        .map(|path| access(Kind::Write, path))
        .chain(references)
        .collect()
}

/// Whether a command without a path reads the shell's directory.
fn reads_shell_directory(name: &str, arguments: &[Word]) -> bool {
    match name {
        "ls" | "find" | "tree" | "du" | "rg" => true,
        "grep" | "egrep" | "fgrep" => arguments
            .iter()
            .any(|word| word.text.starts_with('-') && word.text.contains(['r', 'R'])),
        _ => false,
    }
}

/// Whether a command of this name reads files, and whether it writes some.
pub fn touches(name: &str) -> (bool, bool) {
    match name {
        "cp" | "mv" | "ln" | "install" | "dd" | "sed" => (true, true),
        "mkdir" | "touch" | "rm" | "rmdir" | "unlink" | "shred" | "truncate" | "tee" | "chmod"
        | "chown" | "chgrp" => (false, true),
        "git" => (true, false),
        name => (named_paths(name, &[]).is_some(), false),
    }
}

/// Whether `acceptEdits` may cover this command: all its flags are known.
pub fn is_plain_edit(name: &str, arguments: &[Word]) -> bool {
    let flags = match name {
        "mkdir" => MAKE_DIRECTORY,
        "touch" => TOUCH,
        "mv" | "cp" => COPY,
        _ => return false,
    };
    let known = arguments.iter().all(Word::is_literal);
    known
        && flags.read(arguments).is_ok_and(|read| {
            // The names that `dir/.` copies are not known.
            let copies_all = |source: &Named<'_>| matches!(base(source.text), "." | "..");
            let into = read.has(&["t", "target-directory"]);
            // With these flags the targets do not follow from the names of the sources.
            let odd = read.has(&["T", "no-target-directory", "parents"])
                // Backups get names that are not written here.
                || read.has(&["b", "S", "backup", "suffix"])
                // Everything below the sources would get a second name.
                || (read.has(&["l", "link"]) && writes_trees(name, arguments));
            let sources = read.operands.len() - usize::from(!into && !read.operands.is_empty());
            !matches!(name, "mv" | "cp")
                || (read.operands.len() > 1 || into)
                    && !odd
                    && !read.operands[..sources].iter().any(copies_all)
        })
}

/// Whether a command writes whatever lies below its targets, also through links there.
pub fn writes_trees(name: &str, arguments: &[Word]) -> bool {
    let recursive = |word: &Word| {
        let text = word.text.as_str();
        match text.strip_prefix("--") {
            Some(long) => {
                !long.is_empty()
                    && ["recursive", "archive"]
                        .iter()
                        .any(|flag| flag.starts_with(long))
            }
            None => text.starts_with('-') && text.contains(['r', 'R', 'a']),
        }
    };
    name == "cp" && arguments.iter().any(recursive)
}

/// Whether a command copies or moves everything below its sources.
pub fn copies_trees(name: &str, arguments: &[Word]) -> bool {
    name == "mv" || writes_trees(name, arguments)
}

/// The file that a redirection touches.
pub fn redirected(redirect: &Redirect) -> Option<Access<'_>> {
    let target = &redirect.target;
    let kind = match redirect.operator {
        Operator::DuplicateInput | Operator::DuplicateOutput if is_descriptor(target) => {
            return None;
        }
        Operator::Read | Operator::DuplicateInput => Kind::Read,
        Operator::Write | Operator::WriteBoth | Operator::ReadWrite | Operator::DuplicateOutput => {
            Kind::Write
        }
        Operator::LiteralHeredoc | Operator::Heredoc | Operator::Herestring => return None,
    };
    (kind == Kind::Read || target.text != "/dev/null" || redirect.descriptor == Descriptor::Named)
        .then(|| Access {
            kind,
            text: target.text.clone(),
            word: target,
        })
}

/// Every word that is not a flag, and every value after a `=`.
pub fn operands(arguments: &[Word], kind: Kind) -> Vec<Access<'_>> {
    let mut found = Vec::new();
    for word in arguments {
        match word.text.split_once('=') {
            Some((_, value)) if word.text.starts_with('-') => found.push(Access {
                kind,
                text: value.to_owned(),
                word,
            }),
            _ if word.text.starts_with('-') => {}
            _ => found.push(Access {
                kind,
                text: word.text.clone(),
                word,
            }),
        }
    }
    found
}

fn is_descriptor(target: &Word) -> bool {
    let digits = target.raw.strip_suffix('-').unwrap_or(&target.raw);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && !target.raw.is_empty()
}

fn access(kind: Kind, path: Named<'_>) -> Access<'_> {
    Access {
        kind,
        text: path.text.to_owned(),
        word: path.word,
    }
}

/// Sources are read; `mv` also removes them, and `ln` and `cp -l` give them a second name through which they can be
/// written. The destination may be a directory, so the file that would appear in it is included.
fn copies<'w>(name: &str, arguments: &'w [Word]) -> Vec<Access<'w>> {
    let Ok(Arguments {
        mut operands,
        paths,
        given,
        ..
    }) = COPY.read(arguments)
    else {
        let mut all = self::operands(arguments, Kind::Write);
        add_backups(&mut all, &backup_suffixes(arguments));
        all.extend(self::operands(arguments, Kind::Read));
        return all;
    };
    let directory = given
        .iter()
        .any(|flag| matches!(*flag, "t" | "target-directory"))
        .then(|| paths.first().copied())
        .flatten();
    let destination = match directory {
        Some(directory) => Some(directory),
        None if operands.len() > 1 => operands.pop(),
        None => None,
    };
    let linked = given.iter().any(|flag| matches!(*flag, "l" | "link"));
    let mut found = Vec::new();
    for source in &operands {
        found.push(access(Kind::Read, *source));
        if linked || !matches!(name, "cp" | "install") {
            found.push(access(Kind::Write, *source));
        }
        let (text, word) = destination.map_or((".", source.word), |destination| {
            (destination.text, destination.word)
        });
        found.push(Access {
            kind: Kind::Write,
            text: format!("{text}/{}", base(source.text)),
            word,
        });
    }
    found.extend(destination.map(|destination| access(Kind::Write, destination)));
    add_backups(&mut found, &backup_suffixes(arguments));
    found
}

/// The suffix that `cp`, `mv`, `ln` and `install` add to the name of a file that they would overwrite; empty without a
/// backup. Abbreviated flags are recognised.
fn backup_suffixes(arguments: &[Word]) -> Vec<String> {
    let mut keeps = false;
    let mut suffixes = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let next = || arguments.get(at + 1).map(|next| next.text.clone());
        match text.strip_prefix("--") {
            Some(long) if long.starts_with("su") => {
                let attached = long.split_once('=').map(|(_, value)| value.to_owned());
                suffixes.extend(attached.or_else(next));
            }
            Some(long) => keeps |= long.starts_with('b'),
            None if text.starts_with('-') => match text.split_once('S') {
                Some((_, "")) => suffixes.extend(next()),
                Some((_, attached)) => suffixes.push(attached.to_owned()),
                None => keeps |= text.contains('b'),
            },
            None => {}
        }
    }
    if keeps && suffixes.is_empty() {
        suffixes.push("~".to_owned());
    }
    suffixes
}

/// Backups of written files are written as well.
fn add_backups(found: &mut Vec<Access<'_>>, suffixes: &[String]) {
    for at in 0..found.len() {
        if found[at].kind == Kind::Read {
            continue;
        }
        for suffix in suffixes {
            let backup = Access {
                text: format!("{}{suffix}", found[at].text.trim_end_matches('/')),
                ..found[at].clone()
            };
            found.push(backup);
        }
    }
}

/// `sed -i` writes its operands and, with a suffix, backups. A `*` in the suffix is the name of the file, and it may
/// name another directory.
fn edited(arguments: &[Word]) -> Vec<Access<'_>> {
    let mut found = operands(arguments, Kind::Write);
    let suffixes: Vec<&str> = arguments
        .iter()
        .filter_map(|word| match word.text.strip_prefix("--") {
            Some(long) if long.starts_with('i') => long.split_once('=').map(|(_, suffix)| suffix),
            Some(_) => None,
            None => word
                .text
                .strip_prefix('-')?
                .split_once('i')
                .map(|(_, suffix)| suffix),
        })
        .filter(|suffix| !suffix.is_empty())
        .collect();
    for at in 0..found.len() {
        for suffix in &suffixes {
            let text = found[at].text.clone();
            let (directory, name) = text.rsplit_once('/').unwrap_or((".", &text));
            let backup = if suffix.contains('*') {
                suffix.replace('*', name)
            } else {
                format!("{name}{suffix}")
            };
            for text in [format!("{directory}/{backup}"), backup] {
                found.push(Access {
                    text,
                    ..found[at].clone()
                });
            }
        }
    }
    found
}

fn dd(arguments: &[Word]) -> Vec<Access<'_>> {
    let mut found = Vec::new();
    for word in arguments {
        let (kind, path) = match word.text.split_once('=') {
            Some(("of", path)) => (Kind::Write, path),
            Some(("if", path)) => (Kind::Read, path),
            Some(_) | None => continue,
        };
        found.push(Access {
            kind,
            text: path.to_owned(),
            word,
        });
    }
    found
}

/// `git show HEAD:path` reads `path`, relative to the root of the repository. How far up that is cannot be told from
/// the words, so the path without its first directories is included.
fn revisions(arguments: &[Word]) -> Vec<Access<'_>> {
    let mut found = match super::git::check(arguments, Lists::Everyday) {
        Ok(paths) => paths
            .into_iter()
            .map(|path| access(Kind::Read, path))
            .collect(),
        Err(_) => operands(arguments, Kind::Read),
    };
    for at in 0..found.len() {
        let text = found[at].text.clone();
        let Some((_, path)) = text.split_once(':') else {
            continue;
        };
        let here = path.starts_with("./") || path.starts_with("../");
        let mut paths = vec![path];
        let ends = path.match_indices('/').filter(|_| !here);
        paths.extend(ends.take(MOST_LEVELS).map(|(at, _)| &path[at + 1..]));
        found.extend(
            paths
                .into_iter()
                .map(|path| Access {
                    text: path.to_owned(),
                    kind: Kind::Read,
                    word: found[at].word,
                })
                .collect::<Vec<_>>(),
        );
    }
    found
}

fn edits_in_place(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| {
        let text = word.text.as_str();
        text.starts_with("--i")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
    })
}

fn base(path: &str) -> &str {
    super::base_name(path.trim_end_matches('/'))
}

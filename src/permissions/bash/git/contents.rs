//! Whether git prints the contents of files, current or old: deny rules for reading apply to that as well.

use super::{Flags, Named, Word, skip};

/// What a git command prints of the contents of files.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown<'w> {
    /// Nothing, or only files that it names, which are checked by their names.
    Named,
    /// Files that it names by their path in a commit.
    InCommit,
    /// Files below these paths.
    Below(Vec<Named<'w>>),
    Anything,
}

/// Flags that summarise a difference without printing contents.
const SUMMARIES: [&str; 12] = [
    "s",
    "no-patch",
    "raw",
    "stat",
    "numstat",
    "shortstat",
    "dirstat",
    "summary",
    "compact-summary",
    "name-only",
    "name-status",
    "quiet",
];
/// Flags that print no contents, unless the command does so by default.
const WITHOUT_CONTENTS: Flags = Flags::with_numbers(
    "n:giEFPszqM?",
    concat!(
        log_flags!(),
        "no-patch raw stat? numstat shortstat dirstat? cumulative summary compact-summary name-only name-status color? \
         no-color no-renames find-renames? diff-filter= abbrev? full-index quiet exit-code cached staged merge-base \
         no-commit-id"
    ),
);
/// Those of them that imply a patch.
const PATCHES: [&str; 3] = ["cc", "diff-merges", "combined-all-paths"];

/// What the git command with these arguments prints. Flags are assumed to be permitted.
pub fn shown(words: &[Word]) -> Shown<'_> {
    let rest = skip(words, &["--no-pager", "--no-optional-locks"]);
    let Some((subcommand, rest)) = rest.split_first() else {
        return Shown::Named;
    };
    let prints = match (subcommand.text.as_str(), rest) {
        ("log" | "reflog", _) => !is_summary(rest, false),
        ("diff" | "diff-tree" | "diff-index", _) => !is_summary(rest, true),
        ("stash", [action, rest @ ..]) => !is_summary(rest, action.text == "show"),
        ("show" | "cat-file", _) if at_paths(rest) => return Shown::InCommit,
        ("show", _) => !(is_summary(rest, true) && operands(rest).all(is_head)),
        ("cat-file", _) => rest.iter().any(|word| word.text == "-p"),
        ("status", _) => rest.iter().any(|word| {
            word.text == "--verbose"
                || (!word.text.starts_with("--")
                    && word.text.starts_with('-')
                    && word.text.contains('v'))
        }),
        ("grep", _) => true,
        // What blame prints is in the file that it names.
        _ => false,
    };
    if !prints {
        return Shown::Named;
    }
    let follows = rest.iter().any(|word| word.text == "--follow");
    let mut behind = rest.iter().skip_while(|word| word.text != "--").skip(1);
    let paths: Vec<Named<'_>> = behind
        .by_ref()
        .map(|word| Named {
            text: &word.text,
            word,
        })
        .collect();
    let plain = |path: &Named<'_>| {
        path.word.is_literal()
            && !path.text.starts_with(':')
            && !path.text.contains(['*', '?', '[', '\\'])
    };
    if paths.is_empty() || follows || !paths.iter().all(plain) {
        Shown::Anything
    } else {
        Shown::Below(paths)
    }
}

/// Whether all flags print no contents, and, where it is `needed`, one of them says so explicitly.
fn is_summary(words: &[Word], needed: bool) -> bool {
    WITHOUT_CONTENTS
        .read(words)
        .is_ok_and(|read| !read.has(&PATCHES) && (!needed || read.has(&SUMMARIES)))
}

fn operands(words: &[Word]) -> impl Iterator<Item = &Word> {
    words.iter().filter(|word| !word.text.starts_with('-'))
}

/// `HEAD`, `HEAD~2`: certainly a commit. A name or a hash may be that of a file.
fn is_head(word: &Word) -> bool {
    word.text.strip_prefix("HEAD").is_some_and(|rest| {
        rest.bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'~' | b'^'))
    })
}

/// Whether every operand is `REVISION:path`: the file there, or the names in a directory.
fn at_paths(words: &[Word]) -> bool {
    let at_path = |word: &Word| {
        word.text
            .split_once(':')
            .is_some_and(|(revision, _)| is_commit(revision))
    };
    operands(words).next().is_some() && operands(words).all(at_path)
}

/// Whether a revision looks like the name of a branch or of a commit before it. A hash, including the one at the end of
/// `describe`'s output, may be that of a directory; paths then start there.
fn is_commit(revision: &str) -> bool {
    let name = revision.split(['~', '^']).next().unwrap_or(revision);
    let end = name.rsplit_once("-g").map_or(name, |(_, end)| end);
    let is_hash = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    !name.is_empty() && !revision.contains('{') && !is_hash(name) && !is_hash(end)
}

#[cfg(test)]
mod tests {
    use super::{Shown, Word, shown};

    fn prints(text: &str) -> bool {
        let words: Vec<Word> = text.split(' ').map(Word::plain).collect();
        !matches!(shown(&words), Shown::Named | Shown::InCommit)
    }

    #[test]
    fn b6_patches_and_objects_are_contents() {
        for text in [
            "diff",
            "diff HEAD~1",
            "log -p",
            "log --patch -3",
            "log -u",
            "log --cc",
            "log -c",
            "log -U5",
            "log -S x",
            "log -L 1,5:f",
            "show",
            "show HEAD",
            "show abc --stat",
            "show :/fix",
            "show :0:.env",
            "stash show -p",
            "stash list -p",
            "cat-file -p abc",
            "grep x",
            "status -v",
            "reflog -p",
            "diff-tree -p HEAD",
            "log -m",
            "diff -- src",
            "--no-pager diff",
            "show HEAD^{/a:b}",
            "log --word-diff",
            "show 0f3a:key",
            "show 0F3A~1:key",
            "show v1-2-g0f3a:key",
            "cat-file -p 0123456789abcdef:key",
            "cat-file -p HEAD^{tree}:key",
            "show HEAD:a 0f3a:key",
        ] {
            assert!(prints(text), "{text}");
        }
    }

    #[test]
    fn b6_names_and_counts_are_not() {
        for text in [
            "status",
            "status -sb",
            "log",
            "log --oneline -5",
            "log --stat",
            "log --name-only --author=x",
            "branch -a",
            "diff --stat",
            "diff --name-only HEAD~1",
            "show --stat HEAD",
            "show --name-only",
            "show HEAD:src/a.rs",
            "show HEAD~2:src/a.rs",
            "show feature/one:src/a.rs",
            "show origin/main^:a",
            "cat-file -t abc",
            "cat-file -p HEAD:a",
            "stash list",
            "stash show --stat",
            "blame a.rs",
            "ls-files",
            "reflog",
            "rev-parse HEAD",
            "diff-tree --name-only HEAD",
        ] {
            assert!(!prints(text), "{text}");
        }
    }
}

//! git: the read-only subcommands, with their permitted flags.
//!
//! What a repository's own configuration makes git run (textconv, fsmonitor) is a matter of trusting the repository; what
//! a command line makes it run is refused here. Auto-allowed git is run with optional locks off and no pager.

use super::flags::{Arguments, Flags, Named};
use super::lists::Lists;
use super::programs::{pads, pads_conversions};
use super::script::Word;

const FORMATS: [&str; 9] = [
    "oneline",
    "short",
    "medium",
    "full",
    "fuller",
    "reference",
    "email",
    "mboxrd",
    "raw",
];

/// Ways to show a merge by comparing commits. Not `remerge`, which merges again with the configured drivers, and not
/// `on` and `m`, which depend on the configuration.
const DIFF_MERGES: [&str; 9] = [
    "off",
    "none",
    "first-parent",
    "1",
    "separate",
    "combined",
    "c",
    "dense-combined",
    "cc",
];

/// Flags of everything that prints differences.
macro_rules! diff_flags {
    () => {
        "patch no-patch raw stat? numstat shortstat dirstat? cumulative summary compact-summary name-only name-status \
         patch-with-stat patch-with-raw unified? minimal patience histogram diff-algorithm= anchored= color? no-color \
         color-moved? no-color-moved color-moved-ws= word-diff? word-diff-regex= color-words? no-renames rename-empty \
         no-rename-empty find-renames? find-copies? irreversible-delete diff-filter= pickaxe-all pickaxe-regex find-object= \
         relative? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space \
         ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff \
         no-textconv ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= full-index binary \
         abbrev? check ws-error-highlight= break-rewrites? indent-heuristic no-indent-heuristic "
    };
}

/// Flags that choose, order and format commits.
macro_rules! log_flags {
    () => {
        "oneline graph all branches? tags? remotes? glob= exclude= decorate? no-decorate decorate-refs= decorate-refs-exclude= \
         clear-decorations source follow max-count= skip= since= after= until= before= author= committer= grep= grep-reflog= \
         all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges no-merges \
         min-parents= max-parents= no-min-parents no-max-parents first-parent exclude-first-parent-only not reflog \
         walk-reflogs merge boundary left-right left-only right-only cherry cherry-pick cherry-mark simplify-by-decoration \
         full-history dense sparse simplify-merges ancestry-path? show-pulls date-order author-date-order topo-order reverse \
         no-walk? do-walk pretty? format= abbrev-commit no-abbrev-commit no-abbrev encoding= expand-tabs? no-expand-tabs \
         notes? no-notes relative-date date= parents children log-size cc diff-merges= no-diff-merges combined-all-paths \
         mailmap no-mailmap use-mailmap root full-diff "
    };
}

mod contents;
mod everyday;

pub use contents::{Shown, shown};

const DIFF_SHORT: &str = "pusRaWbwzqU?S:G:l:I:M?B?D";
const DIFF: Flags = Flags::with_numbers(
    DIFF_SHORT,
    concat!(diff_flags!(), "cached staged merge-base base ours theirs"),
);
const LOG: Flags = Flags::with_numbers(
    "pusRaWbwzqU?S:G:l:I:M?B?Dn:L:giEFPmt",
    concat!(diff_flags!(), log_flags!()),
);
const REV_LIST: Flags = Flags::with_numbers(
    "n:giEFP",
    concat!(
        log_flags!(),
        "count quiet objects disk-usage use-bitmap-index header timestamp no-commit-header"
    ),
);
const SHORTLOG: Flags = Flags::with_numbers(
    "snecn:w?iEFP",
    concat!(log_flags!(), "summary numbered email group= committer"),
);
const STATUS: Flags = Flags::new(
    "sbvzu?",
    "short branch no-branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column \
     ahead-behind no-ahead-behind renames no-renames find-renames? null",
);
const REV_PARSE: Flags = Flags::new(
    "q",
    "verify quiet short? abbrev-ref? symbolic symbolic-full-name show-toplevel show-prefix show-cdup is-inside-work-tree \
     is-inside-git-dir is-bare-repository is-shallow-repository git-common-dir absolute-git-dir \
     show-superproject-working-tree show-object-format? all branches? tags? remotes? not revs-only no-revs flags no-flags \
     path-format= since= until= disambiguate= end-of-options",
);
const LS_FILES: Flags = Flags::new(
    "cdmoisukztvfx:X/",
    "cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol exclude= exclude-from/ \
     exclude-per-directory= exclude-standard error-unmatch full-name abbrev? deduplicate with-tree= format= resolve-undo",
);
const LS_TREE: Flags = Flags::new(
    "drtlz",
    "long name-only name-status object-only full-name full-tree abbrev? format=",
);
const BLAME: Flags = Flags::new(
    "L:ltepfnswbM?",
    "root show-stats date= porcelain line-porcelain incremental show-name show-number show-email since= abbrev= first-parent \
     ignore-rev= ignore-revs-file/ color-lines color-by-age minimal encoding= reverse=",
);
/// Without --dirty and --broken, which rewrite the index even with optional locks off.
const DESCRIBE: Flags = Flags::new(
    "",
    "tags all contains long always abbrev= exact-match match= exclude= candidates= first-parent debug",
);
const MERGE_BASE: Flags = Flags::new("a", "all octopus independent is-ancestor fork-point");
const GREP: Flags = Flags::with_numbers(
    "nivwhHlLcEGFPe:f/A:B:C:Wpqzoram:I",
    "cached untracked no-exclude-standard exclude-standard invert-match ignore-case word-regexp text max-depth= recursive \
     no-recursive extended-regexp basic-regexp fixed-strings perl-regexp line-number column full-name files-with-matches \
     name-only files-without-match null only-matching count color? no-color heading break show-function context= \
     after-context= before-context= function-context threads= and or not all-match quiet max-count=",
);
/// Their commit is the next word, or HEAD if there is none.
const AT_COMMIT: [&str; 5] = [
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
];
const LIST_FLAGS: &str = "list sort= format= column? no-column color? no-color contains= no-contains= merged= no-merged= \
     points-at= ignore-case omit-empty";
const BRANCH: Flags = Flags::new(
    "arvli",
    "all remotes verbose show-current abbrev= no-abbrev list sort= format= column? no-column color? no-color contains= \
     no-contains= merged= no-merged= points-at= ignore-case omit-empty",
);
const TAG: Flags = Flags::new("ln?i", LIST_FLAGS);
const CONFIG: Flags = Flags::new(
    "lz",
    "get get-all list global local system worktree show-origin show-scope name-only null type= bool int path includes \
     no-includes default=",
);

/// Global options with a value in the next word.
const WITH_VALUE: [&str; 10] = [
    "-c",
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];
const WITHOUT_VALUE: [&str; 13] = [
    "-p",
    "-P",
    "--paginate",
    "--no-pager",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-advice",
    "--bare",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
];
/// Words after this are not considered as the subcommand.
const MOST_SUBCOMMANDS: usize = 16;
/// What branches and tags may be sorted by; other fields may verify a signature with a configured program.
const SORT_FIELDS: [&str; 22] = [
    "refname",
    "objecttype",
    "objectsize",
    "objectname",
    "numparent",
    "parent",
    "tree",
    "type",
    "object",
    "tag",
    "author",
    "authorname",
    "authoremail",
    "authordate",
    "committer",
    "committername",
    "committeremail",
    "committerdate",
    "taggerdate",
    "creatordate",
    "upstream",
    "subject",
];

/// The subcommands that are read-only with all permitted flags.
const PLAIN: &[(&str, Flags)] = &[
    ("status", STATUS),
    ("diff", DIFF),
    ("log", LOG),
    ("show", LOG),
    ("rev-list", REV_LIST),
    ("shortlog", SHORTLOG),
    ("rev-parse", REV_PARSE),
    ("ls-files", LS_FILES),
    ("ls-tree", LS_TREE),
    ("blame", BLAME),
    ("describe", DESCRIBE),
    ("merge-base", MERGE_BASE),
];

/// The paths and revisions that a read-only git command names; the error says what is not accepted.
pub fn check(words: &[Word], lists: Lists) -> Result<Vec<Named<'_>>, String> {
    let rest = skip(words, &["--no-pager", "--no-optional-locks"]);
    let Some((subcommand, rest)) = rest.split_first() else {
        return Err("`git` has no subcommand".to_owned());
    };
    let name = subcommand.text.as_str();
    if lists == Lists::Everyday
        && let Some(arguments) = everyday::read(subcommand, rest)?
    {
        return checked(name, rest, arguments);
    }
    if !subcommand.is_bare() || name.starts_with('-') {
        return Err(format!(
            "`git {}` is not known to be read-only",
            subcommand.raw
        ));
    }
    let plain = PLAIN.iter().find(|(other, _)| *other == name);
    let arguments = match plain {
        Some((_, flags)) => read(flags, name, rest)?,
        None => particular(name, rest)?,
    };
    checked(name, rest, arguments)
}

/// The arguments of a subcommand that is read-only in some of its forms.
fn particular<'w>(name: &str, rest: &'w [Word]) -> Result<Arguments<'w>, String> {
    Ok(match name {
        "grep" => {
            let mut arguments = read(&GREP, name, rest)?;
            if !arguments.has(&["e", "f"]) && !arguments.operands.is_empty() {
                arguments.operands.remove(0);
            }
            arguments
        }
        // `git branch -l x` created a branch before git 2.19.
        "branch" => listing(read(&BRANCH, name, at_head(rest))?, &["list"], name)?,
        "tag" => listing(read(&TAG, name, at_head(rest))?, &["list", "l"], name)?,
        "remote" => remote(rest)?,
        "stash" => match rest.split_first() {
            Some((action, rest)) if action.raw == "list" => read(&LOG, "stash list", rest)?,
            Some((action, rest)) if action.raw == "show" => read(&DIFF, "stash show", rest)?,
            _ => return Err("`git stash` writes, except `list` and `show`".to_owned()),
        },
        "worktree" => match rest.split_first() {
            Some((action, rest)) if action.raw == "list" => read(
                &Flags::new("vz", "porcelain verbose"),
                "worktree list",
                rest,
            )?,
            _ => return Err("`git worktree` writes, except `list`".to_owned()),
        },
        "config" => {
            let arguments = read(&CONFIG, name, rest)?;
            let gets = arguments.has(&["get", "get-all"]) && !arguments.operands.is_empty();
            let lists = arguments.has(&["list", "l"]) && arguments.operands.is_empty();
            if !gets && !lists {
                return Err("`git config` may write, except --get, --get-all and --list".to_owned());
            }
            Arguments {
                operands: Vec::new(),
                ..arguments
            }
        }
        "cat-file" => {
            let arguments = read(&Flags::new("tspe", ""), name, rest)?;
            if arguments.given.len() != 1 || arguments.operands.len() != 1 {
                return Err(
                    "`git cat-file` is accepted with one of -t -s -p -e and one object".to_owned(),
                );
            }
            arguments
        }
        _ => return Err(format!("`git {name}` is not known to be read-only")),
    })
}

/// The paths in the arguments of a subcommand, if they do not make it write or run something.
fn checked<'w>(
    name: &str,
    rest: &'w [Word],
    arguments: Arguments<'w>,
) -> Result<Vec<Named<'w>>, String> {
    check_values(name, &arguments)?;
    let mut behind = rest.iter().skip_while(|word| word.text != "--").skip(1);
    let magic =
        |operand: &&Named<'_>| operand.text.starts_with(':') && !is_revision(name, operand.text);
    let operand = arguments.operands.iter().find(magic);
    let operand = operand.map(|operand| operand.word);
    if let Some(word) = operand.or_else(|| behind.find(|word| word.text.starts_with(':'))) {
        return Err(format!(
            "`{}` may match files outside this project",
            word.raw
        ));
    }
    let operands = arguments.operands.into_iter();
    Ok(operands.chain(arguments.paths).collect())
}

/// Whether an operand that begins with a colon is certainly not a path with magic, such as `:/` and `:(top)x`, which
/// leave the directory that git runs in: `:1:path` and `:path` are files of the index, and `:/text` is a commit.
fn is_revision(subcommand: &str, text: &str) -> bool {
    let mut letters = text.chars().skip(1);
    let (first, second) = (letters.next(), letters.next());
    let of_stage = matches!((first, second), (Some('0'..='3'), Some(':')));
    let plain = first.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '.'));
    let message = first == Some('/') && second.is_some();
    match subcommand {
        "show" | "rev-parse" | "cat-file" => of_stage || plain || message,
        "log" | "rev-list" | "shortlog" | "merge-base" | "describe" => of_stage || message,
        "diff" => of_stage,
        _ => false,
    }
}

/// Formats and keys that make git start a program or print endlessly.
fn check_values(name: &str, arguments: &Arguments<'_>) -> Result<(), String> {
    for (flag, value) in &arguments.values {
        let padded = match *flag {
            "format" | "pretty" => value.contains('%') && pads(value),
            "date" => pads_conversions(value),
            "w" | "stat" | "expand-tabs" => pads(value),
            _ => false,
        };
        if padded {
            return Err("git would print too much".to_owned());
        }
        if matches!(*flag, "format" | "pretty") && !is_harmless_format(name, value) {
            return Err(format!("the format `{value}` may start a program"));
        }
        if (*flag == "sort" && !is_plain_sort(value))
            || (*flag == "group" && !is_plain_group(value))
        {
            return Err(format!("the key `{value}` may start a program"));
        }
        if *flag == "diff-merges" && !DIFF_MERGES.contains(value) {
            return Err(format!("`--diff-merges={value}` may do a real merge"));
        }
    }
    Ok(())
}

/// The words from the subcommand on, past all global options. For deny rules: it also skips options that are not
/// permitted. After an unknown option, every later word may be the subcommand.
pub fn past_global_options(words: &[Word]) -> Vec<&[Word]> {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        rest = if WITH_VALUE.contains(&text) {
            after.get(1..).unwrap_or_default()
        } else if WITHOUT_VALUE.contains(&text) || text.starts_with("--") && text.contains('=') {
            after
        } else if text.starts_with('-') {
            let most = after.len().min(MOST_SUBCOMMANDS);
            return (0..most).map(|at| &after[at..]).collect();
        } else {
            break;
        };
    }
    vec![rest]
}

fn read<'w>(flags: &Flags, name: &str, words: &'w [Word]) -> Result<Arguments<'w>, String> {
    flags
        .read(words)
        .map_err(|flag| format!("`git {name}` is not known to be read-only with the flag `{flag}`"))
}

/// The words without a final flag that implies HEAD.
fn at_head(words: &[Word]) -> &[Word] {
    match words.split_last() {
        Some((last, rest)) if AT_COMMIT.contains(&last.text.as_str()) => rest,
        _ => words,
    }
}

/// An operand of `branch` and `tag` is a new name, unless a flag asks for a list.
fn listing<'w>(
    arguments: Arguments<'w>,
    lists: &[&str],
    name: &str,
) -> Result<Arguments<'w>, String> {
    if !arguments.operands.is_empty() && !arguments.has(lists) {
        return Err(format!(
            "`git {name}` with a name writes, unless --list is given"
        ));
    }
    Ok(Arguments {
        operands: Vec::new(),
        ..arguments
    })
}

fn remote(words: &[Word]) -> Result<Arguments<'_>, String> {
    match words.split_first() {
        Some((action, rest)) if action.raw == "get-url" => {
            let arguments = read(&Flags::new("", "push all"), "remote get-url", rest)?;
            Ok(Arguments {
                operands: Vec::new(),
                ..arguments
            })
        }
        _ => {
            let arguments = read(&Flags::new("v", "verbose"), "remote", words)?;
            if arguments.operands.is_empty() {
                Ok(arguments)
            } else {
                Err("`git remote` may write or use the network".to_owned())
            }
        }
    }
}

fn is_plain_sort(key: &str) -> bool {
    let key = key.strip_prefix('-').unwrap_or(key);
    let versions = key.strip_prefix("version:").or(key.strip_prefix("v:"));
    let key = versions.unwrap_or(key);
    let field = key.split_once(':').map_or(key, |(field, _)| field);
    SORT_FIELDS.contains(&field.strip_prefix('*').unwrap_or(field))
}

fn is_plain_group(key: &str) -> bool {
    matches!(key, "author" | "committer") || key.starts_with("trailer:")
}

/// `%G` verifies a signature with a configured program. A name that is not built in may stand for such a format.
fn is_harmless_format(subcommand: &str, value: &str) -> bool {
    let by_fields = matches!(
        subcommand,
        "branch" | "tag" | "ls-files" | "ls-tree" | "for-each-ref"
    );
    let verifies = value.split('%').skip(1).any(|placeholder| {
        // `%+G?` and similar ones print the same with a blank or a newline.
        placeholder
            .trim_start_matches(['+', '-', ' '])
            .starts_with('G')
    });
    !verifies
        && !value.contains("signature")
        && (by_fields || value.is_empty() || value.contains('%') || FORMATS.contains(&value))
}

fn skip<'w>(words: &'w [Word], flags: &[&str]) -> &'w [Word] {
    let count = words
        .iter()
        .take_while(|word| word.is_bare() && flags.contains(&word.text.as_str()))
        .count();
    &words[count..]
}

//! The rule that "always" would save for a call: the narrowest that is sure to cover it, and a wider one beside it.
//!
//! Pure. Candidates are tried on [`decide`] itself, so a rule is offered only if the same call would be allowed with
//! it: protected paths, ask rules and calls that no single rule can cover get no offer.

use std::path::Path;

use super::bash::files::{Access, Kind, accesses, redirected};
use super::bash::read;
use super::bash::script::{Part, Traits, Word};
use super::bash::wrappers::unwrap;
use super::call::{Files, Subject};
use super::decide::{CallDetails, decide};
use super::names::{BASH, EDIT, READ, WEB_FETCH, rule};
use super::path::{PathContext, Spot, within};
use super::pattern::Role;
use super::rule::{RuleList, Rules, Source};
use super::verdict::{Cause, Decision, Verdict};
use super::world::World;
use crate::protocol::Mode;

/// Nobody would read a longer rule before saving it.
const LONGEST_RULE: usize = 300;

/// Each one costs a decision; a line of more commands than this is not covered by one rule anyway.
const MOST_CANDIDATES: usize = 16;

/// Commands for which a wider rule may leave the arguments open: none of their flags runs a program, reads a file or says
/// what a file will hold. Every other command is offered as it stands. A list of bad ones would never end: `cargo test`
/// has `--config`, `git fetch` `--upload-pack`, `git add` `--pathspec-from-file`, `tar` `--to-command`, `npm test`
/// `--script-shell`. The person can edit the rule to allow more.
const OPEN: [&str; 2] = ["mkdir", "touch"];

/// Commands that read files, where the question is about the file, not the command. Those that list or search
/// directories are left out: a rule for a directory would be one for all below it.
const FILE_READERS: &[&str] = &[
    "base64",
    "b2sum",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "diff",
    "expand",
    "file",
    "fmt",
    "fold",
    "grep",
    "egrep",
    "fgrep",
    "head",
    "hexdump",
    "jq",
    "md5sum",
    "nl",
    "od",
    "paste",
    "pr",
    "rev",
    "sed",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "sort",
    "stat",
    "strings",
    "tac",
    "tail",
    "tr",
    "uniq",
    "wc",
    "xxd",
];

/// What to offer for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// For this call and no more, where such a rule can be written.
    pub rule: String,
    /// For similar calls, too.
    pub wider: Option<String>,
}

/// Rules to try, best first.
#[derive(Default)]
struct Candidates {
    exact: Vec<String>,
    wide: Vec<String>,
}

impl Candidates {
    fn only(rule: String) -> Self {
        Self {
            exact: vec![rule],
            wide: Vec::new(),
        }
    }
}

/// The rules to offer for a call that asks, if there are any.
pub fn offer(
    call: &CallDetails<'_>,
    rules: &Rules,
    mode: Mode,
    world: &World<'_>,
) -> Option<Offer> {
    let context = PathContext::new(world);
    let candidates = match Subject::of(&call.touches, &context) {
        Subject::Bash(command) => bash(&command, &context),
        Subject::Edit(files) => paths(EDIT, &files, &context),
        Subject::Read(files) => paths(READ, &files, &context),
        Subject::Web(Some(host)) => Candidates::only(rule(WEB_FETCH, &format!("domain:{host}"))),
        Subject::Web(None) | Subject::Unclear(_) => Candidates::default(),
        Subject::Other => Candidates::only(call.tool.to_owned()),
    };
    let allowed = |verdict: &Verdict| verdict.decision == Decision::Allow;
    let first = |candidates| first_that(candidates, call, rules, mode, world, allowed);
    let wide = first(candidates.wide);
    match first(candidates.exact) {
        Some(rule) => Some(Offer { rule, wider: wide }),
        None => wide.map(|rule| Offer { rule, wider: None }),
    }
}

/// The rule to offer for a command that ran without asking and was blocked by the sandbox: what a rule allows is not
/// sandboxed.
pub fn offer_for_blocked(
    call: &CallDetails<'_>,
    rules: &Rules,
    mode: Mode,
    world: &World<'_>,
) -> Option<String> {
    let Subject::Bash(command) = Subject::of(&call.touches, &PathContext::new(world)) else {
        return None;
    };
    let candidates = read(&command)
        .script
        .parts
        .iter()
        .filter_map(exact)
        .collect();
    let frees = |verdict: &Verdict| {
        verdict.decision == Decision::Allow && matches!(verdict.cause, Cause::Rule(_))
    };
    first_that(candidates, call, rules, mode, world, frees)
}

/// The first rule that leads to the wanted decision.
fn first_that(
    candidates: Vec<String>,
    call: &CallDetails<'_>,
    rules: &Rules,
    mode: Mode,
    world: &World<'_>,
    wanted: impl Fn(&Verdict) -> bool,
) -> Option<String> {
    let fits = |candidate: &String| {
        let mut with = rules.clone();
        let understood = with
            .add(RuleList::Allow, candidate, &Source::Session)
            .is_ok();
        understood && wanted(&decide(call, &with, mode, world))
    };
    candidates
        .into_iter()
        .take(MOST_CANDIDATES)
        .filter(|rule| rule.chars().count() <= LONGEST_RULE && !rule.chars().any(char::is_control))
        .find(fits)
}

/// Whether a rule is well written, as an allow rule; the error says what is wrong, in words for a person.
pub fn check_rule(text: &str) -> Result<(), String> {
    let mut rules = Rules::default();
    match rules.add(RuleList::Allow, text, &Source::Session)? {
        Some(warning) if rules.allow.is_empty() => Err(warning.0),
        Some(_) | None => Ok(()),
    }
}

/// The file that is read, then the commands of the line. The decision tells which of these covers the whole line.
fn bash(command: &str, context: &PathContext<'_>) -> Candidates {
    let reading = read(command);
    let parts = reading.script.parts.iter();
    let files = parts.clone().flat_map(|part| files_read(part, context));
    Candidates {
        exact: distinct(files.chain(parts.clone().filter_map(exact))),
        wide: distinct(parts.filter_map(open)),
    }
}

fn distinct(candidates: impl Iterator<Item = String>) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for rule in candidates {
        if rules.len() < MOST_CANDIDATES && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// A rule for each file outside the working directories that a reader names.
fn files_read(part: &Part, context: &PathContext<'_>) -> Vec<String> {
    let Some((program, arguments)) = unwrap(&part.words).words.split_first() else {
        return Vec::new();
    };
    // It descends into directories.
    let descends = |word: &Word| {
        let flag = word.text.strip_prefix('-').unwrap_or_default();
        let long = flag.starts_with('-');
        (!long && flag.contains(['r', 'R', 'd']))
            || flag.starts_with("-d")
            || flag.contains("recursive")
    };
    let searches = program.text.ends_with("grep") || program.text == "diff";
    if !FILE_READERS.contains(&program.text.as_str()) || searches && arguments.iter().any(descends)
    {
        return Vec::new();
    }
    let named = accesses(&program.text, arguments);
    let redirected = part.redirects.iter().filter_map(redirected);
    let is_file = |access: &Access<'_>| {
        let text = access.text.as_str();
        let literal = access.word.is_literal() || access.word.traits == Traits::TILDE;
        access.kind == Kind::Read && literal && !text.ends_with('/')
    };
    let outside = named
        .into_iter()
        .chain(redirected)
        .filter(is_file)
        .map(|access| context.spot(&access.text, &context.shell.lexical))
        .filter(|spot| !context.contains(spot) && !is_directory(spot, context));
    outside
        .map(|spot| rule(READ, &pattern(&spot.lexical, context)))
        .collect()
}

/// The command with its arguments left open, where that covers nothing else.
fn open(part: &Part) -> Option<String> {
    let unwrapped = unwrap(&part.words);
    let program = unwrapped.words.first()?;
    let is_open = program.is_bare() && OPEN.contains(&program.raw.as_str());
    (is_open && !unwrapped.fed).then(|| rule(BASH, &format!("{}:*", program.raw)))
}

/// The whole command, if none of its characters is special in a rule.
fn exact(part: &Part) -> Option<String> {
    let words: Vec<&str> = part.words.iter().map(|word| word.raw.as_str()).collect();
    let text = words.join(" ");
    (!text.is_empty() && !text.contains('*')).then(|| rule(BASH, &text))
}

/// The file, and where a search starts; wider, the directory of a file that is changed in the working directories. `~` and
/// the project stand for themselves.
fn paths(tool: &str, files: &Files, context: &PathContext<'_>) -> Candidates {
    let outside = files.spots.iter().filter(|spot| !context.contains(spot));
    let spots: Vec<&Spot> = match tool {
        // What lies inside may be read anyway.
        READ => outside.collect(),
        _ => files.spots.iter().collect(),
    };
    let [spot] = spots.as_slice() else {
        return Candidates::default();
    };
    let path = spot.lexical.as_str();
    let directory = match files.role {
        Role::File if !context.contains(spot) => "",
        Role::File => path.rsplit_once('/').map_or("", |(directory, _)| directory),
        Role::Start => path,
    };
    let whole_project = directory == context.cwd.lexical;
    let too_much =
        directory.is_empty() || directory == "/" || within(&context.home.lexical, directory);
    let below =
        (!whole_project && !too_much).then(|| format!("{}/**", pattern(directory, context)));
    let is_file = files.role == Role::File && !is_directory(spot, context);
    let file = is_file.then(|| pattern(path, context));
    let rules = |pattern: Option<String>| pattern.iter().map(|it| rule(tool, it)).collect();
    Candidates {
        exact: rules(file),
        wide: rules(below),
    }
}

/// A rule for a directory covers everything below it, which is more than a call for one file asked for.
fn is_directory(spot: &Spot, context: &PathContext<'_>) -> bool {
    context.links.is_directory(Path::new(&spot.lexical))
}

/// A path as a pattern that matches nothing else.
fn pattern(path: &str, context: &PathContext<'_>) -> String {
    let below = |directory: &str| {
        let rest = path.strip_prefix(directory)?;
        (directory != "/" && rest.starts_with('/')).then_some(rest)
    };
    let anchored = match (below(&context.cwd.lexical), below(&context.home.lexical)) {
        (Some(rest), _) => rest.to_owned(),
        (None, Some(rest)) => format!("~{rest}"),
        (None, None) => format!("/{path}"),
    };
    let mut pattern = String::with_capacity(anchored.len());
    for letter in anchored.chars() {
        if "*?[]\\".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests;

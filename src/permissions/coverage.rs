//! What allows a Bash call: whether allow rules, the classifier or the mode cover every part of it.
//!
//! Strict where [`search`](super::search) is generous: what is not understood is not covered.

mod feeding;
mod writing;

use std::cell::RefCell;

use super::bash::Reading;
use super::bash::base_name;
use super::bash::classify::{LONGEST_SLEEP, cd_target, classify_part, is_git, moves, seconds};
use super::bash::feeding::Feed;
use super::bash::files::{Kind, redirected};
use super::bash::find;
use super::bash::flags::Named;
use super::bash::lists::Lists;
use super::bash::programs::is_special_path;
use super::bash::reach::{Descent, Reach, descent, followed};
use super::bash::script::{Joint, Part, Redirect, Script, Traits, Word};
use super::bash::wrappers::{is_known_safe, unwrap};
use super::command::CommandPattern;
use super::linked::{FoundLink, before_glob};
use super::mcp::NamePattern;
use super::names::{BASH, READ};
use super::path::{PathContext, Spot};
use super::pattern::{PathPattern, Role};
use super::rule::{Matcher, Rule, Rules};
use super::search::place;
use crate::protocol::Mode;
use crate::text::shortened;

/// How much of a command is repeated in a reason.
const LONGEST_SHOWN: usize = 60;

/// Programs that run others in their own way: a rule with a wildcard does not cover them.
const EXEC_ONLY_EXACT: [&str; 4] = ["watch", "setsid", "ionice", "flock"];

const LINKS_STRAY: &str = "it may follow links that point outside this project";

/// How many directory changes are followed.
const MOST_STEPS: usize = 16;

/// What covered a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis<'r> {
    Rule(&'r Rule),
    Classifier,
    Mode,
}

/// Decides whether parts are covered.
pub struct Coverage<'r, 'g> {
    pub rules: &'r Rules,
    pub mode: Mode,
    pub context: &'g PathContext<'g>,
    /// Paths outside the working directories that a rule allows to be read.
    outside: RefCell<Vec<String>>,
}

impl<'r, 'g> Coverage<'r, 'g> {
    pub fn new(rules: &'r Rules, mode: Mode, context: &'g PathContext<'g>) -> Self {
        Self {
            rules,
            mode,
            context,
            outside: RefCell::default(),
        }
    }

    /// What the covered commands read outside the working directories, links resolved.
    pub fn outside(self) -> Vec<String> {
        self.outside.into_inner()
    }

    /// What covers the whole command; the error says which part is not covered.
    pub fn cover(&self, reading: &Reading) -> Result<Vec<Basis<'r>>, String> {
        if let Some(refused) = &reading.refused {
            return Err(refused.clone());
        }
        let mut bases = Vec::new();
        let mut walk = Walk {
            directory: self.context.shell.lexical.clone(),
            others: Vec::new(),
            if_failed: Vec::new(),
            elsewhere: false,
            git: false,
            writes: false,
            seconds: 0.0,
        };
        walk.elsewhere = walk.directory != self.context.cwd.lexical;
        self.script(&reading.script, &mut walk, &mut bases)?;
        if bases.is_empty() {
            return Err("it contains no command".to_owned());
        }
        if walk.elsewhere && walk.git {
            return Err("git would run in another directory".to_owned());
        }
        if walk.elsewhere && walk.writes {
            return Err("it writes a file from another directory".to_owned());
        }
        Ok(bases)
    }

    fn script(
        &self,
        script: &Script,
        walk: &mut Walk,
        bases: &mut Vec<Basis<'r>>,
    ) -> Result<(), String> {
        let mut feed = Feed::default();
        let mut before = Joint::Sequence;
        for part in &script.parts {
            for nested in &part.nested {
                let mut inner = walk.clone();
                self.script(nested, &mut inner, bases)?;
                walk.git |= inner.git;
                walk.writes |= inner.writes;
                walk.elsewhere |= inner.elsewhere;
                walk.seconds = inner.seconds;
            }
            walk.git |= is_git(part);
            self.redirects(part, walk, bases)?;
            if moves(part) {
                self.step(part, before, walk)?;
            }
            let covered = self.part(script, part, &feed, walk)?;
            if covered == Basis::Classifier {
                walk.seconds += seconds(part);
            }
            if walk.seconds > LONGEST_SLEEP {
                return Err("it waits longer than a minute".to_owned());
            }
            bases.push(covered);
            feed = feed.after(part);
            before = part.joint;
            match part.joint {
                Joint::And | Joint::Pipe => {}
                Joint::Sequence | Joint::Or | Joint::Background => {
                    let failed = std::mem::take(&mut walk.if_failed);
                    walk.others.extend(failed);
                }
            }
        }
        Ok(())
    }

    fn part(
        &self,
        script: &Script,
        part: &Part,
        feed: &Feed<'_>,
        walk: &Walk,
    ) -> Result<Basis<'r>, String> {
        if let Some(structure) = script.structure {
            return match self.rules.allow.iter().find(|rule| is_whole_bash(rule)) {
                Some(rule) if rule_covers(rule, part) => {
                    self.stays_inside(part, walk)?;
                    Ok(Basis::Rule(rule))
                }
                Some(_) | None => Err(format!(
                    "it contains {structure}, so it can't be checked automatically"
                )),
            };
        }
        // Its effect on the shell reaches later commands, which a rule for this command does not cover.
        let effect = part.side_effect();
        let may_cover = |rule: &&Rule| effect.is_none() || is_whole_bash(rule);
        let covering = || {
            let rules = self.rules.allow.iter().filter(may_cover);
            rules.filter(|rule| rule_covers(rule, part))
        };
        if let Some(rule) = covering().find(|rule| !is_whole_bash(rule)) {
            return Ok(Basis::Rule(rule));
        }
        if let Some(rule) = covering().next() {
            self.stays_inside(part, walk)?;
            return Ok(Basis::Rule(rule));
        }
        if let Some(effect) = effect {
            return Err(format!("it contains {effect}"));
        }
        if self.mode == Mode::AcceptEdits && self.edits_inside(part, walk) {
            return Ok(Basis::Mode);
        }
        self.only_reads(part, script.parts.len() == 1, feed, walk)
    }

    /// A part that no rule or mode covers may run if it can only read files that may be read.
    fn only_reads(
        &self,
        part: &Part,
        is_alone: bool,
        feed: &Feed<'_>,
        walk: &Walk,
    ) -> Result<Basis<'r>, String> {
        let uncovered = |reason: String| {
            let words: Vec<&str> = part.words.iter().map(|word| word.raw.as_str()).collect();
            match words.as_slice() {
                [] => reason,
                _ if is_alone => format!("{reason}, and no rule allows it"),
                _ => format!(
                    "no rule allows `{}`, and {reason}",
                    shortened(&words.join(" "), LONGEST_SHOWN, "…")
                ),
            }
        };
        let mut plain;
        let writes =
            |redirect: &Redirect| redirected(redirect).is_some_and(|to| to.kind == Kind::Write);
        let reader = if part.redirects.iter().any(writes) {
            // Written files have been checked already, by path rules.
            plain = part.clone();
            plain.redirects.retain(|redirect| !writes(redirect));
            &plain
        } else {
            part
        };
        let classified = classify_part(reader, Lists::Everyday).map_err(uncovered)?;
        if is_git(part)
            && let Some(why) = self.context.repository_starts()
        {
            return Err(format!("git may start a program: {why}"));
        }
        self.check_globs(reader, walk)?;
        if let Some(separator) = classified.fed {
            self.check_fed(feed, part, separator, walk)?;
        }
        if self.rules.restrict_reading()
            && (classified.fed.is_some() || self.reads_below(reader, &classified.paths, walk))
        {
            return Err("it may read files that your rules deny".to_owned());
        }
        let descends = descent(reader, &classified.paths);
        if descends.is_some_and(|descent| self.holds_special(&descent, walk)) {
            return Err("it would read device files or process environments".to_owned());
        }
        let strays = followed(reader, &classified.paths)
            .is_some_and(|descent| !self.links_stay(&self.starts(&descent, walk)));
        if strays {
            return Err(LINKS_STRAY.to_owned());
        }
        match classified
            .paths
            .iter()
            .find(|path| !self.is_readable(path, walk))
        {
            Some(path) => Err(format!("`{}` is outside this project", path.word.raw)),
            None => Ok(Basis::Classifier),
        }
    }

    /// Follows a `cd`, which has to stay inside. Unless it certainly ran and succeeded before the next command, that
    /// command may also run in the old directory.
    fn step(&self, part: &Part, before: Joint, walk: &mut Walk) -> Result<(), String> {
        let Some(target) = cd_target(part) else {
            return Err("can't tell which directory it changes to".to_owned());
        };
        let inside = |spot: &Spot| self.context.contains(spot);
        if target.text.is_empty() || !self.everywhere(&target.text, walk, inside) {
            return Err(format!("`cd {}` leaves this project", target.raw));
        }
        let reached = |from: &str| self.context.spot_literal(&target.text, from).lexical;
        let new = reached(&walk.directory);
        let old = std::mem::replace(&mut walk.directory, new);
        walk.elsewhere |= walk.directory != self.context.cwd.lexical;
        let others: Vec<String> = walk.others.iter().map(|other| reached(other)).collect();
        walk.others.extend(others);
        let runs = match before {
            Joint::Sequence | Joint::And | Joint::Background => true,
            Joint::Or | Joint::Pipe => false,
        };
        if runs && part.joint == Joint::And {
            walk.if_failed.push(old);
        } else {
            walk.others.push(old);
        }
        walk.others.sort();
        walk.others.dedup();
        if walk.others.len() + walk.if_failed.len() > MOST_STEPS {
            return Err("it changes directories too often to check".to_owned());
        }
        Ok(())
    }

    /// Whether the path that `text` names is accepted from every directory that the shell may be in.
    fn everywhere(&self, text: &str, walk: &Walk, accepted: impl Fn(&Spot) -> bool) -> bool {
        let absolute = text.starts_with('/');
        let others = walk.others.iter().filter(|_| !absolute);
        std::iter::once(&walk.directory)
            .chain(others)
            .all(|from| accepted(&self.context.spot_literal(text, from)))
    }

    /// Whether a command descends into directories that may contain files that rules deny reading.
    fn reads_below(&self, part: &Part, paths: &[Named<'_>], walk: &Walk) -> bool {
        let Some(descent) = descent(part, paths) else {
            return false;
        };
        let mut starts = self.starts(&descent, walk);
        starts.extend(self.above(descent.reach, walk));
        self.unreadable().any(|pattern| {
            let mut starts = starts.iter().flat_map(Spot::spellings);
            starts.any(|start| pattern.may_match_below(start, self.context))
        })
    }

    /// The root of the repository, if a command prints files from there that are not checked by name.
    fn above(&self, reach: Reach, walk: &Walk) -> Option<Spot> {
        let here = |toplevel: &Spot| toplevel.spellings().any(|path| path == walk.directory);
        match reach {
            Reach::Starts => None,
            Reach::Repository => self.context.toplevel(),
            Reach::NamedInRepository => self.context.toplevel().filter(|toplevel| !here(toplevel)),
        }
    }

    /// The directories that a command descends into. For a glob it is the directory that the shell searches.
    fn starts(&self, descent: &Descent<'_>, walk: &Walk) -> Vec<Spot> {
        let here = [&walk.directory]
            .into_iter()
            .chain(&walk.others)
            .filter(|_| descent.here)
            .map(|directory| self.context.spot_literal(".", directory));
        let named = descent.starts.iter().flat_map(|start| {
            let traits = start.word.traits;
            let text = place(start.text, traits, self.context).map(|text| {
                if traits.has(Traits::GLOB) {
                    before_glob(&text)
                } else {
                    text
                }
            });
            [&walk.directory]
                .into_iter()
                .chain(&walk.others)
                .filter_map(move |directory| Some(self.context.spot(text.as_deref()?, directory)))
        });
        here.chain(named).collect()
    }

    /// Whether every link below these directories leads to what may be read.
    fn links_stay(&self, starts: &[Spot]) -> bool {
        starts.iter().all(|start| {
            self.context.links_below(start).is_some_and(|links| {
                links.iter().all(|link| {
                    self.may_read(link)
                        && !self.unreadable().any(|pattern| {
                            let mut spellings = link.spellings();
                            spellings.any(|path| pattern.may_match_below(path, self.context))
                                || pattern.matches_either(link, self.context, Role::Start)
                        })
                })
            })
        })
    }

    /// Whether what a glob finds behind a link may be read.
    fn may_meet(&self, link: &FoundLink) -> bool {
        let refused = |pattern: &PathPattern| {
            let mut spellings = link.spot.spellings();
            pattern.matches_either(&link.spot, self.context, Role::Start)
                || link.globs && spellings.any(|path| pattern.may_match(path, self.context))
        };
        (link.globs || self.may_read(&link.spot)) && !self.unreadable().any(refused)
    }

    /// The patterns of rules that deny reading paths.
    fn unreadable(&self) -> impl Iterator<Item = &PathPattern> {
        let refusing = self.rules.deny.iter().chain(&self.rules.ask);
        refusing
            .filter(|rule| rule.tool == READ)
            .filter_map(|rule| match &rule.matcher {
                Matcher::Path(pattern) => Some(pattern),
                Matcher::Name(_) | Matcher::Command(_) | Matcher::Domain(_) | Matcher::Field(_) => {
                    None
                }
            })
    }

    fn is_readable(&self, path: &Named<'_>, walk: &Walk) -> bool {
        let traits = path.word.traits;
        let Some(text) = place(path.text, traits, self.context) else {
            return false;
        };
        let text = if traits.has(Traits::TILDE) {
            self.context.expand(&text)
        } else {
            text
        };
        if !traits.has(Traits::GLOB) {
            return self.everywhere(&text, walk, |spot| self.may_read(spot));
        }
        let fixed = before_glob(&text);
        let behind = text.get(fixed.len()..).unwrap_or_default();
        let absolute = text.starts_with('/');
        let others = walk.others.iter().filter(|_| !absolute);
        !behind.split('/').any(|name| name == "..")
            && self.everywhere(&fixed, walk, |start| self.may_read(start))
            && self.everywhere(&text, walk, |spot| {
                !self
                    .unreadable()
                    .any(|pattern| pattern.may_match(&spot.lexical, self.context))
            })
            && std::iter::once(&walk.directory).chain(others).all(|from| {
                self.context
                    .links_found_by_glob(&text, from)
                    .is_some_and(|link| link.iter().all(|link| self.may_meet(link)))
            })
    }

    fn may_read(&self, spot: &Spot) -> bool {
        if spot.spellings().any(is_special_path) {
            return false;
        }
        // Nothing can be read from it.
        let nothing = spot.spellings().all(|path| path == "/dev/null");
        if nothing || self.context.contains(spot) {
            return true;
        }
        let allowed = self.allowing(READ, spot, Role::Start).is_some();
        if allowed {
            self.outside.borrow_mut().extend(spot.physical.clone());
        }
        allowed
    }

    fn allowing(&self, tool: &str, spot: &Spot, role: Role) -> Option<&'r Rule> {
        self.rules.allow.iter().find(|rule| match &rule.matcher {
            Matcher::Path(pattern) => {
                rule.tool == tool && pattern.matches_both(spot, self.context, role)
            }
            // The bare name matches every path whose links end.
            Matcher::Name(NamePattern::Exact(name)) => name == tool && spot.physical.is_some(),
            Matcher::Name(NamePattern::Server(_) | NamePattern::Glob(_))
            | Matcher::Command(_)
            | Matcher::Domain(_)
            | Matcher::Field(_) => false,
        })
    }
}

/// What is known while walking through a script.
#[derive(Clone)]
struct Walk {
    directory: String,
    /// Other directories that the shell may be in.
    others: Vec<String>,
    /// Where it is after the next `;` or `||` if a `cd` fails.
    if_failed: Vec<String>,
    /// It is, or was, another directory than the workspace.
    elsewhere: bool,
    git: bool,
    writes: bool,
    /// How long it waits.
    seconds: f64,
}

/// Whether an allow rule covers the words of a part.
fn rule_covers(rule: &Rule, part: &Part) -> bool {
    let everything;
    let pattern = match &rule.matcher {
        Matcher::Command(pattern) => pattern,
        Matcher::Name(_) if is_whole_bash(rule) => {
            everything = CommandPattern::everything();
            &everything
        }
        Matcher::Name(_) | Matcher::Path(_) | Matcher::Domain(_) | Matcher::Field(_) => {
            return false;
        }
    };
    // A rule that allows everything also allows variables set before the command.
    let whole = is_whole_bash(rule);
    if part.words.is_empty() {
        return whole;
    }
    if !whole && !part.assignments.iter().all(is_known_safe) {
        return false;
    }
    let unwrapped = unwrap(&part.words);
    let words = unwrapped.words;
    let text = join(words);
    if pattern.is_exact() {
        // `xargs` adds operands, so what runs is another command.
        return (!unwrapped.fed && pattern.matches(&text))
            || (part.assignments.is_empty() && pattern.matches(&join(&part.words)));
    }
    let name = base_name(&words[0].text);
    let hidden = !words[0].is_literal()
        || EXEC_ONLY_EXACT.contains(&name)
        || (name == "find" && (find::acts(words) || !words.iter().all(Word::is_literal)));
    !hidden && pattern.matches(&text)
}

/// `Bash` or `Bash(*)`.
fn is_whole_bash(rule: &Rule) -> bool {
    rule.tool == BASH && matches!(rule.matcher, Matcher::Name(_))
}

fn join(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.raw.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

//! What speaks for a Bash call: whether allow rules, the classifier or the mode cover every part of it.
//!
//! Strict where [`search`](super::search) is generous: what is not understood is not covered.

use super::bash::Reading;
use super::bash::base_name;
use super::bash::classify::{cd_target, classify_part, is_git, moves};
use super::bash::files::{Kind, accesses, is_plain_edit, redirected};
use super::bash::find;
use super::bash::flags::Named;
use super::bash::script::{Descriptor, Joint, Part, Script, Traits, Word};
use super::bash::wrappers::{is_known_safe, unwrap};
use super::command::CommandPattern;
use super::path::{Ground, Spot};
use super::pattern::Role;
use super::rule::{Matcher, Rule, Rules};
use super::search::place;
use crate::protocol::Mode;

/// Programs that run others in a way of their own: a rule with a wildcard does not cover them.
const EXEC_ONLY_EXACT: [&str; 4] = ["watch", "setsid", "ionice", "flock"];

/// What covered a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis<'r> {
    Rule(&'r Rule),
    Classifier,
    Mode,
}

/// Who decides whether parts are covered.
pub struct Cover<'r, 'g> {
    pub rules: &'r Rules,
    pub mode: Mode,
    pub ground: &'g Ground<'g>,
}

impl<'r> Cover<'r, '_> {
    /// What covers the whole command; the error says which part is not covered.
    pub fn cover(&self, reading: &Reading) -> Result<Vec<Basis<'r>>, String> {
        if let Some(refused) = &reading.refused {
            return Err(refused.clone());
        }
        let mut bases = Vec::new();
        let mut walk = Walk {
            directory: self.ground.shell.lexical.clone(),
            elsewhere: false,
            git: false,
            writes: false,
        };
        walk.elsewhere = walk.directory != self.ground.cwd.lexical;
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
        let mut names = false;
        for part in &script.parts {
            for nested in &part.nested {
                let mut inner = walk.clone();
                self.script(nested, &mut inner, bases)?;
                walk.git |= inner.git;
                walk.writes |= inner.writes;
                walk.elsewhere |= inner.elsewhere;
            }
            walk.git |= is_git(part);
            self.redirects(part, walk)?;
            if moves(part) {
                self.step(part, walk)?;
            }
            bases.push(self.part(script, part, names, walk)?);
            names =
                part.joint == Joint::Pipe && (lists_files(part) || (names && only_chooses(part)));
        }
        Ok(())
    }

    fn part(
        &self,
        script: &Script,
        part: &Part,
        fed_names: bool,
        walk: &Walk,
    ) -> Result<Basis<'r>, String> {
        if let Some(structure) = script.structure {
            return match self.rules.allow.iter().find(|rule| is_whole_bash(rule)) {
                Some(rule)
                    if rule_covers(rule, part)
                        || part.words.is_empty() && part.assignments.is_empty() =>
                {
                    Ok(Basis::Rule(rule))
                }
                Some(_) | None => Err(format!("it contains {structure}")),
            };
        }
        if let Some(rule) = self.rules.allow.iter().find(|rule| rule_covers(rule, part)) {
            return Ok(Basis::Rule(rule));
        }
        if self.mode == Mode::AcceptEdits && self.edits_inside(part, walk) {
            return Ok(Basis::Mode);
        }
        let uncovered = |reason: String| {
            let words: Vec<&str> = part.words.iter().map(|word| word.raw.as_str()).collect();
            if words.is_empty() {
                reason
            } else {
                format!(
                    "no rule covers `{}`, and {reason}",
                    shorten(&words.join(" "))
                )
            }
        };
        let mut plain;
        let reader = if part.redirects.is_empty() {
            part
        } else {
            // Redirections have been checked already, by rules for paths.
            plain = part.clone();
            plain.redirects.clear();
            &plain
        };
        let classified = classify_part(reader).map_err(uncovered)?;
        if classified.fed && !fed_names {
            return Err("`xargs` would read files that the command does not name".to_owned());
        }
        if self.rules.restrict_reading() && (classified.fed || reads_below(part)) {
            return Err(
                "it reads whatever is there, and rules keep some files from being read".to_owned(),
            );
        }
        match classified
            .paths
            .iter()
            .find(|path| !self.is_readable(path, walk))
        {
            Some(path) => Err(format!(
                "`{}` is outside the working directories",
                path.word.raw
            )),
            None => Ok(Basis::Classifier),
        }
    }

    /// `mkdir`, `touch`, `mv` and `cp` with literal words, all of whose paths lie inside.
    fn edits_inside(&self, part: &Part, walk: &Walk) -> bool {
        let Some((name, arguments)) = unwrap(&part.words).words.split_first() else {
            return false;
        };
        part.assignments.iter().all(is_known_safe)
            && part.nested.is_empty()
            && part.joint != Joint::Background
            && name.is_bare()
            && is_plain_edit(&name.text, arguments)
            && accesses(&name.text, arguments).iter().all(|access| {
                self.ground
                    .contains(&self.ground.spot_literal(&access.text, &walk.directory))
            })
    }

    fn redirects(&self, part: &Part, walk: &mut Walk) -> Result<(), String> {
        for redirect in &part.redirects {
            let Some(access) = redirected(redirect) else {
                continue;
            };
            let target = &redirect.target;
            if redirect.descriptor == Descriptor::Named || !target.is_literal() {
                return Err(format!(
                    "where the redirection `{}` leads is not certain",
                    target.raw
                ));
            }
            let spot = self.ground.spot_literal(&target.text, &walk.directory);
            match access.kind {
                Kind::Read if self.may_read(&spot) => {}
                Kind::Read => return Err(format!("it reads `{}`", target.raw)),
                Kind::Write => {
                    walk.writes = true;
                    let accepted = self.mode == Mode::AcceptEdits && self.ground.contains(&spot);
                    if !accepted && !self.allowed("Edit", &spot, Role::File) {
                        return Err(format!("it writes `{}`", target.raw));
                    }
                }
            }
        }
        Ok(())
    }

    /// Follows a `cd`, which has to stay inside.
    fn step(&self, part: &Part, walk: &mut Walk) -> Result<(), String> {
        let Some(target) = cd_target(part) else {
            return Err("where the directory changes to is not certain".to_owned());
        };
        let spot = self.ground.spot_literal(&target.text, &walk.directory);
        if target.text.is_empty() || !self.ground.contains(&spot) {
            return Err(format!(
                "`cd {}` leaves the working directories",
                target.raw
            ));
        }
        walk.elsewhere |= spot.lexical != self.ground.cwd.lexical;
        walk.directory = spot.lexical;
        Ok(())
    }

    fn is_readable(&self, path: &Named<'_>, walk: &Walk) -> bool {
        let traits = path.word.traits;
        let Some(text) = place(path.text, traits, self.ground) else {
            return false;
        };
        let spot = if traits.has(Traits::TILDE) {
            self.ground.spot(&text, &walk.directory)
        } else {
            self.ground.spot_literal(&text, &walk.directory)
        };
        if !traits.has(Traits::GLOB) {
            return self.may_read(&spot);
        }
        // Links among what a glob finds are not followed, so what stands before it has to lie inside.
        let names: Vec<&str> = text
            .split('/')
            .take_while(|name| !name.contains(['*', '?', '[']))
            .collect();
        let fixed = if names == [""] {
            "/".to_owned()
        } else {
            names.join("/")
        };
        let start = self.ground.spot_literal(&fixed, &walk.directory);
        let behind = text.split('/').skip(names.len());
        let may_hit = |rule: &&Rule| match &rule.matcher {
            Matcher::Path(pattern) => {
                rule.tool == "Read" && pattern.may_match(&spot.lexical, self.ground)
            }
            Matcher::Name(_) | Matcher::Command(_) | Matcher::Domain(_) | Matcher::Field(_) => {
                false
            }
        };
        self.may_read(&start)
            && !behind.into_iter().any(|name| name == "..")
            && !self
                .rules
                .deny
                .iter()
                .chain(&self.rules.ask)
                .any(|rule| may_hit(&rule))
    }

    fn may_read(&self, spot: &Spot) -> bool {
        self.ground.contains(spot) || self.allowed("Read", spot, Role::Start)
    }

    fn allowed(&self, tool: &str, spot: &Spot, role: Role) -> bool {
        self.rules.allow.iter().any(|rule| match &rule.matcher {
            Matcher::Path(pattern) => {
                rule.tool == tool && pattern.matches_both(spot, self.ground, role)
            }
            Matcher::Name(_) | Matcher::Command(_) | Matcher::Domain(_) | Matcher::Field(_) => {
                false
            }
        })
    }
}

/// What is known on the way through a script.
#[derive(Clone)]
struct Walk {
    directory: String,
    /// It is, or was, another directory than the workspace.
    elsewhere: bool,
    git: bool,
    writes: bool,
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
    if part.words.is_empty() || !part.assignments.iter().all(is_known_safe) {
        return false;
    }
    let words = unwrap(&part.words).words;
    let text = join(words);
    if pattern.is_exact() {
        return pattern.matches(&text)
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
    rule.tool == "Bash" && matches!(rule.matcher, Matcher::Name(_))
}

/// Whether a part prints nothing but names of files below the paths it names: what `xargs` may then read.
fn lists_files(part: &Part) -> bool {
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

/// Whether a part passes on some of the lines that it is fed, as they are.
fn only_chooses(part: &Part) -> bool {
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

fn join(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.raw.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether a search goes into the directories that it names, or starts where the shell stands.
fn reads_below(part: &Part) -> bool {
    let Some((name, arguments)) = unwrap(&part.words).words.split_first() else {
        return false;
    };
    let recursive = |word: &Word| match word.text.strip_prefix("--") {
        Some(long) => long.contains("recursive"),
        None => word.text.starts_with('-') && word.text.contains(['r', 'R']),
    };
    match name.text.as_str() {
        "rg" => true,
        "grep" | "egrep" | "fgrep" => arguments.iter().any(recursive),
        _ => false,
    }
}

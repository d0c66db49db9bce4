//! What speaks against a Bash call, found in one walk through everything that it may run.

use super::bash::Reading;
use super::bash::commands::{Found, Visitor, walk};
use super::bash::deny_list::{Landmarks, critical_removal, denied, is_fork_bomb};
use super::bash::files::{Access, Kind};
use super::bash::script::{Script, Traits, Word};
use super::command::CommandPattern;
use super::mcp::NamePattern;
use super::names::{EDIT, READ};
use super::path::{PathContext, Spot};
use super::pattern::Role;
use super::protected::{any_protected_below, holds_protected, is_protected, may_be_protected};
use super::rule::{Matcher, Rule, Rules};

/// The first of each kind that was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings<'r> {
    pub deny: Option<&'r Rule>,
    pub ask: Option<&'r Rule>,
    /// Why the command never runs.
    pub never: Option<&'static str>,
    /// The critical path that is removed.
    pub critical: Option<String>,
    /// The protected path that is written.
    pub protected: Option<String>,
    /// The rule against a path that a shell glob may match.
    pub doubtful: Option<&'r Rule>,
    /// The deny rule that matches a brace expansion.
    pub expanded: Option<&'r Rule>,
    /// A command word that only the shell can resolve, while rules deny commands.
    pub unclear: Option<String>,
}

/// Searches a command for whatever denies it or makes it ask.
pub fn search<'r>(
    command: &str,
    reading: &Reading,
    rules: &'r Rules,
    context: &PathContext,
) -> Findings<'r> {
    let mut search = Search {
        rules,
        context,
        landmarks: Landmarks {
            home: &context.home.lexical,
            cwd: &context.cwd.lexical,
            shell: &context.shell.lexical,
        },
        findings: Findings::default(),
    };
    // A rule with an operator applies to the whole command line.
    let joins = |rule: &Rule| command_pattern(rule).is_some_and(CommandPattern::joins_commands);
    if rules.deny.iter().chain(&rules.ask).any(joins) {
        let whole = command
            .split_ascii_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        search.match_commands(|rule| joins(rule) && command_matches(rule, &whole, &[]));
    }
    walk(&reading.script, &mut search);
    let denies_commands = rules
        .deny
        .iter()
        .any(|rule| command_pattern(rule).is_some());
    if !denies_commands {
        search.findings.unclear = None;
    } else if search.findings.unclear.is_none() && reading.is_cut() {
        search.findings.unclear.clone_from(&reading.refused);
    }
    search.findings
}

struct Search<'r, 's> {
    rules: &'r Rules,
    context: &'s PathContext<'s>,
    landmarks: Landmarks<'s>,
    findings: Findings<'r>,
}

impl Search<'_, '_> {
    fn match_commands(&mut self, matches: impl Fn(&Rule) -> bool) {
        if self.findings.deny.is_none() {
            self.findings.deny = self.rules.deny.iter().find(|rule| matches(rule));
        }
        if self.findings.ask.is_none() {
            self.findings.ask = self.rules.ask.iter().find(|rule| matches(rule));
        }
    }

    /// Checks the path, and the links that a glob finds.
    fn check_from(&mut self, base: &str, text: &str, traits: Traits, kind: Kind) {
        let spot = self.context.spot_literal(text, base);
        self.check_path(&spot, kind, PathKnowledge::of(traits));
        let ruled =
            kind == Kind::Write || !self.rules.deny.is_empty() || !self.rules.ask.is_empty();
        if ruled && traits.has(Traits::GLOB) {
            let Some(met) = self.context.links_found_by_glob(text, base) else {
                // What is too large to check may contain anything.
                let about_paths = |rule: &&Rule| matches!(rule.matcher, Matcher::Path(_));
                let rule = self.rules.deny.iter().find(about_paths);
                self.findings.doubtful = self.findings.doubtful.or(rule);
                return;
            };
            for met in met {
                let knowledge = if met.globs {
                    PathKnowledge::Glob
                } else {
                    PathKnowledge::Plain
                };
                self.check_path(&met.spot, kind, knowledge);
            }
        }
    }

    /// Whether a write follows a link depends on what is copied, so this can only make the call ask.
    fn check_below(&mut self, link: &Spot) {
        let context = self.context;
        let refusing = self.rules.deny.iter().chain(&self.rules.ask);
        let refuses =
            |rule: &&Rule| [READ, EDIT].contains(&&*rule.tool) && path_matches(rule, link, context);
        if self.findings.ask.is_none() {
            self.findings.ask = refusing.into_iter().find(refuses);
        }
        if self.findings.protected.is_none() && is_protected(link, context) {
            self.findings.protected = Some(link.lexical.clone());
        }
    }

    fn check_path(&mut self, spot: &Spot, kind: Kind, knowledge: PathKnowledge) {
        let context = self.context;
        let globs = knowledge != PathKnowledge::Plain;
        let brace = knowledge == PathKnowledge::Brace;
        if self.findings.deny.is_none() && !(brace && self.findings.expanded.is_some()) {
            // A file that may not be read may not be overwritten either.
            let of_list =
                |rule: &Rule| rule.tool == READ || (kind == Kind::Write && rule.tool == EDIT);
            let denying = self
                .rules
                .deny
                .iter()
                .find(|rule| of_list(rule) && path_matches(rule, spot, context));
            if brace {
                self.findings.expanded = denying;
            } else {
                self.findings.deny = denying;
            }
        }
        if globs && self.findings.doubtful.is_none() {
            let of_kind = |rule: &Rule| match kind {
                Kind::Read => rule.tool == READ,
                Kind::Write => rule.tool == READ || rule.tool == EDIT,
            };
            let may_match = |rule: &Rule| match &rule.matcher {
                Matcher::Path(pattern) => {
                    let mut spellings = spot.spellings();
                    of_kind(rule) && spellings.any(|path| pattern.may_match(path, context))
                }
                Matcher::Name(_) | Matcher::Command(_) | Matcher::Domain(_) | Matcher::Field(_) => {
                    false
                }
            };
            self.findings.doubtful = self.rules.deny.iter().find(|rule| may_match(rule));
        }
        let tool = match kind {
            Kind::Read => READ,
            Kind::Write => EDIT,
        };
        if self.findings.ask.is_none() {
            self.findings.ask = self
                .rules
                .ask
                .iter()
                .find(|rule| rule.tool == tool && path_matches(rule, spot, context));
        }
        if kind == Kind::Write && self.findings.protected.is_none() {
            let protected = is_protected(spot, context)
                || holds_protected(spot, context)
                || (globs && may_be_protected(&spot.lexical, context));
            self.findings.protected = protected.then(|| spot.lexical.clone());
        }
    }
}

impl Visitor for Search<'_, '_> {
    fn command(&mut self, found: &Found<'_>) {
        if !self.rules.deny.is_empty() || !self.rules.ask.is_empty() {
            let base = base_start(&found.words[0].text).map(|start| &found.text[start..]);
            let words = found.words;
            let matches = |rule: &Rule| {
                command_matches(rule, found.text, words)
                    || base.is_some_and(|text| command_matches(rule, text, &[]))
            };
            if found.expanded {
                let refusing = self.rules.deny.iter().chain(&self.rules.ask);
                let rule = refusing.into_iter().find(|rule| matches(rule));
                self.findings.expanded = self.findings.expanded.or(rule);
            } else {
                self.match_commands(matches);
            }
            if self.findings.unclear.is_none() && found.likely && is_unclear(&words[0]) {
                self.findings.unclear = Some(format!(
                    "can't tell which command `{}` becomes",
                    words[0].raw
                ));
            }
        }
        // The arguments after an earlier occurrence of this name have been checked with it.
        if found.repeated {
            return;
        }
        if self.findings.never.is_none() {
            self.findings.never = denied(found, &self.landmarks);
        }
        if self.findings.critical.is_none() {
            self.findings.critical = critical_removal(found, &self.landmarks).map(str::to_owned);
        }
    }

    fn access(&mut self, access: &Access<'_>, directories: &[String]) {
        let Some(text) = place(&access.text, access.word.traits, self.context) else {
            return;
        };
        let text = self.context.expand(&text);
        let traits = access.word.traits;
        let shell = self.context.shell.lexical.clone();
        self.check_from(&shell, &text, traits, access.kind);
        if text.starts_with('/') {
            return;
        }
        for directory in directories {
            let base = self.context.spot(directory, &shell).lexical;
            self.check_from(&base, &text, traits, access.kind);
        }
    }

    fn tree(&mut self, access: &Access<'_>, directories: &[String]) {
        let Some(text) = place(&access.text, access.word.traits, self.context) else {
            return;
        };
        let shell = &self.context.shell.lexical;
        let there = directories
            .iter()
            .map(|directory| self.context.spot(directory, shell).lexical);
        for base in std::iter::once(shell.clone()).chain(there) {
            let start = self.context.spot(&text, &base);
            if access.kind == Kind::Read {
                // The names in the source tell what is protected in the copy.
                let named = any_protected_below(&start, self.context) == Some(true);
                if named && self.findings.protected.is_none() {
                    self.findings.protected = Some(start.lexical);
                }
                continue;
            }
            for link in self.context.links_below(&start).into_iter().flatten() {
                self.check_below(&link);
            }
        }
    }

    fn overflow(&mut self, text: &str) {
        let about_paths = |rule: &&Rule| matches!(rule.matcher, Matcher::Path(_));
        let rule = self.rules.deny.iter().find(about_paths);
        self.findings.doubtful = self.findings.doubtful.or(rule);
        self.findings
            .unclear
            .get_or_insert_with(|| format!("`{text}` is too long to check"));
    }

    fn script(&mut self, script: &Script) {
        if is_fork_bomb(script) {
            self.findings.never.get_or_insert("it is a fork bomb");
        }
    }
}

/// What is known about the path in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKnowledge {
    Plain,
    /// Its wildcards may match other paths.
    Glob,
    /// It comes from a brace expansion, or is the brace itself.
    Brace,
}

impl PathKnowledge {
    fn of(traits: Traits) -> Self {
        if traits.has(Traits::BRACE) {
            Self::Brace
        } else if traits.has(Traits::GLOB) {
            Self::Glob
        } else {
            Self::Plain
        }
    }
}

/// The text of a path with `$HOME` put in; `None` where another expansion hides it. `$PWD` is the shell's directory at
/// that point, as for any relative path.
pub fn place(text: &str, traits: Traits, context: &PathContext) -> Option<String> {
    if traits.has(Traits::TILDE)
        && let Some(rest) = text.strip_prefix("~+").or_else(|| text.strip_prefix("~-"))
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return Some(format!(".{rest}"));
    }
    if !traits.has(Traits::EXPANSION.or(Traits::PLACE)) {
        return Some(text.to_owned());
    }
    let home = context.home.lexical.as_str();
    let known = [
        ("$HOME", home),
        ("${HOME}", home),
        ("$PWD", "."),
        ("${PWD}", "."),
    ];
    let (rest, start) = known
        .iter()
        .find_map(|(name, start)| text.strip_prefix(name).map(|rest| (rest, start)))?;
    let plain = (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['$', '`']);
    plain.then(|| format!("{start}{rest}"))
}

/// Whether only the shell knows which command this is. A leading directory does not matter.
fn is_unclear(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    word.traits.has(Traits::BRACE)
        || word
            .traits
            .has(Traits::EXPANSION.or(Traits::GLOB).or(Traits::STATUS))
            && name.contains(['$', '`', '*', '?', '[', ')', '}'])
}

fn command_pattern(rule: &Rule) -> Option<&CommandPattern> {
    match &rule.matcher {
        Matcher::Command(pattern) => Some(pattern),
        Matcher::Field(field) => field.command.as_ref(),
        Matcher::Name(_) | Matcher::Path(_) | Matcher::Domain(_) => None,
    }
}

/// `words` are compared as written, too, where a rule is written with quotes.
fn command_matches(rule: &Rule, text: &str, words: &[Word]) -> bool {
    let Some(pattern) = command_pattern(rule) else {
        return false;
    };
    let raw = || {
        words
            .iter()
            .map(|word| word.raw.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    pattern.matches(text) || (pattern.is_quoted() && !words.is_empty() && pattern.matches(&raw()))
}

fn path_matches(rule: &Rule, spot: &Spot, context: &PathContext) -> bool {
    match &rule.matcher {
        Matcher::Path(pattern) => pattern.matches_either(spot, context, Role::Start),
        // The bare name matches every path.
        Matcher::Name(NamePattern::Exact(_)) => true,
        Matcher::Name(NamePattern::Server(_) | NamePattern::Glob(_))
        | Matcher::Command(_)
        | Matcher::Domain(_)
        | Matcher::Field(_) => false,
    }
}

/// Where the base name of an absolute command path starts. `../bin/rm`, `~/bin/rm` and `$DIR/rm` are included.
fn base_start(command: &str) -> Option<usize> {
    let absolute = command.starts_with(['/', '~', '$', '`']) || command.contains("..");
    command
        .rfind('/')
        .filter(|_| absolute)
        .map(|slash| slash + 1)
}

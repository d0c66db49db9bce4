//! Decides whether a tool call may run.
//!
//! Pure: rules, a mode and a call go in, a [`Verdict`] comes out. Deny beats ask beats allow, whatever the order of the
//! rules; what is not understood asks.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::address::Inner;
use super::bash::classify::classify_reading;
use super::bash::{self, Reading};
use super::call::{Files, Subject};
use super::coverage::{Basis, Coverage};
use super::mcp::NamePattern;
use super::names::{EDIT, READ, reading_rules_deny_writing};
use super::path::{PathContext, Spot};
use super::pattern::PathPattern;
use super::protected::is_protected;
use super::rule::{Field, Matcher, Rule, RuleList, Rules};
use super::search::{Findings, search};
use super::verdict::{Cause, Decision, EDITS_ASK, Verdict};
use super::world::World;
use crate::protocol::{Level, MissingInput, Mode, Paths, Touches};

/// The part of a call that matters for the decision.
#[derive(Debug, Clone)]
pub struct CallDetails<'a> {
    pub tool: &'a str,
    pub input: &'a Value,
    pub touches: Touches,
    pub level: Level,
    /// The tool itself says that this call changes nothing. Not consulted for Bash, which is classified here.
    pub read_only: bool,
}

impl CallDetails<'static> {
    /// A plain read of a file.
    fn reading(path: String) -> Self {
        Self {
            tool: READ,
            input: &Value::Null,
            touches: Touches::Reads(Paths::Files(vec![path])),
            level: Level::Safe,
            read_only: true,
        }
    }

    /// A plain change of a file.
    fn writing(path: String) -> Self {
        Self {
            tool: EDIT,
            touches: Touches::Writes(Paths::Files(vec![path])),
            level: Level::Confirm,
            read_only: false,
            ..Self::reading(String::new())
        }
    }
}

/// What all hooks together decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDecision {
    pub decision: Decision,
    pub reason: String,
    /// The hook, in words for a person.
    pub by: String,
}

/// Decides in this order: deny rules and the built-in list, plan mode, ask rules, critical removals, bypass, protected
/// paths, allow rules, the default of the tool. The first that applies decides.
pub fn decide(call: &CallDetails<'_>, rules: &Rules, mode: Mode, world: &World<'_>) -> Verdict {
    conclude(judge(call, rules, mode, world), None, mode)
}

/// The first part of a decision: what rules, lists and tools say, before hooks.
pub fn judge(call: &CallDetails<'_>, rules: &Rules, mode: Mode, world: &World<'_>) -> Verdict {
    Case::new(call, rules, mode, world).decide()
}

/// Whether the model may learn what the call would find on the disk before the call is allowed. That a file does not
/// exist, or is a directory, may only be told where it may be read. A call that names no files reveals nothing.
pub fn may_reveal(call: &CallDetails<'_>, rules: &Rules, mode: Mode, world: &World<'_>) -> bool {
    let case = Case::new(call, rules, mode, world);
    let (Subject::Read(files) | Subject::Edit(files)) = &case.subject else {
        return true;
    };
    match case.decide().decision {
        Decision::Allow => true,
        Decision::Deny => false,
        Decision::Ask => files.spots.iter().all(|spot| {
            let call = CallDetails::reading(spot.lexical.clone());
            judge(&call, rules, mode, world).decision == Decision::Allow
        }),
    }
}

/// Decides whether a file may be read.
pub fn decide_reading(path: String, rules: &Rules, mode: Mode, world: &World<'_>) -> Verdict {
    decide(&CallDetails::reading(path), rules, mode, world)
}

/// What rules and lists say about one file that an allowed call changes.
pub fn judge_writing(path: String, rules: &Rules, mode: Mode, world: &World<'_>) -> Verdict {
    judge(&CallDetails::writing(path), rules, mode, world)
}

/// How far an allowed command reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// What it reads outside the working directories because a rule allows it.
    pub(super) outside: Vec<PathBuf>,
    /// Parts of it run without a rule and without asking.
    pub(super) unasked: bool,
}

/// How far an allowed call reaches; anything but a command reaches nowhere.
pub fn reach(call: &CallDetails<'_>, rules: &Rules, mode: Mode, world: &World<'_>) -> Reach {
    let case = Case::new(call, rules, mode, world);
    let Some(reading) = &case.reading else {
        return Reach::default();
    };
    let cover = case.cover();
    match cover.cover(reading) {
        Ok(bases) => Reach {
            unasked: bases.iter().any(|basis| !matches!(basis, Basis::Rule(_))),
            outside: cover.outside().into_iter().map(PathBuf::from).collect(),
        },
        Err(_) => Reach::default(),
    }
}

/// The second part: applies what hooks decided, and denies instead of asking in dontAsk mode.
pub fn conclude(judged: Verdict, hook: Option<&HookDecision>, mode: Mode) -> Verdict {
    let verdict = match hook {
        Some(hook) => with_hooks(judged, hook),
        None => judged,
    };
    match (verdict.decision, mode) {
        (Decision::Ask, Mode::DontAsk) => Verdict {
            decision: Decision::Deny,
            reason: format!(
                "{}; dontAsk mode denies it instead of asking",
                verdict.reason
            ),
            cause: Cause::Mode(mode),
        },
        (Decision::Allow | Decision::Ask | Decision::Deny, _) => verdict,
    }
}

/// Hooks may always tighten a decision. Their allow only replaces the person's answer where the tool's own default
/// asks; it overrides no rule, built-in list, protected path or mode.
pub fn with_hooks(verdict: Verdict, hook: &HookDecision) -> Verdict {
    let counts = match (hook.decision, verdict.decision) {
        (Decision::Deny, Decision::Allow | Decision::Ask) | (Decision::Ask, Decision::Allow) => {
            true
        }
        (Decision::Allow | Decision::Ask, Decision::Ask) => verdict.cause == Cause::Default,
        (Decision::Deny | Decision::Ask | Decision::Allow, _) => false,
    };
    if !counts {
        return verdict;
    }
    let effect = match hook.decision {
        Decision::Allow => "allows it",
        Decision::Ask => "asks first",
        Decision::Deny => "denies it",
    };
    Verdict {
        decision: hook.decision,
        reason: format!("{} (the hook {} {effect})", hook.reason, hook.by),
        cause: Cause::Hook(hook.by.clone()),
    }
}

/// A call with all that is known about it.
struct Case<'c> {
    call: &'c CallDetails<'c>,
    rules: &'c Rules,
    mode: Mode,
    context: PathContext<'c>,
    subject: Subject,
    /// The command, if it is one.
    reading: Option<Reading>,
}

impl<'c> Case<'c> {
    fn new(call: &'c CallDetails<'c>, rules: &'c Rules, mode: Mode, world: &'c World<'c>) -> Self {
        let context = PathContext::new(world);
        let subject = Subject::of(&call.touches, &context);
        let reading = match &subject {
            Subject::Bash(command) => Some(bash::read(command)),
            Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Web(_)
            | Subject::Other
            | Subject::Unclear(_) => None,
        };
        Self {
            call,
            rules,
            mode,
            context,
            subject,
            reading,
        }
    }

    fn decide(&self) -> Verdict {
        let findings = match (&self.subject, &self.reading) {
            (Subject::Bash(command), Some(reading)) => {
                search(command, reading, self.rules, &self.context)
            }
            _ => Findings::default(),
        };
        self.denied(&findings)
            .or_else(|| self.planned())
            .or_else(|| self.must_ask(&findings))
            .or_else(|| self.bypassed(&findings))
            .or_else(|| self.protected(&findings))
            .or_else(|| unclear_globs(&findings))
            .or_else(|| self.allowed())
            .unwrap_or_else(|| self.default())
    }

    /// Step 1: a deny rule, the built-in list, a tool that never runs.
    fn denied(&self, findings: &Findings<'_>) -> Option<Verdict> {
        if let Some(rule) = findings.deny.or_else(|| {
            self.rules
                .deny
                .iter()
                .find(|rule| self.refuses(rule, RuleList::Deny))
        }) {
            return Some(by_rule(Decision::Deny, rule, "denies this call"));
        }
        if let Some(why) = findings.never {
            return Some(verdict(
                Decision::Deny,
                Cause::BuiltIn,
                format!("this command never runs: {why}"),
            ));
        }
        match self.call.level {
            Level::Forbidden => Some(verdict(
                Decision::Deny,
                Cause::Default,
                format!("the tool {} never runs", self.call.tool),
            )),
            Level::Safe | Level::Confirm | Level::Dangerous => None,
        }
    }

    /// Step 2: plan mode denies whatever is not read-only.
    fn planned(&self) -> Option<Verdict> {
        match self.mode {
            Mode::Plan => {}
            Mode::Default | Mode::AcceptEdits | Mode::DontAsk | Mode::BypassPermissions => {
                return None;
            }
        }
        let reason = match (&self.subject, &self.reading) {
            (Subject::Bash(_), Some(reading)) => {
                let cwd = Path::new(&self.context.cwd.lexical);
                classify_reading(reading, cwd).err()?
            }
            (Subject::Edit(_), _) => "it changes files".to_owned(),
            (Subject::Read(_), _) => return None,
            (Subject::Unclear(MissingInput::Command | MissingInput::FileToWrite), _) => {
                "it changes files".to_owned()
            }
            _ if self.call.read_only || self.call.level == Level::Safe => return None,
            _ => "this tool is not read-only".to_owned(),
        };
        let reason = format!("plan mode is read-only: {reason}");
        Some(verdict(Decision::Deny, Cause::Mode(self.mode), reason))
    }

    /// Steps 3 and 4: an ask rule, a critical removal.
    fn must_ask(&self, findings: &Findings<'_>) -> Option<Verdict> {
        if let Some(rule) = findings.ask.or_else(|| {
            self.rules
                .ask
                .iter()
                .find(|rule| self.refuses(rule, RuleList::Ask))
        }) {
            return Some(by_rule(Decision::Ask, rule, "asks first"));
        }
        if let Some(rule) = findings.expanded {
            return Some(by_rule(
                Decision::Ask,
                rule,
                "may match after brace expansion",
            ));
        }
        let critical = findings.critical.as_ref()?;
        Some(verdict(
            Decision::Ask,
            Cause::BuiltIn,
            format!("it deletes `{critical}`"),
        ))
    }

    /// Step 5. If there are deny rules for commands, commands they cannot check ask.
    fn bypassed(&self, findings: &Findings<'_>) -> Option<Verdict> {
        match (self.mode, &findings.unclear) {
            (Mode::BypassPermissions, Some(unclear)) => {
                Some(ask(format!("a deny rule may apply: {unclear}")))
            }
            (Mode::BypassPermissions, None) => Some(verdict(
                Decision::Allow,
                Cause::Mode(self.mode),
                "bypassPermissions mode allows it".to_owned(),
            )),
            (Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::DontAsk, _) => None,
        }
    }

    /// Step 6: a write to a path that grants rights or runs code.
    fn protected(&self, findings: &Findings<'_>) -> Option<Verdict> {
        let path = match &self.subject {
            Subject::Edit(files) => files
                .spots
                .iter()
                .find(|spot| is_protected(spot, &self.context))
                .map(|spot| &spot.lexical),
            _ => findings.protected.as_ref(),
        }?;
        let reason = format!("`{path}` can grant permissions or run code; writes always ask");
        Some(verdict(Decision::Ask, Cause::ProtectedPath, reason))
    }

    /// Step 7 for everything but Bash, whose parts may be covered in several ways.
    fn allowed(&self) -> Option<Verdict> {
        let rule = self.rules.allow.iter().find(|rule| self.permits(rule))?;
        Some(by_rule(Decision::Allow, rule, "allows it"))
    }

    /// Step 8.
    fn default(&self) -> Verdict {
        match (&self.subject, &self.reading) {
            (Subject::Bash(_), Some(reading)) => self.bash(reading),
            (Subject::Bash(_), None) => ask("the command could not be parsed".to_owned()),
            (Subject::Read(files), _) => match self.outside(files) {
                None => verdict(
                    Decision::Allow,
                    Cause::Default,
                    "it reads inside this project".to_owned(),
                ),
                Some(path) => ask(format!("`{path}` is outside this project")),
            },
            (Subject::Edit(files), _) => match self.outside(files) {
                Some(path) => ask(format!("`{path}` is outside this project")),
                None if self.mode == Mode::AcceptEdits => verdict(
                    Decision::Allow,
                    Cause::Mode(self.mode),
                    "acceptEdits mode allows edits inside this project".to_owned(),
                ),
                None => ask(EDITS_ASK.to_owned()),
            },
            (Subject::Unclear(missing), _) => {
                ask(format!("{}, so it can't be checked", lacking(*missing)))
            }
            (Subject::Web(_) | Subject::Other, _) => match self.call.level {
                Level::Safe => verdict(
                    Decision::Allow,
                    Cause::Default,
                    format!("the tool {} changes nothing", self.call.tool),
                ),
                Level::Confirm | Level::Dangerous | Level::Forbidden => ask(match self.inner() {
                    Some((host, inner)) => format!("`{host}` is {}", inner.words()),
                    None => format!("{} is not covered by any rule", self.call.tool),
                }),
            },
        }
    }

    /// The host that a call fetches from, if it is not on the open net.
    fn inner(&self) -> Option<(&str, Inner)> {
        match &self.subject {
            Subject::Web(Some(host)) => Some((host, Inner::of_host(host)?)),
            _ => None,
        }
    }

    fn cover(&self) -> Coverage<'_, '_> {
        Coverage::new(self.rules, self.mode, &self.context)
    }

    fn bash(&self, reading: &Reading) -> Verdict {
        match self.cover().cover(reading) {
            Err(reason) => ask(reason),
            Ok(bases) => {
                let rule = bases.iter().find_map(|basis| match basis {
                    Basis::Rule(rule) => Some(*rule),
                    Basis::Classifier | Basis::Mode => None,
                });
                match rule {
                    Some(rule) => by_rule(Decision::Allow, rule, "allows it"),
                    None if bases.contains(&Basis::Mode) => verdict(
                        Decision::Allow,
                        Cause::Mode(self.mode),
                        "acceptEdits mode allows edits inside this project".to_owned(),
                    ),
                    None => verdict(
                        Decision::Allow,
                        Cause::Classifier,
                        "every command in it is read-only".to_owned(),
                    ),
                }
            }
        }
    }

    /// Whether a rule in deny or ask matches this call. What a command does is found by [`search`].
    fn refuses(&self, rule: &Rule, list: RuleList) -> bool {
        let either = |pattern: &PathPattern, files: &Files| {
            files
                .spots
                .iter()
                .any(|spot| pattern.matches_either(spot, &self.context, files.role))
        };
        match (&rule.matcher, &self.subject) {
            (Matcher::Name(name), _) if name.matches(self.call.tool) => true,
            // The bare names cover their whole family: denying `Edit` denies all edits.
            (Matcher::Name(NamePattern::Exact(name)), Subject::Edit(_)) => name == EDIT,
            (Matcher::Name(NamePattern::Exact(name)), Subject::Read(_)) => name == READ,
            (Matcher::Path(pattern), Subject::Read(files)) => {
                rule.tool == READ && either(pattern, files)
            }
            (Matcher::Path(pattern), Subject::Edit(files)) => {
                let reading = rule.tool == READ
                    && list == RuleList::Deny
                    && reading_rules_deny_writing(self.call.tool);
                (rule.tool == EDIT || reading) && either(pattern, files)
            }
            (Matcher::Domain(domain), Subject::Web(host)) => domain.matches(host.as_deref()),
            (Matcher::Field(field), _) => {
                rule.tool == self.call.tool && field_matches(field, self.call.input)
            }
            (Matcher::Name(_) | Matcher::Command(_) | Matcher::Path(_) | Matcher::Domain(_), _) => {
                false
            }
        }
    }

    /// Whether a rule in allow covers this call.
    fn permits(&self, rule: &Rule) -> bool {
        match (&rule.matcher, &self.subject) {
            (_, Subject::Bash(_) | Subject::Unclear(_)) => false,
            (Matcher::Domain(domain), Subject::Web(Some(host))) => {
                domain.matches(Some(host)) && (domain.is_exact() || Inner::of_host(host).is_none())
            }
            // What is not on the open net is allowed by its name only.
            (Matcher::Name(_), Subject::Web(Some(host))) if Inner::of_host(host).is_some() => false,
            (Matcher::Name(name), _) => name.matches(self.call.tool),
            (Matcher::Path(pattern), Subject::Read(files)) => {
                // What lies inside may be read anyway.
                let outside = |spot: &&Spot| !self.context.contains(spot);
                let spots: Vec<Spot> = files.spots.iter().filter(outside).cloned().collect();
                rule.tool == READ
                    && !spots.is_empty()
                    && self.covers(
                        pattern,
                        &Files {
                            spots,
                            role: files.role,
                        },
                    )
            }
            (Matcher::Path(pattern), Subject::Edit(files)) => {
                rule.tool == EDIT && self.covers(pattern, files)
            }
            (
                Matcher::Command(_) | Matcher::Path(_) | Matcher::Domain(_) | Matcher::Field(_),
                _,
            ) => false,
        }
    }

    /// Every place must be allowed.
    fn covers(&self, pattern: &PathPattern, files: &Files) -> bool {
        let matched = |spot: &Spot| pattern.matches_both(spot, &self.context, files.role);
        files.spots.iter().all(matched)
    }

    fn outside<'f>(&self, files: &'f Files) -> Option<&'f str> {
        files
            .spots
            .iter()
            .find(|spot| !self.context.contains(spot))
            .map(|spot| spot.lexical.as_str())
    }
}

/// A glob that may match a denied path asks, even if a rule allows the command.
fn unclear_globs(findings: &Findings<'_>) -> Option<Verdict> {
    findings
        .doubtful
        .map(|rule| by_rule(Decision::Ask, rule, "may match a file that a glob finds"))
}

fn lacking(missing: MissingInput) -> &'static str {
    match missing {
        MissingInput::Command => "it has no command",
        MissingInput::FileToRead | MissingInput::FileToWrite => "it names no file",
    }
}

fn field_matches(field: &Field, input: &Value) -> bool {
    match input.get(&field.name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => field.value.matches(text),
        Some(other) => field.value.matches(&other.to_string()),
    }
}

fn verdict(decision: Decision, cause: Cause, reason: String) -> Verdict {
    Verdict {
        decision,
        reason,
        cause,
    }
}

fn ask(reason: String) -> Verdict {
    verdict(Decision::Ask, Cause::Default, reason)
}

fn by_rule(decision: Decision, rule: &Rule, what: &str) -> Verdict {
    let reason = format!("the rule `{}` in {} {what}", rule.text, rule.source);
    verdict(decision, Cause::Rule(rule.clone()), reason)
}

//! Rules as people write them: `Tool` or `Tool(specifier)`, in the lists deny, ask and allow.
//!
//! A rule is parsed once, when it is added; deciding compares only.

use super::command::CommandPattern;
use super::mcp::NamePattern;
use super::names::{BASH, EDIT, Family, TOOLS, family, mistyped};
use super::pattern::PathPattern;
use super::web::DomainPattern;
use super::wildcard::Wildcard;
pub use crate::protocol::{RuleList, Source};

/// Input fields of Bash that a rule in deny or ask may name.
const BASH_FIELDS: [&str; 3] = ["run_in_background", "timeout", "description"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub text: String,
    pub tool: String,
    pub specifier: Option<String>,
    pub source: Source,
    pub(super) matcher: Matcher,
}

/// What a rule is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matcher {
    /// Every call of the tools of this name.
    Name(NamePattern),
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    Field(Field),
}

/// An input field with this value. For Bash, the same text may also be a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub name: String,
    pub value: Wildcard,
    pub command: Option<CommandPattern>,
}

impl Rule {
    /// Whether its tool is built in or belongs to an MCP server.
    pub(super) fn names_a_known_tool(&self) -> bool {
        TOOLS.contains(&self.tool.as_str()) || self.tool.starts_with("mcp__")
    }
}

/// A rule was understood, but something about it will surprise its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub String);

/// All active rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
}

impl Rules {
    pub fn list(&self, list: RuleList) -> &[Rule] {
        match list {
            RuleList::Deny => &self.deny,
            RuleList::Ask => &self.ask,
            RuleList::Allow => &self.allow,
        }
    }

    pub fn list_mut(&mut self, list: RuleList) -> &mut Vec<Rule> {
        match list {
            RuleList::Deny => &mut self.deny,
            RuleList::Ask => &mut self.ask,
            RuleList::Allow => &mut self.allow,
        }
    }

    /// Whether the rule is in the allow list.
    pub fn allows(&self, rule: &str) -> bool {
        self.allow.iter().any(|known| known.text == rule.trim())
    }

    /// Whether a deny rule names the tool as a whole, so that it need not be offered.
    pub fn denies_whole(&self, tool: &str) -> bool {
        names_whole(&self.deny, tool)
    }

    /// Whether an allow rule names the tool as a whole.
    pub fn allows_whole(&self, tool: &str) -> bool {
        names_whole(&self.allow, tool)
    }

    /// Whether any rule denies or asks about calls of a tool, all of them or some.
    pub fn restricts(&self, tool: &str) -> bool {
        let is_about = |rule: &Rule| match &rule.matcher {
            Matcher::Name(pattern) => pattern.matches(tool),
            Matcher::Command(_) | Matcher::Path(_) | Matcher::Domain(_) | Matcher::Field(_) => {
                rule.tool == tool
            }
        };
        self.deny.iter().chain(&self.ask).any(is_about)
    }

    /// Whether any rule could deny reading a file.
    pub fn restrict_reading(&self) -> bool {
        let about_paths = |rule: &Rule| matches!(rule.matcher, Matcher::Path(_));
        self.deny.iter().chain(&self.ask).any(about_paths)
    }

    /// Adds a rule as written. An error says what is wrong with it, a warning what it will not do, in words for the person
    /// who wrote it.
    pub fn add(
        &mut self,
        list: RuleList,
        text: &str,
        source: &Source,
    ) -> Result<Option<Warning>, String> {
        let text = text.trim();
        let (tool, specifier) =
            split(text).map_err(|error| format!("the rule `{text}` {error}"))?;
        let parsed = parse(tool, specifier, list)
            .map_err(|error| format!("the rule `{text}` is invalid: {error}"))?;
        if let Some(matcher) = parsed.matcher {
            self.list_mut(list).push(Rule {
                text: text.to_owned(),
                tool: tool.to_owned(),
                specifier: specifier.map(str::to_owned),
                source: source.clone(),
                matcher,
            });
        }
        Ok(parsed
            .warning
            .map(|warning| Warning(format!("the rule `{text}` {warning}"))))
    }
}

fn names_whole(rules: &[Rule], tool: &str) -> bool {
    rules.iter().any(|rule| match &rule.matcher {
        Matcher::Name(pattern) => pattern.matches(tool),
        Matcher::Command(_) | Matcher::Path(_) | Matcher::Domain(_) | Matcher::Field(_) => false,
    })
}

fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let (tool, specifier) = match text.split_once('(') {
        None if text.contains(')') => return Err("has a `)` without a `(`".to_owned()),
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some("") => {
                return Err(format!(
                    "has empty parentheses; write `{tool}` for every call"
                ));
            }
            Some(specifier) => (tool, Some(specifier)),
            None => return Err("has a `(` without a `)` at its end".to_owned()),
        },
    };
    let fits = |character: char| character.is_alphanumeric() || "_-*.".contains(character);
    if tool.is_empty() {
        return Err("names no tool; write it as `Tool` or `Tool(specifier)`".to_owned());
    }
    if !tool.chars().all(fits) {
        return Err(format!("names no tool: `{tool}` is not a tool's name"));
    }
    Ok((tool, specifier))
}

struct Parsed {
    /// `None`: the rule is skipped.
    matcher: Option<Matcher>,
    warning: Option<String>,
}

impl From<Matcher> for Parsed {
    fn from(matcher: Matcher) -> Self {
        Self {
            matcher: Some(matcher),
            warning: None,
        }
    }
}

fn skipped(warning: &str) -> Parsed {
    Parsed {
        matcher: None,
        warning: Some(warning.to_owned()),
    }
}

fn parse(tool: &str, specifier: Option<&str>, list: RuleList) -> Result<Parsed, String> {
    let Some(specifier) = specifier else {
        return Ok(whole(tool, list));
    };
    if tool.starts_with("mcp__") {
        return Ok(skipped(
            "is ignored: a rule for an MCP tool takes no parentheses",
        ));
    }
    match family(tool) {
        Family::Commands => bash(specifier, list),
        Family::Paths => Ok(Matcher::Path(PathPattern::parse(specifier, list)?).into()),
        Family::WrittenAs(name) => {
            let what = if name == EDIT { "edits" } else { "reads" };
            Ok(skipped(&format!(
                "never applies: write `{name}({specifier})`, which covers every tool that {what}"
            )))
        }
        Family::Hosts | Family::Fields if specifier == "*" => Ok(whole(tool, list)),
        Family::Hosts => Ok(Matcher::Domain(DomainPattern::parse(specifier)?).into()),
        Family::Fields => Ok(by_field(tool, specifier, list)),
    }
}

fn by_field(tool: &str, specifier: &str, list: RuleList) -> Parsed {
    let matcher = field(specifier, list).map(Matcher::Field);
    let never = "never applies: this tool takes `field:value` in deny and ask, or no parentheses";
    let never = matcher.is_none().then(|| never.to_owned());
    Parsed {
        matcher,
        warning: mistyped(tool).or(never),
    }
}

fn whole(tool: &str, list: RuleList) -> Parsed {
    let Some(pattern) = NamePattern::parse(tool, list) else {
        return skipped(
            "is ignored: in allow rules, `*` is only valid after a literal `mcp__server__`",
        );
    };
    Parsed {
        matcher: Some(Matcher::Name(pattern)),
        warning: mistyped(tool),
    }
}

fn bash(specifier: &str, list: RuleList) -> Result<Parsed, String> {
    if specifier == "*" {
        return Ok(whole(BASH, list));
    }
    if specifier
        .split_once(':')
        .is_some_and(|(name, _)| name.trim() == "command")
    {
        return Ok(skipped("is ignored: write the command without `command:`"));
    }
    let command = CommandPattern::parse(specifier, list)?;
    Ok(match field(specifier, list) {
        Some(field) if BASH_FIELDS.contains(&field.name.as_str()) => Matcher::Field(Field {
            command: Some(command),
            ..field
        })
        .into(),
        Some(_) | None => Parsed {
            matcher: Some(Matcher::Command(command)),
            warning: specifier
                .strip_suffix(":*")
                .unwrap_or(specifier)
                .contains(":*")
                .then(|| "has `:*` before its end, where it is not a wildcard".to_owned()),
        },
    })
}

/// `name:value`, blanks around the colon ignored. Fields only narrow what is refused, never what is allowed.
fn field(specifier: &str, list: RuleList) -> Option<Field> {
    let (name, value) = specifier.split_once(':')?;
    let name = name.trim();
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match list {
        RuleList::Deny | RuleList::Ask if is_name => Some(Field {
            name: name.to_owned(),
            value: Wildcard::new(value.trim()),
            command: None,
        }),
        RuleList::Deny | RuleList::Ask | RuleList::Allow => None,
    }
}

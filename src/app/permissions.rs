//! The person's questions about permissions: what decided a call, which rules exist, what they would decide.

use serde_json::json;

use super::dialogs::picker::{Choice, Item, Kind, Picker};
use super::page::{Line, fields};
use super::{AppState, Effect};
use crate::protocol::{Command, KnownRule, RuleList, RulesCommand, SessionCommand};

const HOW: &str =
    "/permissions shows the rules and removes them; or: /permissions add …, /permissions test …";
const HOW_TO_ADD: &str =
    "/permissions add allow|ask|deny RULE, e.g. `/permissions add allow Bash(cargo test:*)`";
const HOW_TO_TEST: &str =
    "/permissions test TOOL WHAT, e.g. `/permissions test Bash git push` or `… test Read .env`";

impl AppState {
    /// `/permissions` and its arguments.
    pub(super) fn permissions(&mut self, arguments: &str) -> Vec<Effect> {
        let command = match arguments.split_once(char::is_whitespace) {
            None if arguments.is_empty() => Ok(RulesCommand::List),
            Some(("add", rest)) => rule_to_add(rest.trim()).ok_or(HOW_TO_ADD.to_owned()),
            Some(("test", rest)) => self.call_to_test(rest.trim()),
            None if arguments == "test" => Err(HOW_TO_TEST.to_owned()),
            None if arguments == "add" => Err(HOW_TO_ADD.to_owned()),
            None | Some(_) => Err(HOW.to_owned()),
        };
        match command {
            Ok(command) => vec![Effect::Send(Command::Session(SessionCommand::Rules(
                command,
            )))],
            Err(problem) => {
                self.flash_error(problem);
                Vec::new()
            }
        }
    }

    /// Lists the active rules, to view and remove.
    pub(super) fn offer_rules(&mut self, rules: &[KnownRule]) {
        let mut items = vec![
            Item::new("Add a rule …", Choice::Write("/permissions add ")),
            Item::new("Test a call …", Choice::Write("/permissions test ")),
        ];
        for list in RuleList::ALL {
            let rules = rules.iter().filter(|rule| rule.list == list);
            items.extend(rules.map(|rule| {
                Item::new(&rule.rule, Choice::Rule(rule.clone()))
                    .about(rule.from.to_string())
                    .under(heading(list))
                    .preview(explained(rule))
            }));
        }
        match self.picker_mut(Kind::Rules) {
            Some(picker) => picker.replace(items),
            None => self.open_picker(Picker::new(Kind::Rules, items)),
        }
    }

    /// Begins a draft, unless the person already has one.
    pub(super) fn write_draft(&mut self, text: &str) {
        if self.composer.is_empty() {
            self.composer.set_text(text, self.now);
        } else {
            self.flash(format!("clear your draft first, then type {text}"));
        }
    }

    /// A tool and its input: as JSON, or as the text that rules match.
    fn call_to_test(&self, text: &str) -> Result<RulesCommand, String> {
        let (tool, what) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let what = what.trim();
        if tool.is_empty() {
            return Err(HOW_TO_TEST.to_owned());
        }
        let input = if what.starts_with('{') {
            serde_json::from_str(what).map_err(|error| format!("not valid JSON: {error}"))?
        } else {
            match self.session.tool(tool).ruled {
                Some(field) => json!({ &*field: what }),
                None => json!({}),
            }
        };
        let tool = tool.to_owned();
        Ok(RulesCommand::Test { tool, input })
    }
}

fn rule_to_add(text: &str) -> Option<RulesCommand> {
    let (list, rule) = text.split_once(char::is_whitespace)?;
    let (list, rule) = (RuleList::from_name(list)?, rule.trim().to_owned());
    (!rule.is_empty()).then_some(RulesCommand::Add { list, rule })
}

fn heading(list: RuleList) -> &'static str {
    match list {
        RuleList::Deny => "Denied",
        RuleList::Ask => "Asked first",
        RuleList::Allow => "Allowed",
    }
}

/// What a rule does, and where it is defined.
fn explained(rule: &KnownRule) -> Vec<Line> {
    let (tool, what) = rule.rule.split_once('(').unwrap_or((&rule.rule, ""));
    let what = what.strip_suffix(')').unwrap_or(what);
    let calls = match (what, what.strip_suffix(":*")) {
        ("" | "*", _) => format!("every {tool} call"),
        (_, Some(start)) => format!("{tool} calls that begin with `{start}`"),
        (what, None) if what.contains('*') => format!("{tool} calls that match `{what}`"),
        (what, None) => format!("{tool} calls for `{what}`"),
    };
    let effect = match rule.list {
        RuleList::Deny => "never run, whatever other rules say",
        RuleList::Ask => "always ask you first",
        RuleList::Allow => "run without asking",
    };
    let mut lines = vec![
        Line::heading(rule.rule.clone()),
        Line::text(format!("{calls} {effect}")),
        Line::blank(),
    ];
    lines.extend(fields([
        ("list", rule.list.name().to_owned()),
        ("from", rule.from.to_string()),
    ]));
    lines
}
